from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from methods.sugar_plus.literal import PLAN, all_rows, columns_of, evidence_of
from planted import as_new, without_features
from sugartag.collection.build import collection_from_arrays
from sugartag.collection.subset import tag_counts
from sugartag.collection.texts import Texts
from sugartag.methods.sugar_plus import evidence as module
from sugartag.methods.sugar_plus.evidence import (
    MIN_USES,
    TASTE_SHRINKAGE,
    USUAL_WIDTH,
    words_of,
)


def titled(collection, names):
    (shard,) = collection.shards
    return replace(collection, shards=(replace(shard, titles=Texts.of(names)),))


def test_words_are_runs_of_letters_in_lower_case():
    assert words_of("Baby-Tux 04 (b & W) ÉCOLE") == {"baby", "tux", "école"}


def test_the_most_used_tags_that_two_images_have_are_columns(odd, evidence):
    counts = tag_counts(odd)
    outside = np.setdiff1d(np.arange(odd.n_tags), evidence.predictor)

    assert len(evidence.predictor) == PLAN.max_predictors
    assert counts[evidence.predictor].min() >= max(counts[outside].max(), MIN_USES)
    everything = evidence_of(odd, replace(PLAN, max_predictors=1_000)).predictor
    np.testing.assert_array_equal(everything, np.flatnonzero(counts >= MIN_USES))


@pytest.mark.parametrize("unit_features", [True, False])
def test_columns_are_tags_words_likeness_to_anchors_and_tastes(odd, unit_features):
    evidence = evidence_of(odd, replace(PLAN, unit_features=unit_features))
    rows = all_rows(odd)

    known = evidence.known(rows.tags, evidence.words_of(rows)).toarray()

    expected = columns_of(rows, rows.tags.toarray(), evidence)
    assert evidence.n_sparse + evidence.n_dense == expected.shape[1]
    np.testing.assert_array_equal(known, expected[:, : evidence.n_sparse])
    np.testing.assert_allclose(evidence.dense(rows), expected[:, evidence.n_sparse :], atol=2e-6)


def test_another_width_changes_the_likeness_and_its_centre_alone(evidence):
    found = evidence.with_kernel(0.5, len(evidence.anchors))

    assert evidence.width == pytest.approx(USUAL_WIDTH * evidence.median)
    assert found.width == pytest.approx(0.5 * evidence.median)
    anchors = evidence.anchors.astype(float)
    apart = np.square(anchors[:, None] - anchors).sum(axis=2)
    expected = np.exp(-apart / found.width**2).mean(axis=0)
    np.testing.assert_allclose(found.centre, expected, atol=1e-6)
    assert found.predictor is evidence.predictor


def test_of_fewer_anchors_the_first_are_kept(evidence):
    found = evidence.with_kernel(0.5, 3)

    np.testing.assert_array_equal(found.anchors, evidence.anchors[:3])
    assert len(found.centre) == 3
    assert found.n_dense == evidence.n_dense - len(evidence.anchors) + 3


def test_an_anchor_stands_for_several_images(odd):
    found = evidence_of(odd, replace(PLAN, anchors=10_000))

    assert 1 < len(found.anchors) <= odd.n_images // 4


@pytest.mark.parametrize("missing", ["features", "anchors"])
def test_without_features_or_anchors_only_tastes_are_dense(odd, missing):
    bare = without_features(odd) if missing == "features" else odd
    plan = PLAN if missing == "features" else replace(PLAN, anchors=0)

    found = evidence_of(bare, plan)

    assert found.n_dense == found.taste.shape[1] == PLAN.tastes
    assert found.dense(all_rows(bare)).shape == (odd.n_images, PLAN.tastes)
    assert found.with_kernel(0.3, 0) is found


def test_titles_are_evidence_where_there_are_any(collection):
    names = ["a red boat" if i % 2 else "the hill" for i in range(collection.n_images)]
    names[4] = "seldom"
    made = titled(collection, names)

    found = evidence_of(made)

    assert list(found.words) == ["boat", "hill", "red", "the"]
    part = found.words_of(all_rows(made)).toarray()
    np.testing.assert_array_equal(part[[0, 1, 4]], [[0, 1, 0, 1], [1, 0, 1, 0], [0, 0, 0, 0]])
    assert found.words_of(replace(all_rows(made), titles=None)).shape == (made.n_images, 4)
    assert found.words_of(replace(all_rows(made), titles=None)).nnz == 0
    assert not len(evidence_of(made, replace(PLAN, titles=False)).words)


def test_the_most_used_words_are_taken_where_there_are_too_many(collection, monkeypatch):
    monkeypatch.setattr(module, "MAX_WORDS", 2)
    names = [("often " if i < 50 else "") + ("always" if i % 3 else "nearly") for i in range(600)]

    found = evidence_of(titled(collection, names))

    assert list(found.words) == ["always", "nearly"]


def test_the_taste_of_groups_leaves_the_owner_out():
    # Owners 0 and 1 share a group; owner 2 is alone in another.
    groups = sparse.csr_array(np.array([[1, 0], [1, 0], [0, 1]]))
    tags = np.zeros((12, 3))
    tags[:4, 0] = tags[4:8, 1] = tags[8:, 2] = 1
    owner = np.repeat([0, 1, 2], 4)
    made = collection_from_arrays(sparse.csr_array(tags), owner, groups=groups)

    taste = evidence_of(made).taste

    # Three tastes of three tags turn and lose nothing: lengths are those of the tag counts.
    other_owner = tags[4:8].sum(axis=0) - 4 * tags.mean(axis=0)
    expected = np.linalg.norm(other_owner) / (4 + TASTE_SHRINKAGE)
    assert np.linalg.norm(taste[0]) == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(taste[[2, 3]], 0.0, atol=1e-6)


def test_nobody_has_no_taste(odd, evidence):
    strangers = as_new(all_rows(odd), odd, owner=odd.nobody + 5)

    assert not evidence.dense(strangers)[:, len(evidence.anchors) :].any()
