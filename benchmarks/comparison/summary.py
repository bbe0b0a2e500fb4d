"""What the runs of all methods say together: means, intervals, margins."""

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy import stats
from threadpoolctl import threadpool_limits

from comparison.jobs import FIRST_SEED, Effort
from comparison.rounds import HIDDEN_SHARE, Case, percent
from comparison.word_scores import resampled_interval
from sugartag._typing import FloatArray
from sugartag.evaluation.cost import machine
from sugartag.methods.registry import METHODS

FORMAT = "sugartag-comparison/1"
LEVEL = 0.95
KINDS = ("tuned", "default")
NOTHING_SKIPPED: Mapping[str, Sequence[int]] = MappingProxyType({})
INTERVALS = (
    f"{percent(LEVEL)} t intervals over seeds; bootstrap: resampled images, landmarks or "
    f"categories, with seed {FIRST_SEED}; margins: t intervals of the differences by seed"
)

Runs = Mapping[str, Mapping[int, Mapping[str, Any]]]
"""What was found, by method and seed."""
Skipped = Mapping[str, Sequence[int]]
"""Seeds that are not waited for, by method."""


def comparison_document(
    case: Case,
    runs: Runs,
    *,
    seeds: Sequence[int],
    effort: Effort,
    processes: int,
    skipped: Skipped = NOTHING_SKIPPED,
) -> dict[str, Any]:
    """Return a result file: every run of the methods that have one for each seed not skipped."""
    seeds_of = {name: [s for s in seeds if s not in skipped.get(name, ())] for name in METHODS}
    whole = {
        name: {seed: runs[name][seed] for seed in some}
        for name, some in seeds_of.items()
        if some and all(seed in runs.get(name, {}) for seed in some)
    }
    margin = margins({name: _maps(some) for name, some in whole.items()})
    items = {name: _precisions(some) for name, some in whole.items()}
    return {
        **header(case, seeds=seeds, effort=effort),
        "date": time.strftime("%Y-%m-%d"),
        "machine": _machine(),
        "processes": processes,
        "intervals": INTERVALS,
        "reference_points": case.references(),
        "skipped": {name: list(some) for name, some in skipped.items() if name in whole},
        "methods": {
            name: {
                "summary": {kind: summarised(_of(some, kind)) for kind in KINDS},
                "bootstrap": next(iter(some.values()))["tuned"].get("intervals", {}),
                "margin": _with_items(margin.get(name), name, items, effort.replicates),
                "runs": {str(seed): run for seed, run in some.items()},
            }
            for name, some in whole.items()
        },
    }


def header(case: Case, *, seeds: Sequence[int], effort: Effort) -> dict[str, Any]:
    """Return what runs must have in common to be compared."""
    return {
        "format": FORMAT,
        "collection": case.name,
        "description": case.description,
        "data": case.start(seeds[0]).counts(),
        "protocol": case.protocol,
        "seeds": list(seeds),
        **asdict(effort),
        "tuning": f"{percent(HIDDEN_SHARE)} of the tags that methods see are hidden from trials",
    }


def runs_of(document: Mapping[str, Any]) -> dict[str, dict[int, Mapping[str, Any]]]:
    """Return the runs that a result file holds."""
    return {
        name: {int(seed): run for seed, run in entry["runs"].items()}
        for name, entry in document["methods"].items()
    }


def all_runs(document: Mapping[str, Any]) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    """Yield each run of a result file, those begun for more seeds last: method, seed, run."""
    for name, some in (*runs_of(document).items(), *document.get("begun", {}).items()):
        for seed, run in some.items():
            yield name, int(seed), run


def t_interval(values: Sequence[float]) -> dict[str, float | None]:
    """Return the mean and its 95 % t interval, which one value alone does not have."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return {"mean": mean, "low": None, "high": None}
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    half = float(stats.t.ppf((1 + LEVEL) / 2, len(values) - 1)) * error
    return {"mean": mean, "low": mean - half, "high": mean + half}


def summarised(measured: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, float | None]]:
    """Return the mean of each metric and its interval over the runs; none if a run failed."""
    flat = [_flat(one) for one in measured]
    shared = [key for key in flat[0] if all(one.get(key) is not None for one in flat)]
    return {key: t_interval([one[key] for one in flat]) for key in shared}


def margins(maps: Mapping[str, Mapping[int, float]]) -> dict[str, dict[str, Any]]:
    """Return how far each method is ahead of the best other one, seed by seed.

    The best other one is that with the highest mean, and the same for all seeds, of which those
    that both have count.
    """
    known = {name: values for name, values in maps.items() if values}
    means = {name: float(np.mean(list(values.values()))) for name, values in known.items()}
    found: dict[str, dict[str, Any]] = {}
    for name, values in known.items():
        others = {other: mean for other, mean in means.items() if other != name}
        if others:
            best = max(others, key=lambda other: others[other])
            by_seed = [mine - known[best][s] for s, mine in values.items() if s in known[best]]
            found[name] = {"over": best, "by_seed": by_seed, **t_interval(by_seed)}
    return found


def _machine() -> dict[str, Any]:
    """Describe the machine as jobs use it: with one BLAS thread, whatever this process has."""
    with threadpool_limits(1):
        return machine()


def _of(runs: Mapping[int, Mapping[str, Any]], kind: str) -> list[Mapping[str, Any]]:
    return [run[kind] for run in runs.values()]


def _maps(runs: Mapping[int, Mapping[str, Any]]) -> dict[int, float]:
    """Return the MAP of each seed as tuned; nothing if one of them failed."""
    found = {seed: run["tuned"].get("map") for seed, run in runs.items()}
    return {} if None in found.values() else found


def _precisions(runs: Mapping[int, Mapping[str, Any]]) -> FloatArray | None:
    """Return the mean over seeds of the precision of each landmark, where there are any."""
    found = _of(runs, "tuned")
    told = all("by_item" in one for one in found)
    return np.array([one["by_item"] for one in found]).mean(axis=0) if told else None


def _with_items(
    margin: Mapping[str, Any] | None,
    name: str,
    items: Mapping[str, FloatArray | None],
    replicates: int,
) -> dict[str, Any] | None:
    """Add the interval of a margin over landmarks, on which both methods are measured."""
    if margin is None:
        return None
    mine, other = items[name], items[margin["over"]]
    if mine is None or other is None or not replicates:
        return dict(margin)
    return {**margin, "over_items": list(resampled_interval(mine - other, replicates))}


def _flat(measured: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers by name; those without the image's own owner begin author_aware."""
    aware = measured.get("author_aware", {})
    flat = {key: value for key, value in measured.items() if isinstance(value, float | int)}
    return flat | {f"author_aware_{key}": v for key, v in aware.items() if not isinstance(v, dict)}
