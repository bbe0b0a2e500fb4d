"""Sparse rows times a dense matrix, compiled: several rows of the matrix are added in one go.

That reads and writes the totals less often. The loops are kept so small that they are compiled to
vectors, which is not done where too many arrays might overlap.
"""

from sugartag._typing import FloatArray
from sugartag.linalg.compiled import compiled
from sugartag.linalg.entries import Entries

COLUMNS_AT_ONCE = 1_024
"""Of a matrix that many rows are multiplied with: this many of all its rows fit a cache."""


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
