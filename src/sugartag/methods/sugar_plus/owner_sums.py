"""Sums over the images of each owner."""

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, IntArray, Room, SparseRows
from sugartag.linalg.compiled import compiled
from sugartag.linalg.sparse_rows import GrowingRows
from sugartag.methods.sugar_plus.by_owner import ByOwner


def sums_by_owner(
    matrix: SparseRows, owner: IntArray, n_owners: int, room: Room = np.zeros
) -> SparseRows:
    """Return owners x columns: the sum over the rows of each owner's images, float64."""
    found = GrowingRows(matrix.shape[1], n_owners, matrix.nnz, np.float64, room)
    for owners, images in ByOwner.of(owner, n_owners).chunks():
        mine = matrix[images]
        place = np.searchsorted(owner[images], np.arange(owners.start, owners.stop + 1))
        data, column, start = _sparse_rows_summed(
            np.asarray(mine.indptr, dtype=np.int64)[place],
            np.asarray(mine.indices, dtype=np.int32),
            np.asarray(mine.data, dtype=np.float64),
            matrix.shape[1],
        )
        shape = owners.stop - owners.start, matrix.shape[1]
        found.take(sparse.csr_array((data, column, start), shape=shape))
    return found.rows()


@compiled
def _sparse_rows_summed(
    start: IntArray, column: IntArray, value: FloatArray, n_columns: int
) -> tuple[FloatArray, IntArray, IntArray]:
    """Return runs of entries as sparse rows, those of a column added; columns ascend."""
    total, is_there = np.zeros(n_columns), np.zeros(n_columns, dtype=np.bool_)
    found, place = np.empty(len(value)), np.empty(len(value), dtype=np.int32)
    ends = np.zeros(len(start), dtype=np.int64)
    filled = 0
    for run in range(len(start) - 1):
        first = filled
        for entry in range(start[run], start[run + 1]):
            mine = column[entry]
            if not is_there[mine]:
                is_there[mine] = True
                place[filled] = mine
                filled += 1
            total[mine] += value[entry]
        place[first:filled].sort()
        for entry in range(first, filled):
            found[entry] = total[place[entry]]
            total[place[entry]], is_there[place[entry]] = 0.0, False
        ends[run + 1] = filled
    return found[:filled], place[:filled], ends


@compiled
def rows_summed(rows: FloatArray, order: IntArray, start: IntArray, stop: IntArray) -> FloatArray:
    """Return the sum of each run of rows, which are taken in an order; float32."""
    found = np.empty((len(start), rows.shape[1]), dtype=np.float32)
    total = np.empty(rows.shape[1])
    for run in range(len(start)):
        total[:] = 0.0
        for place in range(start[run], stop[run]):
            for column in range(rows.shape[1]):
                total[column] += rows[order[place], column]
        for column in range(rows.shape[1]):
            found[run, column] = total[column]
    return found


@compiled
def add_rows(total: FloatArray, place: IntArray, rows: FloatArray) -> None:
    """Add each row to the one in its place."""
    for row in range(len(place)):
        for column in range(rows.shape[1]):
            total[place[row], column] += rows[row, column]
