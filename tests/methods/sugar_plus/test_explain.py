"""Explanations name the evidence and add up to the excess."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from methods.sugar_plus import literal
from methods.sugar_plus.literal import NAMES, SERIES, given, joint_weights, predictors
from planted import as_new, without_features
from sugartag.collection.align import Catalogue
from sugartag.collection.decisions import decisions_at
from sugartag.methods.sugar_plus import explain as module


@pytest.fixture(scope="module")
def catalogue(small):
    return Catalogue.of(small)


@pytest.fixture(scope="module")
def explained(fitted, rows, catalogue):
    row, tag = (part.ravel() for part in np.indices((80, 14)))
    return fitted.explain(rows, row, tag, catalogue)


def net(explained, name):
    (kind,) = [kind for kind in explained.kinds if kind.name == name]
    return kind.net.reshape(80, 14)


def test_the_kinds_add_up_to_the_excess(explained, fitted, rows):
    total = sum(kind.net for kind in explained.kinds)

    np.testing.assert_allclose(total, fitted.views.excess(rows).ravel(), atol=1e-5)
    np.testing.assert_allclose(explained.score, total, atol=1e-9)
    for place in range(0, 80 * 14, 37):
        parts = explained.parts(place)
        assert sum(part.amount for part in parts) == pytest.approx(explained.score[place], abs=1e-5)


def test_other_tags_count_by_their_weights_in_the_joint_view(explained, fitted, rows):
    views = fitted.views
    z = predictors(rows, views.blocks)
    tags = z[:, : views.blocks.tags.width]
    whole = np.einsum("ij,jk,ik->i", z, views.joint.inverse.astype(float), z) * views.image_weight
    share = (1.0 - views.weights.visual_share) / (1.0 - whole)

    # A tag that the image has is predicted as if it had one tag less.
    counts = given(rows).sum(axis=1, keepdims=True)
    fewer = np.where(given(rows) > 0, counts / np.maximum(counts - 1.0, 1.0), 1.0)
    expected = share[:, None] * fewer * (tags @ joint_weights(views.joint)[: tags.shape[1]])

    np.testing.assert_allclose(net(explained, "other tag"), expected, atol=1e-5)


def test_similar_tags_count_by_what_looks_say_of_them(explained, fitted, rows):
    views = fitted.views
    looks = views.visual_excess(views.leaving_out(rows))
    lent = views.names.toarray() - np.eye(14)

    expected = views.weights.visual_share * looks @ lent

    np.testing.assert_allclose(net(explained, "similar tag"), expected, atol=1e-5)
    assert np.abs(expected).max() > 0.001


def test_neighbours_count_by_their_votes(explained, fitted, rows):
    votes = fitted.views.neighbours.votes(
        rows, fitted.views.blocks.visual.transform(rows)
    ).toarray()

    expected = fitted.views.weights.neighbour * votes

    np.testing.assert_allclose(net(explained, "neighbour"), expected, atol=1e-6)


def test_neighbours_that_are_named_have_the_tag_and_the_owner(explained, small, rows):
    (kind,) = [kind for kind in explained.kinds if kind.name == "neighbour"]
    ids, y = list(small.ids), given(rows)
    named = 0
    for place in range(80 * 14):
        row, tag = divmod(place, 14)
        for part in kind.parts(place):
            image = ids.index(part.name)
            assert y[image, tag] == 1
            assert small.owner[image] == small.owner[row]
            assert image != row
            assert not {image, row} <= set(SERIES)
            named += 1
    assert named > 100


def test_other_tags_that_are_named_are_on_the_image_and_never_the_tag_itself(explained, rows):
    (kind,) = [kind for kind in explained.kinds if kind.name == "other tag"]
    y = given(rows)

    for place in range(80 * 14):
        row, tag = divmod(place, 14)
        names = [part.name for part in kind.parts(place)]
        assert all(y[row, NAMES.index(name)] == 1 for name in names)
        assert NAMES[tag] not in names


def test_similar_tags_that_are_named_have_similar_names(explained, fitted):
    (kind,) = [kind for kind in explained.kinds if kind.name == "similar tag"]
    lent = fitted.views.names.toarray()

    for place in range(80 * 14):
        names = {NAMES.index(part.name) for part in kind.parts(place)}
        assert names <= set(np.flatnonzero(lent[:, place % 14])) - {place % 14}
        assert len(names) == min(module.NAMED, np.count_nonzero(lent[:, place % 14]) - 1)


def test_only_the_strongest_are_named_and_the_rest_is_summed(fitted, rows, catalogue, monkeypatch):
    row, tag = (part.ravel() for part in np.indices((80, 14)))
    monkeypatch.setattr(module, "NAMED", 2)

    found = fitted.explain(rows, row, tag, catalogue)

    (kind,) = [kind for kind in found.kinds if kind.name == "other tag"]
    z, views = predictors(rows, fitted.views.blocks), fitted.views
    for place in range(80 * 14):
        i, t = divmod(place, 14)
        each = np.abs(z[i, : views.blocks.tags.width] * joint_weights(views.joint)[:12, t])
        parts = kind.parts(place)
        assert len(parts) == min(2, np.count_nonzero(each))
        strongest = views.blocks.tags.predictor[np.argsort(-each, kind="stable")[: len(parts)]]
        assert {part.name for part in parts} == {NAMES[k] for k in strongest}


def test_looks_are_named_by_the_tags_they_say_most_for(explained, fitted, rows):
    views = fitted.views
    looks = views.visual_excess(views.leaving_out(rows))
    standard = looks / (views.visual.spread(views.statistics) + 1e-3)

    for row in range(80):
        best = np.argsort(-standard[row], kind="stable")[:3]
        expected = tuple(NAMES[tag] for tag in best if standard[row, tag] > 0)
        assert explained.looks_like[row * 14] == explained.looks_like[row * 14 + 13] == expected


def test_base_rates_and_judgements_are_those_of_the_model(explained, fitted):
    np.testing.assert_allclose(explained.base_rate[:14], fitted.views.base_rate)
    np.testing.assert_array_equal(
        explained.judged[:14], fitted.calibrator.noise.judges(np.arange(14))
    )
    assert not explained.decided.any()


@pytest.mark.parametrize("of_nobody", [False, True])
def test_new_images_are_explained_too(fitted, small, rows, catalogue, of_nobody):
    new = as_new(rows, small, owner=small.nobody if of_nobody else None)
    row, tag = np.array([3, 3, 40]), np.array([0, 5, 9])

    found = fitted.explain(new, row, tag, catalogue)

    total = sum(kind.net for kind in found.kinds)
    np.testing.assert_allclose(total, fitted.views.excess(new)[row, tag], atol=1e-5)
    (near,) = [kind for kind in found.kinds if kind.name == "neighbour"]
    assert not of_nobody or not near.net.any()


def test_decisions_are_told_and_the_image_is_explained_with_them(fitted, rows, catalogue):
    decided = decisions_at(np.array([3, 4]), np.array([1, 2]), [True, False], (80, 14))
    model = replace(fitted, decided=decided)
    row, tag = np.array([3, 3, 4]), np.array([1, 7, 2])

    found = model.explain(rows, row, tag, catalogue)

    assert found.decided.tolist() == [1, 0, -1]
    tags = rows.tags.toarray()
    tags[3, 1], tags[4, 2] = 1, 0
    now = replace(rows, tags=sparse.csr_array(tags))
    np.testing.assert_allclose(found.score, fitted.views.excess(now)[row, tag], atol=1e-6)


def test_without_features_only_other_tags_and_the_rest_speak(small):
    bare = without_features(small)
    model, rows = literal.fitted_to(bare), literal.all_rows(bare)
    row, tag = np.array([2, 3]), np.array([0, 1])

    found = model.explain(rows, row, tag, Catalogue.of(bare))

    assert found.looks_like == ((), ())
    nets = {kind.name: kind.net for kind in found.kinds}
    assert not nets["neighbour"].any()
    assert not nets["similar tag"].any()
    assert nets["other tag"].any()


def test_nothing_in_question_has_no_explanation(fitted, rows, catalogue):
    nothing = np.zeros(0, dtype=np.int64)

    assert len(fitted.explain(rows, nothing, nothing, catalogue)) == 0
