"""The exact solver's fast paths, each against the slow formula it stands for."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from completion.problems import fast_problem, random_literal
from sugartag.completion import (
    AnchorSums,
    Completion,
    CompletionProblem,
    Penalties,
    complete_exactly,
)
from sugartag.completion.component import MAX_STEPS, ComponentSystem
from sugartag.completion.exact import ExactSolver, lower_bound_gap
from sugartag.completion.tag_basis import TagBasis
from sugartag.graph.gram import LinkGrams, link_sums

WEIGHTS = {
    "as drawn": None,
    "smooth images": Penalties(0.01, 0.01, 5.0, 0.01),
    "smooth users": Penalties(0.01, 0.01, 0.01, 5.0),
    "both smooth": Penalties(0.01, 0.01, 5.0, 5.0),
    "images only": Penalties(0.01, 0.0, 1.0, 0.0),
    "users only": Penalties(0.01, 0.0, 0.0, 1.0),
    "neither": Penalties(0.0, 0.01, 0.0, 0.0),
}


@pytest.fixture(params=range(3))
def seeded(request):
    return np.random.default_rng(request.param)


@pytest.fixture(params=WEIGHTS, ids=lambda name: name.replace(" ", "-"))
def problem(request, seeded):
    drawn = fast_problem(random_literal(seeded, n_tags=4, m_images=4, m_users=3))
    weights = WEIGHTS[request.param]
    return drawn if weights is None else replace(drawn, penalties=weights)


def densely_solved(problem):
    """The solution of the whole system as one matrix."""
    size = int(np.prod(problem.shape))
    columns = [problem.operator(row.reshape(problem.shape)).ravel() for row in np.eye(size)]
    return np.linalg.solve(np.array(columns).T, problem.target.ravel()).reshape(problem.shape)


def relative_residual(problem, tensor):
    return np.linalg.norm(problem.operator(tensor) - problem.target) / np.linalg.norm(
        problem.target
    )


def grams_of(rng, n_rows, n_anchors):
    links = rng.random((n_rows, n_anchors)) * (rng.random((n_rows, n_anchors)) < 0.2)
    return LinkGrams.of(link_sums(sparse.csr_array(links)))


def larger_problem(rng, *, n_tags=300):
    """A problem of many slabs and chunks, with the paper's weights."""
    links = sparse.random_array((n_tags, n_tags), density=2 / n_tags, rng=rng)
    return CompletionProblem(
        target=rng.random((n_tags, 60, 50)),
        constant=float(10 * n_tags),
        tag_affinity=sparse.csr_array(sparse.eye_array(n_tags) + 0.1 * (links + links.T)),
        images=grams_of(rng, 400, 60),
        users=grams_of(rng, 200, 50),
        penalties=Penalties(0.005, 0.001, 0.1, 0.05),
    )


def test_whichever_mode_is_smoother_the_answer_is_that_of_a_dense_solve(problem):
    expected = densely_solved(problem)

    done = complete_exactly(problem)

    assert done.converged
    # A residual of 1e-8 is as much as 1e-8 / (α+β) where nothing but α+β holds an entry.
    np.testing.assert_allclose(done.tensor, expected, rtol=0, atol=5e-6 * abs(expected).max())


def test_the_smoother_mode_takes_the_basis_that_knows_its_regulariser(seeded):
    drawn = fast_problem(random_literal(seeded))

    of_images = ComponentSystem.of(replace(drawn, penalties=WEIGHTS["images only"]))
    of_users = ComponentSystem.of(replace(drawn, penalties=WEIGHTS["users only"]))

    assert of_images.strong_is_image
    assert not of_users.strong_is_image


def test_what_only_one_mode_is_smooth_in_needs_no_steps(seeded):
    drawn = fast_problem(random_literal(seeded))

    for name in ("images only", "users only", "neither"):
        assert complete_exactly(replace(drawn, penalties=WEIGHTS[name])).iterations == 0


