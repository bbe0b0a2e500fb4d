"""How sure a metric is: the same metric on resampled images.

The Poisson bootstrap: in each replicate every image is there a Poisson(1) number of times,
independently of the others, so that blocks of images are resampled without knowing how many there
are in all.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sugartag._typing import BoolArray, FloatArray, IntArray
from sugartag.errors import CollectionError, SettingsError

ROWS_PER_DRAW = 4096
"""Images whose weights come from one random stream, whoever asks for them."""
STREAM = 0x626F6F74
"""Sets these random streams apart from others made from the same seed."""


@dataclass(frozen=True)
class ResampledSums:
    """What the mean of a number per image is made of, in each replicate; adds up over blocks."""

    total: FloatArray
    """The sum of the numbers, one for each replicate."""
    count: IntArray
    """How many numbers are in that sum."""

    def __add__(self, other: "ResampledSums") -> "ResampledSums":
        """Return the sums over the images of both."""
        if self.total.shape != other.total.shape:
            message = (
                f"sums of {self.total.shape[0]} and {other.total.shape[0]} replicates do not "
                "add up; resample both equally often"
            )
            raise CollectionError(message)
        return ResampledSums(self.total + other.total, self.count + other.count)

    def mean(self) -> FloatArray:
        """Return the mean of each replicate; NaN where it holds no number."""
        means = np.full(self.total.shape, np.nan)
        np.divide(self.total, self.count, out=means, where=self.count > 0)
        return means


def poisson_weights(rng_seed: int, start: int, stop: int, replicates: int) -> npt.NDArray[np.uint8]:
    """Return how often each of the images ``start`` to ``stop`` is in each replicate.

    Replicates x images. An image's weights depend on the seed and the image alone: asking in
    other blocks gives the same numbers, and so does asking for more replicates, after the first.
    """
    if rng_seed < 0 or replicates < 0 or not 0 <= start <= stop:
        message = (
            f"no weights with seed {rng_seed} for images {start} to {stop}, {replicates} times; "
            "none may be negative, nor the range end before it starts"
        )
        raise SettingsError(message)
    weights = np.empty((replicates, stop - start), dtype=np.uint8)
    for draw in range(start // ROWS_PER_DRAW, -(-stop // ROWS_PER_DRAW)):
        first = draw * ROWS_PER_DRAW
        rng = np.random.default_rng(np.random.SeedSequence([rng_seed, STREAM, draw]))
        drawn = rng.poisson(1.0, size=(replicates, ROWS_PER_DRAW))
        here = slice(max(start, first), min(stop, first + ROWS_PER_DRAW))
        weights[:, here.start - start : here.stop - start] = drawn[
            :, here.start - first : here.stop - first
        ]
    return weights


def resampled_sums(values: FloatArray, weights: IntArray) -> ResampledSums:
    """Return the sums, in each replicate, of a number per image; NaN counts as none.

    ``weights`` is replicates x images. The mean of the row-wise average precisions is MiAP.
    """
    if values.ndim != 1 or weights.ndim != 2 or weights.shape[1] != len(values):
        raise _unlike(weights, values)
    known = ~np.isnan(values)
    kept = weights[:, known].astype(np.float64)  # small whole numbers: exact, and BLAS sums them
    return ResampledSums(kept @ values[known].astype(np.float64), kept.sum(axis=1).astype(np.int64))


def weighted_average_precision(
    scores: FloatArray, relevant: BoolArray, weights: IntArray
) -> FloatArray:
    """Return the average precision of each replicate of the items, looking up steps once.

    ``weights`` (replicates x items) are whole numbers saying how often each item is there. Equal
    scores are one step, NaN is left out, and a replicate without a relevant item gives NaN.
    """
    scores, relevant = np.asarray(scores), np.asarray(relevant, dtype=np.bool_)
    if relevant.shape != scores.shape:
        message = f"scores have shape {scores.shape} and relevant has {relevant.shape}; match them"
        raise CollectionError(message)
    if scores.ndim != 1 or weights.ndim != 2 or weights.shape[1] != len(scores):
        raise _unlike(weights, scores)
    positive = relevant & ~np.isnan(scores)
    precisions = np.full(len(weights), np.nan)

    # Precision matters only at scores of positives. Step j is the items from the j-th of these
    # scores up to the next; step 0, which no count includes, is what is below them all or NaN.
    levels = np.unique(scores[positive])
    step = np.where(np.isnan(scores), 0, np.searchsorted(levels, scores, side="right"))
    step_of_positive = step[positive]
    for replicate, weight in enumerate(weights):
        new_hits = _per_step(step_of_positive, weight[positive], len(levels))
        hits = _from_the_top(new_hits)
        if hits.size and hits[0] > 0:
            at_least = _from_the_top(_per_step(step, weight, len(levels)))
            sums = np.sum(new_hits * hits / np.maximum(at_least, 1.0))
            precisions[replicate] = sums / hits[0]
    return precisions


def interval(samples: FloatArray, level: float = 0.95) -> tuple[float, float]:
    """Return the percentile interval that holds the share ``level`` of the samples.

    NaN samples, replicates in which the metric has no value, are left out.
    """
    if not 0.0 < level < 1.0:
        message = f"the level is {level}; pass a share between 0 and 1, such as 0.95"
        raise SettingsError(message)
    known = samples[~np.isnan(samples)]
    if not known.size:
        return np.nan, np.nan
    low, high = np.quantile(known.astype(np.float64), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def centred_interval(value: float, samples: FloatArray) -> tuple[float, float]:
    """Return the 95% interval of the samples, moved so that their mean is the value.

    Repeated images stand side by side in a ranking, which lifts the average precision of nearly
    every replicate above that of the images as they are. That lift is no uncertainty.
    """
    known = samples[~np.isnan(samples)]
    return interval(known - known.mean() + value) if known.size else (np.nan, np.nan)


def _per_step(step: IntArray, weight: IntArray, n_steps: int) -> FloatArray:
    """Return the weight in each step but step 0; sums of whole numbers this small are exact."""
    sums = np.bincount(step, weight, minlength=n_steps + 1)[1:]
    return np.asarray(sums, dtype=np.float64)


def _from_the_top(steps: FloatArray) -> FloatArray:
    """Return the sum of each step and all above it."""
    sums: FloatArray = np.cumsum(steps[::-1])[::-1]
    return sums


def _unlike(weights: IntArray, items: FloatArray) -> CollectionError:
    return CollectionError(
        f"weights have shape {weights.shape} and the items {items.shape}; "
        "pass a replicates x items array and one number per item"
    )
