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


def quadratic_forms(rows: SparseRows, matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return r'Mr for each sparse row r, and (Mr)_t at each stored entry t; M is symmetric."""
    fit_together(matrix.shape == (rows.shape[1], rows.shape[1]))
    forms = np.zeros(rows.shape[0], dtype=np.float32)
    products = np.zeros(rows.nnz, dtype=np.float32)
    start, column = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
    value = rows.data.astype(np.float32)
    _quadratic_forms(start, column, value, read_only(matrix), forms, products)
    return forms, products


@compiled
def _quadratic_forms(
    start: IntArray,
    column: IntArray,
    value: FloatArray,
    matrix: FloatArray,
    forms: FloatArray,
    products: FloatArray,
) -> None:
    for row in range(len(forms)):
        for a in range(start[row], start[row + 1]):
            total = np.float32(0.0)
            for b in range(start[row], start[row + 1]):
                total += matrix[column[a], column[b]] * value[b]
            products[a] = total
            forms[row] += total * value[a]
