import numpy as np
import pytest

from sugartag.linalg.quadratic import ROWS_AT_ONCE, QuadraticForm


@pytest.mark.parametrize("n_rows", [0, 1, ROWS_AT_ONCE + 3])
def test_half_of_the_products_give_the_whole_form(n_rows):
    rng = np.random.default_rng(0)
    square = rng.normal(size=(11, 11))
    matrix = (square + square.T).astype(np.float32)
    rows = rng.normal(size=(n_rows, 11)).astype(np.float32)

    found = QuadraticForm.of(matrix).at(rows)

    expected = np.einsum("ij,jk,ik->i", *(part.astype(float) for part in (rows, matrix, rows)))
    np.testing.assert_allclose(found, expected, atol=1e-4)
