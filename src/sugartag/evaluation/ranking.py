"""How well scores put the relevant items first.

Items are whatever is ranked: all images for one concept (a column of scores), or all concepts for
one image (a row). Everywhere a NaN score means that the item is left out of the ranking, and the
answer is NaN when no relevant item is in it: whether that counts as nothing or as zero is for the
caller to say.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from sugartag._typing import BoolArray, FloatArray
from sugartag.errors import CollectionError, SettingsError

CELLS_AT_ONCE = 1 << 20
"""Scores compared in one step of the row-wise functions; bounds their memory."""
FEW_POSITIVES = 32
"""Positives per row up to which counting what scores higher is cheaper than sorting."""


def average_precision(scores: FloatArray, relevant: BoolArray) -> float:
    """Return the average precision of one ranking; equal scores are one step of it.

    The same number as scikit-learn's ``average_precision_score``.
    """
    scores, relevant = _matching(scores, relevant, n_dimensions=1)
    positives = np.sort(scores[relevant & ~np.isnan(scores)])
    if not positives.size:
        return np.nan

    # NaN sorts last, so the numbers come first; positions count what scores lower.
    ranked = np.sort(scores)
    n_ranked = len(ranked) - np.count_nonzero(np.isnan(ranked))
    at_least = n_ranked - np.searchsorted(ranked[:n_ranked], positives)
    hits = len(positives) - np.searchsorted(positives, positives)
    return float(np.mean(hits / at_least))


def average_precision_rows(scores: FloatArray, relevant: BoolArray) -> FloatArray:
    """Return the average precision of each row of ``scores``, as :func:`average_precision`."""
    scores, relevant = _matching(scores, relevant, n_dimensions=2)
    n_rows, n_items = scores.shape
    precisions = np.full(n_rows, np.nan)
    step = max(1, CELLS_AT_ONCE // max(n_items, 1))
    for start in range(0, n_rows, step):
        rows = slice(start, start + step)
        positive = relevant[rows] & ~np.isnan(scores[rows])
        per_row = np.count_nonzero(positive, axis=1)
        by = _by_counting if per_row.sum() <= FEW_POSITIVES * len(per_row) else _by_sorting
        known = per_row > 0
        sums = by(scores[rows], positive)
        precisions[rows][known] = sums[known] / per_row[known]
    return precisions


def ndcg(scores: FloatArray, relevant: BoolArray, k: int = 20) -> float:
    """Return the normalised discounted cumulative gain of the first ``k`` places.

    The same number as scikit-learn's ``ndcg_score``: equal scores share their places' discounts.
    """
    scores, relevant = _matching(scores, relevant, n_dimensions=1)
    if k < 1:
        message = f"k is {k}; NDCG needs at least one place"
        raise SettingsError(message)
    n_relevant = int(np.count_nonzero(relevant & ~np.isnan(scores)))
    if not n_relevant:
        return np.nan

    head, is_hit = _head(scores, relevant, k)
    _, group, sizes = np.unique(-head, return_inverse=True, return_counts=True)
    hits = np.bincount(group, weights=is_hit)
    discounts = np.concatenate(([0.0], np.cumsum(1.0 / np.log2(np.arange(2, k + 2)))))
    discounts_to_end = discounts[np.minimum(np.cumsum(sizes), k)]
    gain = np.sum(hits / sizes * np.diff(discounts_to_end, prepend=0.0))
    return float(gain / discounts[min(n_relevant, k)])


def average_precision_at(
    scores: FloatArray,
    relevant: BoolArray,
    lengths: Sequence[int],
    *,
    divisor: Literal["retrieved", "all"],
) -> FloatArray:
    """Return the average precision of the first T items, for each T of ``lengths``.

    ``"retrieved"`` divides by the relevant items among the first T, as the paper does, so that a
    single hit in first place is perfect; ``"all"`` divides by min(relevant items, T). A list
    without a hit is worth 0. Here equal scores are ranked by position in the arrays, not as one
    step, because a list of T items has to end somewhere.
    """
    scores, relevant = _matching(scores, relevant, n_dimensions=1)
    wanted = np.asarray(lengths, dtype=np.int64)
    if not wanted.size or wanted.min() < 1:
        message = f"the list lengths are {list(lengths)}; pass one or more, each at least 1"
        raise SettingsError(message)
    if divisor not in {"retrieved", "all"}:
        message = f"unknown divisor {divisor!r}; choose 'retrieved' or 'all'"
        raise SettingsError(message)
    n_relevant = np.count_nonzero(relevant & ~np.isnan(scores))
    if not n_relevant:
        return np.full(wanted.shape, np.nan)

    head, is_hit = _head(scores, relevant, int(wanted.max()))
    is_hit = is_hit[np.argsort(-head, kind="stable")]
    hits = np.cumsum(is_hit)
    sums = np.cumsum(np.where(is_hit, hits / np.arange(1, len(hits) + 1), 0.0))
    last = np.minimum(wanted, len(hits)) - 1
    divisors = hits[last] if divisor == "retrieved" else np.minimum(n_relevant, wanted)
    return np.asarray(sums[last] / np.maximum(divisors, 1), dtype=np.float64)


def _matching(
    scores: FloatArray, relevant: BoolArray, *, n_dimensions: int
) -> tuple[FloatArray, BoolArray]:
    scores = np.asarray(scores)
    if not np.issubdtype(scores.dtype, np.floating):
        scores = scores.astype(np.float64)
    relevant = np.asarray(relevant, dtype=np.bool_)
    if scores.ndim != n_dimensions or relevant.shape != scores.shape:
        message = (
            f"scores have shape {scores.shape} and relevant has {relevant.shape}; "
            f"pass two arrays of one shape with {n_dimensions} dimension(s)"
        )
        raise CollectionError(message)
    return scores, relevant


def _by_counting(scores: FloatArray, positive: BoolArray) -> FloatArray:
    """Return the sum of precisions at the positives of each row, one positive at a time."""
    n_rows, n_items = scores.shape
    row, item = np.nonzero(positive)
    precisions = np.empty(len(row))
    step = max(1, CELLS_AT_ONCE // n_items)
    for start in range(0, len(row), step):
        part = slice(start, start + step)
        reached = scores[row[part]] >= scores[row[part], item[part], None]  # never by a NaN
        at_least = np.count_nonzero(reached, axis=1)
        hits = np.count_nonzero(reached & positive[row[part]], axis=1)
        precisions[part] = hits / at_least
    sums: FloatArray = np.bincount(row, weights=precisions, minlength=n_rows).astype(np.float64)
    return sums


def _by_sorting(scores: FloatArray, positive: BoolArray) -> FloatArray:
    """Return the sum of precisions at the positives of each row, from the sorted rows."""
    n_items = scores.shape[1]
    order = np.argsort(-scores, axis=1)  # NaN goes last
    ranked = np.take_along_axis(scores, order, axis=1)
    is_hit = np.take_along_axis(positive, order, axis=1)

    # The place of the last item of equal score: the nearest step at or after each place.
    place = np.broadcast_to(np.arange(n_items), ranked.shape)
    ends = np.full(ranked.shape, n_items - 1)
    np.copyto(ends[:, :-1], place[:, :-1], where=ranked[:, :-1] != ranked[:, 1:])
    ends = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    hits = np.take_along_axis(np.cumsum(is_hit, axis=1), ends, axis=1)
    sums: FloatArray = np.sum(np.where(is_hit, hits / (ends + 1), 0.0), axis=1)
    return sums


def _head(scores: FloatArray, relevant: BoolArray, k: int) -> tuple[FloatArray, BoolArray]:
    """Return all items that score at least what the k-th best does, in their own order."""
    ranked = ~np.isnan(scores)
    n_ranked = np.count_nonzero(ranked)
    if k < n_ranked:
        # NaN sorts last, after the n_ranked numbers.
        ranked = scores >= np.partition(scores, n_ranked - k)[n_ranked - k]
    return scores[ranked], relevant[ranked]
