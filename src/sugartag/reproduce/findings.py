"""What came out of each experiment, put together from the results of its chains.

Differences have intervals of their own, so that nobody has to compare those of two numbers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from sugartag.methods.registry import missing_package
from sugartag.reproduce.data import Query, described_queries
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
from sugartag.reproduce.intervals import (
    Points,
    failure,
    gap,
    map_curve,
    mean_f,
    pooled,
    share,
)
from sugartag.reproduce.plans import SHARE, Found, best_trial, sweep_key

KNOW_USERS = ("mrtf", "ttc1", "ttc2", "sugar-tc")
KNOW_NO_USERS = ("trvsc", "lr", "nmc", "lslr")


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
    options, published = experiment.options, experiment.published
    if isinstance(options, Comparison):
        return _compared(options, published, results, context.seed)
    if isinstance(options, Concepts):
        return _by_concept(options, results, context)
    if isinstance(options, Retrieval):
        return _retrieved(options, results, context)
    if isinstance(options, Sensitivity):
        sweeps = [_swept(options, one, published, results, context) for one in options.sweeps]
        return {
            "method": options.method,
            "settings": dict(options.settings),
            "seeds": options.seeds,
            "top": options.top,
            "sweeps": sweeps,
        }
    if isinstance(options, Cost):
        return {"methods": {name: _costs(options, results, name) for name in options.methods}}
    if isinstance(options, Convergence):
        found = {one.label: results[f"converge:{one.label}"] for one in options.variants}
        variants = {one.label: dict(one.settings) for one in options.variants}
        return {
            "tolerance": options.tolerance,
            "world": dict(options.world),
            "variants": {
                label: {"settings": variants[label]} | _converged(options, one)
                for label, one in found.items()
            },
        }
    assert isinstance(options, Pictures)
    return {"methods": list(options.methods), "hide": options.hide, **results["pictures"]}


def _chosen(results: Mapping[str, Found], name: str) -> Points | None:
    """Return what a method measured with the settings that hidden tags chose."""
    found = results.get(f"tuned:{name}")
    if found is None:
        return None
    points: Points = found["points"][best_trial(found["trials"])]
    return None if failure(points) else points


def _compared(
    options: Comparison, published: Mapping[str, Any], results: Mapping[str, Found], seed: int
) -> dict[str, Any]:
    rows = {}
    for name in options.everyone:
        row: dict[str, Any] = {
            "of_the_paper": name in options.methods,
            "published": published.get("f", {}).get(name),
        }
        if extra := missing_package(name):
            rows[name] = row | {"failed": f"needs pip install 'sugartag[{extra}]'"}
            continue
        rows[name] = row | _row(results[f"tuned:{name}"], seed)
    points = {name: found for name in rows if (found := _chosen(results, name)) is not None}
    names = list(points)
    above = {
        name: {
            other: gap([points[name]], [points[other]], seed)
            for other in names[place + 1 :]
        }
        for place, name in enumerate(names)
    }  # fmt: skip
    groups = [
        [points[name] for name in some if name in points] for some in (KNOW_USERS, KNOW_NO_USERS)
    ]
    return {
        "trials": options.trials,
        "hide": options.hide,
        "top": options.top,
        "replicates": options.replicates,
        "seeds": options.seeds,
        "methods": rows,
        "above": above,
        "users_above_others": gap(groups[0], groups[1], seed) if all(groups) else None,
    }


def _row(found: Found, seed: int) -> dict[str, Any]:
    """Return one method's line: as tuned, with its defaults, and the best on the truth."""
    trials, points = found["trials"], found["points"]
    measured = [number for number, some in enumerate(points) if not failure(some)]
    if not measured:
        return {"failed": failure(points[0])}
    chosen = best_trial(trials)
    # With more than one seed only the settings chosen, and the best by the first seed, count.
    most = max(len(points[number]) for number in measured)
    full = [number for number in measured if len(points[number]) == most]
    oracle = max(full, key=lambda number: mean_f(points[number]))
    row: dict[str, Any] = {"trials": len(trials)}
    for key, number in (("tuned", chosen), ("default", 0), ("oracle", oracle)):
        settings = {"settings": trials[number]["settings"]}
        failed = failure(points[number])
        row[key] = settings | ({"failed": failed} if failed else pooled(points[number]))
    if found.get("shuffled") and chosen in measured and not failure(found["shuffled"]):
        row["owners_shuffled"] = pooled(found["shuffled"])
        row["gain_by_owners"] = gap([points[chosen]], [found["shuffled"]], seed)
    return row


