"""Sparse rows times a dense matrix, compiled: several rows of the matrix are added in one go.

That reads and writes the totals less often. The loops are kept so small that they are compiled to
vectors, which is not done where too many arrays might overlap.
"""

import numpy as np

from sugartag._typing import FloatArray
from sugartag.linalg.compiled import compiled
from sugartag.linalg.entries import Entries

COLUMNS_AT_ONCE = 1_024
"""Of a matrix that many rows are multiplied with: so many of all its rows fit a cache."""
NONE = 2**62
"""Past every column."""


@compiled
def add_products(entries: Entries, matrix: FloatArray, total: FloatArray) -> None:
    """Add sparse rows times a matrix to a matrix of as many rows."""
    for first in range(0, total.shape[1], COLUMNS_AT_ONCE):
        some = slice(first, min(first + COLUMNS_AT_ONCE, total.shape[1]))
        for row in range(len(total)):
            _add_product(entries, row, matrix, some, total[row, some])


@compiled
def _add_product(
    entries: Entries, row: int, matrix: FloatArray, some: slice, total: FloatArray
) -> None:
    at, end = entries.start[row], entries.start[row + 1]
    column, value = entries.column, entries.value
    while at + 3 < end:
        a, b = matrix[column[at], some], matrix[column[at + 1], some]
        c, d = matrix[column[at + 2], some], matrix[column[at + 3], some]
        p, q, r, s = value[at], value[at + 1], value[at + 2], value[at + 3]
        for place in range(len(total)):
            total[place] += p * a[place] + q * b[place] + r * c[place] + s * d[place]
        at += 4
    while at < end:
        a, p = matrix[column[at], some], value[at]
        for place in range(len(total)):
            total[place] += p * a[place]
        at += 1


@compiled
def add_both_products(
    one: Entries,
    other: Entries,
    row: int,
    matrix: FloatArray,
    total: FloatArray,
    other_total: FloatArray,
) -> None:
    """Add a row of each of two sparse matrices, times a third one, to two totals.

    Both have mostly the same columns: where they ascend, each row of the third is read once.
    """
    at, end = one.start[row], one.start[row + 1]
    other_at, other_end = other.start[row], other.start[row + 1]
    values, column = np.zeros((2, 3), np.float32), np.zeros(3, np.int64)
    while at < end or other_at < other_end:
        values[:] = 0
        for number in range(3):
            first = one.column[at] if at < end else NONE
            second = other.column[other_at] if other_at < other_end else NONE
            if first < NONE or second < NONE:
                column[number] = min(first, second)
            if first < NONE and first <= second:
                values[0, number] = one.value[at]
                at += 1
            if second < NONE and second <= first:
                values[1, number] = other.value[other_at]
                other_at += 1
        a, b, c = matrix[column[0]], matrix[column[1]], matrix[column[2]]
        p, q, r = values[0]
        s, t, u = values[1]
        for place in range(len(total)):
            x, y, z = a[place], b[place], c[place]
            total[place] += p * x + q * y + r * z
            other_total[place] += s * x + t * y + u * z
