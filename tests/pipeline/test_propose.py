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

from canned import Canned, CannedMethod
from planted import UNTAGGED, planted_collection, resharded, without_features
from sugartag.assignment.calibration import Calibration
from sugartag.assignment.thresholds import TagThresholds
from sugartag.collection.align import Catalogue
from sugartag.collection.build import collection_from_arrays
from sugartag.collection.decisions import decisions_at
from sugartag.collection.model import Collection
from sugartag.collection.texts import Texts
from sugartag.engine import LocalEngine
from sugartag.errors import CollectionError, SettingsError
from sugartag.methods.registry import make_method
from sugartag.pipeline.changes import Change
from sugartag.pipeline.fitting import fit_model
from sugartag.pipeline.model import Model
from sugartag.pipeline.propose import Thresholds, propose

DEFAULTS = Thresholds()
LENIENT = Thresholds(top=4, add=0.2)
"""Probabilities in the planted collection are small: by default hardly anything is added."""


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


def probabilities(collection: Collection) -> tuple[np.ndarray, np.ndarray]:
    """Return the probability of every tag of every image, if it is added and if it is given."""
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
def test_no_more_tags_than_asked_are_added_and_some_image_gets_them_all(top, collection):
    added = defaultdict(int)
    for image, _ in pairs(proposed(collection, Thresholds(top=top, add=0.0)), "add"):
        added[image] += 1

    assert max(added.values(), default=0) == top


def test_an_image_is_added_the_tags_of_the_highest_probability(collection):
    added, _ = probabilities(collection)
    given = collection.tags_of(slice(0, collection.n_images)).toarray() > 0
    best = np.sort(np.where(given, -1.0, added), axis=1)[:, ::-1]

    for row, image in enumerate(list(collection.ids)[:50]):
        got = [
            one.score for one in planted_changes() if one.image_id == image and one.action == "add"
        ]
        expected = [value for value in best[row, : LENIENT.top] if value >= LENIENT.add]
        assert got == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.9, 1.0])
def test_a_verdict_follows_from_the_probability_and_the_thresholds(threshold, collection):
    changes = proposed(collection, Thresholds(top=50, add=threshold, doubt=threshold))

    added, given = probabilities(collection)
    row_of = {image: row for row, image in enumerate(collection.ids)}
    tag_of = {tag: column for column, tag in enumerate(collection.tag_names)}
    for one in changes:
        table = added if one.action == "add" else given
        expected = table[row_of[one.image_id], tag_of[one.tag]]
        assert one.score == pytest.approx(expected, abs=5.1e-5)
        assert (one.score >= threshold) == (one.action != "doubt")


def test_a_tag_is_added_from_exactly_the_threshold_on(collection):
    given = collection.tags_of(slice(0, collection.n_images)).toarray() > 0
    most = round(float(probabilities(collection)[0][~given].max()), 4)

    assert pairs(proposed(collection, Thresholds(add=most)), "add")
    assert not pairs(proposed(collection, Thresholds(add=most + 0.0001)), "add")


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


def canned_model(*decided: tuple[int, int, bool], **limits: float) -> tuple[Model, Collection]:
    """Return a calibrated model and the images it has: each of six has one of three tags."""
    tags = sparse.csr_array(np.tile(np.eye(3, dtype=np.int8), (2, 1)))
    made = collection_from_arrays(tags, np.arange(6), features=np.ones((6, 2), np.float32))
    table = np.tile([[0.1, 0.7, 0.4], [0.9, 0.6, 0.3], [0.3, 0.6, 0.1]], (2, 1))
    row, tag, right = zip(*decided, strict=True) if decided else ((), (), ())
    place = np.array(row, dtype=np.int64), np.array(tag, dtype=np.int64)
    said = decisions_at(*place, right, table.shape)
    fitted = replace(Canned.of(table, **limits), decided=said)
    whole = Model(
        method=CannedMethod(),
        fitted=fitted,
        calibration=Calibration.none_needed(),
        thresholds=fitted.limits,
        catalogue=Catalogue.of(made),
        run_id="canned-1",
        seed=0,
    )
    return whole, made


def verdicts(
    made: Model, collection: Collection, thresholds: Thresholds = DEFAULTS
) -> dict[tuple[str, str], tuple[str, float]]:
    parts = propose(made, collection, engine=LocalEngine(), thresholds=thresholds)
    return {(one.image_id, one.tag): (one.action, one.score) for part in parts for one in part}


def test_posteriors_are_those_of_a_calibrated_method_asked_once_a_block():
    made, images = canned_model()

    found = verdicts(made, images)

    assert found["image-0", "tag-0"] == ("doubt", 0.1)
    assert found["image-0", "tag-1"] == ("add", 0.7)
    assert ("image-0", "tag-2") not in found
    assert found["image-1", "tag-1"] == ("keep", 0.6)
    assert made.fitted.calls == [18]


def test_a_rejected_tag_stays_doubted_whatever_the_thresholds():
    made, images = canned_model((1, 1, False), doubt=-1.0)

    found = verdicts(made, images)

    assert [key for key, (action, _) in found.items() if action == "doubt"] == [
        ("image-1", "tag-1")
    ]
    assert verdicts(made, images, Thresholds(doubt=0.0)) == found


def test_a_rejected_addition_is_not_proposed_again():
    made, images = canned_model((0, 1, False))

    assert ("image-0", "tag-1") not in verdicts(made, images, Thresholds(add=0.0))


@pytest.mark.parametrize("thresholds", [Thresholds(), Thresholds(top=0), Thresholds(add=1.0)])
def test_an_accepted_addition_is_proposed_until_the_image_has_the_tag(thresholds):
    made, images = canned_model((0, 2, True), add=2.0)

    found = verdicts(made, images, thresholds)

    additions = {key: told for key, told in found.items() if told[0] == "add"}
    assert additions == {("image-0", "tag-2"): ("add", 0.999)}
    (shard,) = images.shards
    tags = shard.tags.toarray()
    tags[0, 2] = 1
    tagged = replace(images, shards=(replace(shard, tags=sparse.csr_array(tags)),))
    assert verdicts(made, tagged, thresholds)["image-0", "tag-2"] == ("keep", 0.999)


def test_an_accepted_addition_comes_first_and_takes_no_place_of_others():
    made, images = canned_model((0, 2, True))

    (changes,) = propose(made, images, engine=LocalEngine(), thresholds=Thresholds(top=1))

    first = [(one.action, one.tag, one.reason) for one in changes if one.image_id == "image-0"]
    assert [(action, tag) for action, tag, _ in first] == [
        ("add", "tag-2"), ("add", "tag-1"), ("doubt", "tag-0"),
    ]  # fmt: skip
    assert first[0][2] == "accepted by a person"


def test_images_without_any_tag_are_added_to(collection):
    untagged = collection_from_arrays(
        sparse.csr_array((20, 0), dtype=np.int8),
        np.zeros(20, dtype=np.int64),
        features=collection.features_at(np.arange(20)),
    )

    changes = proposed(untagged, Thresholds(add=0.0, top=2))

    assert {one.action for one in changes} == {"add"}
    assert {one.image_id for one in changes} == set(untagged.ids)


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
    monkeypatch.setattr(sys.modules["sugartag.pipeline.propose"], "ROWS_PER_BLOCK", 64)

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
            tag_names=["never seen", "tag-0"],
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