def test_a_component_solves_its_own_equation(problem, seeded):
    strengths = seeded.random(3) * 4.0
    target = seeded.normal(size=(3, *problem.shape[1:]))
    system = ComponentSystem.of(problem)

    solved = system.solve(target, strengths)

    weights = problem.penalties
    for strength, right, part in zip(
        strengths, target, system.turned_back(solved.turned), strict=True
    ):
        left = strength * problem.images.gram @ part @ problem.users.gram
        left += weights.image_smoothness * problem.images.roughness @ part
        left += weights.user_smoothness * part @ problem.users.roughness
        left += problem.diagonal_weight * part
        assert np.linalg.norm(left - right) <= 2e-8 * np.linalg.norm(right)


def test_the_sums_are_those_of_the_tensor(problem):
    expected = AnchorSums.of(complete_exactly(problem).tensor)

    done = complete_exactly(problem, sums_only=True)

    assert done.tensor is None
    scale = abs(expected.by_image).max() + abs(expected.by_user).max()
    sums = done.anchor_sums()
    np.testing.assert_allclose(sums.by_image, expected.by_image, rtol=0, atol=1e-10 * scale)
    np.testing.assert_allclose(sums.by_user, expected.by_user, rtol=0, atol=1e-10 * scale)


def test_the_reported_objective_and_residual_are_those_of_the_tensor(problem):
    done = complete_exactly(problem)

    assert done.objectives[-1] == pytest.approx(problem.objective(done.tensor), rel=1e-10)
    assert done.residual == pytest.approx(relative_residual(problem, done.tensor), abs=1e-12)
    assert done.residual <= 1e-8


def test_a_consumed_target_becomes_the_tensor_and_the_problem_answers_nan(problem):
    expected = complete_exactly(problem).tensor
    target = problem.target

    done = complete_exactly(problem, consume=True)

    assert np.shares_memory(done.tensor, target)
    np.testing.assert_array_equal(done.tensor, expected)
    assert problem.shape == expected.shape
    assert np.isnan(problem.objective(expected))


def test_without_consuming_the_problem_stays_as_it_was(problem):
    before = problem.target.copy()

    complete_exactly(problem)
    complete_exactly(problem, sums_only=True)

    np.testing.assert_array_equal(problem.target, before)


def test_the_answer_does_not_depend_on_the_threads(seeded):
    problem = larger_problem(seeded)

    alone = complete_exactly(problem).tensor
    together = complete_exactly(replace(problem, threads=3)).tensor

    np.testing.assert_array_equal(alone, together)


@pytest.mark.parametrize("sums_only", [False, True])
def test_a_consumed_problem_is_solved_within_its_own_tensor(sums_only):
    problem = larger_problem(np.random.default_rng(0), n_tags=2000)
    size = problem.target.nbytes
    solver = ExactSolver.of(problem)

    tracemalloc.start()
    if sums_only:
        solver.sums_in_place(problem.target)
    else:
        solver.solve_in_place(problem.target)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    # Two copies of 1,024 columns, 33 MB, or a dozen slabs of 1 MiB.
    assert size == 48_000_000
    assert peak < 36_000_000


def test_single_precision_gives_sums_as_of_double_precision_to_one_in_ten_thousand(seeded):
    double = larger_problem(seeded)
    single = replace(double, target=double.target.astype(np.float32))

    expected = complete_exactly(double, sums_only=True).anchor_sums()
    done = complete_exactly(single, sums_only=True)

    assert done.converged
    assert done.residual <= 1e-5
    for ours, theirs in (
        (done.anchor_sums().by_image, expected.by_image),
        (done.anchor_sums().by_user, expected.by_user),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4 * abs(theirs).max())


def test_single_precision_is_not_above_by_more_than_rounding(seeded):
    double = larger_problem(seeded)
    single = replace(double, target=double.target.astype(np.float32))

    reached = double.objective(complete_exactly(single).tensor.astype(np.float64))

    lowest = complete_exactly(double).objectives[-1]
    assert lowest <= reached <= lowest + 1e-7 * abs(double.constant - lowest)


