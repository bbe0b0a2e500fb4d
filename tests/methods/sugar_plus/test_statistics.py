"""The sums over blocks are the normal equations, whatever the blocks; frames share a weight."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from methods.sugar_plus.literal import (
    COPY_OF_ANOTHER_OWNER,
    ENGINE,
    SERIES,
    given,
    part_of,
    predictors,
)
from sugartag.methods.sugar_plus.statistics import (
    Accumulator,
    Statistics,
    accumulate,
    series_weights,
    set_hashes,
    statistics_of,
)


def tags_of(*sets):
    """Return a row for each set of tags, the tags stored in the order given."""
    indices = np.concatenate([np.array(one, dtype=np.int32) for one in sets])
    start = np.cumsum([0, *map(len, sets)])
    return sparse.csr_array((np.ones(len(indices)), indices, start), shape=(len(sets), 20))


def assert_same_sums(one, other, atol=1e-4):
    for name in ("gram", "cross", "uses"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=atol)
    assert one.count == pytest.approx(other.count)


def copied(statistics):
    return replace(statistics, gram=statistics.gram.copy(), cross=statistics.cross.copy())


def test_the_sums_are_the_weighted_products_of_predictors_and_tags(views, rows):
    z, y, weight = predictors(rows, views.blocks), given(rows), views.image_weight[:, None]

    found = views.statistics

    np.testing.assert_allclose(found.gram, z.T @ (weight * z), atol=1e-5)
    np.testing.assert_allclose(found.cross, z.T @ (weight * y), atol=1e-5)
    np.testing.assert_array_equal(found.uses, y.sum(axis=0))
    assert found.count == len(rows)
    assert found.weight == pytest.approx(float(weight.sum()))
    np.testing.assert_allclose(found.base_rate, (weight * y).sum(axis=0) / weight.sum(), atol=1e-6)


@pytest.mark.parametrize("rows_at_once", [1, 7, 79])
def test_the_sums_do_not_depend_on_the_blocks(small, views, rows_at_once):
    cut = replace(small, rows_at_once=rows_at_once)

    found = accumulate(cut, views.blocks, views.image_weight, engine=ENGINE)

    assert_same_sums(found, views.statistics)


def test_images_added_and_taken_out_again_leave_the_sums_as_they_were(views, rows):
    some, weight = rows.at(np.arange(5, 30)), views.image_weight[5:30]
    part = statistics_of(some, views.blocks, weight)

    more = Accumulator(copied(views.statistics))
    more.take(part)
    changed = copied(more.total)
    back = Accumulator(more.total, sign=-1.0)
    back.take(part)

    assert np.abs(changed.gram - views.statistics.gram).max() > 1.0
    assert changed.count == len(rows) + 25
    assert_same_sums(back.total, views.statistics)


def test_the_sums_of_two_halves_are_those_of_the_whole(small, views):
    total = Accumulator(Statistics.zero(views.blocks))
    for images in (np.arange(33), np.arange(33, 80)):
        half = part_of(small, images, small.n_tags, small.n_owners)
        some = half.rows(slice(0, half.n_images))
        total.take(statistics_of(some, views.blocks, views.image_weight[images]))

    assert_same_sums(total.total, views.statistics)


def test_tags_that_are_new_have_sums_of_nothing(views):
    wide = views.statistics.widened(17)

    np.testing.assert_array_equal(wide.cross[:, :14], views.statistics.cross)
    assert not wide.cross[:, 14:].any()
    assert not wide.uses[14:].any()


def test_frames_of_a_series_share_the_weight_of_one_image(views):
    np.testing.assert_allclose(views.image_weight[list(SERIES)], 1.0 / 3.0)
    assert views.image_weight[COPY_OF_ANOTHER_OWNER] == 1.0


def test_a_series_has_one_owner_and_the_same_three_tags_or_more():
    tags = tags_of((1, 2, 3), (3, 1, 2), (1, 2, 3), (1, 2, 4), (5, 6), (5, 6), (1, 2, 3, 4), ())
    owner = np.array([0, 0, 1, 0, 0, 0, 0, 0])

    found = series_weights(tags, owner)

    np.testing.assert_allclose(found, [0.5, 0.5, 1, 1, 1, 1, 1, 1])


def test_a_hash_knows_the_set_of_tags_and_not_their_order():
    same = set_hashes(tags_of((4, 9, 2), (2, 4, 9), (9, 2, 4)))
    unlike = set_hashes(tags_of((), (0,), (1,), (2,), (0, 3), (1, 2), (0, 1, 2), (0, 1, 3)))

    assert len(np.unique(same)) == 1
    assert len(np.unique(unlike)) == 8
