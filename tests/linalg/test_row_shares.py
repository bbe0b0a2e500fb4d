"""Rows as shares of their sum."""

import numpy as np
from scipy import sparse

from sugartag.linalg.laplacian import row_shares


def test_a_row_adds_up_to_one_and_an_empty_row_stays_empty():
    matrix = sparse.csr_array(np.array([[1, 0, 3], [0, 0, 0], [0, 2, 0]], dtype=np.float32))

    shares = row_shares(matrix)

    np.testing.assert_array_equal(shares.toarray(), [[0.25, 0, 0.75], [0, 0, 0], [0, 1, 0]])
    assert shares.dtype == np.float64
    assert matrix.toarray()[0, 2] == 3
