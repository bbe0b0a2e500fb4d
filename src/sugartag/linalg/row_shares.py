"""The entries of a sparse matrix as shares of their row."""

import numpy as np

from sugartag._typing import SparseRows
from sugartag.linalg.sparse_rows import row_number_of_entries


def row_shares(matrix: SparseRows) -> SparseRows:
    """Return each row divided by its sum, float64; a row whose sum is 0 stays."""
    total = np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel()
    shares = matrix.astype(np.float64, copy=True)
    shares.data /= np.where(total != 0, total, 1.0)[row_number_of_entries(matrix)]
    return shares
