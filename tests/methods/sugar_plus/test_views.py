"""The excess is the sum of its views, each with the image left out."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from methods.sugar_plus import literal
from methods.sugar_plus.literal import SMALL, joint_weights, views_of
from planted import as_new, without_features


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("predictors", [0, 5, 4_000])
def test_the_excess_of_images_fitted_is_the_sum_of_views_that_leave_them_out(
    small, rows, share, predictors
):
    views = views_of(small, replace(SMALL, visual_share=share, max_predictors=predictors))

    expected = literal.excess(views, rows, fitted=True)

    np.testing.assert_allclose(views.excess(rows), expected, atol=2e-5)


def test_a_given_tag_is_predicted_as_high_as_if_it_were_missing(small):
    """Else calibration would take missing tags, which are predicted higher, for surer ones."""
    views = views_of(small, replace(SMALL, neighbour_weight=0.0, series_weighting=False))
    rows = as_new(literal.all_rows(small), small)
    expected = np.zeros((len(rows), views.n_tags))
    for tag in range(views.n_tags):
        fewer = rows.tags.toarray()
        fewer[:, tag] = False
        expected[:, tag] = views.excess(replace(rows, tags=sparse.csr_array(fewer)))[:, tag]

    np.testing.assert_allclose(views.excess(rows), expected, atol=1e-5)


@pytest.mark.parametrize("of_nobody", [False, True])
def test_the_excess_of_new_images_is_the_plain_sum_of_the_views(small, rows, views, of_nobody):
    new = as_new(rows, small, owner=small.nobody if of_nobody else None)

    found = views.excess(new)

    np.testing.assert_allclose(found, literal.excess(views, new, fitted=False), atol=2e-5)
    assert np.abs(found - views.excess(rows)).max() > 0.05


def test_without_the_same_owner_there_are_no_votes(small, rows, views):
    found = views.excess(rows, exclude_same_owner=True)

    votes = views.neighbours.votes(rows, views.blocks.visual.transform(rows)).toarray()
    expected = literal.excess(views, rows, fitted=True) - views.weights.neighbour * votes
    np.testing.assert_allclose(found, expected, atol=2e-5)
    assert votes.any()
    stranger = as_new(rows, small, owner=small.nobody)
    of_owner = as_new(rows, small)
    np.testing.assert_allclose(
        views.excess(of_owner, exclude_same_owner=True), views.excess(stranger), atol=1e-6
    )


@pytest.mark.parametrize("size", [1, 13])
def test_the_excess_does_not_depend_on_how_images_are_batched(rows, views, size):
    together = views.excess(rows)

    for start in range(0, len(rows), size):
        part = rows.at(np.arange(start, min(start + size, len(rows))))
        np.testing.assert_allclose(views.excess(part), together[start : start + size], atol=1e-5)


def test_the_order_of_images_and_of_their_tags_does_not_matter(rows, views):
    backwards = rows.at(np.arange(len(rows))[::-1])
    tags = backwards.tags.copy()
    for row in range(len(rows)):
        entries = slice(tags.indptr[row], tags.indptr[row + 1])
        tags.indices[entries] = tags.indices[entries][::-1].copy()

    found = views.excess(replace(backwards, tags=tags))

    np.testing.assert_allclose(found[::-1], views.excess(rows), atol=1e-5)


def test_without_features_other_tags_are_all_there_is(small):
    bare = without_features(small)
    views = views_of(bare)
    rows = literal.all_rows(bare)

    np.testing.assert_array_equal(views.names.toarray(), np.eye(small.n_tags))
    expected = literal.excess(views, rows, fitted=True)
    np.testing.assert_allclose(views.excess(rows), expected, atol=2e-5)
    assert np.abs(expected).max() > 0.05


def test_views_solved_anew_from_the_same_sums_are_the_same(views):
    again = views.solved_again()

    np.testing.assert_array_equal(joint_weights(again.joint), joint_weights(views.joint))
    np.testing.assert_array_equal(again.visual.weights, views.visual.weights)


def test_an_image_can_be_predicted_as_if_nobody_had_tagged_it(small):
    views = views_of(small, replace(SMALL, visual_share=0.0, neighbour_weight=0.0))
    rows = literal.all_rows(small)

    found = views.untagged_excess(views.leaving_out(rows)) + views.base_rate

    differences = []
    for image in range(len(rows)):
        for tag in range(views.n_tags):
            expected = literal.untagged_refit(views, rows, tag, image)
            if rows.tags[image, tag]:
                assert found[image, tag] == pytest.approx(expected, abs=1e-4)
            differences.append(abs(found[image, tag] - expected))
    assert np.mean(differences) < 0.03
