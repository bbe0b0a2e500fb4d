"""Products of rows with wide matrices, made only at the few places that are asked for.

Rows that ask for about equally many places are taken together, the shorter ones filled up, so
that a step is a few operations on arrays that stay in a processor's cache.
"""

from collections.abc import Iterator

import numpy as np

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.engine.base import row_blocks
from sugartag.linalg.sparse_rows import row_number_of_entries

NUMBERS_AT_ONCE = 1 << 15
"""Numbers of a matrix that are looked up in one step."""


def sparse_products(
    places: SparseRows, columns: SparseRows, values: FloatArray, matrix: FloatArray
) -> FloatArray:
    """Return values x places: sparse rows times a matrix, at some of its columns; float32.

    ``places`` says which columns, row by row. The rows are those of ``columns`` with other values,
    in as many ways as ``values`` has rows. The matrix lies in memory row by row.

    Its numbers are looked up one by one. That is as fast as going through whole rows of it even
    for rows that ask for hundreds of places, as these lie close together.
    """
    found = np.zeros((len(values), places.nnz), dtype=np.float32)
    # One index for row and column at once is looked up in half the time of two.
    numbers, width = matrix.reshape(-1), matrix.shape[1]
    for rows, place, asked in _steps(places, NUMBERS_AT_ONCE, power=2):
        entry, there = _filled_up(columns, rows)
        left = np.where(there, values[:, entry], np.float32(0)).transpose(1, 0, 2)
        start = columns.indices[entry].astype(np.int64) * width
        wanted = places.indices[place][:, None, :]
        products = np.zeros((len(rows), len(values), place.shape[1]), dtype=np.float32)
        for part in row_blocks(entry.shape[1], max(1, NUMBERS_AT_ONCE // place.size)):
            products += left[:, :, part] @ numbers.take(start[:, part, None] + wanted)
        found[:, place[asked]] = products.transpose(1, 0, 2)[:, asked]
    return found


def dense_products(
    places: SparseRows, rows: FloatArray, turned: FloatArray, *, at_once: int
) -> FloatArray:
    """Return dense rows times a matrix, at some of its columns, which are the rows of ``turned``.

    ``places`` says which, row by row; so many are worked on in one step. Float32.
    """
    found = np.zeros(places.nnz, dtype=np.float32)
    for some, place, asked in _steps(places, at_once):
        products = turned.take(places.indices[place], axis=0) @ rows[some][:, :, None]
        found[place[asked]] = products[asked][:, 0]
    return found


def inner_products(
    left: FloatArray, right: FloatArray, row: IntArray, *, at_once: int
) -> FloatArray:
    """Return the inner product of each row with a row of another matrix; float32."""
    found = np.empty(len(left), dtype=np.float32)
    for part in row_blocks(len(left), at_once):
        found[part] = np.einsum("ij,ij->i", left[part], right.take(row[part], axis=0))
    return found


def stored_at(matrix: SparseRows, row: IntArray, places: SparseRows) -> tuple[IntArray, BoolArray]:
    """Return where a matrix stores each of some places, and whether it does.

    Row i of ``places`` is about row ``row[i]`` of the matrix, which has nothing past its last.
    Columns ascend within rows: each place is looked for by halving, all at the same time, so that
    no more memory is needed than for the places.
    """
    ends = np.append(matrix.indptr, matrix.nnz)
    whose = np.minimum(row, matrix.shape[0])
    image, wanted = row_number_of_entries(places), places.indices
    low, last = ends[whose][image], ends[whose + 1][image]
    if not matrix.nnz:
        return np.zeros(len(low), dtype=np.int64), np.zeros(len(low), dtype=np.bool_)
    high = last
    for _ in range(int(np.max(last - low, initial=0)).bit_length()):
        middle = np.minimum((low + high) // 2, matrix.nnz - 1)
        less = (middle < high) & (matrix.indices[middle] < wanted)
        low, high = np.where(less, middle + 1, low), np.where(less, high, middle)
    there = low < last
    there &= matrix.indices[np.minimum(low, matrix.nnz - 1)] == wanted
    return np.where(there, low, 0), there


def _steps(
    places: SparseRows, most: int, power: int = 1
) -> Iterator[tuple[IntArray, IntArray, BoolArray]]:
    """Yield rows of about as many entries each: their numbers, and where their entries are."""
    counts = np.diff(places.indptr)
    order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    start = 0
    while start < len(order):
        stop = start + max(1, most // int(counts[order[start]]) ** power)
        yield order[start:stop], *_filled_up(places, order[start:stop])
        start = stop


def _filled_up(matrix: SparseRows, rows: IntArray) -> tuple[IntArray, BoolArray]:
    """Return where the entries of some rows are, and which of these places are no filling."""
    first = matrix.indptr[rows][:, None]
    counts = matrix.indptr[rows + 1][:, None] - first
    within = np.arange(counts.max())
    there = within < counts
    return np.where(there, first + within, 0), there
