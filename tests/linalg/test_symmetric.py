import numpy as np
import pytest

from sugartag.linalg import symmetric
from sugartag.linalg.symmetric import invert, mirror


@pytest.fixture
def matrix(rng):
    """A positive definite matrix, nonsense below its diagonal; bands do not divide it evenly."""
    columns = rng.random((90, 50))
    found = columns.T @ columns + np.eye(50)
    return np.triu(found) + np.tril(np.full((50, 50), 7.0), -1)


@pytest.mark.parametrize("band", [1, 8, 50, 64])
def test_the_upper_half_is_inverted_on_any_number_of_threads(matrix, band, monkeypatch):
    monkeypatch.setattr(symmetric, "BAND", band)
    whole = np.triu(matrix) + np.triu(matrix, 1).T
    one, three = matrix.copy(), matrix.copy()

    invert(one, threads=1)
    invert(three, threads=3)

    np.testing.assert_allclose(one @ whole, np.eye(50), atol=1e-11)
    np.testing.assert_array_equal(one, one.T)
    np.testing.assert_array_equal(one, three)


def test_an_inverse_loses_no_more_digits_than_lapacks(rng, monkeypatch):
    monkeypatch.setattr(symmetric, "BAND", 16)
    turned, _ = np.linalg.qr(rng.normal(size=(200, 200)))
    lengths = np.logspace(0, -8, 200)
    matrix, inverse = (turned * lengths) @ turned.T, (turned / lengths) @ turned.T
    matrix = (matrix + matrix.T) / 2
    by_lapack = np.abs(np.linalg.inv(matrix) - inverse).max()

    invert(matrix)

    assert np.abs(matrix - inverse).max() < 10 * by_lapack


@pytest.mark.parametrize("place", [0, 20, 49])
def test_a_matrix_that_is_not_positive_is_refused(matrix, place, monkeypatch):
    monkeypatch.setattr(symmetric, "BAND", 8)
    matrix[place, place] = -1.0

    with pytest.raises(ValueError, match="negative in length"):
        invert(matrix, threads=2)


def test_what_is_above_the_diagonal_is_copied_below(matrix, monkeypatch):
    monkeypatch.setattr(symmetric, "BAND", 8)
    expected = np.triu(matrix) + np.triu(matrix, 1).T

    mirror(matrix, threads=3)

    np.testing.assert_array_equal(matrix, expected)
