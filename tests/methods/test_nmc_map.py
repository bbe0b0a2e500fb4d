"""The explicit map of the RBF kernel."""

import numpy as np
import pytest

from sugartag.methods.nmc import factors
from sugartag.methods.nmc.factors import NystromMap, inverse_square_root, median_width, rbf_kernel


def features(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, 4))


def test_the_kernel_is_the_exponential_of_the_squared_distance():
    left, right = features(3), features(2, seed=1)

    kernel = rbf_kernel(left, right, 1.7)

    expected = [[np.exp(-np.sum((a - b) ** 2) / 1.7**2) for b in right] for a in left]
    np.testing.assert_allclose(kernel, expected, rtol=1e-12)


def test_inner_products_of_landmarks_are_the_kernel():
    landmarks = features(30)

    mapped = NystromMap.of(landmarks, 2.0).mapped(landmarks)

    np.testing.assert_allclose(mapped @ mapped.T, rbf_kernel(landmarks, landmarks, 2.0), atol=1e-5)


def test_more_landmarks_come_nearer_to_the_kernel():
    rows = features(80, seed=2)
    exact = rbf_kernel(rows, rows, 3.0)
    errors = []
    for n_landmarks in (5, 20, 60):
        mapped = NystromMap.of(features(n_landmarks, seed=3), 3.0).mapped(rows)
        errors.append(np.abs(mapped @ mapped.T - exact).mean())

    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.02


def test_a_new_row_is_mapped_as_it_would_be_among_others():
    nystrom, rows = NystromMap.of(features(10), 2.0), features(7, seed=4)

    alone = np.concatenate([nystrom.mapped(rows[[number]]) for number in range(7)])

    assert nystrom.length == 10
    np.testing.assert_allclose(alone, nystrom.mapped(rows), atol=1e-12)


def test_landmarks_may_be_twins():
    landmarks = np.repeat(features(5), 2, axis=0)

    mapped = NystromMap.of(landmarks, 2.0).mapped(landmarks)

    np.testing.assert_allclose(mapped @ mapped.T, rbf_kernel(landmarks, landmarks, 2.0), atol=1e-8)


def test_the_inverse_square_root_undoes_the_matrix():
    root = np.random.default_rng(5).standard_normal((6, 6))
    matrix = root @ root.T + np.eye(6)

    found = inverse_square_root(matrix)

    np.testing.assert_allclose(found @ matrix @ found, np.eye(6), atol=1e-10)
    np.testing.assert_allclose(found, found.T, atol=1e-12)


@pytest.mark.parametrize(
    ("rows", "width"),
    [([[0.0], [1.0], [3.0]], 2.0), ([[0.0], [0.0], [2.0]], 2.0), ([[1.0], [1.0]], 1.0)],
    ids=["three", "twins-do-not-count", "all-twins"],
)
def test_the_width_is_the_median_distance_of_two_different_rows(rows, width):
    assert median_width(np.array(rows)) == pytest.approx(width)


def test_the_width_is_the_same_however_the_rows_are_cut(rng, monkeypatch):
    rows = rng.normal(size=(40, 3))
    apart = np.square(rows[:, None] - rows).sum(axis=2)[np.triu_indices(40, 1)]
    monkeypatch.setattr(factors, "BAND", 7)

    one, three = (median_width(rows, threads=threads) for threads in (1, 3))

    assert one == three == pytest.approx(np.sqrt(np.median(apart)), rel=1e-12)
