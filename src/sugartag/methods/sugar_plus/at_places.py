"""Products of rows with wide matrices, made only at the few places that are asked for."""

import numpy as np

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.linalg.compiled import compiled, read_only
from sugartag.linalg.entries import Entries


def sparse_products(
    places: SparseRows, columns: SparseRows, values: FloatArray, matrix: FloatArray
) -> FloatArray:
    """Return values x places: sparse rows times a matrix, at some of its columns; float64.

    ``places`` says which columns, row by row. The rows are those of ``columns`` with other values,
    in as many ways as ``values``, float32, has rows. The matrix lies in memory row by row.
    """
    found = np.zeros((len(values), places.nnz))
    wanted, known = (Entries.of(part, part.shape[1]) for part in (places, columns))
    _add_products(wanted, known, read_only(values), read_only(matrix), found)
    return found


def dense_products(places: SparseRows, rows: FloatArray, turned: FloatArray) -> FloatArray:
    """Return dense rows times a matrix, at some of its columns, which are the rows of ``turned``.

    ``places`` says which, row by row. All is float32.
    """
    found = np.empty(places.nnz, dtype=np.float32)
    wanted = Entries.of(places, places.shape[1])
    _multiply_rows(wanted.start, wanted.column, read_only(rows), read_only(turned), found)
    return found


def stored_at(matrix: SparseRows, row: IntArray, places: SparseRows) -> tuple[IntArray, BoolArray]:
    """Return where a matrix stores each of some places, and whether it does.

    Row i of ``places`` is about row ``row[i]`` of the matrix, which has nothing past its last.
    Columns ascend within rows.
    """
    place = np.zeros(places.nnz, dtype=np.int64)
    there = np.zeros(places.nnz, dtype=np.bool_)
    # What is stored is not looked at, and would be converted as a whole.
    start, column = read_only(matrix.indptr.astype(np.int64)), read_only(matrix.indices)
    whose = read_only(row.astype(np.int64))
    _look_for(Entries.of(places, places.shape[1]), start, column, whose, place, there)
    return place, there


@compiled
def inner_product(left: FloatArray, right: FloatArray) -> np.float32:
    """Return the inner product of two rows, float32."""
    total = np.float32(0.0)
    for number in range(len(left)):
        total += left[number] * right[number]
    return total


@compiled
def _multiply_rows(
    start: IntArray, wanted: IntArray, rows: FloatArray, others: FloatArray, found: FloatArray
) -> None:
    for row in range(len(start) - 1):
        for place in range(start[row], start[row + 1]):
            found[place] = inner_product(rows[row], others[wanted[place]])


@compiled
def place_of(wanted: int, column: IntArray, first: int, last: int) -> int:
    """Return where a column is among some that ascend, or where they end if it is not there."""
    low, high = first, last
    while low < high:
        middle = (low + high) // 2
        if column[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < last and column[low] == wanted else last


@compiled
def _add_products(
    wanted: Entries, known: Entries, value: FloatArray, matrix: FloatArray, found: FloatArray
) -> None:
    """Add the products column by column: a row of the matrix stays at hand for all that need it."""
    first, row, entry = _by_column(known, len(matrix))
    for column in range(len(matrix)):
        numbers = matrix[column]
        for turn in range(first[column], first[column + 1]):
            start, stop = wanted.start[row[turn]], wanted.start[row[turn] + 1]
            for way in range(len(value)):
                factor = value[way, entry[turn]]
                for place in range(start, stop):
                    found[way, place] += factor * numbers[wanted.column[place]]


@compiled
def _by_column(known: Entries, n_columns: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return where each column begins, and the rows and numbers of entries in that order."""
    first = np.zeros(n_columns + 1, np.int64)
    for column in known.column:
        first[column + 1] += 1
    first = np.cumsum(first)
    row, entry = np.empty(len(known.column), np.int32), np.empty(len(known.column), np.int32)
    filled = first.copy()
    for number in range(len(known.start) - 1):
        for place in range(known.start[number], known.start[number + 1]):
            turn = filled[known.column[place]]
            row[turn], entry[turn] = number, place
            filled[known.column[place]] += 1
    return first, row, entry


@compiled
def _look_for(
    wanted: Entries,
    start: IntArray,
    column: IntArray,
    whose: IntArray,
    found: IntArray,
    there: BoolArray,
) -> None:
    for row in range(len(wanted.start) - 1):
        if whose[row] + 1 >= len(start):
            continue
        first, last = start[whose[row]], start[whose[row] + 1]
        for place in range(wanted.start[row], wanted.start[row + 1]):
            low = place_of(wanted.column[place], column, first, last)
            if low < last:
                found[place], there[place] = low, True
