"""Intervals of what was measured, and of how far apart two measurements are.

That of a difference of average Fs is the wider end, on both sides, of two: images resampled, each
method on the same, and all choices of random numbers together; and concepts resampled.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from sugartag._typing import FloatArray
from sugartag.evaluation.bootstrap import interval
from sugartag.evaluation.verdicts import wilson_interval

REPLICATES = 1000
"""Resamplings of concepts and of queries, which are cheap."""
RESAMPLING = 0x71756572
"""Tells their random numbers from others of the same seed."""
Found: TypeAlias = dict[str, Any]
Points: TypeAlias = Sequence[Mapping[str, Any]]
"""One measurement of the same settings for each seed."""


def failure(points: Points) -> str | None:
    """Return why a measurement could not be made; None if all were."""
    return next((one["failed"] for one in points if "failed" in one), None)


def mean_f(points: Points) -> float:
    """Return the mean over seeds."""
    return float(np.mean([one["f"] for one in points]))


def pooled(points: Points) -> dict[str, Any]:
    """Return the mean over seeds; the interval holds both images and seeds."""
    samples = [
        np.array(one["replicates"]) - np.mean(one["replicates"]) + one["f"] for one in points
    ]
    return {
        "f": mean_f(points),
        "interval": list(interval(np.concatenate(samples))),
        "by_seed": [one["f"] for one in points],
    }


def gap(
    some: Sequence[Points], others: Sequence[Points], seed: int, *, concepts: bool = True
) -> dict[str, Any]:
    """Return how far apart the mean Fs of some and of other methods are."""

    def mean(methods: Sequence[Points], at: int, key: str) -> FloatArray:
        # Who has fewer seeds needs no more: it is the first that stands for all.
        rows = [points[at if at < len(points) else 0][key] for points in methods]
        means: FloatArray = np.array(rows, dtype=np.float64).mean(axis=0)
        return means

    by_seed: list[FloatArray] = []
    gaps = []
    for at in range(max(len(points) for points in (*some, *others))):
        gap = float(mean(some, at, "f") - mean(others, at, "f"))
        samples = mean(some, at, "replicates") - mean(others, at, "replicates")
        by_seed.append(samples - samples.mean() + gap)
        gaps.append(gap)
    ends = [interval(np.concatenate(by_seed))]
    if concepts:
        apart = mean(some, 0, "concept_f") - mean(others, 0, "concept_f")
        known = apart[~np.isnan(apart)]
        ends.append(interval(_resampled_means(known, seed) - known.mean() + np.mean(gaps)))
    low, high = min(one[0] for one in ends), max(one[1] for one in ends)
    return {"f": float(np.mean(gaps)), "interval": [low, high]}


def _resampled_means(values: FloatArray, seed: int) -> FloatArray:
    """Return the means of resampled rows."""
    rng = np.random.default_rng([seed, RESAMPLING])
    drawn = rng.integers(len(values), size=(REPLICATES, len(values)))
    means: FloatArray = values[drawn].mean(axis=1)
    return means


def share(count: int, whole: int) -> list[float]:
    """Return the interval of a share of the concepts."""
    ends = wilson_interval(np.array([count]), np.array([whole]))
    return [float(one[0]) for one in ends]


def map_curve(values: FloatArray, seed: int) -> dict[str, Any]:
    """Return the mean over queries at each length, with intervals from resampling the queries."""
    samples = _resampled_means(values, seed)  # of queries x lengths
    ends = [list(interval(samples[:, place])) for place in range(values.shape[1])]
    return {"map": values.mean(axis=0).tolist(), "intervals": ends}
