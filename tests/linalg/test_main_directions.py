import numpy as np
import pytest
from scipy import sparse

from sugartag.linalg import main_directions as module
from sugartag.linalg.main_directions import main_directions


def falling(rng: np.random.Generator, n_rows: int, n_columns: int) -> np.ndarray:
    """Return a matrix whose singular values fall by a tenth from one to the next."""
    left, _ = np.linalg.qr(rng.normal(size=(n_rows, n_columns)))
    right, _ = np.linalg.qr(rng.normal(size=(n_columns, n_columns)))
    return 100.0 * (left * 0.9 ** np.arange(n_columns)) @ right.T


def test_the_directions_are_the_first_singular_vectors(rng):
    matrix = falling(rng, 300, 60)

    found = main_directions(sparse.csr_array(matrix), 5)

    cosines = np.abs(np.linalg.svd(matrix)[2][:5] @ found)
    np.testing.assert_allclose(cosines, np.eye(5), atol=1e-4)


def test_the_directions_are_orthogonal_whatever_the_rank(rng):
    matrix = sparse.csr_array(np.outer(rng.random(40), rng.random(30)))

    found = main_directions(matrix, 6)

    np.testing.assert_allclose(found.T @ found, np.eye(6), atol=1e-5)
    assert np.linalg.norm(matrix @ found) == pytest.approx(sparse.linalg.norm(matrix), rel=1e-5)


@pytest.mark.parametrize("shape", [(1, 1), (3, 8), (8, 3)])
def test_all_directions_of_a_small_matrix_lose_nothing(rng, shape):
    matrix = rng.normal(size=shape)

    found = main_directions(sparse.csr_array(matrix), min(shape))

    np.testing.assert_allclose(matrix @ found @ found.T, matrix, atol=1e-5)


def test_a_matrix_of_nothing_has_directions_too():
    found = main_directions(sparse.csr_array((20, 10)), 4)

    np.testing.assert_allclose(found.T @ found, np.eye(4), atol=1e-6)


def test_the_directions_are_the_same_to_the_last_bit_whatever_the_threads(rng, monkeypatch):
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 30)
    matrix = sparse.random_array((1000, 80), density=0.1, rng=rng, format="csr")

    one, three = (main_directions(matrix, 7, threads=threads) for threads in (1, 3))

    np.testing.assert_array_equal(one, three)
    assert one.shape == (80, 7)