def _by_concept(
    options: Concepts, results: Mapping[str, Found], context: Context
) -> dict[str, Any]:
    names = dict.fromkeys(
        (*context.comparison.methods, options.champion, options.runner_up, options.before)
    )
    points = {name: found[0] for name in names if (found := _chosen(results, name)) is not None}
    missing = {options.champion, options.runner_up, options.before}.difference(points)
    if missing:
        return {"failed": f"{', '.join(sorted(missing))} could not be measured"}
    champion, before = points[options.champion], options.before
    rows = []
    for c, name in enumerate(context.concept_names):
        f = {method: point["concept_f"][c] for method, point in points.items()}
        if any(value is None for value in f.values()):
            continue
        rows.append(
            {
                "concept": name,
                "images": context.n_positives[c],
                "f": f,
                "low": champion["concept_low"][c],
                "high": champion["concept_high"][c],
                "gain": f[options.champion] - f[options.runner_up],
                # Where no method finds anything, none is best.
                "best": max(f, key=lambda method: f[method]) if any(f.values()) else None,
            }
        )
    rows.sort(key=lambda row: (-row["gain"], row["concept"]))
    best_on = {name: sum(row["best"] == name for row in rows) for name in points}
    above = {name: sum(row["f"][name] > row["f"][before] for row in rows) for name in points}
    return {
        "champion": options.champion,
        "runner_up": options.runner_up,
        "before": before,
        "marked": [row["concept"] for row in rows[: options.marked] if row["gain"] > 0],
        "best_on": best_on,
        "above_before": above,
        "shares_best": {name: share(count, len(rows)) for name, count in best_on.items()},
        "shares_above": {name: share(count, len(rows)) for name, count in above.items()},
        "concepts": rows,
    }


def _retrieved(
    options: Retrieval, results: Mapping[str, Found], context: Context
) -> dict[str, Any]:
    points = {name: found[0] for name in options.methods if (found := _chosen(results, name))}

    def curve(values: Callable[[str], Any]) -> dict[str, Any]:
        return {
            way: map_curve(np.array(values(f"precision_{way}"), dtype=np.float64), context.seed)
            for way in ("paper", "usual")
        }

    champion = points.get(options.champion)

    def gaps(point: Mapping[str, Any]) -> dict[str, Any]:
        return curve(lambda key: np.array(champion[key]) - np.array(point[key]))  # type: ignore[index]

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
        "methods": {name: curve(point.__getitem__) for name, point in points.items()},
        "champion_above": {
            name: gaps(point)
            for name, point in points.items()
            if champion is not None and name != options.champion
        },
    }


def _costs(options: Cost, results: Mapping[str, Found], name: str) -> Found:
    """Return the median cost of each stage, and the totals of each repetition."""
    runs = [results[f"stages:{name}:{repeat}"] for repeat in range(options.repeats)]
    if failed := failure(runs):
        return {"failed": failed}
    stages = runs[0]["stages"]
    return {
        "stages": {
            stage: {
                key: median(run["stages"][stage][key] for run in runs) for key in ("seconds", "mb")
            }
            for stage in stages
        },
        "totals": [sum(one["seconds"] for one in run["stages"].values()) for run in runs],
        "peaks": [max(one["mb"] for one in run["stages"].values()) for run in runs],
    }


def _swept(
    options: Sensitivity,
    sweep: Sweep,
    published: Mapping[str, Any],
    results: Mapping[str, Found],
    context: Context,
) -> dict[str, Any]:
    """Return F by value of a setting, and how far the paper's value lies above each."""
    found = {value: _at(options, sweep, place, results, context.seed)
             for place, value in enumerate(sweep.values)}  # fmt: skip
    measured = {value: points for value, points in found.items() if not failure(points)}
    said = published.get("best", {}).get(sweep.setting)
    low, high = published.get("flat", {}).get(sweep.setting, (None, None))
    rows = []
    for value, points in found.items():
        row: dict[str, Any] = {"value": value}
        row |= pooled(points) if value in measured else {"failed": failure(points)}
        if value in measured and said in measured and value != said:
            row["said_above"] = gap([measured[said]], [points], context.seed, concepts=False)
        rows.append(row)
    best = max(measured, key=lambda value: mean_f(measured[value])) if measured else None
    swept: dict[str, Any] = {
        "setting": sweep.setting, "symbol": sweep.symbol, "points": rows, "best": best
    }  # fmt: skip
    inside = [
        points for value, points in measured.items() if low is not None and low <= value <= high
    ]
    if len(inside) > 1:
        ends = max(inside, key=mean_f), min(inside, key=mean_f)
        swept["widest"] = gap([ends[0]], [ends[1]], context.seed, concepts=False)
    return swept


def _at(
    options: Sensitivity, sweep: Sweep, place: int, results: Mapping[str, Found], seed: int
) -> Points:
    """Return what was measured at one value, with each seed."""
    found = []
    for run in range(seed, seed + options.seeds):
        if sweep.setting == SHARE:
            shares = results[sweep_key(options, sweep, None, run)]
            found.append(shares["points"][place] if "points" in shares else shares)
        else:
            found.append(results[sweep_key(options, sweep, sweep.values[place], run)])
    return found


def _converged(options: Convergence, found: Found) -> dict[str, Any]:
    if "failed" in found:
        return dict(found)
    values, falls = found["objectives"], np.array(found["falls"])
    under = np.flatnonzero(np.abs(falls) <= options.tolerance)
    return {"stops_after": int(under[0]) + 1 if under.size else None, "last": values[-1], **found}
