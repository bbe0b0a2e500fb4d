"""What came out of each experiment, put together from the results of its chains."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sugartag.evaluation.bootstrap import centred_interval, interval
from sugartag.methods.registry import missing_package
from sugartag.reproduce.experiments import (
    Comparison,
    Concepts,
    Convergence,
    Cost,
    Experiment,
    Pictures,
    Retrieval,
    Sensitivity,
    Sweep,
)
from sugartag.reproduce.plans import SHARE, Found, sweep_key
from sugartag.reproduce.queries import Query, described_queries

QUERY_REPLICATES = 1000
QUERY_STREAM = 0x71756572


@dataclass(frozen=True)
class Context:
    """What findings are put together from, beside the results of chains."""

    comparison: Comparison
    concept_names: tuple[str, ...]
    n_positives: tuple[int, ...]
    queries: tuple[Query, ...]
    lengths: tuple[int, ...]
    seed: int


def findings_of(
    experiment: Experiment, results: Mapping[str, Found], context: Context
) -> dict[str, Any]:
    """Return what an experiment found, as numbers for JSON."""
    options = experiment.options
    if isinstance(options, Comparison):
        return _compared(options, experiment.published, results)
    if isinstance(options, Concepts):
        return _by_concept(options, results, context)
    if isinstance(options, Retrieval):
        return _retrieved(options, results, context)
    if isinstance(options, Sensitivity):
        return {
            "method": options.method,
            "settings": dict(options.settings),
            "seeds": options.seeds,
            "top": options.top,
            "sweeps": [_swept(options, one, results, context.seed) for one in options.sweeps],
        }
    if isinstance(options, Cost):
        return {"methods": {name: results[f"stages:{name}"] for name in options.methods}}
    if isinstance(options, Convergence):
        return _converged(options, results["converge"])
    assert isinstance(options, Pictures)
    return {"methods": list(options.methods), "hide": options.hide, **results["pictures"]}


def best_trial(trials: Sequence[Found]) -> int:
    """Return the number of the trial that found hidden tags best; the first where all failed."""
    scores = [-np.inf if one["score"] is None else one["score"] for one in trials]
    return int(np.argmax(scores))


def _honest(results: Mapping[str, Found], name: str) -> Found | None:
    """Return what a method measured with the settings that hidden tags chose."""
    found = results.get(f"tuned:{name}")
    if found is None:
        return None
    point: Found = found["points"][best_trial(found["trials"])]
    return None if "failed" in point else point


def _compared(
    options: Comparison, published: Mapping[str, Any], results: Mapping[str, Found]
) -> dict[str, Any]:
    reference = _honest(results, "sugar-tc")
    rows = {}
    for name in options.everyone:
        row: dict[str, Any] = {
            "of_the_paper": name in options.methods,
            "published": published.get("f", {}).get(name),
        }
        if extra := missing_package(name):
            rows[name] = row | {"failed": f"needs pip install 'sugartag[{extra}]'"}
            continue
        rows[name] = row | _row(results[f"tuned:{name}"], reference)
    return {
        "trials": options.trials,
        "hide": options.hide,
        "top": options.top,
        "replicates": options.replicates,
        "methods": rows,
    }


def _row(found: Found, reference: Found | None) -> dict[str, Any]:
    """Return one method's line: as tuned, with its defaults, and the best on the truth."""
    trials, points = found["trials"], found["points"]
    values = [point.get("f") for point in points]
    if all(value is None for value in values):
        return {"failed": points[0].get("failed", "no value")}
    chosen = best_trial(trials)
    oracle = int(np.argmax([-1.0 if value is None else value for value in values]))
    row: dict[str, Any] = {"trials": len(trials)}
    for key, number in (("tuned", chosen), ("default", 0), ("oracle", oracle)):
        point = points[number]
        if "failed" in point:
            row[key] = {"failed": point["failed"], "settings": trials[number]["settings"]}
            continue
        row[key] = {
            "f": point["f"],
            "interval": point["interval"],
            "settings": trials[number]["settings"],
        }
    if reference is not None and "f" in points[chosen]:
        row["above_sugar_tc"] = _difference(points[chosen], reference)
    return row


def _difference(one: Found, other: Found) -> dict[str, Any]:
    """Return how far apart two average Fs are, on the same resampled images."""
    gap = one["f"] - other["f"]
    samples = np.array(one["replicates"]) - np.array(other["replicates"])
    return {"f": gap, "interval": list(centred_interval(gap, samples))}


