"""The best tags of each image, best first, the same ones on every machine."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.errors import CollectionError, SettingsError

CELLS_AT_ONCE = 1 << 18
"""Scores looked at in one step: few enough to stay in the processor's cache."""
CROWD = 8
"""Times ``k``: from this many candidates on, a row is cut before it is sorted."""


@dataclass(frozen=True)
class TopTags:
    """The chosen tags of each row, best first.

    Rows may hold fewer tags than were asked for, so they are stored end to end: row ``i`` is
    ``tags[starts[i]:starts[i + 1]]``.
    """

    starts: IntArray
    """Where each row begins, and the end of the last one: rows + 1 numbers."""
    tags: IntArray
    scores: FloatArray
    """The score of each chosen tag, as it was given."""

    @property
    def n_rows(self) -> int:
        """How many rows were ranked, those left without a tag included."""
        return len(self.starts) - 1

    def of(self, row: int) -> IntArray:
        """Return the tags of one row, best first."""
        if not 0 <= row < self.n_rows:
            message = f"row {row} was not ranked; the rows are 0 to {self.n_rows - 1}"
            raise IndexError(message)
        return self.tags[self.starts[row] : self.starts[row + 1]]

    def as_rows(self, n_tags: int) -> SparseRows:
        """Return the choice as a set per row: a rows x ``n_tags`` array of true entries."""
        chosen = np.ones(len(self.tags), dtype=np.bool_)
        rows = sparse.csr_array(
            (chosen, self.tags.copy(), self.starts.copy()), shape=(self.n_rows, n_tags)
        )
        rows.sort_indices()
        return rows


def top_tags(
    scores: FloatArray,
    k: int,
    *,
    floor: float = -np.inf,
    allowed: BoolArray | None = None,
) -> TopTags:
    """Return the ``k`` best tags of each row of ``scores`` (rows x tags).

    Only tags whose score is above ``floor``, and not equal to it, are chosen; of equal scores the
    lower tag index goes first. NaN is never chosen. ``allowed`` says which tags may be chosen,
    once for all rows (one per tag) or for each row (rows x tags).
    """
    scores = np.asarray(scores)
    if not np.issubdtype(scores.dtype, np.floating):
        scores = scores.astype(np.float64)
    permitted = _checked(scores, k, floor, allowed)

    n_rows, n_tags = scores.shape
    step = max(1, CELLS_AT_ONCE // max(n_tags, 1))
    counts = np.zeros(n_rows + 1, dtype=np.int64)
    tags: list[IntArray] = [np.empty(0, dtype=np.int64)]
    values: list[FloatArray] = [np.empty(0, dtype=scores.dtype)]
    for start in range(0, n_rows, step):
        rows = slice(start, start + step)
        may = permitted if permitted is None or permitted.ndim == 1 else permitted[rows]
        row, tag = _chosen(scores[rows], min(k, n_tags), floor, may)
        counts[1 + start : 1 + start + step] = np.bincount(row, minlength=len(scores[rows]))
        tags.append(tag)
        values.append(scores[start + row, tag])
    return TopTags(np.cumsum(counts), np.concatenate(tags), np.concatenate(values))


def _checked(
    scores: FloatArray, k: int, floor: float, allowed: BoolArray | None
) -> BoolArray | None:
    if scores.ndim != 2:
        message = f"scores have {scores.ndim} dimensions; pass a rows x tags array"
        raise CollectionError(message)
    if k < 0:
        message = f"k is {k}; ask for 0 tags or more"
        raise SettingsError(message)
    if np.isnan(floor):
        message = "the floor is nan; pass a number, or -inf to choose from every score"
        raise SettingsError(message)
    if allowed is None:
        return None
    permitted = np.asarray(allowed, dtype=np.bool_)
    if permitted.shape not in {scores.shape, scores.shape[1:]}:
        message = (
            f"allowed has shape {permitted.shape}; pass one value per tag, {scores.shape[1:]}, "
            f"or one per score, {scores.shape}"
        )
        raise CollectionError(message)
    return permitted


def _chosen(
    scores: FloatArray, k: int, floor: float, allowed: BoolArray | None
) -> tuple[IntArray, IntArray]:
    """Return row and tag of each choice, in the order of rows and then of rank."""
    if k == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    lowest = scores.dtype.type(floor)
    # fmax prefers a number to NaN: all that may not be chosen now scores exactly the floor.
    usable = np.fmax(scores, lowest)
    if allowed is not None:
        usable = np.where(allowed, usable, lowest)

    bound = _bound_of_rank_k(usable, k)
    near = usable >= bound
    if (bound == lowest).any():
        near &= usable > lowest
    crowded = np.flatnonzero(np.count_nonzero(near, axis=1) > CROWD * k)
    if crowded.size:
        near[crowded] &= _first_k(usable[crowded], k)

    row, tag = np.divmod(np.flatnonzero(near), scores.shape[1])
    order = np.lexsort((-usable[row, tag], row))  # stable: equals stay in the order of tags
    kept = _place_in_row(row) < k
    return row[kept], tag[order][kept]


def _bound_of_rank_k(usable: FloatArray, k: int) -> FloatArray:
    """Return, for each row, a value that at least ``k`` of its scores reach, and few more.

    The k-th best of the maxima of disjoint groups is one, at the price of a single pass; it
    does not suffer, as partitioning a whole row would, when most scores are equal.
    """
    n_rows, n_tags = usable.shape
    width = max(1, n_tags // (CROWD * k))
    n_groups = n_tags // width
    grouped = usable[:, : width * n_groups].reshape(n_rows, width, n_groups)
    bound: FloatArray = np.partition(grouped.max(axis=1), -k, axis=1)[:, -k, None]
    return bound


def _first_k(usable: FloatArray, k: int) -> BoolArray:
    """Mark the ``k`` best of each row, the lower tag index first among equals."""
    at_rank_k = np.partition(usable, -k, axis=1)[:, -k, None]
    above = usable > at_rank_k
    equal = usable == at_rank_k
    room = k - np.count_nonzero(above, axis=1, keepdims=True)
    marked: BoolArray = above | (equal & (np.cumsum(equal, axis=1, dtype=np.int32) <= room))
    return marked


def _place_in_row(row: IntArray) -> IntArray:
    """Return how many entries of the same row come before each; ``row`` is sorted."""
    return np.arange(len(row)) - np.searchsorted(row, row)
