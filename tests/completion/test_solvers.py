import numpy as np
import pytest
from scipy import sparse

from completion.problems import fast_problem, random_literal
from sugartag.completion import (
    complete_exactly,
    complete_multiplicatively,
    complete_nonnegatively,
    disturbed_start,
)


@pytest.fixture(params=range(5))
def seeded(request):
    return np.random.default_rng(request.param)


def start_for(literal, rng):
    prior = sparse.csr_array(literal.prior.reshape(len(literal.prior), -1))
    return disturbed_start(prior, literal.prior.shape, rng=rng, dtype=np.float64)


def signed_start_for(literal, rng):
    prior = sparse.csr_array(literal.prior.reshape(len(literal.prior), -1))
    shape = literal.prior.shape
    return disturbed_start(prior, shape, rng=rng, dtype=np.float64, size=0.1, signed=True)


def test_one_multiplicative_update_is_the_printed_one(seeded):
    literal = random_literal(seeded)
    start = start_for(literal, seeded)

    done = complete_multiplicatively(fast_problem(literal), start, max_iterations=1, tolerance=0.0)

    np.testing.assert_allclose(done.tensor, np.maximum(literal.updated(start), 1e-12), rtol=1e-10)


def test_the_multiplicative_update_never_increases_the_objective(seeded):
    for _ in range(10):
        literal = random_literal(seeded)
        start = start_for(literal, seeded)

        done = complete_multiplicatively(
            fast_problem(literal), start, max_iterations=200, tolerance=-1.0
        )

        assert done.iterations == 200
        rises = np.diff(done.objectives) / np.abs(done.objectives[:-1])
        assert rises.max() <= 1e-12


def test_the_reported_objectives_are_those_of_the_iterates(seeded):
    literal = random_literal(seeded)
    start = start_for(literal, seeded)

    done = complete_multiplicatively(fast_problem(literal), start, max_iterations=3, tolerance=0.0)

    assert done.objectives[0] == pytest.approx(literal.objective(start), rel=1e-10)
    assert done.objectives[-1] == pytest.approx(literal.objective(done.tensor), rel=1e-10)


def test_the_start_is_the_anchors_tags_and_one_draw_of_numbers(seeded):
    literal = random_literal(seeded)
    numbers = np.random.default_rng(7).random(literal.prior.shape)

    start = start_for(literal, np.random.default_rng(7))

    np.testing.assert_array_equal(start, 1e-2 * (1.0 - numbers) + literal.prior)


def test_a_consumed_start_becomes_the_tensor_and_any_other_stays(seeded):
    literal = random_literal(seeded)
    start = start_for(literal, seeded)
    before, problem = start.copy(), fast_problem(literal)

    apart = complete_multiplicatively(problem, start, max_iterations=3, tolerance=0.0)
    np.testing.assert_array_equal(start, before)
    within = complete_multiplicatively(
        problem, start, max_iterations=3, tolerance=0.0, consume=True
    )

    assert within.tensor is start
    np.testing.assert_array_equal(within.tensor, apart.tensor)


def test_a_signed_start_has_mean_zero_and_is_updated_as_printed(seeded):
    literal = random_literal(seeded)
    start = signed_start_for(literal, np.random.default_rng(7))
    disturbance = start - literal.prior

    done = complete_multiplicatively(fast_problem(literal), start, max_iterations=1, tolerance=0.0)

    assert np.abs(disturbance).max() <= 0.1
    assert abs(disturbance.mean()) < 0.2 * np.abs(disturbance).mean()
    np.testing.assert_allclose(done.tensor, literal.updated(start), rtol=1e-8, atol=1e-12)


def test_negative_entries_of_a_signed_start_never_leave_or_the_objective_rises(seeded):
    literal = random_literal(seeded)
    start = signed_start_for(literal, seeded)

    done = complete_multiplicatively(fast_problem(literal), start, max_iterations=50, tolerance=0.0)

    assert (start < 0).any()
    assert (done.tensor < 0).any() or np.diff(done.objectives).max() > 0


def test_a_start_of_another_shape_is_refused(rng):
    literal = random_literal(rng)

    with pytest.raises(ValueError, match="must have"):
        complete_multiplicatively(
            fast_problem(literal), start_for(literal, rng)[:1], max_iterations=5, tolerance=0.0
        )


def test_exact_solves_the_normal_equations(seeded):
    problem = fast_problem(random_literal(seeded))

    done = complete_exactly(problem)

    assert done.residual < 1e-6
    assert done.converged
    gradient = problem.gradient(done.tensor)
    assert np.linalg.norm(gradient) / np.linalg.norm(2 * problem.target) < 1e-6


def test_exact_equals_a_dense_solve_of_the_whole_system(seeded):
    problem = fast_problem(random_literal(seeded, n_tags=3, m_images=3, m_users=2))
    size = int(np.prod(problem.shape))
    columns = [problem.operator(row.reshape(problem.shape)).ravel() for row in np.eye(size)]

    expected = np.linalg.solve(np.array(columns).T, problem.target.ravel())

    np.testing.assert_allclose(complete_exactly(problem).tensor.ravel(), expected, atol=1e-7)


def test_exact_is_never_above_the_other_two(seeded):
    literal = random_literal(seeded)
    problem = fast_problem(literal)

    exact = complete_exactly(problem).objectives[-1]
    updates = complete_multiplicatively(
        problem, start_for(literal, seeded), max_iterations=500, tolerance=1e-9
    ).objectives[-1]
    projected = complete_nonnegatively(problem, max_iterations=2000, gap_tolerance=1e-4).objectives[
        -1
    ]

    assert exact <= updates + 1e-9 * abs(updates)
    assert exact <= projected + 1e-9 * abs(projected)


def test_nonnegative_certifies_a_gap_of_one_in_ten_thousand(seeded):
    problem = fast_problem(random_literal(seeded))

    done = complete_nonnegatively(problem, max_iterations=5000, gap_tolerance=1e-4)

    assert done.converged
    assert 0 <= done.gap <= 1e-4
    assert (done.tensor >= 0).all()


def test_the_certified_gap_covers_what_many_more_updates_gain(seeded):
    literal = random_literal(seeded)
    problem = fast_problem(literal)
    rough = complete_nonnegatively(problem, max_iterations=10, gap_tolerance=0.0)

    best = min(
        complete_nonnegatively(problem, max_iterations=5000, gap_tolerance=1e-9).objectives[-1],
        complete_multiplicatively(
            problem, start_for(literal, seeded), max_iterations=3000, tolerance=0.0
        ).objectives[-1],
    )

    assert rough.objectives[-1] - best <= rough.gap * best * (1 + 1e-6) + 1e-12


def test_multiplicative_and_nonnegative_reach_the_same_minimum(seeded):
    literal = random_literal(seeded)
    problem = fast_problem(literal)

    updates = complete_multiplicatively(
        problem, start_for(literal, seeded), max_iterations=5000, tolerance=0.0
    ).objectives[-1]
    projected = complete_nonnegatively(problem, max_iterations=5000, gap_tolerance=1e-7)

    assert updates == pytest.approx(projected.objectives[-1], rel=1e-3)
    assert updates >= projected.objectives[-1] * (1 - 1.1e-7)


def test_single_precision_gives_the_same_answer_to_its_own_accuracy(seeded):
    literal = random_literal(seeded)

    double = complete_exactly(fast_problem(literal))
    single = complete_exactly(fast_problem(literal, np.float32))

    assert single.tensor.dtype == np.float32
    assert single.objectives[-1] == pytest.approx(double.objectives[-1], rel=1e-4)
