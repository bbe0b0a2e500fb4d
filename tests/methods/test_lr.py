"""LR against dense, literal formulas, and what its options do."""

import numpy as np
import pytest
from scipy import sparse

from planted import as_new, planted_collection
from sugartag.engine import LocalEngine
from sugartag.errors import CapacityError, SettingsError
from sugartag.linalg.laplacian import laplacian
from sugartag.linalg.proximal import singular_parts, soft_threshold
from sugartag.methods.lr import LowRank, steps
from sugartag.methods.lr.steps import (
    LowRankProblem,
    extrapolated,
    find_errors,
    gradient_step,
    largest_singular_value,
    minimised,
    product_of,
)
from sugartag.methods.near_images import image_graph


def random_graph(rng, size):
    links = rng.random((size, size)) * (rng.random((size, size)) < 0.3)
    return laplacian(sparse.csr_array(np.maximum(links, links.T)))


def random_problem(rng, *, n_images=30, n_tags=12, **weights):
    pattern = rng.random((n_images, 3)) @ rng.random((3, n_tags)) > 0.9
    noise = rng.random((n_images, n_tags)) < 0.1
    asked = {
        "nuclear_weight": 0.4,
        "error_threshold": 0.4,
        "image_smoothness": 0.5,
        "tag_smoothness": 0.2,
        **weights,
    }
    return LowRankProblem(
        given=sparse.csr_array((pattern ^ noise).astype(np.float64)),
        image_roughness=random_graph(rng, n_images),
        tag_roughness=random_graph(rng, n_tags),
        **asked,
    )


def literal_objective(low, errors, problem):
    """The objective of the definition, in A and in E."""
    rough = np.sum(low * (problem.image_roughness @ low)) * problem.image_smoothness
    rough += np.sum(low * (low @ problem.tag_roughness.toarray())) * problem.tag_smoothness
    return (
        problem.nuclear_weight * np.linalg.svd(low, compute_uv=False).sum()
        + problem.error_threshold * np.abs(errors).sum()
        + np.sum((problem.given.toarray() - low - errors) ** 2) / 2
        + rough / 2
    )


def literal_minimiser(problem, steps=1500):
    """Plain proximal gradient in A and E together, dense, from zero."""
    given = problem.given.toarray()
    low, errors = np.zeros_like(given), np.zeros_like(given)
    steepness = problem.steepness + 1
    for _ in range(steps):
        wrong = low + errors - given
        slope = wrong + problem.image_smoothness * (problem.image_roughness @ low)
        slope += problem.tag_smoothness * (low @ problem.tag_roughness.toarray())
        left, values, right = np.linalg.svd(low - slope / steepness, full_matrices=False)
        low = (left * np.maximum(values - problem.nuclear_weight / steepness, 0)) @ right
        errors = soft_threshold(errors - wrong / steepness, problem.error_threshold / steepness)
    return low, errors


def solve(problem, **options):
    asked = {"max_rank": 12, "max_iterations": 400, "tolerance": 1e-9, **options}
    return minimised(problem, engine=LocalEngine(), rng=np.random.default_rng(0), **asked)


@pytest.mark.parametrize(
    "weights",
    [{}, {"image_smoothness": 0.0, "tag_smoothness": 0.0}, {"error_threshold": 0.15}],
)
def test_the_factored_solver_finds_the_minimiser_of_the_definition(weights, rng):
    problem = random_problem(rng, **weights)
    low, errors = literal_minimiser(problem)

    found = solve(problem).parts.matrix()

    made = soft_threshold(problem.given.toarray() - found, problem.error_threshold)
    least = literal_objective(low, errors, problem)
    assert literal_objective(found, made, problem) == pytest.approx(least, rel=1e-6)
    assert abs(found).max() > 0.1
    np.testing.assert_allclose(found, low, atol=1e-3)


def test_putting_the_best_errors_in_leaves_the_same_gradient(rng):
    problem = random_problem(rng)
    parts = singular_parts(rng.standard_normal((30, 12)) / 5)
    low = parts.matrix()

    def cost(matrix):
        errors = soft_threshold(problem.given.toarray() - matrix, problem.error_threshold)
        smooth = literal_objective(matrix, errors, problem)
        return smooth - problem.nuclear_weight * np.linalg.svd(matrix, compute_uv=False).sum()

    point = product_of(parts)
    errors = find_errors(point, problem, engine=LocalEngine())
    step = gradient_step(point, errors, problem)
    slope = (low - step.matmat(np.eye(12))) * problem.steepness

    direction = rng.standard_normal(low.shape)
    ahead, behind = (cost(low + size * direction) for size in (1e-5, -1e-5))
    assert np.vdot(slope, direction) == pytest.approx((ahead - behind) / 2e-5, rel=1e-5)
    np.testing.assert_allclose(step.rmatmat(np.eye(30)).T, step.matmat(np.eye(12)), atol=1e-12)


def test_a_step_is_short_enough(rng):
    problem = random_problem(rng, image_smoothness=3.0, tag_smoothness=2.0)

    images = np.linalg.eigvalsh(problem.image_roughness.toarray()).max()
    tags = np.linalg.eigvalsh(problem.tag_roughness.toarray()).max()

    assert problem.steepness >= 1 + 3.0 * images + 2.0 * tags


