"""The linear probe: closed forms against regressions done one by one."""

import numpy as np
import pytest
from scipy import sparse

from planted import as_new, planted_collection, without_features
from sugartag.collection.build import collection_from_arrays
from sugartag.collection.model import Collection
from sugartag.errors import CollectionError, SettingsError
from sugartag.linalg.distances import unit_rows
from sugartag.methods.linear_probe import (
    DEFAULT_RIDGE,
    HELD_OUT_EVERY,
    RIDGES,
    LinearProbe,
    add_products,
    chosen_ridge,
    deviations,
    held_out_errors,
)


def whole(collection: Collection) -> tuple[np.ndarray, np.ndarray]:
    """Return features of length 1 and tags, dense and in double precision."""
    rows = collection.rows(slice(0, collection.n_images))
    return unit_rows(rows.features.astype(np.float64)), rows.tags.toarray().astype(np.float64)


def regression(features, tags, ridge):
    """Return weights and constants of a ridge whose constant is free, by an extended system."""
    n, d = features.shape
    padded = np.hstack([features, np.ones((n, 1))])
    penalty = np.diag([ridge * n] * d + [0.0])
    solved = np.linalg.solve(padded.T @ padded + penalty, padded.T @ tags)
    return solved[:-1], solved[-1]


def test_scores_are_those_of_a_regression_with_a_free_constant(collection, engine, rng):
    model = LinearProbe(ridge=0.02).fit(collection, engine=engine, rng=rng)
    features, tags = whole(collection)

    weights, constant = regression(features, tags, 0.02)

    expected = features @ weights + constant - tags.mean(axis=0)
    scores = model.scores(collection.rows(slice(0, collection.n_images)))
    np.testing.assert_allclose(scores, expected, atol=1e-6)


def test_an_image_left_out_is_scored_by_the_regression_of_the_others(collection, engine, rng):
    ridge, image = 0.02, 17
    model = LinearProbe(ridge=ridge, leave_one_out=True).fit(collection, engine=engine, rng=rng)
    features, tags = whole(collection)
    others = np.arange(len(features)) != image

    n = len(features)
    # The same penalty in all, though there is one image fewer.
    weights, constant = regression(features[others], tags[others], ridge * n / (n - 1))

    expected = features[image] @ weights + constant - tags.mean(axis=0)
    scores = model.scores(collection.rows(slice(image, image + 1)))[0]
    np.testing.assert_allclose(scores, expected, atol=1e-6)


def test_a_new_image_is_never_left_out(collection, engine, rng):
    rows = as_new(collection.rows(slice(5, 15)), collection)
    plain = LinearProbe(ridge=0.02).fit(collection, engine=engine, rng=rng)
    without = LinearProbe(ridge=0.02, leave_one_out=True).fit(collection, engine=engine, rng=rng)

    np.testing.assert_allclose(without.scores(rows), plain.scores(rows), atol=1e-6)


def test_the_held_out_error_is_that_of_predicting_a_fifth_from_the_others(collection):
    apart = add_products(slice(0, collection.n_images), collection, True)
    features, tags = whole(collection)
    held = np.arange(len(features)) % HELD_OUT_EVERY == 0
    scale = np.square(deviations(apart.kept + apart.held))

    errors = held_out_errors(apart, (0.001, 0.1))

    constant = np.square(tags[held] - tags[~held].mean(axis=0)) / scale
    for error, ridge in zip(errors, (0.001, 0.1), strict=True):
        weights, offset = regression(features[~held], tags[~held], ridge)
        literal = np.square(tags[held] - features[held] @ weights - offset) / scale
        assert error == pytest.approx(literal.mean() - constant.mean(), abs=1e-10)


def test_the_ridge_chosen_is_the_best_of_those_tried(collection, engine, rng):
    apart = engine.sum(add_products, collection.blocks(100), collection, True)
    errors = held_out_errors(apart, RIDGES)

    ridge = LinearProbe().fit(collection, engine=engine, rng=rng).ridge

    assert ridge == RIDGES[int(errors.argmin())]
    assert RIDGES[0] < ridge < RIDGES[-1]
    assert errors.min() < 0  # better than the shares alone


def test_a_ridge_is_taken_as_given_where_too_few_images_could_choose_one(engine, rng):
    few = collection_from_arrays(sparse.csr_array(np.eye(3)), np.arange(3), features=np.eye(3, 4))

    assert chosen_ridge(add_products(slice(0, 3), few, True)) == DEFAULT_RIDGE
    scores = LinearProbe(leave_one_out=True).fit(few, engine=engine, rng=rng)
    assert np.isfinite(scores.scores(few.rows(slice(0, 3)))).all()


def test_images_that_look_all_the_same_get_the_floor(engine, rng):
    same = collection_from_arrays(
        sparse.csr_array(np.eye(20, 4)), np.arange(20), features=np.ones((20, 3))
    )
    model = LinearProbe().fit(same, engine=engine, rng=rng)

    np.testing.assert_allclose(model.scores(same.rows(slice(0, 20))), model.floor, atol=1e-6)


def test_balance_counts_the_excess_in_standard_deviations(collection, engine, rng):
    rows = collection.rows(slice(0, 40))
    plain = LinearProbe(ridge=0.01).fit(collection, engine=engine, rng=rng)
    model = LinearProbe(ridge=0.01, balance=1).fit(collection, engine=engine, rng=rng)

    share = whole(collection)[1].mean(axis=0)
    share = np.clip(share, 1 / collection.n_images, None)
    expected = plain.scores(rows) / np.sqrt(share * (1 - share))
    np.testing.assert_allclose(model.scores(rows), expected, rtol=1e-4, atol=1e-5)


def test_features_of_any_length_are_compared_by_direction_unless_asked(engine, rng):
    collection = planted_collection()
    rows = collection.rows(slice(0, 5))
    by_direction = LinearProbe(ridge=0.01).fit(collection, engine=engine, rng=rng)
    by_place = LinearProbe(ridge=0.01, unit_features=False).fit(collection, engine=engine, rng=rng)

    assert np.abs(by_direction.mean).max() < 1
    assert not np.allclose(by_direction.scores(rows), by_place.scores(rows), atol=1e-3)


def test_images_described_by_another_model_are_refused(collection, engine, rng):
    model = LinearProbe().fit(collection, engine=engine, rng=rng)

    with pytest.raises(CollectionError, match="have no feature numbers each, the model's have 48"):
        model.scores(without_features(collection).rows(slice(0, 2)))


@pytest.mark.parametrize(("setting", "value"), [("ridge", 0.0), ("balance", 1.5)])
def test_impossible_settings_are_named(setting, value):
    with pytest.raises(SettingsError, match=f"linear-probe setting {setting} is {value}"):
        LinearProbe(**{setting: value})
