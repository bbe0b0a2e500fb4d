"""Blocks turn images into the predictors that their formulas say."""

from dataclasses import replace

import numpy as np
import pytest

from methods.sugar_plus.literal import (
    ENGINE,
    RARE,
    UNTAGGED,
    UNUSED,
    WITHOUT_FEATURES,
    all_rows,
    given,
    whitened,
)
from planted import without_features
from sugartag.errors import CollectionError
from sugartag.methods.sugar_plus.blocks import TagBlock, VisualBlock


def visual_block(collection, components=5, whitening=0.25):
    return VisualBlock.fit(
        collection, components=components, whitening=whitening, penalty=1.0, engine=ENGINE
    )


@pytest.mark.parametrize("power", [0.0, 0.25, 1.0])
def test_visual_components_are_whitened_in_part_and_have_a_mean_square_norm_of_1(
    small, rows, power
):
    found = visual_block(small, whitening=power).transform(rows)

    np.testing.assert_allclose(found, whitened(rows.features, 5, power), atol=1e-5)
    present = np.setdiff1d(np.arange(80), WITHOUT_FEATURES)
    assert np.square(found[present]).sum(axis=1).mean() == pytest.approx(1.0, abs=1e-4)


def test_an_image_without_features_is_the_average_one(small, rows):
    found = visual_block(small).transform(rows)

    assert not found[list(WITHOUT_FEATURES)].any()
    assert np.count_nonzero(found.any(axis=1)) == 80 - len(WITHOUT_FEATURES)


def test_how_long_features_are_does_not_matter(small, rows):
    block = visual_block(small)
    longer = replace(rows, features=rows.features * 7.0)

    np.testing.assert_allclose(block.transform(longer), block.transform(rows), atol=1e-5)


@pytest.mark.parametrize("components", [0, 5])
def test_without_features_or_components_there_are_no_columns(small, components):
    bare = small if components == 0 else without_features(small)

    block = visual_block(bare, components)

    assert block.width == 0
    assert block.transform(all_rows(bare)).shape == (80, 0)


def test_features_of_another_length_are_refused(small, rows):
    other = replace(rows, features=rows.features[:, :3])

    with pytest.raises(CollectionError, match="3 feature numbers"):
        visual_block(small).transform(other)


def test_a_row_of_the_tag_block_sums_to_the_share_of_tags_that_predict(rows):
    y = given(rows)
    block = TagBlock.fit(y.sum(axis=0), 6, 1.0)

    found = block.transform(rows)

    count = np.maximum(y.sum(axis=1), 1.0)
    np.testing.assert_allclose(found.toarray(), y[:, block.predictor] / count[:, None], atol=1e-7)
    np.testing.assert_allclose(
        found.sum(axis=1), y[:, block.predictor].sum(axis=1) / count, atol=1e-6
    )
    assert found.sum(axis=1).max() == pytest.approx(1.0)
    assert found.toarray()[UNTAGGED].sum() == 0.0


def test_only_the_most_used_tags_predict_and_none_that_is_rare():
    uses = np.array([9.0, 2.0, 5.0, 5.0, 3.0, 0.0, 7.0])

    assert TagBlock.fit(uses, 3, 1.0).predictor.tolist() == [0, 2, 6]
    assert TagBlock.fit(uses, 99, 1.0).predictor.tolist() == [0, 2, 3, 4, 6]
    assert TagBlock.fit(uses, 0, 1.0).width == 0


def test_predictors_are_tags_and_then_components_and_then_1(views, rows):
    found = views.blocks.transform(rows)

    assert not np.isin([RARE, UNUSED], views.blocks.tags.predictor).any()
    assert views.blocks.width == found.tags.shape[1] + found.dense.shape[1] == 12 + 5 + 1
    assert len(found) == 80
    assert (found.dense[:, -1] == 1.0).all()
    np.testing.assert_array_equal(found.dense[:, :-1], views.blocks.visual.transform(rows))
