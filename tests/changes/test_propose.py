"""Proposals: what may be added, what must be judged, and in which order."""

import functools
import math
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import fields, replace

import numpy as np
import pytest
from scipy import sparse

from planted import UNTAGGED, planted_collection, resharded, without_features
from sugartag.assignment.thresholds import TagThresholds
from sugartag.changes import Change, Thresholds, propose
from sugartag.collection.build import collection_from_arrays
from sugartag.collection.model import Collection
from sugartag.collection.texts import Texts
from sugartag.engine import LocalEngine
from sugartag.errors import CollectionError, SettingsError
from sugartag.fitting import fit_model
from sugartag.methods.registry import make_method
from sugartag.model_folder import Model

LENIENT = Thresholds(top=4, add=0.2)
"""Chances in the planted collection are small; at the default hardly anything would be added."""


@functools.cache
def model(name: str = "tag-vote-own") -> Model:
    return fit_model(make_method(name), planted_collection(), engine=LocalEngine(), seed=0)


def proposed(collection: Collection, thresholds: Thresholds = LENIENT) -> list[Change]:
    parts = propose(model(), collection, engine=LocalEngine(), thresholds=thresholds)
    return [change for part in parts for change in part]


@functools.cache
def planted_changes() -> tuple[Change, ...]:
    return tuple(proposed(planted_collection()))


def given_pairs(collection: Collection) -> set[tuple[str, str]]:
    rows, columns = collection.tags_of(slice(0, collection.n_images)).nonzero()
    ids = list(collection.ids)
    return {(ids[r], collection.tag_names[c]) for r, c in zip(rows, columns, strict=True)}


def pairs(changes: Iterable[Change], *actions: str) -> list[tuple[str, str]]:
    return [(one.image_id, one.tag) for one in changes if one.action in actions]


def chances(collection: Collection) -> tuple[np.ndarray, np.ndarray]:
    """Return the chance of every tag of every image, if it is added and if it is given."""
    scores = model().fitted.scores(collection.rows(slice(0, collection.n_images)))
    return model().calibration.added(scores), model().calibration.given(scores)


def test_a_change_has_the_columns_of_the_contract():
    names = [field.name for field in fields(Change)]

    assert names == ["image_id", "tag", "action", "score", "reason", "run_id"]


def test_only_tags_that_an_image_does_not_have_are_added(collection):
    added = pairs(planted_changes(), "add")

    assert len(added) > 100
    assert not set(added) & given_pairs(collection)


def test_exactly_the_given_tags_are_kept_or_doubted(collection):
    judged = pairs(planted_changes(), "keep", "doubt")

    assert len(judged) == len(set(judged))
    assert set(judged) == given_pairs(collection)


def test_no_pair_comes_twice():
    every = pairs(planted_changes(), "add", "keep", "doubt")

    assert len(every) == len(set(every))


@pytest.mark.parametrize("top", [0, 1, 3])
def test_at_most_so_many_tags_are_added_and_some_image_gets_them_all(top, collection):
    added = defaultdict(int)
    for image, _ in pairs(proposed(collection, Thresholds(top=top, add=0.0)), "add"):
        added[image] += 1

    assert max(added.values(), default=0) == top


def test_an_image_is_added_the_tags_of_the_highest_chance(collection):
    added, _ = chances(collection)
    given = collection.tags_of(slice(0, collection.n_images)).toarray() > 0
    best = np.sort(np.where(given, -1.0, added), axis=1)[:, ::-1]

    for row, image in enumerate(list(collection.ids)[:50]):
        got = [
            one.score for one in planted_changes() if one.image_id == image and one.action == "add"
        ]
        expected = [chance for chance in best[row, : LENIENT.top] if chance >= LENIENT.add]
        assert got == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.9, 1.0])
