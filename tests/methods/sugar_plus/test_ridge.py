"""Both ridges are the regressions they claim to be, and leaving an image out is a refit."""

import numpy as np
import pytest

from methods.sugar_plus.literal import (
    SMALL,
    given,
    joint_refit,
    joint_weights,
    name_prior,
    penalties,
    predictors,
    ridge,
    ridge_towards,
    views_of,
    without_itself,
)
from sugartag.methods.sugar_plus.estimator import SugarPlus
from sugartag.methods.sugar_plus.ridge import MOST_LEVERAGE, JointRidge, VisualRidge
from sugartag.methods.sugar_plus.statistics import Statistics

JOINT_ONLY = SugarPlus(
    **{**SMALL.__dict__, "visual_share": 0.0, "neighbour_weight": 0.0, "name_similarity": 0.0}
)


@pytest.fixture(scope="module")
def joint_views(small):
    return views_of(small, JOINT_ONLY)


@pytest.fixture(scope="module")
def left_out(joint_views, rows):
    """The prediction of each tag of each image by a regression without the image."""
    found = np.zeros((len(rows), joint_views.n_tags))
    for image in range(len(rows)):
        for tag in range(joint_views.n_tags):
            found[image, tag] = joint_refit(joint_views, rows, tag, image)[image]
    return found


def test_the_visual_weights_are_those_of_a_ridge_on_what_images_show(views, rows):
    z = predictors(rows, views.blocks)[:, views.blocks.tags.width :]
    penalty = penalties(views.blocks, SMALL.visual_penalty)[views.blocks.tags.width :]

    expected = ridge(z, given(rows), views.image_weight, penalty)

    np.testing.assert_allclose(views.visual.weights, expected, atol=1e-4)


def test_the_joint_weights_of_a_tag_are_those_of_a_ridge_towards_names_without_its_own_column(
    views, rows
):
    z, y = predictors(rows, views.blocks), given(rows)
    penalty = penalties(views.blocks, SMALL.joint_penalty)

    for tag in range(views.n_tags):
        kept = without_itself(views.blocks, tag)
        expected = np.zeros(views.blocks.width)
        prior = name_prior(views)[kept, tag]
        expected[kept] = ridge_towards(
            prior, z[:, kept], y[:, tag], views.image_weight, penalty[kept]
        )
        np.testing.assert_allclose(joint_weights(views.joint)[:, tag], expected, atol=1e-4)


def test_no_tag_predicts_itself(views):
    predictor = views.blocks.tags.predictor

    assert not joint_weights(views.joint)[np.arange(len(predictor)), predictor].any()


def test_the_visual_view_leaves_an_image_out_as_a_refit_would(views, rows):
    z, y = predictors(rows, views.blocks)[:, views.blocks.tags.width :], given(rows)
    penalty = penalties(views.blocks, SMALL.visual_penalty)[views.blocks.tags.width :]

    found = views.visual_excess(views.leaving_out(rows)) + views.base_rate

    for image in range(len(rows)):
        weight = views.image_weight.copy()
        weight[image] = 0.0
        np.testing.assert_allclose(found[image], z[image] @ ridge(z, y, weight, penalty), atol=1e-4)


def test_the_joint_view_leaves_an_image_out_as_a_refit_would_at_its_own_tags(
    joint_views, rows, left_out
):
    found = joint_views.excess(rows) + joint_views.base_rate
    own = given(rows) > 0

    assert (
        np.abs(left_out - predictors(rows, joint_views.blocks) @ joint_weights(joint_views.joint))[
            own
        ].mean()
        > 0.05
    )  # Leaving an image out matters.
    np.testing.assert_allclose(found[own], left_out[own], atol=1e-4)


def test_at_tags_not_given_the_whole_leverage_stands_in_for_that_without_the_tags_column(
    joint_views, rows, left_out
):
    found = joint_views.excess(rows) + joint_views.base_rate
    other = given(rows) == 0

    np.testing.assert_allclose(found[other], left_out[other], atol=0.05)
    assert np.abs(found - left_out)[other].mean() < 0.003
    # The whole leverage is the larger one: it errs away from zero.
    assert (np.abs(found) >= np.abs(left_out) - 1e-4)[other].all()


def test_a_rare_tag_has_no_column_so_that_leaving_out_is_exact_at_all_images(
    joint_views, rows, left_out
):
    rare = np.setdiff1d(np.arange(joint_views.n_tags), joint_views.blocks.tags.predictor)

    found = joint_views.excess(rows) + joint_views.base_rate

    assert len(rare) == 2
    np.testing.assert_allclose(found[:, rare], left_out[:, rare], atol=1e-4)


def test_predictions_at_a_few_tags_are_those_of_the_whole_product(views, rows):
    tags = rows.tags.tocoo()
    z = predictors(rows, views.blocks)

    found = views.joint.at_cells(views.blocks.transform(rows), tags.row, tags.col)

    weights, width = joint_weights(views.joint), views.blocks.tags.width
    of_tags = (z[:, :width] @ weights[:width])[tags.row, tags.col]
    of_dense = (z[:, width:] @ weights[width:])[tags.row, tags.col]
    np.testing.assert_allclose(found, (of_dense, of_tags), atol=1e-5)


def test_leverage_is_what_the_inverse_says(views, rows):
    z, inverse = predictors(rows, views.blocks), views.joint.inverse.astype(float)
    weight = views.image_weight
    whole = weight * np.einsum("ij,jk,ik->i", z, inverse, z)

    found = views.joint.leverage(views.blocks.transform(rows), weight)

    np.testing.assert_allclose(found.whole, whole, atol=1e-5)
    tags = views.blocks.transform(rows).tags.tocoo()
    own = (z @ inverse)[tags.row, tags.col] ** 2 / np.diag(inverse)[tags.col]
    np.testing.assert_allclose(found.at_given, whole[tags.row] - weight[tags.row] * own, atol=1e-5)


def test_leverage_is_never_below_0_nor_near_1_even_where_an_image_decides_its_own_fit(views, rows):
    predictors_ = views.blocks.transform(rows)
    heavy = np.full(len(rows), 1e4, dtype=np.float32)

    joint = views.joint.leverage(predictors_, heavy)
    visual = views.visual.leverage(predictors_, heavy)

    for found in (joint.whole, joint.at_given, visual):
        assert found.min() >= 0.0
        assert found.max() == np.float32(MOST_LEVERAGE)


def test_an_image_that_was_not_fitted_has_no_leverage(views, rows):
    nothing = np.zeros(len(rows), dtype=np.float32)
    predictors_ = views.blocks.transform(rows)

    assert not views.visual.leverage(predictors_, nothing).any()
    assert not views.joint.leverage(predictors_, nothing).whole.any()


def test_the_spread_is_the_weighted_deviation_of_the_predictions(views, rows):
    z = predictors(rows, views.blocks)[:, views.blocks.tags.width :]
    predicted, weight = z @ views.visual.weights, views.image_weight
    mean = np.average(predicted, axis=0, weights=weight)
    variance = np.average((predicted - mean) ** 2, axis=0, weights=weight)

    found = views.visual.spread(views.statistics)

    np.testing.assert_allclose(found, np.sqrt(variance), atol=1e-5)


def test_sums_over_no_images_predict_nothing(views):
    nothing = Statistics.zero(views.blocks)

    joint = JointRidge.solve(nothing, views.blocks, 0.0 * views.similarity)
    assert not joint_weights(joint).any()
    assert not VisualRidge.solve(nothing, views.blocks, 1.0).weights.any()
