"""Products of rows with wide matrices, made only at the few places that are asked for."""

import numpy as np
from scipy import sparse

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
    entries = np.arange(columns.nnz), columns.indices, columns.indptr
    turned = sparse.csr_array(sparse.csr_array(entries, shape=columns.shape).T)
    wanted, by_column = (Entries.of(part, part.shape[1]) for part in (places, turned))
    value = read_only(values.take(turned.data, axis=1))
    _add_products(wanted, by_column, value, read_only(matrix), found)
    return found


def dense_products(places: SparseRows, rows: FloatArray, turned: FloatArray) -> FloatArray:
    """Return dense rows times a matrix, at some of its columns, which are the rows of ``turned``.

    ``places`` says which, row by row. All is float32.
    """
    found = np.empty(places.nnz, dtype=np.float32)
    wanted = Entries.of(places, places.shape[1])
    _multiply_rows(wanted.start, wanted.column, read_only(rows), read_only(turned), found)
    return found


def inner_products(left: FloatArray, right: FloatArray, row: IntArray) -> FloatArray:
    """Return the inner product of each row with a row of another matrix; all is float32."""
    found = np.empty(len(left), dtype=np.float32)
    each, other = read_only(np.arange(len(left) + 1)), read_only(row.astype(np.int32))
    _multiply_rows(each, other, read_only(left), read_only(right), found)
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
def _add_products(
    wanted: Entries, turned: Entries, value: FloatArray, matrix: FloatArray, found: FloatArray
) -> None:
    """Add the products column by column: a row of the matrix stays at hand for all that need it.

    ``turned`` has a row for each column, and a column for each row.
    """
    for column in range(len(turned.start) - 1):
        numbers = matrix[column]
        for entry in range(turned.start[column], turned.start[column + 1]):
            row = turned.column[entry]
            for way in range(len(value)):
                for place in range(wanted.start[row], wanted.start[row + 1]):
                    found[way, place] += value[way, entry] * numbers[wanted.column[place]]


@compiled
def _multiply_rows(
    start: IntArray, wanted: IntArray, rows: FloatArray, others: FloatArray, found: FloatArray
) -> None:
    for row in range(len(start) - 1):
        left = rows[row]
        for place in range(start[row], start[row + 1]):
            right = others[wanted[place]]
            total = np.float32(0.0)
            for number in range(len(left)):
                total += left[number] * right[number]
            found[place] = total


@compiled
def _look_for(
    wanted: Entries,
    start: IntArray,
    column: IntArray,
    whose: IntArray,
    found: IntArray,
    there: BoolArray,
) -> None:
    """Look for each place by halving."""
    for row in range(len(wanted.start) - 1):
        if whose[row] + 1 >= len(start):
            continue
        for place in range(wanted.start[row], wanted.start[row + 1]):
            low, last = start[whose[row]], start[whose[row] + 1]
            high = last
            while low < high:
                middle = (low + high) // 2
                if column[middle] < wanted.column[place]:
                    low = middle + 1
                else:
                    high = middle
            if low < last and column[low] == wanted.column[place]:
                found[place], there[place] = low, True
