"""Sparse columns by row and by column at once, and sums of products of them.

A column's products with all later ones are added in one row of numbers that stays in the cache,
and whoever adds those of some columns needs to know nothing of the others: threads share nothing,
and the sums are the same however many there are.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.engine.base import row_blocks
from sugartag.linalg.compiled import compiled
from sugartag.linalg.threads import run_parts
from sugartag.methods.sugar_plus.evidence import Evidence

ENTRIES_AT_ONCE = 1 << 18
"""Tags whose products are added in one step, about; those of one image or owner together."""
BAND = 256
"""Sparse columns whose products one thread adds at a time."""


class SparseColumns(NamedTuple):
    """Images or owners x sparse columns, then the tags that are not among the columns."""

    start: IntArray
    """Where each row begins, int64."""
    column: IntArray
    """Of each entry, ascending in a row; int32."""
    value: FloatArray
    """Of each entry, float64."""
    top: IntArray
    """Where each column begins in what follows, int64."""
    row: IntArray
    """Of each entry, by column; int32."""
    place: IntArray
    """The entry's number by row, int64."""

    @property
    def n_columns(self) -> int:
        """How many there are, with the tags that are not among the columns."""
        return len(self.top) - 1

    def weighed(self, weight: FloatArray) -> "SparseColumns":
        """Return each row times its weight."""
        return self._replace(value=self.value * np.repeat(weight, np.diff(self.start)))

    def sums(self) -> FloatArray:
        """Return the sum of each column."""
        total = np.bincount(self.column, self.value, minlength=self.n_columns)
        return total.astype(np.float64, copy=False)


def sparse_columns(tags: SparseRows, words: SparseRows, evidence: Evidence) -> SparseColumns:
    """Arrange tags and words as columns: tags that are among them, words, all other tags."""
    if not tags.has_sorted_indices:
        tags = tags.sorted_indices()
    if not words.has_sorted_indices:
        words = words.sorted_indices()
    n_known, n_words = len(evidence.predictor), len(evidence.words)
    outside = outside_of(evidence)
    target = np.empty(evidence.n_tags, dtype=np.int32)
    target[evidence.predictor] = np.arange(n_known)
    target[outside] = n_known + n_words + np.arange(len(outside))
    start, column, value = _arranged(*_plain(tags), *_plain(words), target, n_known)
    shape = len(start) - 1, evidence.n_tags + n_words
    turned = sparse.csr_array((np.arange(len(value)), column, start), shape=shape).tocsc()
    top, row = turned.indptr.astype(np.int64), turned.indices.astype(np.int32)
    return SparseColumns(start, column, value, top, row, turned.data)


def runs(start: IntArray) -> Iterator[slice]:
    """Yield runs of rows with a bounded number of entries, all in the end."""
    first, n_rows = 0, len(start) - 1
    while first < n_rows:
        wanted = int(start[first]) + ENTRIES_AT_ONCE
        last = int(np.searchsorted(start, wanted, side="right")) - 1
        last = min(max(last, first + 1), n_rows)
        yield slice(first, last)
        first = last


def add_products(
    columns: SparseColumns, gram: FloatArray, cross: FloatArray, *, threads: int
) -> None:
    """Add products of sparse columns to the upper half of a Gram matrix."""

    def add(band: slice) -> None:
        _add_products(columns, band.start, band.stop, gram, cross)

    run_parts(add, row_blocks(columns.n_columns - cross.shape[1], BAND), threads)


def add_mixed_products(
    columns: SparseColumns, dense: FloatArray, mixed: FloatArray, *, threads: int = 1
) -> None:
    """Add products of sparse columns with dense ones of the same rows, float32."""
    rows = np.ascontiguousarray(dense, dtype=np.float32)

    def add(band: slice) -> None:
        _add_mixed_products(columns, band.start, band.stop, rows, mixed)

    run_parts(add, row_blocks(columns.n_columns, BAND), threads)


def outside_of(evidence: Evidence) -> IntArray:
    """Return the tags that are not among the columns: too rare to say anything about others."""
    is_outside = np.ones(evidence.n_tags, dtype=np.bool_)
    is_outside[evidence.predictor] = False
    return np.flatnonzero(is_outside)


def _plain(matrix: SparseRows) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the parts of a matrix in the types that loops are compiled for."""
    return (
        np.asarray(matrix.indptr, dtype=np.int64),
        np.asarray(matrix.indices, dtype=np.int32),
        np.asarray(matrix.data, dtype=np.float64),
    )


@compiled
def _arranged(
    tag_start: IntArray,
    tag: IntArray,
    tag_value: FloatArray,
    word_start: IntArray,
    word: IntArray,
    word_value: FloatArray,
    target: IntArray,
    n_known: int,
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return starts, columns and values of rows, each with its columns in ascending order."""
    start = tag_start + word_start - tag_start[0] - word_start[0]
    column = np.empty(start[-1], dtype=np.int32)
    value = np.empty(start[-1], dtype=np.float64)
    place = 0
    for row in range(len(start) - 1):
        for entry in range(tag_start[row], tag_start[row + 1]):
            if target[tag[entry]] < n_known:
                column[place], value[place] = target[tag[entry]], tag_value[entry]
                place += 1
        for entry in range(word_start[row], word_start[row + 1]):
            column[place], value[place] = n_known + word[entry], word_value[entry]
            place += 1
        for entry in range(tag_start[row], tag_start[row + 1]):
            if target[tag[entry]] >= n_known:
                column[place], value[place] = target[tag[entry]], tag_value[entry]
                place += 1
    return start, column, value


@compiled
def _add_products(
    columns: SparseColumns, first: int, last: int, gram: FloatArray, cross: FloatArray
) -> None:
    """Add products of some columns with themselves and all later ones.

    ``gram`` gets those of columns, above the diagonal, and ``cross`` those with other tags.
    """
    n_every = len(columns.top) - 1
    n_sparse = n_every - cross.shape[1]
    found = np.empty(n_every)
    for mine in range(first, last):
        found[mine:] = 0.0
        for entry in range(columns.top[mine], columns.top[mine + 1]):
            place = columns.place[entry]
            value = columns.value[place]
            for other in range(place, columns.start[columns.row[entry] + 1]):
                found[columns.column[other]] += value * columns.value[other]
        for other in range(mine, n_sparse):
            gram[mine, other] += found[other]
        for other in range(n_sparse, n_every):
            cross[mine, other - n_sparse] += found[other]


@compiled
def _add_mixed_products(
    columns: SparseColumns, first: int, last: int, dense: FloatArray, mixed: FloatArray
) -> None:
    """Add products of some sparse columns with dense ones, two rows at a time."""
    for mine in range(first, last):
        entry, end = columns.top[mine], columns.top[mine + 1]
        while entry + 1 < end:
            value, row = columns.value[columns.place[entry]], columns.row[entry]
            second, below = columns.value[columns.place[entry + 1]], columns.row[entry + 1]
            for other in range(dense.shape[1]):
                mixed[mine, other] += value * dense[row, other] + second * dense[below, other]
            entry += 2
        if entry < end:
            value, row = columns.value[columns.place[entry]], columns.row[entry]
            for other in range(dense.shape[1]):
                mixed[mine, other] += value * dense[row, other]