def test_a_verdict_follows_from_the_chance_and_the_thresholds(threshold, collection):
    changes = proposed(collection, Thresholds(top=50, add=threshold, doubt=threshold))

    added, given = chances(collection)
    row_of = {image: row for row, image in enumerate(collection.ids)}
    tag_of = {tag: column for column, tag in enumerate(collection.tag_names)}
    for one in changes:
        table = added if one.action == "add" else given
        chance = table[row_of[one.image_id], tag_of[one.tag]]
        assert one.score == pytest.approx(chance, abs=5.1e-5)
        assert (one.score >= threshold) == (one.action != "doubt")


def test_a_tag_is_added_from_exactly_the_threshold_on(collection):
    given = collection.tags_of(slice(0, collection.n_images)).toarray() > 0
    told = round(float(chances(collection)[0][~given].max()), 4)

    assert pairs(proposed(collection, Thresholds(add=told)), "add")
    assert not pairs(proposed(collection, Thresholds(add=told + 0.0001)), "add")


def test_without_thresholds_each_tag_has_the_one_the_model_learned(collection):
    tag_of = {tag: column for column, tag in enumerate(collection.tag_names)}
    n_tags = len(tag_of)
    learned = TagThresholds(np.linspace(0.1, 0.6, n_tags), np.linspace(0.9, 0.3, n_tags))
    some = replace(model(), thresholds=learned)

    for part in propose(some, collection, engine=LocalEngine(), thresholds=Thresholds(top=50)):
        for one in part:
            tag = tag_of[one.tag]
            if one.action == "add":
                assert one.score >= learned.add[tag]
            else:
                assert (one.action == "doubt") == (one.score < learned.doubt[tag])


def test_the_only_thing_known_of_an_image_is_not_doubted():
    tags = np.zeros((40, 3))
    tags[:, 0] = 1
    tags[20:, 1] = 1
    tags[0] = 0, 0, 1
    tags[1] = 1, 0, 1
    made = collection_from_arrays(sparse.csr_array(tags), np.arange(40))
    fitted = fit_model(make_method("tag-prior"), made, engine=LocalEngine(), seed=0)

    def doubted(which: Collection) -> set[tuple[str, str]]:
        thresholds = Thresholds(doubt=1.0)
        parts = propose(fitted, which, engine=LocalEngine(), thresholds=thresholds)
        return set(pairs([one for part in parts for one in part], "doubt"))

    first, second = list(made.ids)[:2]
    assert (second, made.tag_names[2]) in doubted(made)
    assert (first, made.tag_names[2]) not in doubted(made)
    (shard,) = made.shards
    titled = replace(made, shards=(replace(shard, titles=Texts.of(["a title"] * 40)),))
    assert (first, made.tag_names[2]) in doubted(titled)


def test_a_given_tag_that_somebody_called_wrong_stays_doubted_however_rare_it_is(collection):
    fitted = model("sugar-plus").fitted
    tags = collection.tags_of(slice(0, collection.n_images))
    image = int(np.flatnonzero(np.diff(tags.indptr))[0])
    tag = int(tags[image : image + 1].indices[0])
    said = sparse.csr_array(([-1], ([image], [tag])), shape=tags.shape, dtype=np.int8)
    never = TagThresholds.same(2.0, -1.0, collection.n_tags)
    decided = replace(model("sugar-plus"), fitted=replace(fitted, decided=said), thresholds=never)

    parts = propose(decided, collection, engine=LocalEngine(), thresholds=Thresholds())

    doubted = pairs([one for part in parts for one in part], "doubt")
    assert doubted == [(collection.ids[image], collection.tag_names[tag])]


def test_scores_are_numbers_from_0_to_1():
    for one in planted_changes():
        assert type(one.score) is float
        assert 0 <= one.score <= 1


def test_images_come_in_the_order_of_the_collection_and_additions_come_first(collection):
    row_of = {image: row for row, image in enumerate(collection.ids)}

    order = [(row_of[one.image_id], one.action != "add") for one in planted_changes()]

    assert order == sorted(order)


def test_every_change_says_which_run_it_is_of_and_why():
    for one in planted_changes():
        assert one.run_id == model().run_id
        words = one.reason.split()
        assert words[:3] == ["tag-vote-own", "ranks", "it"]
        assert 1 <= int(words[3]) <= int(words[5]) == 50


