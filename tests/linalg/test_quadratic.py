import numpy as np
import pytest

from sugartag.linalg.quadratic import BAND, ROWS_AT_ONCE, QuadraticForm


@pytest.mark.parametrize("n_rows", [0, 1, ROWS_AT_ONCE + 3])
@pytest.mark.parametrize("size", [0, 11, BAND, 2 * BAND + 5])
def test_half_of_the_products_give_the_whole_form(n_rows, size):
    rng = np.random.default_rng(0)
    square = rng.normal(size=(size, size))
    matrix = (square + square.T).astype(np.float32)
    rows = rng.normal(size=(n_rows, size)).astype(np.float32)

    found = QuadraticForm.of(matrix).at(rows)

    expected = np.einsum("ij,jk,ik->i", *(part.astype(float) for part in (rows, matrix, rows)))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-2)
