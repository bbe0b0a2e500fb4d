"""Verdicts are judged as a person would who looks at every change and knows what is right."""

import functools
from dataclasses import replace

import numpy as np
import pytest

from planted import N_SHOWN, planted_collection, resharded
from sugartag.collection.model import Collection
from sugartag.collection.subset import without_truth
from sugartag.engine import LocalEngine
from sugartag.errors import CollectionError
from sugartag.evaluation.verdicts import VerdictCounts
from sugartag.methods.registry import make_method
from sugartag.pipeline.fitting import fit_model
from sugartag.pipeline.judging import CANDIDATES, Answers, disturb, judge
from sugartag.pipeline.model import Model
from sugartag.pipeline.propose import Thresholds, propose

THRESHOLDS = Thresholds(top=4, add=0.2, doubt=0.8)
"""Probabilities in the planted collection are small; with these something is added, and doubted."""


@functools.cache
def model() -> Model:
    method = make_method("tag-vote-own")
    return fit_model(method, planted_collection(), engine=LocalEngine(), seed=0)


def judged(collection: Collection, answers: Answers, **options) -> VerdictCounts:
    options = {"engine": LocalEngine(), "thresholds": THRESHOLDS} | options
    return judge(model(), collection, answers, **options)


@functools.cache
def planted() -> VerdictCounts:
    return judged(planted_collection(), Answers.of_truth(planted_collection()))


def everything(collection: Collection) -> slice:
    return slice(0, collection.n_images)


def right_pairs(collection: Collection) -> set[tuple[str, str]]:
    rows, columns = collection.truth_of(everything(collection)).nonzero()
    ids, names = list(collection.ids), collection.concept_names
    return {(ids[r], names[c]) for r, c in zip(rows, columns, strict=True)}


def given_pairs(collection: Collection) -> set[tuple[str, str]]:
    rows, columns = collection.tags_of(everything(collection)).nonzero()
    ids, names = list(collection.ids), collection.tag_names
    return {(ids[r], names[c]) for r, c in zip(rows, columns, strict=True)}


def said(collection: Collection, thresholds: Thresholds) -> dict[str, list[tuple[str, str, float]]]:
    """Return image, tag and probability of what is proposed for tags that can be judged."""
    found = {"add": [], "keep": [], "doubt": []}
    for part in propose(model(), collection, engine=LocalEngine(), thresholds=thresholds):
        for one in part:
            if one.tag in collection.concept_names:
                found[one.action].append((one.image_id, one.tag, one.score))
    return found


def test_the_counts_are_those_of_the_changes_looked_at_one_by_one(collection):
    right, given = right_pairs(collection), given_pairs(collection)
    changes = said(collection, THRESHOLDS)

    found = planted().changes

    added = [(image, tag) for image, tag, _ in changes["add"]]
    doubted = [(image, tag) for image, tag, _ in changes["doubt"]]
    known = {pair for pair in given if pair[1] in collection.concept_names}
    assert len(added) > 100
    assert len(doubted) > 50
    assert found.added == len(added)
    assert found.rightly_added == len(right.intersection(added))
    assert found.missing == len(right - given)
    assert found.removed == len(doubted)
    assert found.rightly_removed == len(set(doubted) - right)
    assert found.wrong == len(known - right)


def test_every_probability_is_that_of_the_change(collection):
    changes = said(collection, THRESHOLDS)

    found = planted()

    for kinds, counted in ((("add",), found.added), (("keep", "doubt"), found.given)):
        probabilities = [value for kind in kinds for _, _, value in changes[kind]]
        assert counted.count.sum() == len(probabilities)
        assert counted.total_chance.sum() == pytest.approx(sum(probabilities))


def test_candidates_without_a_verdict_are_the_best_of_those_not_added(collection):
    candidates = said(collection, Thresholds(top=CANDIDATES, add=0.0))["add"]
    added = {(image, tag) for image, tag, _ in said(collection, THRESHOLDS)["add"]}

    below = [entry for entry in candidates if entry[:2] not in added]

    assert planted().below.count.sum() == len(below)
    assert planted().below.total_chance.sum() == pytest.approx(sum(entry[2] for entry in below))


def test_a_tag_nobody_knows_the_truth_of_is_not_judged(collection):
    few = replace(
        collection,
        shards=tuple(replace(one, truth=one.truth[:, :N_SHOWN]) for one in collection.shards),
        concept_names=collection.concept_names[:N_SHOWN],
    )

    found = judged(collection, Answers.of_truth(few))

    known = {pair for pair in given_pairs(collection) if pair[1] in few.concept_names}
    assert found.given.count.sum() == len(known) < planted().given.count.sum()


def test_blocks_and_shards_change_nothing(collection):
    cut = judged(resharded(collection, 7, 250), Answers.of_truth(collection))

    assert cut.changes == planted().changes
    np.testing.assert_array_equal(cut.verdicts.count, planted().verdicts.count)


def test_without_thresholds_those_of_change_sets_are_taken(collection):
    answers = Answers.of_truth(collection)

    found = judge(model(), collection, answers, engine=LocalEngine())

    assert found.changes == judged(collection, answers, thresholds=Thresholds()).changes


def test_what_was_given_before_is_right_and_nothing_else(collection):
    disturbed = disturb(collection, hidden_share=0.2, injected_rate=0.25, seed=3)
    before, after = given_pairs(collection), given_pairs(disturbed.collection)

    found = judged(disturbed.collection, disturbed.answers)

    assert found.changes.missing == len(before - after) > 100
    assert found.changes.wrong == len(after - before) > 100
    assert found.given.count.sum() == len(after)
    assert found.given.right.sum() == len(before & after)


def test_another_seed_disturbs_other_tags(collection):
    one, same, other = (
        given_pairs(disturb(collection, hidden_share=0.2, injected_rate=0.25, seed=s).collection)
        for s in (3, 3, 4)
    )

    assert one == same
    assert one != other


def test_a_collection_without_truth_gives_no_answers(collection):
    with pytest.raises(CollectionError, match="--truth"):
        Answers.of_truth(without_truth(collection))


def test_answers_about_other_images_are_refused(collection):
    answers = replace(Answers.of_truth(collection), n_images=3)

    with pytest.raises(CollectionError, match="about 3 images and the collection has 600"):
        judged(collection, answers)


def test_answers_about_some_tags_are_the_same_for_these():
    collection = planted_collection()
    every = Answers.of_truth(collection)
    some = every.tag_names[1::3]

    found = every.about(some)

    assert found.tag_names == some
    row, tag = np.indices((collection.n_images, len(some))).reshape(2, -1)
    number = np.array([every.tag_names.index(name) for name in some])
    np.testing.assert_array_equal(found.are_right(row, tag), every.are_right(row, number[tag]))
    assert np.all(np.diff(found.pairs) > 0)
