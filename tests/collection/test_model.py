from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from planted import OF_NOBODY, planted_collection, resharded, without_features
from sugartag.collection import Collection, Texts
from sugartag.collection.build import collection_from_arrays
from sugartag.errors import CollectionError

WHOLE = planted_collection()
CUT = resharded(WHOLE, 1, 250, 250, 251, 599)
N = WHOLE.n_images
blocks = st.tuples(st.integers(0, N - 1), st.integers(1, N)).map(
    lambda pair: slice(pair[0], min(N, pair[0] + pair[1]))
)


def small(**changed) -> Collection:
    """Three images of two owners with four tags."""
    given_tags = sparse.csr_array(np.array([[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]))
    arrays = {"tags": given_tags, "owner": np.array([0, 1, 0]), "features": np.eye(3, 5)}
    return collection_from_arrays(**(arrays | changed))


def with_shard(collection: Collection, **changed) -> Collection:
    """Return the collection with its first shard changed."""
    first, *others = collection.shards
    return replace(collection, shards=(replace(first, **changed), *others))


@settings(deadline=None)
@given(blocks)
def test_rows_across_shards_are_the_rows_of_one(block):
    across, together = CUT.rows(block), WHOLE.rows(block)

    assert len(across) == block.stop - block.start
    np.testing.assert_array_equal(across.tags.toarray(), together.tags.toarray())
    np.testing.assert_array_equal(across.owner, together.owner)
    np.testing.assert_array_equal(across.features, together.features)
    np.testing.assert_array_equal(across.position, np.arange(block.start, block.stop))


@settings(deadline=None)
@given(blocks)
def test_tags_and_truth_across_shards_are_those_of_one(block):
    for read in ("tags_of", "truth_of"):
        across, together = getattr(CUT, read)(block), getattr(WHOLE, read)(block)

        np.testing.assert_array_equal(across.toarray(), together.toarray())


@settings(deadline=None)
@given(st.lists(st.integers(0, N - 1), max_size=40))
def test_features_are_found_in_any_order_and_as_often_as_asked(images):
    wanted = np.array(images, dtype=np.int64)

    found = CUT.features_at(wanted)

    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, WHOLE.shards[0].features[wanted])


def test_what_all_images_have_is_the_same_in_any_shards():
    np.testing.assert_array_equal(CUT.owner, WHOLE.owner)
    assert CUT.ids == WHOLE.ids
    assert (CUT.n_images, CUT.n_features) == (600, 48)


def test_rows_are_single_precision_however_features_are_stored():
    shard = WHOLE.shards[0]
    for kind in (np.float16, np.float64):
        stored = with_shard(WHOLE, features=shard.features.astype(kind))

        rows = stored.rows(slice(10, 20))

        assert rows.features.dtype == np.float32
        np.testing.assert_allclose(rows.features, shard.features[10:20], rtol=1e-3, atol=1e-3)


def test_rows_speak_of_tags_in_single_precision():
    assert WHOLE.rows(slice(0, 5)).tags.dtype == np.float32


def test_positions_can_be_those_of_another_collection():
    seen = with_shard(small(), position=np.array([7, 3, 9]))

    np.testing.assert_array_equal(seen.rows(slice(1, 3)).position, [3, 9])


def test_nobody_is_one_past_the_last_owner():
    assert WHOLE.nobody == WHOLE.n_owners == len(WHOLE.owner_names)
    assert WHOLE.rows(slice(OF_NOBODY, OF_NOBODY + 1)).owner.tolist() == [WHOLE.nobody]


def test_a_collection_without_features_says_what_to_do():
    bare = without_features(WHOLE)

    assert bare.n_features == 0
    assert bare.rows(slice(0, 3)).features is None
    with pytest.raises(CollectionError, match=r"tag-vote needs image features.*--features X\.npy"):
        bare.require_features("tag-vote")


def test_blocks_cover_all_images():
    assert CUT.blocks(400) == (slice(0, 400), slice(400, 600))
    assert CUT.blocks() == (slice(0, 600),)


