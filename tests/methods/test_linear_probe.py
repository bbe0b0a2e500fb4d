"""The linear probe: closed forms against regressions done one by one."""

import numpy as np
import pytest
from scipy import sparse

from planted import as_new, planted_collection, without_features
from sugartag.collection.build import collection_from_arrays
from sugartag.collection.model import Collection
from sugartag.errors import CollectionError, SettingsError
from sugartag.linalg.distances import unit_rows
from sugartag.methods.linear_probe import LinearProbe
from sugartag.methods.linear_probe.sums import (
    DEFAULT_RIDGE,
    HELD_OUT_EVERY,
    RIDGES,
    add_products,
    chosen_ridge,
    deviations,
    held_out_errors,
    owners_held_out,
    whitened_directions,
)

PLAIN = {"own_weight": 0.0, "whitening": 0.0, "leave_one_out": False}
"""An ordinary probe."""


def whole(collection: Collection) -> tuple[np.ndarray, np.ndarray]:
    """Return features of length 1 and tags, dense and in double precision."""
    rows = collection.rows(slice(0, collection.n_images))
    return unit_rows(rows.features.astype(np.float64)), rows.tags.toarray().astype(np.float64)


def whitened(features, power):
    """Return the principal components whitened to this power, as long as before on average."""
    centred = features - features.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    found = left * sizes ** (1 - power)
    return found * np.sqrt(np.square(centred).sum() / np.square(found).sum())


def regression(features, tags, ridge):
    """Return weights and constants of a ridge whose constant is free, by an extended system."""
    n, d = features.shape
    padded = np.hstack([features, np.ones((n, 1))])
    penalty = np.diag([ridge * n] * d + [0.0])
    solved = np.linalg.solve(padded.T @ padded + penalty, padded.T @ tags)
    return solved[:-1], solved[-1]


def test_scores_are_those_of_a_regression_with_a_free_constant(collection, engine, rng):
    model = LinearProbe(ridge=0.02, **PLAIN).fit(collection, engine=engine, rng=rng)
    features, tags = whole(collection)

    weights, constant = regression(features, tags, 0.02)

    expected = features @ weights + constant - tags.mean(axis=0)
    scores = model.scores(collection.rows(slice(0, collection.n_images)))
    np.testing.assert_allclose(scores, expected, atol=1e-6)


@pytest.mark.parametrize("whitening", [0.0, 0.5])
@pytest.mark.parametrize("image", [3, 17])
def test_an_image_left_out_is_scored_by_the_regression_of_the_others(
    image, whitening, collection, engine, rng
):
    ridge = 0.02
    settings = {"ridge": ridge, "own_weight": 0.0, "whitening": whitening}
    model = LinearProbe(**settings).fit(collection, engine=engine, rng=rng)
    features, tags = whole(collection)
    features = whitened(features, whitening)
    others = np.arange(len(features)) != image

    n = len(features)
    # The same penalty in all, though there is one image fewer.
    weights, constant = regression(features[others], tags[others], ridge * n / (n - 1))

    expected = features[image] @ weights + constant - tags.mean(axis=0)
    scores = model.scores(collection.rows(slice(image, image + 1)))[0]
    np.testing.assert_allclose(scores, expected, atol=1e-6)


def test_a_new_image_is_never_left_out(collection, engine, rng):
    rows = as_new(collection.rows(slice(5, 15)), collection)
    plain = LinearProbe(ridge=0.02, **PLAIN).fit(collection, engine=engine, rng=rng)
    without = LinearProbe(ridge=0.02, **(PLAIN | {"leave_one_out": True})).fit(
        collection, engine=engine, rng=rng
    )

    np.testing.assert_allclose(without.scores(rows), plain.scores(rows), atol=1e-6)


@pytest.mark.parametrize("whitening", [0.0, 0.5])
def test_whitened_features_are_regressed_on(whitening, collection, engine, rng):
    settings = PLAIN | {"ridge": 0.02, "whitening": whitening}
    model = LinearProbe(**settings).fit(collection, engine=engine, rng=rng)
    features, tags = whole(collection)
    features = whitened(features, whitening)

    weights, constant = regression(features, tags, 0.02)

    expected = features @ weights + constant - tags.mean(axis=0)
    scores = model.scores(collection.rows(slice(0, collection.n_images)))
    np.testing.assert_allclose(scores, expected, atol=1e-6)


def test_whitening_leaves_the_mean_square_length(collection):
    features, _ = whole(collection)
    apart = add_products(slice(0, collection.n_images), collection, True, None)

    directions = whitened_directions(apart.kept + apart.held, 0.5)

    centred = features - features.mean(axis=0)
    before, after = (np.square(rows).sum() for rows in (centred, centred @ directions))
    assert after == pytest.approx(before, rel=1e-6)


@pytest.mark.parametrize("balance", [0.0, 0.5])
def test_an_own_tag_adds_exactly_its_weight(balance, collection, engine, rng):
    rows = collection.rows(slice(0, 50))
    without, with_own = (
        LinearProbe(ridge=0.02, balance=balance, own_weight=weight)
        .fit(collection, engine=engine, rng=rng)
        .scores(rows)
        for weight in (0.0, 0.25)
    )

    np.testing.assert_allclose(with_own - without, 0.25 * rows.tags.toarray(), atol=1e-6)


