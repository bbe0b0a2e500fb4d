"""Locally linear geometry."""

import numpy as np
import pytest

from sugartag.methods.lslr.steps import (
    geometry_matrix,
    reconstruction_matrix,
    reconstruction_weights,
)


def test_a_row_between_two_others_is_put_together_from_both():
    others = np.array([[0.0, 0.0], [4.0, 0.0]])

    weights = reconstruction_weights(np.array([[1.0, 0.0]]), others, np.array([[0, 1]]), ridge=1e-9)

    np.testing.assert_allclose(weights, [[0.75, 0.25]], atol=1e-6)


def test_weights_are_those_of_the_constrained_least_squares():
    rng = np.random.default_rng(0)
    row, others = rng.standard_normal((1, 6)), rng.standard_normal((4, 6))
    gram = (others - row) @ (others - row).T
    gram += 0.05 * np.trace(gram) * np.eye(4)

    found = reconstruction_weights(row, others, np.array([[0, 1, 2, 3]]), ridge=0.05)

    bordered = np.block([[gram, np.ones((4, 1))], [np.ones((1, 4)), np.zeros((1, 1))]])
    expected = np.linalg.solve(bordered, [0, 0, 0, 0, 1])[:4]
    np.testing.assert_allclose(found[0], expected, rtol=1e-9)


def test_weights_add_up_to_one_and_do_not_depend_on_the_block(monkeypatch):
    rng = np.random.default_rng(1)
    rows, near = rng.standard_normal((50, 3)), rng.integers(50, size=(50, 5))
    whole = reconstruction_weights(rows, rows, near)

    monkeypatch.setattr("sugartag.methods.lslr.steps.ROWS_AT_ONCE", 7)

    np.testing.assert_allclose(reconstruction_weights(rows, rows, near), whole, rtol=1e-9)
    np.testing.assert_allclose(whole.sum(axis=1), 1.0)


def test_a_missing_neighbour_has_no_weight():
    rows = np.array([[0.0], [1.0], [2.0]])
    near = np.array([[1, 3], [0, 2], [3, 3]])

    weights = reconstruction_weights(rows, rows, near)
    matrix = reconstruction_matrix(near, weights, n_others=3)

    np.testing.assert_allclose(weights, [[1, 0], [0.5, 0.5], [0, 0]], atol=1e-9)
    assert matrix.nnz == 3
    assert matrix.shape == (3, 3)


def test_twins_share_the_weight_evenly():
    rows = np.ones((3, 2))

    weights = reconstruction_weights(rows, rows, np.array([[1, 2], [0, 2], [0, 1]]))

    np.testing.assert_allclose(weights, 0.5)


def test_the_geometry_measures_how_far_rows_are_from_what_their_neighbours_make():
    rng = np.random.default_rng(2)
    rows, near = rng.standard_normal((12, 3)), rng.integers(12, size=(12, 4))
    weights = reconstruction_weights(rows, rows, near)
    geometry = geometry_matrix(reconstruction_matrix(near, weights, n_others=12))
    factor = rng.standard_normal((12, 2))

    literal = sum(
        np.sum(
            (factor[i] - sum(w * factor[j] for w, j in zip(weights[i], near[i], strict=True))) ** 2
        )
        for i in range(12)
    )

    assert np.vdot(factor, geometry @ factor) == pytest.approx(literal)
    assert np.vdot(np.ones(12), geometry @ np.ones(12)) == pytest.approx(0, abs=1e-12)
