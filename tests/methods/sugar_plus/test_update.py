"""A model that images were added to is the one that would have been solved with all of them."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logit

from methods.sugar_plus.literal import all_rows, odd_collection
from planted import as_new
from sugartag.collection.align import seen_from
from sugartag.collection.build import collection_from_arrays
from sugartag.collection.model import Collection
from sugartag.collection.subset import tag_counts, without_truth
from sugartag.collection.texts import Texts
from sugartag.engine import LocalEngine
from sugartag.errors import CollectionError
from sugartag.fitting import decided_in, extended_catalogue, fit_model, update_model
from sugartag.methods.registry import make_method
from sugartag.methods.sugar_plus.decisions import Decision
from sugartag.methods.sugar_plus.evidence import MIN_USES
from sugartag.methods.sugar_plus.growth import grown
from sugartag.methods.sugar_plus.habit_odds import CHANCES, RATES
from sugartag.methods.sugar_plus.habits import Habits
from sugartag.methods.sugar_plus.sums import add_up
from sugartag.methods.sugar_plus.update import updated
from sugartag.model_folder import load_model, save_model

FIRST = 400
"""Of 600 images so many are fitted, the others added."""
ENGINE = LocalEngine()
SETTINGS = {"anchors": 30, "history": 12, "tag_ridge": 20.0, "anchor_ridge": 3.0}


def images_at(collection: Collection, rows: np.ndarray) -> Collection:
    """Return some images, with the tags and owners that these have and no others."""
    (shard,) = collection.shards
    tag = np.unique(shard.tags[rows].indices)
    owner = np.unique(shard.owner[rows][shard.owner[rows] < collection.nobody])
    number = np.full(collection.n_owners + 1, len(owner))
    number[owner] = np.arange(len(owner))
    names = collection.tag_names
    made = replace(
        shard,
        ids=Texts.of(shard.ids[row] for row in rows),
        owner=number[shard.owner[rows]].astype(np.int32),
        tags=sparse.csr_array(shard.tags[rows][:, tag]),
        features=shard.features[rows],
        titles=Texts.of(shard.titles[row] for row in rows),
    )
    return replace(
        collection,
        shards=(made,),
        tag_names=tuple(names[number] for number in tag),
        owner_names=Texts.of(collection.owner_names[one] for one in owner),
        groups=collection.groups[owner],
    )


@cache
def everything() -> Collection:
    """600 images; a few tags and owners come after the first 400, two tags are used once."""
    made = without_truth(odd_collection())
    (shard,) = made.shards
    tags = shard.tags.toarray()
    rare = np.argsort(tags[:FIRST].sum(axis=0) + 1000 * (tags.sum(axis=0) < 6))[:5]
    tags[:FIRST, rare[:4]] = 0
    tags[:FIRST, rare[4]] = 0
    tags[7, rare[4]] = 1
    tags[:, rare[2:4]] = 0
    tags[7, rare[2]] = 1
    tags[-1, rare[3]] = 1
    owner = shard.owner.copy()
    owner[FIRST:][owner[FIRST:] % 9 == 0] = made.n_owners - 1
    owner[:FIRST][owner[:FIRST] == made.n_owners - 1] = 0
    return replace(made, shards=(replace(shard, tags=sparse.csr_array(tags), owner=owner),))


@cache
def parts() -> tuple[Collection, Collection]:
    whole = everything()
    return images_at(whole, np.arange(FIRST)), images_at(whole, np.arange(FIRST, whole.n_images))


@cache
def first_model():
    method = make_method("sugar-plus", SETTINGS)
    return fit_model(method, parts()[0], engine=ENGINE, seed=0)


@cache
def second_model():
    return update_model(first_model(), parts()[1], engine=ENGINE)


def with_other_tags(collection: Collection, image: int, *tags: int) -> Collection:
    """Return the collection with some tags of an image given if they were not, or taken."""
    (shard,) = collection.shards
    dense = shard.tags.toarray()
    dense[image, list(tags)] = 1 - dense[image, list(tags)]
    return replace(collection, shards=(replace(shard, tags=sparse.csr_array(dense)),))


def sums_of_all(model, collection):
    """Return the sums of all images, added up from nothing."""
    seen = seen_from(model.catalogue, collection)
    rows = all_rows(seen)
    assert sorted(rows.position) == list(range(model.fitted.ridge.n_images))
    believed = model.fitted.believed[rows.position]
    return add_up(seen, model.fitted.evidence, believed, engine=ENGINE)


def assert_as_solved_at_once(model, collection):
    expected, found = sums_of_all(model, collection), model.fitted.ridge.sums
    assert found.count == expected.count
    for name in ("columns", "tags", "given", "gram", "cross"):
        close(getattr(found, name), getattr(expected, name), name)
    for name in ("images", "tags", "words", "dense"):
        one, other = (getattr(sums.owners, name) for sums in (found, expected))
        dense = [x.toarray() if sparse.issparse(x) else x for x in (one, other)]
        close(*dense, name)
    ridge = model.method.solved(expected, model.fitted.evidence, model.fitted.choice)
    np.testing.assert_allclose(model.fitted.ridge.weights, ridge.weights, atol=1e-5)


def close(found, expected, name):
    scale = float(np.abs(expected).max(initial=1.0))
    np.testing.assert_allclose(found / scale, expected / scale, atol=1e-6, err_msg=name)


def decisions_of(*said):
    return [Decision(image, tag, right, "here") for image, tag, right in said]


def test_added_images_count_as_if_they_had_been_there():
    assert_as_solved_at_once(second_model(), everything())


def test_the_columns_are_those_that_all_images_would_have_had():
    model, counts = second_model(), tag_counts(seen_from(second_model().catalogue, everything()))

    assert model.fitted.evidence.n_tags > first_model().fitted.evidence.n_tags
    np.testing.assert_array_equal(
        model.fitted.evidence.predictor, np.flatnonzero(counts >= MIN_USES)
    )
    outside = np.setdiff1d(np.arange(first_model().fitted.evidence.n_tags),
                           first_model().fitted.evidence.predictor)  # fmt: skip
    assert np.isin(outside, model.fitted.evidence.predictor).any()


def test_old_numbers_stay():
    old, new = first_model().catalogue, second_model().catalogue

    assert new.tag_names[: len(old.tag_names)] == old.tag_names
    assert list(new.owner_names)[: len(old.owner_names)] == list(old.owner_names)
    assert list(new.ids) == list(everything().ids)
    assert len(new.owner_names) > len(old.owner_names)
    np.testing.assert_array_equal(
        second_model().fitted.trusted[:FIRST].toarray()[:, : len(old.tag_names)],
        first_model().fitted.trusted.toarray(),
    )


def test_images_added_one_part_after_the_other_are_all_there():
    whole = everything()
    middle = images_at(whole, np.arange(FIRST, 480))
    last = images_at(whole, np.arange(480, whole.n_images))

    model = update_model(first_model(), middle, engine=ENGINE)
    model = update_model(model, last, engine=ENGINE)

    assert_as_solved_at_once(model, whole)


def test_what_the_model_has_already_changes_nothing():
    model = second_model()

    again = update_model(model, images_at(everything(), np.arange(90, 500)), engine=ENGINE)

    rows = all_rows(seen_from(model.catalogue, everything()))
    np.testing.assert_array_equal(again.fitted.scores(rows), model.fitted.scores(rows))
    np.testing.assert_array_equal(again.fitted.ridge.sums.gram, model.fitted.ridge.sums.gram)


def test_an_image_whose_tags_changed_is_taken_out_first():
    other = with_other_tags(everything(), 30, 1, 2, 5)

    model = update_model(second_model(), images_at(other, np.arange(25, 35)), engine=ENGINE)

    assert_as_solved_at_once(model, other)
    uses, images = model.fitted.manners.habits.uses, model.fitted.manners.habits.images
    seen = seen_from(model.catalogue, other)
    assert_counted(uses, images, seen)


def assert_counted(uses, images, seen):
    rows = all_rows(seen)
    for owner in range(seen.n_owners):
        mine = rows.owner == owner
        assert images[owner] == mine.sum()
        np.testing.assert_array_equal(
            uses[[owner]].toarray()[0], rows.tags.toarray()[mine].sum(axis=0)
        )


def test_habits_count_the_images_of_old_and_new_owners():
    habits = second_model().fitted.manners.habits

    assert_counted(habits.uses, habits.images, seen_from(second_model().catalogue, everything()))
    np.testing.assert_array_equal(habits.weight, first_model().fitted.manners.habits.weight)
    assert (habits.gain > 0).all()


def test_a_grown_model_says_what_it_said():
    model = first_model().fitted
    n_tags, n_owners = model.evidence.n_tags + 3, len(model.ridge.owners) + 2
    uses = np.full(n_tags, 5.0)
    seen = all_rows(parts()[0])
    entries = seen.tags.data, seen.tags.indices, seen.tags.indptr
    wide = replace(
        seen,
        tags=sparse.csr_array(entries, shape=(len(seen), n_tags)),
        owner=np.where(seen.owner == len(model.ridge.owners), n_owners, seen.owner),
    )

    more = grown(model, uses, FIRST, n_owners, 4_000)

    assert len(more.evidence.predictor) == n_tags
    expected = model.ridge.judge(seen, model.believed)
    found = more.ridge.judge(wide, more.believed)
    np.testing.assert_allclose(found.excess[:, : n_tags - 3], expected.excess, atol=1e-5)
    np.testing.assert_allclose(found.interest[:, : n_tags - 3], expected.interest, atol=1e-5)
    assert not found.excess[:, n_tags - 3 :].any()


def test_only_the_most_used_become_columns_where_there_is_no_room_for_all():
    model = first_model().fitted
    room = len(model.evidence.predictor) + 1
    uses = np.full(model.evidence.n_tags + 2, 5.0)
    uses[-1] = 9.0

    more = grown(model, uses, FIRST, len(model.ridge.owners), room)

    assert len(more.evidence.predictor) == room
    assert more.evidence.predictor[-1] == model.evidence.n_tags + 1


def test_new_images_are_remembered_where_their_owner_has_room():
    then, now = first_model().fitted.look_alikes, second_model().fitted.look_alikes
    seen = all_rows(seen_from(second_model().catalogue, everything()))

    assert set(then.image) < set(now.image)
    counts = np.diff(now.start)
    owned = np.bincount(seen.owner, minlength=len(counts) + 1)[:-1]
    np.testing.assert_array_equal(counts, np.minimum(owned, SETTINGS["history"]))
    assert (owned > SETTINGS["history"]).any()
    whose = np.repeat(np.arange(len(counts)), counts)
    np.testing.assert_array_equal(seen.owner[now.image], whose)
    np.testing.assert_array_equal(now.tags.toarray(), seen.tags[now.image].toarray())
    evidence = second_model().fitted.evidence
    tokens = evidence.known(seen.tags, evidence.words_of(seen))[now.image]
    np.testing.assert_array_equal(now.in_short().tokens.toarray(), tokens.toarray())


def test_a_new_owner_is_a_known_one_afterwards():
    model, seen = second_model(), seen_from(second_model().catalogue, everything())
    old = len(first_model().catalogue.owner_names)
    rows = all_rows(seen)
    theirs = rows.at(np.flatnonzero((rows.owner >= old) & (rows.owner < seen.nobody)))

    assert len(theirs) > 5
    known = model.fitted.scores(as_new(theirs, everything()))
    strange = model.fitted.scores(as_new(theirs, everything(), owner=seen.nobody))
    assert np.abs(known - strange).max() > 0.05


def test_new_tags_of_new_owners_are_told_from_their_stamps(rng):
    n, later = 300, np.arange(240, 300)
    looks = rng.standard_normal((n, 6)).astype(np.float32)
    owner = np.where(np.arange(n) < 240, np.arange(n) % 20, 20 + np.arange(n) % 3)
    stamps = (owner[:, None] % 5 == np.arange(3)) & (rng.random((n, 3)) < 0.8)
    tags = np.column_stack([looks > 0.3, stamps, np.zeros((n, 2), dtype=bool)])
    tags[later, 9] = rng.random(60) < 0.8
    tags[later, 10] = (looks[later, 0] > 0.3) & (rng.random(60) < 0.8)
    whole = titled(collection_from_arrays(sparse.csr_array(tags), owner, features=looks))
    method = make_method("sugar-plus", {"anchors": 20})

    model = fit_model(method, images_at(whole, np.arange(240)), engine=ENGINE, seed=0)
    model = update_model(model, images_at(whole, later), engine=ENGINE)

    trusted = model.fitted.trusted.toarray()[240:]
    stamp, honest = (model.catalogue.tag_names.index(name) for name in ("tag-9", "tag-10"))
    assert trusted[trusted[:, stamp] > 0, stamp].mean() < 0.7
    assert trusted[trusted[:, honest] > 0, honest].mean() > 0.9


def titled(collection: Collection) -> Collection:
    (shard,) = collection.shards
    titles = Texts.of([""] * collection.n_images)
    return replace(collection, shards=(replace(shard, titles=titles),))


def decided_cells(model, right: bool, count: int = 6):
    """Return pairs of image and tag, some given and some not, that were decided."""
    names, whole = model.catalogue.tag_names, seen_from(model.catalogue, everything())
    given = all_rows(whole).tags.toarray() > 0
    image = np.arange(10 + 100 * right, 10 + 100 * right + count)
    cells = [(i, int(np.argmax(given[i] == (i % 2 == 0)))) for i in image]
    return decisions_of(*((whole.ids[i], names[tag], right) for i, tag in cells)), cells


def test_decisions_are_counted_as_they_were_made():
    model = second_model()
    (said, right), (unsaid, wrong) = decided_cells(model, True), decided_cells(model, False)

    more = update_model(model, everything(), [*said, *unsaid], engine=ENGINE)

    assert_as_solved_at_once(more, everything())
    believed = more.fitted.believed.toarray()
    assert all(believed[cell] == 1.0 for cell in right)
    assert all(believed[cell] == 0.0 for cell in wrong)
    remembered = dict(zip(more.fitted.look_alikes.image.tolist(),
                          more.fitted.look_alikes.tags.toarray(), strict=True))  # fmt: skip
    checked = [(remembered[i][tag], said) for cells, said in ((right, 1), (wrong, 0))
               for i, tag in cells if i in remembered]  # fmt: skip
    assert len(checked) > 4
    assert all(found == said for found, said in checked)


def test_what_was_decided_stands_whatever_the_evidence_says():
    model = second_model()
    (said, right), (unsaid, wrong) = decided_cells(model, True), decided_cells(model, False)

    updated_model = update_model(model, everything(), [*said, *unsaid], engine=ENGINE)

    more, rows = updated_model.fitted, all_rows(seen_from(updated_model.catalogue, everything()))
    scores, alone = more.scores(rows), more.scores(rows, strangers_only=True)
    assert [scores[cell] for cell in right] == pytest.approx([0.999] * len(right))
    assert [scores[cell] for cell in wrong] == pytest.approx([0.001] * len(wrong))
    assert max(alone[cell] for cell in right) < 0.999
    assert np.count_nonzero(scores == np.float32(0.999)) == len(right)
    new = more.scores(as_new(rows, everything()))
    assert not np.isin(new, np.float32([0.999, 0.001])).any()


def test_an_image_is_judged_by_the_tags_that_were_decided():
    (said, right), (unsaid, wrong) = (
        decided_cells(second_model(), right) for right in (True, False)
    )
    model = update_model(second_model(), everything(), [*said, *unsaid], engine=ENGINE)
    rows = all_rows(seen_from(model.catalogue, everything()))
    tags = rows.tags.toarray()
    for cells, value in ((right, 1), (wrong, 0)):
        tags[tuple(np.transpose(cells))] = value

    found = model.fitted.scores(rows)

    expected = model.fitted.scores(replace(rows, tags=sparse.csr_array(tags)))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    before = second_model().fitted.scores(rows_for(second_model()))
    image = [image for image, _ in (*right, *wrong)]
    assert np.abs(found[image, : before.shape[1]] - before[image]).mean() > 1e-3


def rows_for(model):
    return all_rows(seen_from(model.catalogue, everything()))


def test_the_latest_decision_holds_and_repeating_it_changes_nothing():
    image, tag = everything().ids[12], second_model().catalogue.tag_names[3]
    yes, no = decisions_of((image, tag, True)), decisions_of((image, tag, False))

    once = update_model(second_model(), everything(), yes, engine=ENGINE)
    repeated = update_model(once, everything(), yes, engine=ENGINE)
    turned = update_model(once, everything(), no, engine=ENGINE)

    np.testing.assert_array_equal(repeated.fitted.ridge.weights, once.fitted.ridge.weights)
    assert (once.fitted.decided[[12]].toarray()[0, 3], once.fitted.decided.nnz) == (1, 1)
    assert (turned.fitted.decided[[12]].toarray()[0, 3], turned.fitted.decided.nnz) == (-1, 1)
    assert_as_solved_at_once(turned, everything())


def small_world(rng):
    """Return images of two kinds, a third of each tagged by mistake or by right, of many owners."""
    n = 200
    kind = np.arange(n) % 2
    looks = (np.eye(2)[kind] * 3 + rng.standard_normal((n, 2))).astype(np.float32)
    tags = np.column_stack([kind == 0, kind == 1, rng.random(n) < 0.35]) & (
        rng.random((n, 3)) < 0.8
    )
    owner = np.arange(n) // 4
    return collection_from_arrays(sparse.csr_array(tags), owner, features=looks), kind


@pytest.mark.parametrize("right", [True, False])
def test_decisions_about_some_images_are_evidence_about_others(rng, right):
    whole, kind = small_world(rng)
    method = make_method("sugar-plus", {"anchors": 10})
    model = fit_model(method, whole, engine=ENGINE, seed=0)
    decided = np.flatnonzero(kind == 1)[:60]
    said = decisions_of(*((whole.ids[i], "tag-2", right) for i in decided.tolist()))

    more = update_model(model, whole, said, engine=ENGINE)

    others = np.flatnonzero(kind == 1)[60:]
    rows = all_rows(seen_from(model.catalogue, whole)).at(others)
    # Hardly anything speaks for the tag, so that little can be taken away: odds tell.
    after, before = (logit(some.fitted.scores(rows)[:, 2]) for some in (more, model))
    change = after - before
    assert (change.mean() > 0.1) if right else (change.mean() < 0.0)
    assert np.mean(change > 0 if right else change < 0) > 0.9


def test_a_given_tag_that_is_wrong_is_a_habit_more_than_a_right_one(rng):
    whole, _ = small_world(rng)
    model = fit_model(make_method("sugar-plus", {"anchors": 10}), whole, engine=ENGINE, seed=0)
    given = whole.shards[0].tags.toarray()
    image = int(np.flatnonzero(given[:, 2])[0])
    gains = []
    for right in (True, False):
        said = decisions_of((whole.ids[image], "tag-2", right))
        habits = update_model(model, whole, said, engine=ENGINE).fitted.manners.habits
        owned = given[4 * (image // 4) : 4 * (image // 4) + 4, 2].sum()
        uses = habits.uses[[image // 4]].toarray()[0, 2]
        place = habits.uses.indptr[image // 4] + np.searchsorted(
            habits.uses[[image // 4]].indices, 2
        )
        gains.append(habits.gain[place])
        assert uses == owned
    assert (gains[1] > gains[0] + 0.5 * np.log(RATES / CHANCES[1] + 1)).all()


def test_what_an_earlier_regression_thought_of_an_image_does_not_count_against_itself():
    chance = sparse.csr_array(np.array([[0.001], [0.0], [0.0]]))
    habits = Habits.learned(chance, np.zeros(3, dtype=int), 1)
    owner, pair, seen = np.zeros(1, dtype=int), np.zeros(1, dtype=int), np.ones(1)

    found = habits.stamps_at(owner, pair, np.array([0.6]), seen)

    np.testing.assert_allclose(found, habits.stamps_unused(owner, seen), rtol=1e-9)


def test_images_taken_away_leave_no_trace_in_habits(rng):
    given = rng.random((40, 6)) < 0.3
    chance = sparse.csr_array(np.where(given, rng.uniform(0.01, 0.9, given.shape), 0.0))
    owner = rng.integers(5, size=40)
    expected = Habits.learned(chance[:25], owner[:25], 4)

    found = expected.with_images(chance[25:], owner[25:])
    found = found.with_images(chance[25:], owner[25:], sign=-1)

    np.testing.assert_array_equal(found.uses.toarray(), expected.uses.toarray())
    np.testing.assert_array_equal(found.uses.indptr, expected.uses.indptr)
    np.testing.assert_allclose(found.gain, expected.gain, atol=1e-12)
    np.testing.assert_array_equal(found.images, expected.images)


@pytest.mark.parametrize("what", ["owner", "features", "title"])
def test_another_image_under_a_known_id_is_refused(what):
    other = with_other_tags(everything(), 30, 1, 2, 5)
    (shard,) = other.shards
    titles = list(shard.titles)
    titles[30] = "sea hill old" if titles[30] != "sea hill old" else "red"
    features, owner = shard.features.copy(), shard.owner.copy()
    features[30] = features[31]
    owner[30] = (owner[30] + 1) % 5
    changed = {"owner": owner, "features": features, "titles": Texts.of(titles)}
    name = "titles" if what == "title" else what
    other = replace(other, shards=(replace(shard, **{name: changed[name]}),))

    with pytest.raises(CollectionError, match=f"'image-30' has another {what} than the model"):
        update_model(second_model(), images_at(other, np.arange(25, 35)), engine=ENGINE)


def test_known_images_need_their_titles():
    other = images_at(with_other_tags(everything(), 30, 1, 2, 5), np.arange(25, 35))
    other = replace(other, shards=(replace(other.shards[0], titles=None),))

    with pytest.raises(CollectionError, match="titles"):
        update_model(second_model(), other, engine=ENGINE)


def test_neither_the_number_of_shards_nor_the_order_of_images_matters():
    (shard,), n = parts()[1].shards, parts()[1].n_images
    backwards = images_at(parts()[1], np.arange(n)[::-1])
    halves = [images_at(parts()[1], rows) for rows in (np.arange(90), np.arange(90, n))]
    names = parts()[1].tag_names
    shards = []
    for half in halves:
        place = [names.index(name) for name in half.tag_names]
        tags = np.zeros((half.n_images, len(names)), dtype=np.int8)
        tags[:, place] = half.shards[0].tags.toarray()
        start = 90 * len(shards)
        owner = shard.owner[start : start + half.n_images]
        shards.append(replace(half.shards[0], tags=sparse.csr_array(tags), owner=owner))
    sharded = replace(parts()[1], shards=tuple(shards))

    for other in (backwards, sharded):
        model = update_model(first_model(), other, engine=ENGINE)

        assert_as_solved_at_once(model, everything())


@pytest.mark.parametrize(
    "bare",
    [
        {"history": 0, "interests": False},
        {"anchors": 0, "tastes": 0},
        {"titles": False, "max_predictors": 5},
        {"trust_rounds": 0, "owner_variance": 0.0},
        "features",
        "owners",
    ],
)
def test_every_kind_of_model_is_updated(bare):
    whole = everything()
    (shard,) = whole.shards
    if bare == "features":
        whole = replace(whole, shards=(replace(shard, features=np.zeros((600, 0), np.float32)),))
    if bare == "owners":
        nobody = np.full_like(shard.owner, whole.nobody)
        whole = replace(whole, shards=(replace(shard, owner=nobody),))
    halves = [images_at(whole, rows) for rows in (np.arange(450), np.arange(440, 600))]
    settings = SETTINGS | (bare if isinstance(bare, dict) else {})
    model = fit_model(make_method("sugar-plus", settings), halves[0], engine=ENGINE, seed=0)
    said = decisions_of((whole.ids[445], model.catalogue.tag_names[2], True))

    more = update_model(model, halves[1], said, engine=ENGINE)

    assert_as_solved_at_once(more, whole)
    scores = more.fitted.scores(all_rows(seen_from(more.catalogue, whole)))
    assert scores.min() >= 0
    assert scores.max() <= 1


def test_the_update_keeps_what_was_learned_and_chosen():
    old, new = first_model().fitted, second_model().fitted

    assert (new.choice, new.threshold, new.alike_weight) == (
        old.choice, old.threshold, old.alike_weight)  # fmt: skip
    for name in ("plain", "alone"):
        one, other = getattr(old.manners, name), getattr(new.manners, name)
        np.testing.assert_array_equal(one.belongs, other.belongs)
        assert one.recall == other.recall
        used = old.ridge.share > 0
        for part in ("rate", "wrong"):
            before, after = getattr(one.slips, part), getattr(other.slips, part)
            np.testing.assert_array_equal(before[used], after[: len(used)][used])
            assert (after > 0).all()
    np.testing.assert_array_equal(old.evidence.anchors, new.evidence.anchors)


def test_an_updated_model_is_the_same_when_loaded(tmp_path):
    said, _ = decided_cells(second_model(), True)
    model = update_model(second_model(), everything(), said, engine=ENGINE)

    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")

    rows = all_rows(seen_from(model.catalogue, everything()))
    np.testing.assert_array_equal(loaded.fitted.scores(rows), model.fitted.scores(rows))
    assert loaded.run_id == model.run_id
    again = update_model(loaded, parts()[0], decided_cells(model, False)[0][:2], engine=ENGINE)
    assert_as_solved_at_once(again, everything())


def test_a_view_without_positions_is_a_mistake():
    model, collection = first_model(), parts()[0]
    decided = decided_in([], extended_catalogue(model.catalogue, collection), collection)

    with pytest.raises(ValueError, match="not seen from a catalogue"):
        updated(model.fitted, model.method, collection, decided, engine=ENGINE)