def test_whole_owners_are_held_out_about_a_fifth_of_the_images(collection):
    owners = owners_held_out(collection)

    owner = collection.owner[collection.owner < collection.n_owners]
    assert 0.1 <= owners[owner].mean() <= 0.2


def test_images_are_held_out_one_by_one_where_one_owner_has_nearly_all():
    tags = sparse.csr_array(np.ones((40, 1)))
    one = collection_from_arrays(tags, np.zeros(40, dtype=int), features=np.eye(40))

    assert owners_held_out(one) is None
    assert add_products(slice(0, 40), one, True, None).held.count == 40 / HELD_OUT_EVERY


def test_images_of_nobody_are_held_out_one_by_one():
    owner = np.repeat([0, 1, 2], [10, 10, 20])
    collection = collection_from_arrays(
        sparse.csr_array(np.eye(40)),
        owner,
        features=np.eye(40),
        groups=sparse.csr_array((2, 0)),
    )

    apart = add_products(slice(0, 40), collection, True, np.array([False, True]))

    expected = [*range(10, 20), 20, 25, 30, 35]
    np.testing.assert_array_equal(np.flatnonzero(apart.held.tags), expected)


def test_the_held_out_error_is_that_of_predicting_some_owners_from_the_others(collection):
    owners = owners_held_out(collection)
    apart = add_products(slice(0, collection.n_images), collection, True, owners)
    features, tags = whole(collection)
    single = np.arange(len(features)) % HELD_OUT_EVERY == 0
    held = np.array(
        [
            single[image] if owner == collection.nobody else owners[owner]
            for image, owner in enumerate(collection.owner)
        ]
    )
    scale = np.square(deviations(apart.kept + apart.held))

    errors = held_out_errors(apart, (0.001, 0.1))

    constant = np.square(tags[held] - tags[~held].mean(axis=0)) / scale
    for error, ridge in zip(errors, (0.001, 0.1), strict=True):
        weights, offset = regression(features[~held], tags[~held], ridge)
        literal = np.square(tags[held] - features[held] @ weights - offset) / scale
        assert error == pytest.approx(literal.mean() - constant.mean(), abs=1e-10)


def test_the_ridge_chosen_is_the_best_of_those_tried(collection, engine, rng):
    owners = owners_held_out(collection)
    apart = engine.sum(add_products, collection.blocks(100), collection, True, owners)
    errors = held_out_errors(apart, RIDGES)

    ridge = LinearProbe(whitening=0.0).fit(collection, engine=engine, rng=rng).ridge

    assert ridge == RIDGES[int(errors.argmin())]
    assert RIDGES[0] < ridge < RIDGES[-1]
    assert errors.min() < 0  # better than the shares alone


def test_a_ridge_is_taken_as_given_where_too_few_images_could_choose_one(engine, rng):
    few = collection_from_arrays(sparse.csr_array(np.eye(3)), np.arange(3), features=np.eye(3, 4))

    assert chosen_ridge(add_products(slice(0, 3), few, True, None)) == DEFAULT_RIDGE
    scores = LinearProbe().fit(few, engine=engine, rng=rng)
    assert np.isfinite(scores.scores(few.rows(slice(0, 3)))).all()


def test_images_that_look_all_the_same_get_the_floor(engine, rng):
    same = collection_from_arrays(
        sparse.csr_array(np.eye(20, 4)), np.arange(20), features=np.ones((20, 3))
    )
    model = LinearProbe(own_weight=0.0, leave_one_out=False).fit(same, engine=engine, rng=rng)

    np.testing.assert_allclose(model.scores(same.rows(slice(0, 20))), model.floor, atol=1e-6)


def test_balance_counts_the_excess_in_standard_deviations(collection, engine, rng):
    rows = collection.rows(slice(0, 40))
    plain = LinearProbe(ridge=0.01, **PLAIN).fit(collection, engine=engine, rng=rng)
    model = LinearProbe(ridge=0.01, balance=1, **PLAIN).fit(collection, engine=engine, rng=rng)

    share = whole(collection)[1].mean(axis=0)
    share = np.clip(share, 1 / collection.n_images, None)
    expected = plain.scores(rows) / np.sqrt(share * (1 - share))
    np.testing.assert_allclose(model.scores(rows), expected, rtol=1e-4, atol=1e-5)


def test_features_of_any_length_are_compared_by_direction_unless_asked(engine, rng):
    collection = planted_collection()
    rows = collection.rows(slice(0, 5))
    by_direction = LinearProbe(ridge=0.01, **PLAIN).fit(collection, engine=engine, rng=rng)
    by_place = LinearProbe(ridge=0.01, unit_features=False).fit(collection, engine=engine, rng=rng)

    assert np.abs(by_direction.mean).max() < 1
    assert not np.allclose(by_direction.scores(rows), by_place.scores(rows), atol=1e-3)


def test_images_described_by_another_model_are_refused(collection, engine, rng):
    model = LinearProbe().fit(collection, engine=engine, rng=rng)

    with pytest.raises(CollectionError, match="have no feature numbers each, the model's have 48"):
        model.scores(without_features(collection).rows(slice(0, 2)))


@pytest.mark.parametrize(
    ("setting", "value"),
    [("ridge", 0.0), ("balance", 1.5), ("own_weight", -0.1), ("whitening", 1.5)],
)
def test_impossible_settings_are_named(setting, value):
    with pytest.raises(SettingsError, match=f"linear-probe setting {setting} is {value}"):
        LinearProbe(**{setting: value})
