"""Operations on the rows of a sparse matrix."""

import numpy as np
from scipy import sparse

from sugartag._typing import SparseRows


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
