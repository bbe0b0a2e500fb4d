"""The truncated basis of tags: its solution against dense formulas, and its bound against both."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from completion.problems import fast_problem, random_literal
from completion.test_exact import densely_solved, larger_problem
from sugartag.completion import AnchorSums, complete_exactly
from sugartag.completion.truncated import TruncatedBasis


@pytest.fixture(params=range(3))
def problem(request):
    literal = random_literal(np.random.default_rng(request.param), n_tags=6)
    return fast_problem(literal)


def affinity_of(problem):
    return problem.tag_affinity.toarray()


def with_squared_affinity(problem, squared):
    """The same problem with another TᵀT."""
    values, vectors = np.linalg.eigh(squared)
    root = vectors * np.sqrt(values) @ vectors.T
    return replace(problem, tag_affinity=sparse.csr_array(root))


@pytest.mark.parametrize("kept", [1, 2, 4, 5])
def test_the_answer_is_that_of_the_affinity_it_stands_for(problem, kept):
    basis = TruncatedBasis.of(problem.tag_basis, kept)
    vectors, identity = basis.vectors, np.eye(len(problem.target))
    squared = vectors * basis.strengths @ vectors.T
    squared += basis.rest * (identity - vectors @ vectors.T)
    expected = densely_solved(with_squared_affinity(problem, squared))

    done = complete_exactly(problem, tag_components=kept)

    np.testing.assert_allclose(done.tensor, expected, rtol=0, atol=5e-6 * abs(expected).max())


@pytest.mark.parametrize("kept", [1, 3, 5])
def test_what_is_kept_leaves_the_others_as_alike_as_can_be(problem, kept):
    strengths = np.sort(np.linalg.eigvalsh(affinity_of(problem)) ** 2)
    left = len(strengths) - kept
    spreads = [
        (some[-1] - some[0]) / (some[-1] + some[0])
        for some in (strengths[first : first + left] for first in range(kept + 1))
    ]

    basis = TruncatedBasis.of(problem.tag_basis, kept)

    assert basis.spread == pytest.approx(min(spreads), abs=1e-12)
    np.testing.assert_allclose(basis.vectors.T @ basis.vectors, np.eye(kept), atol=1e-12)
    mixed = affinity_of(problem) @ (affinity_of(problem) @ basis.vectors)
    np.testing.assert_allclose(mixed, basis.vectors * basis.strengths, atol=1e-12)


@pytest.mark.parametrize("kept", [1, 10, 75, 200])
def test_the_stated_gap_covers_the_true_one_and_so_does_the_stated_objective(kept):
    problem = larger_problem(np.random.default_rng(5))
    lowest = problem.objective(complete_exactly(problem).tensor)

    done = complete_exactly(problem, tag_components=kept)

    found = problem.objective(done.tensor)
    assert 1e-6 < found / lowest - 1 <= done.gap < 0.2
    assert found <= done.objectives[-1]


def test_more_components_come_nearer_and_all_of_them_are_exact():
    problem = larger_problem(np.random.default_rng(6), n_tags=60)
    lowest = complete_exactly(problem)

    found = [complete_exactly(problem, tag_components=kept) for kept in (6, 15, 30, 60)]

    objectives = [problem.objective(done.tensor) for done in found]
    assert objectives == sorted(objectives, reverse=True)
    gaps = [done.gap for done in found[:-1]]
    assert gaps == sorted(gaps, reverse=True)
    np.testing.assert_array_equal(found[-1].tensor, lowest.tensor)
    assert np.isnan(found[-1].gap)


def test_the_sums_are_those_of_the_tensor_and_a_consumed_target_becomes_it(problem):
    expected = complete_exactly(problem, tag_components=2)
    sums = complete_exactly(problem, tag_components=2, sums_only=True)
    target = problem.target

    done = complete_exactly(problem, tag_components=2, consume=True)

    assert np.shares_memory(done.tensor, target)
    np.testing.assert_array_equal(done.tensor, expected.tensor)
    assert sums.tensor is None
    found, wanted = sums.anchor_sums(), AnchorSums.of(expected.tensor)
    np.testing.assert_allclose(found.by_image, wanted.by_image, atol=1e-10)
    np.testing.assert_allclose(found.by_user, wanted.by_user, atol=1e-10)


def test_tags_apart_from_all_others_are_kept_or_left_like_any():
    problem = larger_problem(np.random.default_rng(7), n_tags=8)
    affinity = np.diag([1.0, 1.0, 3.0, 1.0, 1.0, 1.0, 0.2, 1.0])
    affinity[0, 1] = affinity[1, 0] = 0.1
    problem = replace(problem, tag_affinity=sparse.csr_array(affinity))

    basis = TruncatedBasis.of(problem.tag_basis, 2)
    done = complete_exactly(problem, tag_components=2)

    assert sorted(np.abs(basis.vectors).argmax(axis=0)) == [2, 6]
    assert basis.spread == pytest.approx((1.1**2 - 0.9**2) / (1.1**2 + 0.9**2))
    exact = complete_exactly(problem).tensor
    scale = 1e-6 * abs(exact).max()
    np.testing.assert_allclose(done.tensor[[2, 6]], exact[[2, 6]], rtol=0, atol=scale)


def test_where_what_is_left_is_singular_nothing_is_promised():
    problem = larger_problem(np.random.default_rng(9), n_tags=4)
    affinity = sparse.csr_array(np.diag([0.0, 1.0, 1.0, 2.0]))
    problem = replace(problem, tag_affinity=affinity, constant=1e4)

    one, two = (complete_exactly(problem, tag_components=kept) for kept in (1, 2))

    # Of the 0 and the 2 one is kept, or both; a 0 among the others would leave nothing to say.
    assert 1e-5 < one.gap < 1.0
    assert two.gap == 0.0
    nothing = replace(problem, tag_affinity=sparse.csr_array(np.diag([0.0, 0.0, 1.0, 1.0])))
    assert complete_exactly(nothing, tag_components=1).gap == np.inf
