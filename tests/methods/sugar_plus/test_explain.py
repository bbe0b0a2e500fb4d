"""Explanations: the parts are what they are called, and together they are the evidence."""

from dataclasses import replace

import numpy as np
import pytest

from methods.sugar_plus.literal import all_rows, columns_of
from planted import UNTAGGED, as_new, without_features
from sugartag.collection.align import Catalogue
from sugartag.collection.model import Collection, Rows
from sugartag.engine import LocalEngine
from sugartag.methods.base import Explanations, Kind
from sugartag.methods.sugar_plus import FittedSugarPlus, SugarPlus, explain, learning
from sugartag.methods.sugar_plus.explain import Explainer
from sugartag.methods.sugar_plus.voting import OVERLAP, SHRINKAGE


def fit(collection: Collection, **settings: object) -> FittedSugarPlus:
    method = SugarPlus(anchors=40, tastes=4, trust_rounds=1, **settings)
    found = method.fit(collection, engine=LocalEngine(), rng=np.random.default_rng(0))
    # Whatever the small collection makes of them, all kinds of evidence shall have a say.
    return replace(found, alike_weight=0.6, interest_weight=0.3)


@pytest.fixture(scope="module")
def fitted(odd: Collection) -> FittedSugarPlus:
    return fit(odd)


@pytest.fixture(scope="module")
def every(odd: Collection, fitted: FittedSugarPlus) -> Explanations:
    """The explanations of all tags of all images, image by image."""
    return explained(fitted, all_rows(odd), odd)


def explainer_of(fitted: FittedSugarPlus) -> Explainer:
    return Explainer(
        fitted.ridge,
        fitted.believed,
        fitted.look_alikes,
        fitted.alike_weight,
        fitted.interest_weight,
        fitted.manners,
        fitted.whole,
        fitted.subjects,
        fitted.sight,
        fitted.alone,
    )


def explained(fitted: FittedSugarPlus, rows: Rows, collection: Collection) -> Explanations:
    n_tags = collection.n_tags
    row, tag = np.divmod(np.arange(len(rows) * n_tags), n_tags)
    return explainer_of(fitted).explain(rows, rows, row, tag, Catalogue.of(collection))


def evidence_of(fitted: FittedSugarPlus, rows: Rows) -> np.ndarray:
    """Return images x tags: what probabilities are made from, all but what images look like."""
    content = fitted.ridge.judge(rows, fitted.believed)
    alike = fitted.look_alikes.judge(rows, fitted.evidence).excess
    others = fitted.interest_weight * content.interest + fitted.alike_weight * alike
    about = 0.0 if fitted.subjects is None else fitted.subjects.said(rows)
    return content.excess + others + about


def kind(explanations: Explanations, name: str) -> Kind:
    (found,) = [one for one in explanations.kinds if one.name == name]
    return found


def assert_adds_up(found: Explanations, fitted: FittedSugarPlus, rows: Rows) -> None:
    looks = kind(found, "sight").net
    expected = evidence_of(fitted, rows).ravel() + looks
    np.testing.assert_allclose(found.evidence, expected, atol=1e-4)
    assert looks.any() == (fitted.sight is not None)
    for place in range(0, len(found), 97):
        added = sum(part.amount for part in found.parts(place))
        assert added == pytest.approx(expected[place], abs=1e-4)


def test_all_parts_add_up_to_the_evidence(odd, fitted, every):
    assert_adds_up(every, fitted, all_rows(odd))


def test_they_do_so_for_new_images_and_strangers(odd, fitted):
    rows = all_rows(odd).at(np.arange(60))

    for new in (as_new(rows, odd), as_new(rows, odd, owner=odd.nobody)):
        assert_adds_up(explained(fitted, new, odd), fitted, new)


def test_they_do_so_where_little_is_known_of_images(odd):
    (shard,) = odd.shards
    bare = without_features(replace(odd, shards=(replace(shard, titles=None),)))
    fitted = fit(bare)
    rows = all_rows(bare).at(np.arange(60))

    found = explained(fitted, rows, bare)

    assert_adds_up(found, fitted, rows)
    assert not kind(found, "anchor").net.any()
    assert not kind(found, "title word").net.any()


def test_what_speaks_are_the_tags_as_they_were_decided(odd, fitted):
    rows = all_rows(odd).at(np.arange(60))
    decided = replace(rows, tags=rows.tags[::-1])
    row, tag = np.divmod(np.arange(60 * odd.n_tags), odd.n_tags)

    found = explainer_of(fitted).explain(rows, decided, row, tag, Catalogue.of(odd))

    assert_adds_up(found, fitted, decided)
    parts = kind(found, "own tag").parts(20 * odd.n_tags + 3)
    names = {odd.tag_names[own] for own in decided.tags[[20]].indices if own != 3}
    assert {part.name for part in parts} == names


