"""Operations on the rows of a sparse matrix."""

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, IntArray, SparseRows


def row_number_of_entries(matrix: SparseRows) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the row of each stored entry."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def damped_unit_rows(counts: SparseRows) -> SparseRows:
    """Scale each row of counts, dampened by a logarithm, to Euclidean length 1."""
    damped = counts.astype(np.float64)
    damped.data = np.log1p(damped.data)
    lengths = np.sqrt(np.asarray(damped.multiply(damped).sum(axis=1)).ravel())
    damped.data /= np.where(lengths > 0, lengths, 1.0)[row_number_of_entries(damped)]
    return damped


def strongest_per_row(matrix: SparseRows, count: int) -> SparseRows:
    """Keep the ``count`` largest entries of each row; ties by column."""
    rows = row_number_of_entries(matrix)
    order = np.lexsort((matrix.indices, -matrix.data, rows))
    rank = np.arange(len(order)) - matrix.indptr[:-1][rows]
    kept = order[rank < count]
    return sparse.csr_array(
        (matrix.data[kept], (rows[kept], matrix.indices[kept])), shape=matrix.shape
    )


def chosen_columns(matrix: SparseRows, columns: IntArray) -> SparseRows:
    """Return some columns, which ascend; faster than indexing where most are kept."""
    n_columns = matrix.shape[1]
    if len(columns) == n_columns:
        return matrix
    place = np.full(n_columns, len(columns), dtype=np.int64)
    place[columns] = np.arange(len(columns))
    target = place[matrix.indices]
    kept = target < len(columns)
    passed = np.concatenate([[0], np.cumsum(kept)])
    return sparse.csr_array(
        (matrix.data[kept], target[kept], passed[matrix.indptr]),
        shape=(matrix.shape[0], len(columns)),
    )


def same_places(values: FloatArray, matrix: SparseRows) -> SparseRows:
    """Return the matrix with other values in its stored places, zeros kept."""
    return sparse.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)


def values_at(matrix: SparseRows, rows: IntArray, columns: IntArray) -> FloatArray:
    """Return the value in each of some places, 0 where none is stored."""
    if not len(rows):
        return np.zeros(0)
    found: FloatArray = np.asarray(matrix[rows, columns]).ravel()
    return found
