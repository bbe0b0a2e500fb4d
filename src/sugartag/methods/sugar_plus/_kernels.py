"""Compiled loops."""

import numpy as np

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.linalg.compiled import compiled, fit_together, read_only
from sugartag.linalg.entries import Entries
from sugartag.linalg.sparse_times_dense import add_products as _add_products


def add_products(rows: SparseRows, matrix: FloatArray, total: FloatArray) -> None:
    """Add sparse rows times a matrix to a matrix of as many rows, both float32."""
    fit_together(rows.shape == (len(total), len(matrix)) and total.shape[1] == matrix.shape[1])
    _add_products(Entries.of(rows, len(matrix)), read_only(matrix), total)


def add_sparse(rows: SparseRows, factor: FloatArray, other: SparseRows, total: FloatArray) -> None:
    """Add sparse rows times a sparse matrix, each row times a factor, to a dense matrix."""
    fit_together(rows.shape[1] == other.shape[0] and factor.shape == total.shape[:1])
    fit_together(total.shape == (rows.shape[0], other.shape[1]))
    left, right = Entries.of(rows, rows.shape[1]), Entries.of(other, other.shape[1])
    _add_sparse(left, read_only(factor.astype(np.float32)), right, total)


def add_entries(rows: SparseRows, factor: float, total: FloatArray) -> None:
    """Add a factor times the stored entries of a sparse matrix to a dense one of its shape."""
    fit_together(rows.shape == total.shape)
    _add_entries(Entries.of(rows, total.shape[1]), factor, total)


def take_out_columns(
    weights: FloatArray, inverse: FloatArray, own: FloatArray, column: IntArray
) -> None:
    """Subtract the j-th column of ``inverse`` times ``own[j]`` from column ``column[j]``."""
    fit_together(len(weights) == len(inverse) and own.shape == column.shape)
    fit_together(inverse.shape[1] >= len(own) and _all_below(column, weights.shape[1]))
    _take_out_columns(weights, read_only(inverse), read_only(own), read_only(column))


def quadratic_forms(rows: SparseRows, matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return r'Mr for each sparse row r, and (Mr)_t at each stored entry t; M is symmetric."""
    fit_together(matrix.shape == (rows.shape[1], rows.shape[1]))
    forms = np.zeros(rows.shape[0], dtype=np.float32)
    products = np.zeros(rows.nnz, dtype=np.float32)
    _quadratic_forms(Entries.of(rows, len(matrix)), read_only(matrix), forms, products)
    return forms, products


def products_at_cells(
    dense: FloatArray, matrix: FloatArray, row: IntArray, column: IntArray
) -> FloatArray:
    """Return some entries of ``dense @ matrix.T``, each the product of two rows."""
    fit_together(dense.shape[1] == matrix.shape[1] and row.shape == column.shape)
    fit_together(_all_below(row, len(dense)) and _all_below(column, len(matrix)))
    found = np.empty(len(row), dtype=np.float32)
    _products_at_cells(
        read_only(dense), read_only(matrix), read_only(row), read_only(column), found
    )
    return found


def add_sparse_products_at_cells(
    rows: SparseRows, matrix: FloatArray, row: IntArray, column: IntArray, total: FloatArray
) -> None:
    """Add some entries of a sparse matrix times a dense one to a total."""
    fit_together(row.shape == column.shape == total.shape)
    fit_together(_all_below(row, rows.shape[0]) and _all_below(column, matrix.shape[1]))
    entries = Entries.of(rows, len(matrix))
    _add_sparse_products_at_cells(
        entries, read_only(matrix), read_only(row), read_only(column), total
    )


def squared_distances(
    left: FloatArray, row: IntArray, right: FloatArray, other: IntArray
) -> FloatArray:
    """Return the squared distance between some rows of one matrix and some of another."""
    fit_together(left.shape[1] == right.shape[1] and row.shape == other.shape)
    fit_together(_all_below(row, len(left)) and _all_below(other, len(right)))
    found = np.empty(len(row), dtype=np.float32)
    _squared_distances(read_only(left), read_only(row), read_only(right), read_only(other), found)
    return found


def count_between(values: FloatArray, edges: FloatArray) -> IntArray:
    """Return how many values lie below the first edge, from each one to the next, and above."""
    found = np.zeros(len(edges) + 1, dtype=np.int64)
    _count_between(read_only(values), read_only(edges.astype(values.dtype)), found)
    return found


def _all_below(places: IntArray, count: int) -> bool:
    return not len(places) or (int(places.min()) >= 0 and int(places.max()) < count)


@compiled
def _add_sparse(left: Entries, factor: FloatArray, right: Entries, total: FloatArray) -> None:
    for row in range(len(total)):
        for a in range(left.start[row], left.start[row + 1]):
            value = factor[row] * left.value[a]
            middle = left.column[a]
            for b in range(right.start[middle], right.start[middle + 1]):
                total[row, right.column[b]] += value * right.value[b]


@compiled
def _add_entries(rows: Entries, factor: float, total: FloatArray) -> None:
    for row in range(len(total)):
        for entry in range(rows.start[row], rows.start[row + 1]):
            total[row, rows.column[entry]] += factor * rows.value[entry]


@compiled
def _take_out_columns(
    weights: FloatArray, inverse: FloatArray, own: FloatArray, column: IntArray
) -> None:
    for row in range(len(weights)):
        for place in range(len(own)):
            weights[row, column[place]] -= inverse[row, place] * own[place]


@compiled
def _quadratic_forms(
    rows: Entries, matrix: FloatArray, forms: FloatArray, products: FloatArray
) -> None:
    start, column, value = rows.start, rows.column, rows.value
    for row in range(len(forms)):
        for a in range(start[row], start[row + 1]):
            total = np.float32(0.0)
            for b in range(start[row], start[row + 1]):
                total += matrix[column[a], column[b]] * value[b]
            products[a] = total
            forms[row] += total * value[a]


@compiled
def _products_at_cells(
    dense: FloatArray, matrix: FloatArray, row: IntArray, column: IntArray, found: FloatArray
) -> None:
    for cell in range(len(found)):
        left, right = dense[row[cell]], matrix[column[cell]]
        total = np.float32(0.0)
        for place in range(len(left)):
            total += left[place] * right[place]
        found[cell] = total


@compiled
def _add_sparse_products_at_cells(
    rows: Entries, matrix: FloatArray, row: IntArray, column: IntArray, total: FloatArray
) -> None:
    for cell in range(len(total)):
        found = np.float32(0.0)
        for entry in range(rows.start[row[cell]], rows.start[row[cell] + 1]):
            found += rows.value[entry] * matrix[rows.column[entry], column[cell]]
        total[cell] += found


@compiled
def _squared_distances(
    left: FloatArray, row: IntArray, right: FloatArray, other: IntArray, found: FloatArray
) -> None:
    for pair in range(len(found)):
        one, another = left[row[pair]], right[other[pair]]
        total = np.float32(0.0)
        for place in range(len(one)):
            apart = one[place] - another[place]
            total += apart * apart
        found[pair] = total


@compiled
def _count_between(values: FloatArray, edges: FloatArray, found: IntArray) -> None:
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            value = values[row, column]
            low, high = 0, len(edges)
            while low < high:
                middle = (low + high) // 2
                if value >= edges[middle]:
                    low = middle + 1
                else:
                    high = middle
            found[low] += 1