def test_the_numbers_beside_the_evidence_make_the_score(odd, fitted, every):
    rows = all_rows(odd)
    b, r = every.prior.astype(float), every.recall
    right, not_so = (reason + (1 - reason) * every.habit for reason in (r, every.slip))

    unexplained = (1 - b) * not_so / (b * right + (1 - b) * not_so)
    given = 1 - every.slip_wrong * unexplained
    lacking = b * (1 - r) / (b * (1 - r) + (1 - b) * (1 - every.slip))

    expected = np.where(rows.tags.toarray().ravel() > 0, given, lacking)
    np.testing.assert_allclose(fitted.scores(rows).ravel(), expected, atol=1e-4)


def test_what_is_known_of_an_image_adds_its_centred_columns_times_their_weights(odd, fitted, every):
    rows, evidence = all_rows(odd), fitted.evidence
    tags = rows.tags.toarray()
    columns = columns_of(rows, tags, evidence) - fitted.ridge.mean
    ends = np.cumsum([len(evidence.predictor), len(evidence.words), len(evidence.anchors)])
    parts = np.split(np.arange(columns.shape[1]), ends)

    for name, some in zip(("own tag", "title word", "anchor", "groups"), parts, strict=True):
        expected = columns[:, some] @ fitted.ridge.weights[some]
        np.testing.assert_allclose(kind(every, name).net, expected.ravel(), atol=1e-4)


def test_own_tags_and_words_are_named_one_by_one_and_a_tag_does_not_speak_for_itself(
    odd, fitted, every
):
    rows, evidence, image, tag = all_rows(odd), fitted.evidence, 20, 3
    mean, weights = fitted.ridge.mean, fitted.ridge.weights
    expected = {
        ("own tag", odd.tag_names[c]): (1 - mean[place]) * weights[place, tag]
        for place, c in enumerate(evidence.predictor)
        if rows.tags[image, c] and c != tag
    }
    for place, word in enumerate(evidence.words, start=len(evidence.predictor)):
        if word in rows.titles[image].split():
            expected["title word", word] = (1 - mean[place]) * weights[place, tag]

    parts = every.parts(image * odd.n_tags + tag)

    found = {(p.kind, p.name): p.amount for p in parts if p.name and (p.kind, p.name) in expected}
    assert len(expected) > 2
    assert found == pytest.approx(expected, abs=1e-6)
    own = int(rows.tags.indices[rows.tags.indptr[image]])
    judged = every.parts(image * odd.n_tags + own)
    assert odd.tag_names[own] not in {p.name for p in judged if p.kind == "own tag"}


def test_the_anchors_named_are_ones_that_the_image_is_like(odd, fitted, every):
    rows, evidence = all_rows(odd), fitted.evidence
    near = evidence.dense(rows)[:, :40] - fitted.ridge.mean[evidence.n_sparse :][:40]
    anchors = kind(every, "anchor")
    place = 33 * odd.n_tags + 5

    parts = anchors.parts(place)

    numbers = [int(part.name.removeprefix("anchor ")) for part in parts]
    weights = fitted.ridge.weights[evidence.n_sparse :][numbers, 5]
    assert 0 < len(parts) <= explain.NAMED
    assert np.all(near[33, numbers] > 0)
    np.testing.assert_allclose([p.amount for p in parts], near[33, numbers] * weights, atol=1e-6)


def test_an_anchor_is_described_by_the_tags_that_its_looks_speak_for(odd, fitted, every):
    anchors = fitted.evidence.anchors
    n = len(anchors)
    # Images just there, of which nothing else is known.
    there = Rows(
        tags=all_rows(odd).tags[[UNTAGGED] * n],
        owner=np.full(n, odd.nobody),
        features=anchors,
        position=np.full(n, odd.n_images),
    )

    said = kind(explained(replace_unit(fitted), there, odd), "anchor").net.reshape(n, -1)

    for tags, expected in zip(kind(every, "anchor").tags, np.argsort(-said, axis=1), strict=True):
        assert tags[0] == odd.tag_names[expected[0]]
        assert set(tags) <= {odd.tag_names[tag] for tag in expected[: explain.TAGS_OF_ANCHOR]}


def replace_unit(fitted: FittedSugarPlus) -> FittedSugarPlus:
    """Return the same for features that are taken as they are."""
    evidence = replace(fitted.evidence, unit_features=False)
    return replace(fitted, ridge=replace(fitted.ridge, evidence=evidence), alike_weight=0.0)


