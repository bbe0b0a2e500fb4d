"""Neighbours vote as the formula says: images of one owner, by their looks, never themselves."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from methods.sugar_plus import literal
from methods.sugar_plus.literal import (
    COPY_OF_ANOTHER_OWNER,
    ENGINE,
    OF_NOBODY,
    SERIES,
    WITHOUT_FEATURES,
    all_rows,
)
from planted import as_new, without_features
from sugartag.collection.build import collection_from_arrays
from sugartag.methods.sugar_plus import neighbours as module
from sugartag.methods.sugar_plus.blocks import VisualBlock
from sugartag.methods.sugar_plus.neighbours import find_neighbours, leading, median_distance


def near_of(collection, visual, *, history=200, width=0.8):
    return find_neighbours(collection, visual, history=history, width=width, engine=ENGINE)


@pytest.fixture(scope="module")
def visual(views) -> VisualBlock:
    return views.blocks.visual


@pytest.fixture(scope="module")
def near(small, visual):
    return near_of(small, visual)


@pytest.mark.parametrize("history", [3, 200])
def test_votes_are_the_shrunken_kernel_mean_over_the_owners_other_images(
    small, rows, visual, history
):
    near = near_of(small, visual, history=history)

    found = near.votes(rows, visual.transform(rows)).toarray()

    expected = literal.votes(rows, visual.transform(rows), near, small.n_owners)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.count_nonzero(expected) > 100


def test_new_images_of_a_known_owner_hear_all_of_that_owners_images(small, rows, near, visual):
    new = as_new(rows, small)

    found = near.votes(new, visual.transform(new)).toarray()

    expected = literal.votes(new, visual.transform(new), near, small.n_owners)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_votes_are_at_least_a_little_below_1(near, rows, visual):
    shares = near.shares(rows, visual.transform(rows))

    assert shares.sum(axis=1).max() < 1.0
    assert shares.data.min() > 0.0


def test_only_images_of_the_same_owner_vote_and_never_an_image_on_itself(near, rows, visual):
    shares = near.shares(rows, visual.transform(rows)).tocoo()
    reference = near.reference

    np.testing.assert_array_equal(reference.owner[shares.col], rows.owner[shares.row])
    assert (reference.image[shares.col] != rows.position[shares.row]).all()


def test_frames_of_a_series_have_no_vote_on_each_other(near, rows, visual):
    shares = near.shares(rows, visual.transform(rows)).toarray()
    place = {image: number for number, image in enumerate(near.reference.image.tolist())}

    frames = [place[image] for image in SERIES]
    assert not shares[np.ix_(SERIES, frames)].any()
    assert np.isin(COPY_OF_ANOTHER_OWNER, near.reference.image)


def test_two_images_with_the_same_two_tags_are_no_series_and_vote(rng):
    features = np.vstack([np.ones((2, 3)), -np.eye(3)]) + 0.01 * rng.random((5, 3))
    tags = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 1]])
    pair = collection_from_arrays(
        sparse.csr_array(tags), np.zeros(5, dtype=int), features=features.astype(np.float32)
    )
    visual = VisualBlock.fit(pair, components=3, whitening=0.25, penalty=1.0, engine=ENGINE)

    rows = all_rows(pair)

    found = near_of(pair, visual, width=0.2).votes(rows, visual.transform(rows)).toarray()

    assert found[0, :2] == pytest.approx(0.5, abs=0.01)


def test_images_without_features_neither_vote_nor_hear_votes(near, rows, visual):
    shares = near.shares(rows, visual.transform(rows))
    unseen = list(WITHOUT_FEATURES)

    assert not shares[unseen].nnz
    assert not shares[:, np.flatnonzero(np.isin(near.reference.image, unseen))].nnz


def test_images_of_nobody_have_no_neighbours_and_are_none(small, near, rows, visual):
    assert not near.votes(rows, visual.transform(rows))[list(OF_NOBODY)].nnz
    assert not np.isin(OF_NOBODY, near.reference.image).any()
    new = as_new(rows, small, owner=small.nobody)
    assert not near.votes(new, visual.transform(new)).nnz
    assert not near.votes(replace(new, owner=new.owner + 5), visual.transform(new)).nnz


@pytest.mark.parametrize("rows_at_once", [9, 80])
def test_the_first_images_of_each_owner_are_kept_up_to_the_history(small, visual, rows_at_once):
    near = near_of(replace(small, rows_at_once=rows_at_once), visual, history=4)

    for owner in range(small.n_owners):
        kept = near.reference.image[near.start[owner] : near.start[owner + 1]]
        np.testing.assert_array_equal(kept, np.flatnonzero(small.owner == owner)[:4])
    assert len(near.reference) == near.start[-1]


def test_reference_images_keep_their_looks_and_tags(near, rows, visual):
    image = near.reference.image

    np.testing.assert_allclose(near.reference.codes, visual.transform(rows)[image], atol=1e-6)
    np.testing.assert_array_equal(near.reference.tags.toarray(), rows.tags.toarray()[image])


def test_only_the_leading_components_are_compared(visual, monkeypatch):
    monkeypatch.setattr(module, "COMPONENTS", 2)

    assert leading(visual).width == 2
    np.testing.assert_array_equal(leading(visual).projection, visual.projection[:, :2])


def test_without_features_or_history_nobody_votes(small, visual):
    bare = without_features(small)
    nothing = VisualBlock.fit(bare, components=5, whitening=0.5, penalty=1.0, engine=ENGINE)

    for collection, block, history in ((bare, nothing, 200), (small, visual, 0)):
        near = near_of(collection, block, history=history)
        votes = near.votes(all_rows(collection), block)
        assert votes.shape == (80, small.n_tags)
        assert not votes.nnz


def test_the_width_is_a_share_of_the_median_distance(small, rows, visual):
    codes = visual.transform(rows)
    apart = np.linalg.norm(codes[:, None] - codes[None], axis=2)[np.triu_indices(80, 1)]

    assert median_distance(codes) == pytest.approx(np.median(apart), rel=0.1)
    one, half = near_of(small, visual, width=1.0).width, near_of(small, visual, width=0.5).width
    assert half == pytest.approx(one / 2.0)
    assert median_distance(codes[:1]) == 1.0
