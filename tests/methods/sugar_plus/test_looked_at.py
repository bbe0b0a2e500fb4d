"""Which images and tags are looked at, along which directions, and in which folds."""

from dataclasses import replace

import numpy as np
import pytest

from methods.sugar_plus.literal import all_rows
from planted import without_features
from sugartag.collection.subset import tag_counts
from sugartag.collection.synthetic import World
from sugartag.methods.sugar_plus import looked_at as module
from sugartag.methods.sugar_plus.looked_at import (
    SPREAD,
    Directions,
    LookedAt,
    folds_of,
    most_used,
)


@pytest.fixture(scope="module")
def collection():
    return World(n_images=700, n_tags=120, n_owners=90, n_features=20, n_dimensions=12).generate(3)


def test_images_of_nobody_are_in_folds_one_by_one():
    owner, position = np.array([4, 4, 9, 9]), np.array([0, 1, 2, 3])

    assert folds_of(owner, position, 9, 3).tolist() == [1, 1, 2, 0]


def test_all_images_are_looked_at_unless_there_are_too_many(collection, monkeypatch):
    found = LookedAt.of(collection, True)

    np.testing.assert_array_equal(found.position, np.arange(700))
    np.testing.assert_array_equal(found.folds(3), collection.owner % 3)
    monkeypatch.setattr(module, "IMAGES", 512)
    assert LookedAt.of(collection, True).n_images == 512


def test_of_many_images_some_are_looked_at_all_over_the_collection(collection, monkeypatch):
    monkeypatch.setattr(module, "IMAGES", 200)
    monkeypatch.setattr(module, "ROWS_PER_BLOCK", 20)
    monkeypatch.setattr(module, "CELLS", 200 * 30)

    found = LookedAt.of(collection, True)

    blocks = [np.arange(block.start, block.stop) for block in found.blocks]
    np.testing.assert_array_equal(found.position, np.concatenate(blocks))
    assert (found.n_images, len(found.tags)) == (200, 30)
    assert found.position[0] == 0
    assert found.position[-1] == 699
    assert np.diff(found.position).max() <= 80
    np.testing.assert_array_equal(found.owner, collection.owner[found.position])


def test_the_tags_looked_at_are_those_most_used(collection, monkeypatch):
    monkeypatch.setattr(module, "CELLS", 700 * 30 + 5)

    found = LookedAt.of(collection, True).tags

    uses = tag_counts(collection)
    assert len(found) == 30
    assert (np.diff(found) > 0).all()
    assert uses[found].min() >= np.delete(uses, found).max()
    assert most_used(np.array([3, 9, 3, 1]), 700 * 15).tolist() == [0, 1]


def test_with_few_owners_images_are_in_folds_one_by_one(collection):
    (shard,) = collection.shards
    mine = replace(collection, shards=(replace(shard, owner=np.zeros_like(shard.owner)),))

    found = LookedAt.of(mine, True)

    assert found.n_owners == 0
    np.testing.assert_array_equal(found.folds(6), np.arange(700) % 6)


def test_too_few_images_are_not_looked_at(collection):
    few = replace(collection.shards[0], **first_rows(collection.shards[0], 120))

    assert LookedAt.of(replace(collection, shards=(few,)), True) is None


def first_rows(shard, count):
    names = ("owner", "tags", "features", "truth")
    return {"ids": shard.ids[:count]} | {name: getattr(shard, name)[:count] for name in names}


def test_directions_are_those_in_which_images_differ_most(collection):
    features = all_rows(collection).features
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    centred = unit - unit.mean(axis=0)

    found = Directions.differing(features, True).of(all_rows(collection))

    size = np.linalg.svd(centred, compute_uv=False)
    lengths = np.sqrt(np.square(found[:, :-1]).sum(axis=0))
    scale = SPREAD / np.sqrt(np.square(centred).sum() / len(centred))
    np.testing.assert_allclose(lengths, scale * size, rtol=1e-3, atol=1e-2)
    np.testing.assert_array_equal(found[:, -1], 1.0)


def test_the_first_directions_are_the_first_of_all(collection):
    rows = all_rows(collection)
    every = Directions.differing(rows.features, True)

    some = every.first(5)

    assert (len(every), len(some), len(every.first(50))) == (20, 5, 20)
    np.testing.assert_allclose(some.of(rows)[:, :5], every.of(rows)[:, :5], atol=1e-5)


def test_where_images_look_the_same_or_have_no_features_there_is_no_direction(collection):
    same = Directions.differing(np.ones((50, 7)), True)
    bare = LookedAt.of(without_features(collection), True)

    assert len(same) == len(same.first(3)) == len(bare.directions) == 0
    np.testing.assert_array_equal(bare.seen, np.ones((700, 1)))