def test_optional_texts_are_there_for_all_images_or_for_none():
    shard = CUT.shards[0]
    titled = replace(shard, titles=Texts.of(["Sun"]))
    half = replace(CUT, shards=(titled, *CUT.shards[1:]))

    assert half.texts_of("titles") is None
    assert replace(half, shards=(titled, titled)).texts_of("titles") == Texts.of(["Sun", "Sun"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tags": sparse.csr_array((3, 9))}, r"shard 0: tags have shape \(3, 9\), not \(3, 4\)"),
        ({"tags": sparse.csr_array((2, 4))}, r"shard 0: tags have shape \(2, 4\), not \(3, 4\)"),
        ({"ids": Texts.of("ab")}, r"shard 0: ids have shape \(2,\), not \(3,\)"),
        ({"features": np.eye(2, 5)}, r"shard 0: features have shape \(2, 5\), not \(3, 5\)"),
        ({"owner": np.array([0, 1, 3])}, r"shard 0: an owner index is outside 0\.\.2"),
        ({"owner": np.array([0, -1, 1])}, r"shard 0: an owner index is outside 0\.\.2"),
        ({"paths": Texts.of("ab")}, r"shard 0: paths have shape \(2,\), not \(3,\)"),
        ({"titles": Texts.of("abcd")}, r"shard 0: titles have shape \(4,\), not \(3,\)"),
        ({"position": np.arange(4)}, r"shard 0: position have shape \(4,\), not \(3,\)"),
    ],
)
def test_a_shard_that_does_not_fit_is_named(change, said):
    with pytest.raises(CollectionError, match=said):
        with_shard(small(), **change)


@pytest.mark.parametrize("features", [None, np.eye(3, 4)])
def test_shards_must_agree_on_their_features(features):
    shard = small().shards[0]

    with pytest.raises(CollectionError, match=r"shard 1: features have shape .*, not \(3, 5\)"):
        replace(small(), shards=(shard, replace(shard, features=features)))


@pytest.mark.parametrize("truth", [None, sparse.csr_array((3, 2))])
def test_a_shard_without_the_truth_of_every_concept_is_named(truth):
    known = small(truth=sparse.csr_array(np.eye(3)))

    with pytest.raises(CollectionError, match=r"shard 0: truth have shape .*, not \(3, 3\)"):
        with_shard(known, truth=truth)


def test_a_collection_without_images_is_refused():
    shard = small().shards[0]
    nothing = replace(
        shard,
        ids=shard.ids[:0],
        owner=shard.owner[:0],
        tags=shard.tags[:0],
        features=shard.features[:0],
    )

    for shards in ((), (nothing, nothing)):
        with pytest.raises(CollectionError, match="no images"):
            replace(small(), shards=shards)


def test_a_collection_may_be_untagged_and_says_so_to_whoever_needs_tags():
    untagged = small(tags=sparse.csr_array((3, 0)))

    assert untagged.n_tags == 0
    with pytest.raises(CollectionError, match="a fit needs tags and this collection has none"):
        untagged.require_tags("a fit")
    small().require_tags("a fit")


def test_memberships_must_be_of_these_owners_and_groups():
    with pytest.raises(CollectionError, match=r"groups have shape \(3, 1\).*\(2, 0\)"):
        replace(small(), groups=sparse.csr_array((3, 1)))


def test_an_owner_may_be_nobody_but_no_further():
    groups = sparse.csr_array((2, 1))

    assert small(owner=np.array([0, 1, 2]), groups=groups).nobody == 2
    with pytest.raises(CollectionError, match="outside"):
        small(owner=np.array([0, 1, 3]), groups=groups)


def test_arrays_become_a_collection_with_numbered_names():
    made = small(truth=sparse.csr_array(np.eye(3, 2)))

    assert list(made.ids) == ["image-0", "image-1", "image-2"]
    assert made.tag_names == ("tag-0", "tag-1", "tag-2", "tag-3")
    assert list(made.owner_names) == ["owner-0", "owner-1"]
    assert made.concept_names == ("tag-0", "tag-1")
    assert made.has_truth
    assert not small().has_truth


def test_counts_become_ones_and_nothing_stays_nothing():
    counts = sparse.csr_array(
        (np.array([3.0, 0.0, 2.0, 2.0]), np.array([2, 0, 1, 1]), np.array([0, 2, 4, 4])),
        shape=(3, 4),
    )

    made = small(tags=counts).shards[0].tags

    assert made.dtype == np.int8
    assert made.nnz == 2
    np.testing.assert_array_equal(made.toarray(), [[0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_features_that_are_no_numbers_are_named_by_image(bad):
    features = np.eye(3, 5)
    features[1, 3] = bad

    with pytest.raises(CollectionError, match="image 1 are not finite"):
        small(features=features)