def test_a_precision_out_of_reach_ends_the_steps_and_is_told(seeded):
    problem = larger_problem(seeded, n_tags=5)
    system = replace(ComponentSystem.of(problem), tolerance=1e-30)

    solved = system.solve(problem.target, np.ones(5))

    assert not solved.converged
    assert solved.steps < MAX_STEPS


def test_nothing_to_explain_gives_nothing(seeded):
    problem = fast_problem(random_literal(seeded))
    problem.target[...] = 0.0

    done = complete_exactly(problem)

    assert done.converged
    assert done.residual == 0.0
    assert not done.tensor.any()


def test_not_a_number_in_the_target_ends_the_solver_without_convergence(seeded):
    problem = fast_problem(random_literal(seeded))
    problem.target[0, 0, 0] = np.nan

    assert not complete_exactly(problem).converged


def test_the_gap_is_the_printed_bound_by_a_dense_solve(problem, seeded):
    tensor = seeded.random(problem.shape)
    gradient = problem.operator(tensor) - problem.target
    negative = np.maximum(-gradient, 0.0)

    correction = densely_solved(replace(problem, target=negative))
    expected = 2.0 * np.vdot(tensor, np.maximum(gradient, 0.0)) + np.vdot(negative, correction)

    found = lower_bound_gap(ExactSolver.of(problem), tensor, gradient)
    assert found == pytest.approx(expected, rel=1e-7)


def three_parts():
    """Tags 0, 3 and 5 mix, tags 1 and 4 mix, tag 2 is alone with an affinity of 0.7."""
    affinity = np.diag([1.0, 1.0, 0.7, 1.0, 1.0, 1.0])
    for left, right, value in ((0, 3, 0.4), (3, 5, 0.2), (1, 4, 0.9)):
        affinity[left, right] = affinity[right, left] = value
    return affinity


def test_the_tag_basis_makes_the_affinity_diagonal(seeded):
    affinity = three_parts()
    basis = TagBasis.of(sparse.csr_array(affinity), np.dtype(np.float64))

    turned = affinity.copy()
    basis.turn(turned)
    turned = np.ascontiguousarray(turned.T)
    basis.turn(turned)

    assert [part.tags.tolist() for part in basis.parts] == [[0, 3, 5], [1, 4]]
    np.testing.assert_allclose(turned, np.diag(basis.values), atol=1e-14)


def test_turning_there_and_back_changes_nothing(seeded):
    basis = TagBasis.of(sparse.csr_array(three_parts()), np.dtype(np.float64))
    tensor = seeded.normal(size=(6, 4, 300))

    turned = tensor.copy()
    basis.turn(turned, threads=2)
    basis.turn_back(turned, threads=2)

    np.testing.assert_allclose(turned, tensor, atol=1e-13)


def test_tags_that_do_not_mix_are_solved_as_a_dense_solve_does(seeded):
    problem = replace(
        fast_problem(random_literal(seeded, n_tags=6, m_images=3, m_users=2)),
        tag_affinity=sparse.csr_array(three_parts()),
    )

    expected = densely_solved(problem)

    found = complete_exactly(problem).tensor
    np.testing.assert_allclose(found, expected, rtol=0, atol=5e-6 * abs(expected).max())


def test_a_tensor_that_is_not_contiguous_is_refused():
    basis = TagBasis.of(sparse.csr_array(three_parts()), np.dtype(np.float64))

    with pytest.raises(ValueError, match="not contiguous"):
        basis.turn(np.zeros((6, 4, 3)).swapaxes(1, 2))


def test_a_completion_without_tensor_and_sums_says_so():
    empty = Completion(
        tensor=None, objectives=(), iterations=0, converged=False, residual=0.0, gap=0.0
    )

    with pytest.raises(ValueError, match="neither"):
        empty.anchor_sums()
