"""Sylvester equations of symmetric matrices, by eigenvectors and by conjugate gradients."""

import numpy as np
import pytest
from scipy import linalg, sparse

from sugartag.linalg.sylvester import (
    GraphSylvester,
    Spectrum,
    solve_by_gradients,
    solve_sylvester,
)


def semidefinite(size: int, rank: int, rng: np.random.Generator) -> np.ndarray:
    root = rng.standard_normal((size, rank))
    return root @ root.T


def chain_laplacian(size: int) -> sparse.csr_array:
    ends = np.full(size, 2.0)
    ends[[0, -1]] = 1.0
    links = np.full(size - 1, -1.0)
    return sparse.csr_array(sparse.diags_array([links, ends, links], offsets=[-1, 0, 1]))


def test_the_solution_is_that_of_the_general_solver():
    rng = np.random.default_rng(0)
    left, right = semidefinite(7, 7, rng), semidefinite(5, 5, rng)
    target = rng.standard_normal((7, 5))

    found = solve_sylvester(Spectrum.of(left), Spectrum.of(right), target)

    np.testing.assert_allclose(found, linalg.solve_sylvester(left, right, target), rtol=1e-9)


def test_one_of_the_matrices_may_be_singular():
    rng = np.random.default_rng(1)
    left, right = semidefinite(8, 3, rng), semidefinite(4, 4, rng)
    target = rng.standard_normal((8, 4))

    found = solve_sylvester(Spectrum.of(left), Spectrum.of(right), target)

    np.testing.assert_allclose(left @ found + found @ right, target, atol=1e-10)


def test_a_spectrum_has_no_negative_eigenvalue():
    spectrum = Spectrum.of(chain_laplacian(30))

    assert spectrum.values.min() >= 0
    rebuilt = (spectrum.vectors * spectrum.values) @ spectrum.vectors.T
    np.testing.assert_allclose(rebuilt, chain_laplacian(30).toarray(), atol=1e-12)


@pytest.mark.parametrize("strength", [0.0, 0.3, 50.0])
@pytest.mark.parametrize("dense_limit", [0, 100])
def test_a_graph_solves_its_own_equation(strength, dense_limit):
    rng = np.random.default_rng(2)
    graph, gram = chain_laplacian(40), semidefinite(6, 6, rng) + 0.1 * np.eye(6)
    target = rng.standard_normal((40, 6))
    solver = GraphSylvester.of(graph, dense_limit=dense_limit)

    found = solver.solve(strength, gram, target)

    assert (solver.spectrum is None) == (dense_limit == 0)
    np.testing.assert_allclose(strength * (graph @ found) + found @ gram, target, atol=1e-8)


def test_gradients_started_at_the_solution_take_no_step():
    rng = np.random.default_rng(3)
    graph, right = chain_laplacian(20), Spectrum.of(semidefinite(3, 3, rng) + np.eye(3))
    target = rng.standard_normal((20, 3))
    solution = solve_by_gradients(graph, 2.0, right, target)

    again = solve_by_gradients(
        graph, 2.0, right, target, start=solution, max_steps=0, tolerance=1e-9
    )

    np.testing.assert_allclose(again, solution, rtol=1e-12)


def test_a_column_of_zeros_is_solved_by_zeros():
    right = Spectrum.of(np.diag([1.0, 2.0]))
    target = np.zeros((10, 2))
    target[:, 1] = np.arange(10)

    found = solve_by_gradients(chain_laplacian(10), 1.0, right, target)

    np.testing.assert_array_equal(found[:, 0], 0)
    assert np.isfinite(found).all()
    assert np.abs(found[:, 1]).max() > 0


def test_a_guess_for_a_column_of_zeros_is_forgotten():
    rng = np.random.default_rng(4)
    right = Spectrum.of(np.diag([1.0, 2.0]))
    target = np.zeros((10, 2))
    target[:, 1] = np.arange(10)

    found = solve_by_gradients(
        chain_laplacian(10), 1.0, right, target, start=rng.standard_normal((10, 2))
    )
    nothing = solve_by_gradients(
        chain_laplacian(10), 1.0, right, 0 * target, start=rng.standard_normal((10, 2))
    )

    np.testing.assert_allclose(found[:, 0], 0, atol=1e-12)
    np.testing.assert_allclose(nothing, 0, atol=1e-12)