def _by_concept(
    options: Concepts, results: Mapping[str, Found], context: Context
) -> dict[str, Any]:
    names = dict.fromkeys(
        (*context.comparison.methods, options.champion, options.runner_up, options.before)
    )
    points = {name: point for name in names if (point := _honest(results, name)) is not None}
    missing = {options.champion, options.runner_up, options.before}.difference(points)
    if missing:
        return {"failed": f"{', '.join(sorted(missing))} could not be measured"}
    champion = points[options.champion]
    rows = []
    for c, name in enumerate(context.concept_names):
        f = {method: point["concept_f"][c] for method, point in points.items()}
        if any(value is None for value in f.values()):
            continue
        best = max(f, key=lambda method: f[method])
        rows.append(
            {
                "concept": name,
                "images": context.n_positives[c],
                "f": f,
                "low": champion["concept_low"][c],
                "high": champion["concept_high"][c],
                "gain": f[options.champion] - f[options.runner_up],
                "best": best,
            }
        )
    rows.sort(key=lambda row: (-row["gain"], row["concept"]))
    marked = [row["concept"] for row in rows[: options.marked] if row["gain"] > 0]
    return {
        "champion": options.champion,
        "runner_up": options.runner_up,
        "before": options.before,
        "marked": marked,
        "best_on": {method: sum(row["best"] == method for row in rows) for method in points},
        "above_before": {
            method: sum(row["f"][method] > row["f"][options.before] for row in rows)
            for method in points
        },
        "concepts": rows,
    }


def _retrieved(
    options: Retrieval, results: Mapping[str, Found], context: Context
) -> dict[str, Any]:
    methods = {}
    for name in options.methods:
        point = _honest(results, name)
        if point is not None:
            methods[name] = {
                way: _map_curve(point[f"precision_{way}"], context.seed)
                for way in ("paper", "usual")
            }
    return {
        "lengths": list(context.lengths),
        "champion": options.champion,
        "queries": [
            {
                "concept": one.name,
                "kind": one.kind,
                "asked": one.asked,
                "images": context.n_positives[one.concept],
            }
            for one in context.queries
        ],
        "about_queries": described_queries(context.queries, options.queries),
        "methods": methods,
    }


def _map_curve(precision: Sequence[Sequence[float]], seed: int) -> dict[str, Any]:
    """Return MAP at each length, with intervals from resampling the queries."""
    values = np.array(precision, dtype=np.float64)  # queries x lengths
    rng = np.random.default_rng([seed, QUERY_STREAM])
    drawn = rng.integers(len(values), size=(QUERY_REPLICATES, len(values)))
    samples = values[drawn].mean(axis=1)
    ends = [interval(samples[:, place]) for place in range(values.shape[1])]
    return {"map": values.mean(axis=0).tolist(), "intervals": [list(pair) for pair in ends]}


def _swept(
    options: Sensitivity, sweep: Sweep, results: Mapping[str, Found], seed: int
) -> dict[str, Any]:
    points = []
    for place, value in enumerate(sweep.values):
        found = []
        for run in range(seed, seed + options.seeds):
            if sweep.setting == SHARE:
                shares = results[sweep_key(options, sweep, None, run)]
                found.append(shares["points"][place] if "points" in shares else shares)
            else:
                found.append(results[sweep_key(options, sweep, value, run)])
        points.append({"value": value, **_pooled(found)})
    measured = [point for point in points if "f" in point]
    best = max(measured, key=lambda point: point["f"])["value"] if measured else None
    return {"setting": sweep.setting, "symbol": sweep.symbol, "best": best, "points": points}


def _pooled(found: Sequence[Found]) -> dict[str, Any]:
    """Return the mean over seeds; the interval holds both images and seeds."""
    failures = [one["failed"] for one in found if "failed" in one]
    if failures:
        return {"failed": failures[0]}
    values = [one["f"] for one in found]
    mean = float(np.mean(values))
    samples = np.concatenate(
        [np.array(one["replicates"]) - np.mean(one["replicates"]) + one["f"] for one in found]
    )
    return {"f": mean, "interval": list(interval(samples)), "by_seed": values}


def _converged(options: Convergence, found: Found) -> dict[str, Any]:
    if "failed" in found:
        return dict(found)
    values, falls = found["objectives"], np.array(found["falls"])
    under = np.flatnonzero(falls <= options.tolerance)
    stops = int(under[0]) + 1 if under.size else None
    return {
        "tolerance": options.tolerance,
        "stops_after": stops,
        "left_to_gain": (values[stops] - values[-1]) / values[-1] if stops else None,
        **found,
    }