def test_extrapolation_goes_on_the_way_it_went(rng):
    now, before = (singular_parts(rng.standard_normal((8, 5))) for _ in range(2))

    point = extrapolated(now, before, 0.3)

    expected = now.matrix() + 0.3 * (now.matrix() - before.matrix())
    np.testing.assert_allclose(point.images @ point.tags.T, expected, atol=1e-12)


def test_nothing_is_left_at_the_largest_nuclear_weight(rng):
    problem = random_problem(rng, image_smoothness=0.0, tag_smoothness=0.0)
    given = problem.given
    most = problem.error_threshold * np.linalg.svd(given.toarray(), compute_uv=False)[0]

    assert largest_singular_value(given, rng=rng) * 0.4 == pytest.approx(most, rel=1e-6)
    heavy, light = (
        solve(LowRankProblem(given, problem.image_roughness, problem.tag_roughness, w, 0.4, 0, 0))
        for w in (1.001 * most, 0.9 * most)
    )

    assert heavy.parts.rank == 0
    assert light.parts.rank >= 1


def test_a_single_wrong_tag_is_an_error_and_a_missing_one_is_found(engine, rng):
    truth = np.zeros((40, 6))
    truth[:20, :3] = truth[20:, 3:] = 1
    given = truth.copy()
    given[3, 0] = 0
    given[4, 5] = 1
    empty = sparse.csr_array((40, 40)), sparse.csr_array((6, 6))
    problem = LowRankProblem(sparse.csr_array(given), *empty, 1.0, 0.3, 0.0, 0.0)

    found = solve(problem)

    low = found.parts.matrix()
    assert found.parts.rank == 2
    assert low[3, 0] > 0.5 > 0.2 > low[4, 5]
    errors = find_errors(product_of(found.parts), problem, engine=engine).toarray()
    assert errors[3, 0] < 0 < errors[4, 5]


def test_errors_that_are_not_sparse_are_refused(monkeypatch, rng):
    monkeypatch.setattr(steps, "MOST_ERRORS", 10)

    with pytest.raises(CapacityError, match="raise error_threshold"):
        solve(random_problem(rng, error_threshold=0.01, nuclear_weight=1e-3))


def test_a_fitted_image_with_its_own_links_has_its_own_factors_again(collection, engine, rng):
    method = LowRank(tolerance=1e-9, max_iterations=500, new_image_updates=500)
    model = method.fit(collection, engine=engine, rng=rng)
    affinity = image_graph(collection, 15, unit_features=True, engine=engine).affinity
    some = slice(10, 40)

    again = model.folded_in(collection.tags_of(some), affinity[some])

    expected = model.image_factors[some] @ model.tag_factors.T
    np.testing.assert_allclose(again @ model.tag_factors.T, expected, atol=2e-4)


def test_an_image_linked_to_nothing_lives_by_its_own_tags(collection, engine, rng):
    model = LowRank().fit(collection, engine=engine, rng=rng)
    tags = collection.tags_of(slice(10, 12))
    alone = sparse.csr_array((2, collection.n_images))

    scores = model.folded_in(tags, alone) @ model.tag_factors.T

    assert np.isfinite(scores).all()
    assert scores[tags.toarray() > 0].min() > np.median(scores)


def test_an_image_seen_again_as_new_gets_about_the_tags_it_had(engine, rng):
    collection = planted_collection(8)
    model = LowRank().fit(collection, engine=engine, rng=rng)
    rows = collection.rows(slice(5, 205))

    old, new = model.scores(rows), model.scores(as_new(rows, collection))

    alike = [np.corrcoef(a, b)[0, 1] for a, b in zip(old, new, strict=True)]
    assert np.median(alike) > 0.95


def test_the_rank_is_capped(collection, engine, rng):
    model = LowRank(max_rank=7).fit(collection, engine=engine, rng=rng)

    assert model.image_factors.shape == (600, 7)
    assert model.tag_factors.shape == (50, 7)


def test_smoother_images_are_more_like_their_neighbours(collection, engine, rng):
    affinity = image_graph(collection, 15, unit_features=True, engine=engine).affinity
    rough = laplacian(affinity)

    def roughness(smoothness):
        model = LowRank(image_smoothness=smoothness).fit(collection, engine=engine, rng=rng)
        low = model.image_factors @ model.tag_factors.T
        return np.sum(low * (rough @ low)) / np.sum(low**2)

    assert roughness(3.0) < roughness(0.3) < roughness(0.0)


def test_the_steps_end_where_little_changes(collection, engine, rng):
    model = LowRank(tolerance=1e-2).fit(collection, engine=engine, rng=rng)
    cut = LowRank(tolerance=0, max_iterations=3).fit(collection, engine=engine, rng=rng)

    assert model.iterations < 60
    assert model.change <= 1e-2
    assert cut.iterations == 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"nuclear_share": 0.0},
        {"nuclear_share": 1.0},
        {"error_threshold": 0.0},
        {"image_smoothness": -1.0},
        {"max_rank": 0},
        {"neighbours": 0},
        {"new_image_updates": 0},
    ],
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        LowRank(**wrong)
