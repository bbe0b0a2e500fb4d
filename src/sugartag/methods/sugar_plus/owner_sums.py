"""Sums over the images of each owner."""

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, IntArray, Room, SparseRows
from sugartag.engine.base import row_blocks
from sugartag.linalg.compiled import compiled
from sugartag.linalg.entries import Entries
from sugartag.linalg.sparse_rows import GrowingRows
from sugartag.linalg.threads import run_parts
from sugartag.methods.sugar_plus.by_owner import ByOwner

CHUNKS_AT_ONCE = 8
"""Runs of owners that are held before they are put in their place."""


def sums_by_owner(
    matrix: SparseRows, by_owner: ByOwner, room: Room = np.zeros, *, threads: int = 1
) -> SparseRows:
    """Return owners x columns: the sum over the rows of each owner's images, float64.

    The matrix is one of single precision.
    """
    n_columns, chunks = int(matrix.shape[1]), list(by_owner.chunks())
    found = GrowingRows(n_columns, len(by_owner.start) - 1, matrix.nnz, np.float64, room)
    entries = Entries.of(matrix, n_columns)

    def summed(one: slice) -> SparseRows:
        ((owners, images),) = chunks[one]
        ends = by_owner.start[owners.start : owners.stop + 1] - by_owner.start[owners.start]
        length = int((entries.start[images + 1] - entries.start[images]).sum())
        data, column = np.empty(length), np.empty(length, dtype=np.int32)
        start = _add_sparse_rows(entries, images, ends, n_columns, data, column)
        data, column = data[: start[-1]], column[: start[-1]]
        return sparse.csr_array((data, column, start), shape=(len(ends) - 1, n_columns))

    one_each = row_blocks(len(chunks), 1)
    for some in row_blocks(len(chunks), CHUNKS_AT_ONCE):
        for part in run_parts(summed, one_each[some], threads):
            found.take(part)
    return found.rows()


@compiled
def _add_sparse_rows(
    entries: Entries,
    image: IntArray,
    ends: IntArray,
    n_columns: int,
    found: FloatArray,
    place: IntArray,
) -> IntArray:
    """Fill sparse rows, each the sum of a run of images; return where they begin.

    ``found`` are their entries and ``place`` the columns of these, ascending.
    """
    total, is_there = np.zeros(n_columns), np.zeros(n_columns, dtype=np.bool_)
    start = np.zeros(len(ends), dtype=np.int64)
    filled = 0
    for run in range(len(ends) - 1):
        first = filled
        for one in range(ends[run], ends[run + 1]):
            for entry in range(entries.start[image[one]], entries.start[image[one] + 1]):
                mine = entries.column[entry]
                if not is_there[mine]:
                    is_there[mine] = True
                    place[filled] = mine
                    filled += 1
                total[mine] += entries.value[entry]
        place[first:filled].sort()
        for entry in range(first, filled):
            found[entry] = total[place[entry]]
            total[place[entry]], is_there[place[entry]] = 0.0, False
        start[run + 1] = filled
    return start


@compiled
def rows_summed(
    rows: FloatArray, order: IntArray, start: IntArray, stop: IntArray, found: FloatArray
) -> None:
    """Set the sum of each run of rows, which are taken in an order."""
    total = np.empty(rows.shape[1])
    for run in range(len(start)):
        total[:] = 0.0
        for place in range(start[run], stop[run]):
            for column in range(rows.shape[1]):
                total[column] += rows[order[place], column]
        for column in range(rows.shape[1]):
            found[run, column] = total[column]


@compiled
def add_rows(total: FloatArray, place: IntArray, rows: FloatArray) -> None:
    """Add each row to the one in its place."""
    for row in range(len(place)):
        for column in range(rows.shape[1]):
            total[place[row], column] += rows[row, column]