def test_an_image_without_tags_is_only_added_to(collection):
    untagged = list(collection.ids)[UNTAGGED]

    changes = [one for one in proposed(collection, Thresholds(add=0.0)) if one.image_id == untagged]

    assert changes
    assert {one.action for one in changes} == {"add"}


def test_several_shards_and_blocks_give_the_changes_of_one(collection, monkeypatch):
    # By its name, since the package has a function that is called like the module.
    monkeypatch.setattr(sys.modules["sugartag.changes.propose"], "ROWS_PER_BLOCK", 64)

    cut = proposed(resharded(collection, 10, 333))

    assert cut == list(planted_changes())


def newcomers() -> Collection:
    """Return images the model never saw: an owner and a tag it does not know, one it does."""
    old = planted_collection()
    looks = old.features_at(np.arange(20, 26))
    tags = np.array([[1, 0], [0, 1], [1, 1], [0, 0], [1, 0], [0, 1]])
    return replace(
        collection_from_arrays(
            sparse.csr_array(tags),
            np.array([0, 0, 1, 1, 1, 2]),
            features=looks,
            tag_names=["never heard", "tag-0"],
        ),
        owner_names=Texts.of(["stranger", "owner-3", "another"]),
    )


def renamed_ids(collection: Collection) -> Collection:
    (shard,) = collection.shards
    return replace(
        collection, shards=(replace(shard, ids=Texts.of(f"new {n}" for n in range(len(shard)))),)
    )


def test_a_new_collection_gets_proposals_for_the_tags_the_model_knows():
    new = renamed_ids(newcomers())

    changes = proposed(new, Thresholds(add=0.0))

    assert [image for image, _ in pairs(changes, "keep", "doubt")] == ["new 1", "new 2", "new 5"]
    assert {tag for _, tag in pairs(changes, "keep", "doubt")} == {"tag-0"}
    assert {image for image, _ in pairs(changes, "add")} == set(new.ids)
    assert {tag for _, tag in pairs(changes, "add")} <= set(planted_collection().tag_names)
    assert not set(pairs(changes, "add")) & given_pairs(new)


def test_an_image_is_recognised_by_its_id_and_does_not_vote_for_itself(collection):
    (shard,) = collection.shards
    one = slice(20, 21)
    known = replace(
        collection,
        shards=(
            replace(
                shard, ids=shard.ids[one], owner=shard.owner[one], tags=shard.tags[one],
                features=shard.features[one], truth=shard.truth[one],
            ),
        ),
    )  # fmt: skip
    expected = [change for change in planted_changes() if change.image_id == "image-20"]

    as_known, as_new = proposed(known), proposed(renamed_ids(known))

    assert as_known == expected
    assert [(c.tag, c.score) for c in as_new] != [(c.tag, c.score) for c in expected]


def test_images_described_otherwise_are_refused(collection):
    with pytest.raises(CollectionError, match="describe both with the same model"):
        proposed(without_features(collection))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"top": -1}, "top must not be negative, not -1"),
        ({"add": 1.5}, "the threshold add must be from 0 to 1, not 1.5"),
        ({"add": math.nan}, "the threshold add must be from 0 to 1, not nan"),
        ({"doubt": -0.1}, "the threshold doubt must be from 0 to 1, not -0.1"),
    ],
)
def test_impossible_thresholds_are_refused(settings, message):
    with pytest.raises(SettingsError, match=message):
        Thresholds(**settings)


def test_nothing_in_the_collection_changes():
    collection, same = planted_collection(), planted_collection()

    proposed(collection)

    (after,), (before,) = collection.shards, same.shards
    np.testing.assert_array_equal(after.tags.toarray(), before.tags.toarray())
    np.testing.assert_array_equal(after.owner, before.owner)
    np.testing.assert_array_equal(after.features, before.features)
    np.testing.assert_array_equal(after.truth.toarray(), before.truth.toarray())
    assert after.position is None