def literal_votes(fitted: FittedSugarPlus, rows: Rows, image: int, tag: int) -> dict[int, float]:
    """Return what each other image of the owner that has the tag adds, slowly."""
    kept, evidence = fitted.look_alikes, fitted.evidence
    features = rows.features / np.linalg.norm(rows.features, axis=1)[:, None]
    codes = features @ kept.directions
    tokens = evidence.known(rows.tags, evidence.words_of(rows)).toarray() > 0
    left_out = evidence.predictor[:, None] == [tag]
    tokens[:, np.flatnonzero(left_out.any(axis=1))] = False
    mine = tokens[image] * kept.rarity
    others = [i for i in kept.image if rows.owner[i] == rows.owner[image] and i != image]
    weight = {
        i: np.exp(-np.square(codes[i] - codes[image]).sum() / kept.width**2)
        * (OVERLAP + (mine * tokens[i]).sum() / max(mine.sum(), 1e-9)) ** 2
        for i in others
    }
    scale = fitted.alike_weight * (1 - kept.share[tag]) / (sum(weight.values()) + SHRINKAGE)
    return {i: scale * weight[i] for i in others if rows.tags[i, tag]}


def busy_image(odd: Collection) -> int:
    """Return a tagged image of the owner with most images."""
    owner = int(np.argmax(np.bincount(odd.owner[odd.owner < odd.nobody])))
    tagged = np.diff(all_rows(odd).tags.indptr) > 2
    return int(np.flatnonzero((odd.owner == owner) & tagged)[0])


def test_look_alikes_are_the_owners_other_images_that_have_the_tag(odd, fitted, every):
    rows, image, ids = all_rows(odd), busy_image(odd), list(odd.ids)
    given = int(rows.tags[[image]].indices[0])
    among_mine = rows.tags[odd.owner == odd.owner[image]].sum(axis=0)
    lacking = int(np.argmax(among_mine * (rows.tags[[image]].toarray().ravel() == 0)))

    for tag in (given, lacking):
        expected = literal_votes(fitted, rows, image, tag)
        parts = kind(every, "look-alike").parts(image * odd.n_tags + tag)

        strongest = sorted(expected, key=lambda i: -expected[i])[: explain.NAMED]
        assert strongest
        assert {part.name for part in parts} == {ids[i] for i in strongest}
        for part in parts:
            assert part.amount == pytest.approx(expected[ids.index(part.name)], abs=1e-6)


def test_a_new_image_owes_nothing_to_itself_and_a_fitted_one_does(odd, fitted, every):
    new = as_new(all_rows(odd).at(np.arange(20)), odd)

    assert not kind(explained(fitted, new, odd), "itself").net.any()
    assert np.abs(kind(every, "itself").net).max() > 0.01


def test_nobodys_images_have_no_look_alikes_and_no_interests(odd, fitted, every):
    cell = np.repeat(odd.owner == odd.nobody, odd.n_tags)

    for name in ("look-alike", "interest"):
        assert cell.any()
        assert not kind(every, name).net[cell].any()
        assert kind(every, name).net[~cell].any()


def test_the_subject_named_is_the_main_one_and_has_all_that_subjects_say(odd, fitted, every):
    rows, found = all_rows(odd), kind(every, "subject")
    main = np.repeat(fitted.subjects.mostly(rows), odd.n_tags)

    np.testing.assert_allclose(found.net, fitted.subjects.said(rows).ravel(), atol=1e-6)
    np.testing.assert_array_equal(found.amount, found.net)
    np.testing.assert_array_equal(found.number, main)
    telling = fitted.subjects.telling_tags(explain.TAGS_OF_SUBJECT)
    (part,) = found.parts(7)
    assert part.name == f"subject {main[7]}"
    assert part.tags == tuple(odd.tag_names[tag] for tag in telling[main[7]])


def test_several_steps_give_the_explanations_of_one(odd, fitted, every, monkeypatch):
    monkeypatch.setattr(learning, "CELLS_AT_ONCE", odd.n_tags * 64)
    monkeypatch.setattr(explain, "CELLS_AT_ONCE", 100)

    cut = explained(fitted, all_rows(odd), odd)

    np.testing.assert_allclose(cut.evidence, every.evidence, atol=1e-6)
    for place in (0, 5_000, 29_999):
        found, expected = cut.parts(place), every.parts(place)
        named = {(part.kind, part.name): part.amount for part in found if part.name}
        assert named == pytest.approx(
            {(part.kind, part.name): part.amount for part in expected if part.name}, abs=1e-6
        )


def test_only_the_tags_in_question_are_explained(odd, fitted, every):
    rows, row, tag = all_rows(odd), np.array([3, 3, 599]), np.array([7, 1, 0])

    found = explainer_of(fitted).explain(rows, rows, row, tag, Catalogue.of(odd))

    np.testing.assert_allclose(found.evidence, every.evidence[row * odd.n_tags + tag], atol=1e-6)
    nothing = explainer_of(fitted).explain(rows, rows, row[:0], tag[:0], Catalogue.of(odd))
    assert len(nothing) == 0
