"""A collection seen from a model has the model's numbers and its own images, tags and owners."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from planted import OF_NOBODY, planted_collection, resharded
from sugartag.collection.align import Catalogue, seen_from
from sugartag.collection.model import Collection
from sugartag.collection.texts import Texts


def whole(collection: Collection) -> slice:
    return slice(0, collection.n_images)


def tags_by_image(collection: Collection) -> dict[str, set[str]]:
    given = collection.tags_of(whole(collection)).toarray() > 0
    names = np.array(collection.tag_names, dtype=object)
    return {image: set(names[row]) for image, row in zip(collection.ids, given, strict=True)}


def owner_by_image(collection: Collection) -> dict[str, str | None]:
    names = [*collection.owner_names, None]
    return {
        image: names[owner] for image, owner in zip(collection.ids, collection.owner, strict=True)
    }


def shuffled(collection: Collection, rng: np.random.Generator) -> Collection:
    """Return the same images in another order, with tags and owners numbered otherwise."""
    (shard,) = collection.shards
    image = rng.permutation(collection.n_images)
    tag = rng.permutation(collection.n_tags)
    owner = rng.permutation(collection.n_owners)
    new_number = np.append(np.argsort(owner), collection.nobody)
    ids = list(shard.ids)
    moved = replace(
        shard,
        ids=Texts.of(ids[row] for row in image),
        owner=new_number[shard.owner[image]].astype(np.int32),
        tags=sparse.csr_array(shard.tags[image][:, tag]),
        features=shard.features[image],
        truth=shard.truth[image],
    )
    return replace(
        collection,
        shards=(moved,),
        tag_names=tuple(collection.tag_names[old] for old in tag),
        owner_names=Texts.of(collection.owner_names[old] for old in owner),
        groups=sparse.csr_array(collection.groups[owner]),
    )


def renamed(names: Sequence[str], **others: str) -> list[str]:
    """Return the names, some of them replaced."""
    return [others.get(name.replace("-", "_"), name) for name in names]


def strange(collection: Collection) -> Collection:
    """Return the collection with a tag, an owner and an image that nobody has heard of."""
    (shard,) = collection.shards
    ids = renamed(list(shard.ids), image_5="new")
    return replace(
        collection,
        shards=(replace(shard, ids=Texts.of(ids)),),
        tag_names=tuple(renamed(collection.tag_names, tag_0="unheard of")),
        owner_names=Texts.of(renamed(list(collection.owner_names), owner_0="stranger")),
    )


def test_a_collection_seen_from_itself_is_itself(collection):
    seen = seen_from(Catalogue.of(collection), collection)

    before, after = collection.rows(whole(collection)), seen.rows(whole(seen))
    np.testing.assert_array_equal(after.tags.toarray(), before.tags.toarray())
    np.testing.assert_array_equal(after.owner, before.owner)
    np.testing.assert_array_equal(after.features, before.features)
    np.testing.assert_array_equal(after.position, np.arange(collection.n_images))
    assert list(seen.ids) == list(collection.ids)


def test_numbers_of_a_shuffled_collection_are_those_of_the_catalogue(collection, rng):
    mixed = shuffled(collection, rng)
    assert mixed.tag_names != collection.tag_names

    seen = seen_from(Catalogue.of(collection), mixed)

    back = [list(collection.ids).index(image) for image in mixed.ids]
    before, after = collection.rows(whole(collection)), seen.rows(whole(seen))
    np.testing.assert_array_equal(after.position, back)
    np.testing.assert_array_equal(after.owner, before.owner[back])
    np.testing.assert_array_equal(after.tags.toarray(), before.tags.toarray()[back])
    np.testing.assert_array_equal(after.features, before.features[back])
    assert seen.tag_names == collection.tag_names


def test_a_shuffled_collection_keeps_its_tags_and_owners_by_name(collection, rng):
    mixed = shuffled(collection, rng)

    seen = seen_from(Catalogue.of(collection), mixed)

    assert list(seen.ids) == list(mixed.ids)
    assert tags_by_image(seen) == tags_by_image(collection)
    assert owner_by_image(seen) == owner_by_image(collection)


def test_an_unknown_tag_is_left_out_and_the_others_stay(collection):
    other = strange(collection)

    seen = seen_from(Catalogue.of(collection), other)

    given = tags_by_image(other)
    assert any("unheard of" in tags for tags in given.values())
    assert tags_by_image(seen) == {image: tags - {"unheard of"} for image, tags in given.items()}


def test_an_unknown_owner_is_nobody(collection):
    other = strange(collection)

    seen = seen_from(Catalogue.of(collection), other)

    expected = owner_by_image(other)
    assert "stranger" in expected.values()
    assert owner_by_image(seen) == {
        image: None if owner == "stranger" else owner for image, owner in expected.items()
    }
    assert seen.owner[OF_NOBODY] == seen.nobody


def test_an_unknown_image_stands_one_past_the_last(collection):
    seen = seen_from(Catalogue.of(collection), strange(collection))

    position = seen.rows(whole(seen)).position
    assert position[5] == collection.n_images
    np.testing.assert_array_equal(np.delete(position, 5), np.delete(np.arange(len(position)), 5))


def test_a_larger_collection_is_measured_by_the_catalogue_and_not_by_itself(collection):
    (shard,) = resharded(collection, 40).shards[:1]
    small = replace(collection, shards=(shard,))

    seen = seen_from(Catalogue.of(small), collection)

    position = seen.rows(whole(seen)).position
    np.testing.assert_array_equal(position[:40], np.arange(40))
    assert (position[40:] == 40).all()


def test_several_shards_are_seen_as_one(collection, rng):
    mixed = shuffled(collection, rng)
    catalogue = Catalogue.of(resharded(collection, 7, 300))

    cut = seen_from(catalogue, resharded(mixed, 1, 250, 251))

    expected = seen_from(Catalogue.of(collection), mixed)
    assert len(cut.shards) == 4
    one, other = expected.rows(whole(expected)), cut.rows(whole(cut))
    np.testing.assert_array_equal(other.position, one.position)
    np.testing.assert_array_equal(other.owner, one.owner)
    np.testing.assert_array_equal(other.tags.toarray(), one.tags.toarray())
    np.testing.assert_array_equal(other.features, one.features)


def test_neither_truth_nor_groups_are_seen(collection):
    seen = seen_from(Catalogue.of(collection), collection)

    assert not seen.has_truth
    assert all(shard.truth is None for shard in seen.shards)
    assert seen.n_groups == 0


def test_the_collection_itself_does_not_change(rng):
    collection, same = planted_collection(), planted_collection()

    seen_from(Catalogue.of(shuffled(same, rng)), collection)

    assert collection.tag_names == same.tag_names
    assert collection.rows(whole(collection)).tags.toarray().tolist() == (
        same.rows(whole(same)).tags.toarray().tolist()
    )
    np.testing.assert_array_equal(collection.owner, same.owner)


@pytest.mark.parametrize("unknown", ["tags", "owners", "images"])
def test_a_collection_that_shares_nothing_is_seen_all_the_same(unknown, collection):
    (shard,) = collection.shards
    others = {
        "tags": {"tag_names": tuple(f"other {n}" for n in range(collection.n_tags))},
        "owners": {"owner_names": Texts.of(f"other {n}" for n in range(collection.n_owners))},
        "images": {
            "shards": (replace(shard, ids=Texts.of(f"other {n}" for n in range(len(shard)))),)
        },
    }

    seen = seen_from(Catalogue.of(collection), replace(collection, **others[unknown]))

    rows = seen.rows(whole(seen))
    assert rows.tags.shape == (collection.n_images, collection.n_tags)
    assert (rows.tags.nnz == 0) == (unknown == "tags")
    assert (rows.owner == seen.nobody).all() == (unknown == "owners")
    assert (rows.position == collection.n_images).all() == (unknown == "images")
