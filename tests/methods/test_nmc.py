"""NMC: the factored solver against literal sums, the convex one against its own optimality."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from planted import accuracy, as_new
from sugartag.collection.model import Collection
from sugartag.engine import LocalEngine
from sugartag.errors import CapacityError, CollectionError, SettingsError
from sugartag.methods.nmc import FittedNonlinearCompletion, NonlinearCompletion, convex
from sugartag.methods.nmc.convex import ConvexProblem, check_size, complete_convex
from sugartag.methods.nmc.factors import (
    Factors,
    ImageStep,
    Weights,
    objective,
    solve_features,
    solve_tags,
)

WEIGHTS = Weights(feature=0.4, absence=0.15, ridge=0.7)


def fit(collection: Collection, **settings: object) -> FittedNonlinearCompletion:
    method = NonlinearCompletion(**settings)
    return method.fit(collection, engine=LocalEngine(), rng=np.random.default_rng(3))


class Tiny:
    """A few images with factors drawn at random, and the objective as it is written down."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.mapped = rng.standard_normal((9, 4))
        self.tags = sparse.csr_array((rng.random((9, 6)) < 0.35).astype(float))
        self.images = rng.standard_normal((9, 3))
        self.factors = Factors(
            rng.standard_normal((4, 3)), rng.standard_normal((6, 3)), rng.standard_normal(6)
        )

    def literal(self, factors: Factors, images: np.ndarray) -> float:
        total = WEIGHTS.ridge * sum(
            np.sum(part**2) for part in (factors.feature, factors.tag, images)
        )
        total += WEIGHTS.feature * np.sum((self.mapped - images @ factors.feature.T) ** 2)
        given = self.tags.toarray()
        for image in range(9):
            for tag in range(6):
                weight = 1.0 if given[image, tag] else WEIGHTS.absence
                value = images[image] @ factors.tag[tag] + factors.offset[tag]
                total += weight * (given[image, tag] - value) ** 2
        return total / 2


def gradient(function: object, at: np.ndarray) -> np.ndarray:
    found = np.zeros_like(at)
    for place in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[place] = 1e-5
        found[place] = (function(at + step) - function(at - step)) / 2e-5
    return found


def test_the_objective_is_the_literal_sum():
    tiny = Tiny()

    found = objective(
        tiny.factors,
        tiny.images,
        tiny.tags,
        WEIGHTS,
        map_energy=float(np.sum(tiny.mapped**2)),
        product=tiny.mapped.T @ tiny.images,
    )

    assert found == pytest.approx(tiny.literal(tiny.factors, tiny.images), rel=1e-12)


@pytest.mark.parametrize("at_once", [1, 1 << 21])
def test_the_image_step_is_the_minimiser(at_once, monkeypatch):
    monkeypatch.setattr("sugartag.methods.nmc.factors.CELLS_AT_ONCE", at_once)
    tiny = Tiny()

    images = ImageStep.of(tiny.factors, WEIGHTS).images(tiny.tags, tiny.mapped)

    slope = gradient(lambda at: tiny.literal(tiny.factors, at), images)
    np.testing.assert_allclose(slope, 0, atol=1e-8)


def test_absent_tags_may_count_as_much_as_given_ones():
    tiny = Tiny()
    equal = Weights(feature=0.4, absence=1.0, ridge=0.7)
    stacked = np.vstack([np.sqrt(0.4) * tiny.factors.feature, tiny.factors.tag])
    targets = np.hstack([np.sqrt(0.4) * tiny.mapped, tiny.tags.toarray() - tiny.factors.offset])

    images = ImageStep.of(tiny.factors, equal).images(tiny.tags, tiny.mapped)

    expected = np.linalg.solve(stacked.T @ stacked + 0.7 * np.eye(3), stacked.T @ targets.T).T
    np.testing.assert_allclose(images, expected, rtol=1e-9)


def test_the_factor_steps_are_the_minimisers():
    tiny = Tiny()
    wide = np.hstack([tiny.images, np.ones((9, 1))])
    gram = wide.T @ wide

    solved = solve_tags(slice(0, 6), tiny.tags.T.tocsr(), wide, gram, WEIGHTS)
    feature = solve_features(tiny.mapped.T @ tiny.images, gram[:3, :3], WEIGHTS)

    def literal(tag_part: np.ndarray) -> float:
        return tiny.literal(Factors(feature, tag_part[:, :3], tag_part[:, 3]), tiny.images)

    def of_features(at: np.ndarray) -> float:
        return tiny.literal(Factors(at, solved[:, :3], solved[:, 3]), tiny.images)

    np.testing.assert_allclose(gradient(literal, solved), 0, atol=1e-8)
    np.testing.assert_allclose(gradient(of_features, feature), 0, atol=1e-8)


