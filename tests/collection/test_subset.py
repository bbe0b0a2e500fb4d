"""Hidden and injected tags: right in number, the same everywhere, and nothing else changed."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from sugartag.collection.build import collection_from_arrays
from sugartag.collection.model import Collection, Shard
from sugartag.collection.subset import (
    hide_tags,
    inject_tags,
    some_images,
    tag_counts,
    without_truth,
)
from sugartag.errors import SettingsError

N_IMAGES, N_TAGS = 600, 30
EVERYTHING = slice(0, N_IMAGES)


@pytest.fixture
def collection() -> Collection:
    rng = np.random.default_rng(3)
    use = 0.5 / np.arange(1, N_TAGS + 1)
    tags = sparse.csr_array((rng.random((N_IMAGES, N_TAGS)) < use).astype(np.int8))
    return collection_from_arrays(
        tags,
        rng.integers(0, 20, N_IMAGES),
        features=rng.standard_normal((N_IMAGES, 4)),
        truth=tags[:, :5],
    )


def in_shards(collection: Collection, *ends: int) -> Collection:
    """Cut the single shard of a collection into several."""
    whole = collection.shards[0]
    bounds = [0, *ends, N_IMAGES]
    parts = [slice(a, b) for a, b in pairwise(bounds)]
    shards = [
        Shard(whole.ids[p], whole.owner[p], whole.tags[p], whole.features[p], whole.truth[p])
        for p in parts
    ]
    return replace(collection, shards=tuple(shards))


def dense(rows) -> np.ndarray:
    return rows.toarray()


def test_hidden_and_remaining_tags_are_the_given_ones(collection):
    parts = hide_tags(collection, 0.3, seed=1)

    both = dense(parts.hidden_of(EVERYTHING)) + dense(parts.collection.tags_of(EVERYTHING))

    np.testing.assert_array_equal(both, dense(collection.tags_of(EVERYTHING)))


def test_the_share_asked_for_is_hidden(collection):
    hidden = hide_tags(collection, 0.3, seed=1).hidden_of(EVERYTHING)

    given = collection.tags_of(EVERYTHING).nnz
    spread = np.sqrt(given * 0.3 * 0.7)
    assert abs(hidden.nnz - 0.3 * given) < 4 * spread


def test_every_tag_and_every_stretch_of_images_loses_its_share():
    full = collection_from_arrays(
        sparse.csr_array(np.ones((2000, 40), dtype=np.int8)), np.zeros(2000, dtype=int)
    )

    hidden = dense(hide_tags(full, 0.4, seed=9).hidden_of(slice(0, 2000)))

    np.testing.assert_allclose(hidden.mean(axis=0), 0.4, atol=0.05)
    np.testing.assert_allclose(hidden.reshape(20, -1).mean(axis=1), 0.4, atol=0.05)
    neighbours = np.corrcoef(hidden[:, :-1].ravel(), hidden[:, 1:].ravel())[0, 1]
    assert abs(neighbours) < 0.02


@pytest.mark.parametrize("make", [hide_tags, inject_tags])
def test_the_choice_does_not_depend_on_sharding(collection, make):
    whole = make(collection, 0.3, 5)
    cut = make(in_shards(collection, 7, 200, 201), 0.3, 5)

    for block in (EVERYTHING, slice(150, 320)):
        np.testing.assert_array_equal(
            dense(whole.collection.tags_of(block)), dense(cut.collection.tags_of(block))
        )


@pytest.mark.parametrize("make", [hide_tags, inject_tags])
def test_another_seed_makes_another_choice_and_the_same_seed_the_same(collection, make):
    first, again, other = (
        dense(make(collection, 0.3, seed).collection.tags_of(EVERYTHING)) for seed in (5, 5, 6)
    )

    np.testing.assert_array_equal(first, again)
    assert (first != other).sum() > 100


@pytest.mark.parametrize("make", [hide_tags, inject_tags])
def test_features_and_owners_are_shared_and_the_truth_is_gone(collection, make):
    made = make(collection, 0.5, 1).collection

    assert made.shards[0].features is collection.shards[0].features
    assert made.shards[0].owner is collection.shards[0].owner
    assert made.groups is collection.groups
    assert not made.has_truth


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, 1.5, float("nan")])
def test_an_impossible_share_is_named(collection, share):
    with pytest.raises(SettingsError, match=f"is {share}"):
        hide_tags(collection, share, 1)


@pytest.mark.parametrize("rate", [0.0, 1.1, float("nan")])
def test_an_impossible_rate_is_named(collection, rate):
    with pytest.raises(SettingsError, match=f"is {rate}"):
        inject_tags(collection, rate, 1)


def test_injected_tags_are_new_and_the_given_ones_stay(collection):
    parts = inject_tags(collection, 0.5, seed=2)

    given = dense(collection.tags_of(EVERYTHING))
    injected = dense(parts.injected_of(EVERYTHING))
    assert (given * injected).sum() == 0
    assert injected.max() == 1
    np.testing.assert_array_equal(dense(parts.collection.tags_of(EVERYTHING)), given + injected)


def test_as_many_tags_are_injected_as_asked_for(collection):
    injected = inject_tags(collection, 0.5, seed=2).injected_of(EVERYTHING)

    given = collection.tags_of(EVERYTHING).nnz
    assert abs(injected.nnz - 0.5 * given) < 4 * np.sqrt(given * 0.25)


def test_tags_are_injected_as_often_as_they_are_used_elsewhere():
    counts = np.array([3000, 2000, 700, 300])
    one_each = sparse.csr_array(np.eye(4, dtype=np.int8)[np.repeat(np.arange(4), counts)])
    collection = collection_from_arrays(one_each, np.zeros(6000, dtype=int))

    injected = tag_counts(inject_tags(collection, 1.0, seed=4).added)

    # An image with tag t draws among the others, in proportion to their use.
    chance = counts / (6000 - counts)[:, None] * ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(injected, counts @ chance, rtol=0.1)


def test_images_with_more_tags_get_more_wrong_ones(collection):
    injected = dense(inject_tags(collection, 1.0, seed=2).injected_of(EVERYTHING)).sum(axis=1)

    given = dense(collection.tags_of(EVERYTHING)).sum(axis=1)
    np.testing.assert_array_equal(injected, given)


def test_an_image_with_every_tag_gets_no_wrong_one():
    tags = np.eye(6, 5, dtype=np.int8)
    tags[5] = 1
    few = collection_from_arrays(sparse.csr_array(tags), np.zeros(6, dtype=int))

    injected = dense(inject_tags(few, 1.0, seed=0).injected_of(slice(0, 6)))

    np.testing.assert_array_equal(injected.sum(axis=1), [1, 1, 1, 1, 1, 0])


def test_hidden_tags_bring_no_second_set_of_features(collection):
    parts = hide_tags(collection, 0.5, 1)

    assert parts.taken.n_features == 0
    assert parts.collection.n_features == 4


def test_without_truth_only_the_truth_is_gone(collection):
    made = without_truth(collection)

    assert not made.has_truth
    assert made.shards[0].tags is collection.shards[0].tags
    assert collection.has_truth


def test_tag_counts_add_up_over_shards(collection):
    expected = dense(collection.tags_of(EVERYTHING)).sum(axis=0)

    np.testing.assert_array_equal(tag_counts(in_shards(collection, 100, 350)), expected)


def test_some_images_have_what_they_had(collection):
    chosen = np.array([3, 599, 200, 201])

    some = some_images(in_shards(collection, 100, 200), chosen)

    ascending = np.sort(chosen)
    assert list(some.ids) == [f"image-{image}" for image in ascending]
    here, whole = some.rows(slice(0, 4)), collection.rows(EVERYTHING)
    np.testing.assert_array_equal(here.tags.toarray(), whole.tags.toarray()[ascending])
    np.testing.assert_array_equal(here.owner, whole.owner[ascending])
    np.testing.assert_array_equal(here.features, whole.features[ascending])
    np.testing.assert_array_equal(
        some.truth_of(slice(0, 4)).toarray(), collection.truth_of(EVERYTHING).toarray()[ascending]
    )
    np.testing.assert_array_equal(here.position, np.arange(4))
    assert some.tag_names == collection.tag_names