def test_the_objective_never_rises(collection):
    found = fit(collection, rank=20, max_iterations=12, tolerance=0).objectives

    assert len(found) == 12
    assert np.all(np.diff(found) <= 1e-10 * found[1:])


def test_the_tolerance_ends_the_rounds(collection):
    assert len(fit(collection, tolerance=0.5).objectives) == 2


def test_an_image_is_scored_the_same_whether_it_was_fitted_or_not(collection):
    model = fit(collection)
    rows = collection.rows(slice(0, 50))

    np.testing.assert_array_equal(model.scores(as_new(rows, collection)), model.scores(rows))


def test_features_are_what_finds_missing_tags(collection):
    blind, seeing = (
        accuracy(fit(collection, feature_weight=w).scores(everything(collection)), collection)
        for w in (0.0, 0.5)
    )

    assert seeing[0] > blind[0] + 0.1


def everything(collection: Collection):
    return collection.rows(slice(0, collection.n_images))


def test_other_features_than_the_fitted_ones_are_refused(collection):
    rows = everything(collection)

    with pytest.raises(CollectionError, match="the model's have 48"):
        fit(collection).scores(replace(rows, features=rows.features[:, :7]))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("landmarks", 0),
        ("rank", 0),
        ("max_iterations", 0),
        ("ridge", 0.0),
        ("tag_weight", 0.0),
        ("feature_weight", -0.1),
        ("tolerance", -1.0),
        ("absence_weight", 0.0),
        ("absence_weight", 1.5),
        ("nuclear_weight", 0.0),
        ("kernel_width", 0.0),
    ],
)
def test_impossible_settings_are_refused(setting, value):
    with pytest.raises(SettingsError, match=f"nmc setting {setting} is"):
        NonlinearCompletion(**{setting: value})


def convex_problem() -> ConvexProblem:
    rng = np.random.default_rng(4)
    latent = rng.standard_normal((2, 20))
    mapped = rng.standard_normal((5, 2)) @ latent
    sign = np.where(rng.standard_normal((4, 2)) @ latent > 0, 1.0, -1.0)
    return ConvexProblem(mapped, sign, np.where(sign > 0, 1.0, 0.3), tag_weight=1.5)


def test_the_convex_gradient_is_that_of_the_objective():
    problem = convex_problem()
    at = np.random.default_rng(5).standard_normal((10, 20))

    expected = gradient(lambda z: problem.objective(z, 0.0), at)

    np.testing.assert_allclose(problem.gradient(at), expected, atol=1e-9)


def test_the_convex_step_lowers_the_objective_of_its_stage():
    problem = convex_problem()
    found = []
    for steps in (1, 3, 10, 40):
        done = complete_convex(problem, nuclear_weight=1.0, max_iterations=steps, tolerance=0.0)
        found.append(problem.objective(done.matrix, done.nuclear_weight))

    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(found))


def test_the_row_of_ones_stays_and_the_signs_are_found():
    problem = convex_problem()

    done = complete_convex(problem, nuclear_weight=1e-3, max_iterations=50, tolerance=1e-7)

    np.testing.assert_array_equal(done.matrix[-1], 1.0)
    assert np.mean(np.sign(done.matrix[5:-1]) == problem.sign) > 0.9


def test_the_convex_solver_ranks_tags_too(collection):
    model = fit(collection, solver="convex", landmarks=30, max_iterations=10)
    rows = everything(collection)
    scores = model.scores(rows)
    new = model.scores(as_new(rows, collection))

    assert scores.min() >= 0
    assert scores.max() <= 1
    assert accuracy(scores, collection)[1] > 0.5
    assert accuracy(new, collection)[1] > 0.5


def test_a_matrix_too_large_for_the_convex_solver_is_refused(collection, monkeypatch):
    monkeypatch.setattr(convex, "LARGEST_PROBLEM", 1000)

    with pytest.raises(CapacityError, match="choose solver=factored"):
        fit(collection, solver="convex")
    check_size(1, 8, 100)
