from dataclasses import replace

import numpy as np
import pytest

from methods.sugar_plus.literal import evidence_of
from sugartag.collection.model import Collection
from sugartag.engine.base import row_blocks
from sugartag.methods.sugar_plus import held_out as module
from sugartag.methods.sugar_plus.held_out import (
    FOLDS,
    TASTE_RIDGE,
    Trial,
    inverse_columns,
    mean_precision,
    penalties,
)


def drawn(collection, engine, variance=0.3, seed=0):
    rng = np.random.default_rng(seed)
    return Trial.drawn(collection, evidence_of(collection), variance, engine=engine, rng=rng)


def columns_of(fold):
    return np.hstack([fold.known.toarray(), fold.dense])


def test_mean_precision_is_that_of_the_ranking():
    scores = np.array([[0.9, 0.1, 0.1], [0.5, 0.3, 0.2], [0.1, 0.2, 0.3]])
    given = np.array([[True, False, True], [False, False, False], [True, False, False]])

    assert mean_precision(scores, given) == pytest.approx(((1 + 2 / 3) / 2 + 1 / 3) / 2)
    assert mean_precision(scores, np.zeros_like(given)) == 0.0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("images", [6_000, 400])
def test_no_owner_has_images_on_both_sides_of_a_trial(odd, engine, seed, images, monkeypatch):
    monkeypatch.setattr(module, "IMAGES", images)

    trial = drawn(odd, engine, seed=seed)

    assert len(trial.fold) == trial.known.shape[0] == len(trial.looks) == min(images, odd.n_images)
    assert trial.n_folds == (FOLDS if images > odd.n_images else 1)
    for number in range(trial.n_folds):
        held = trial.fold == number
        assert not np.intersect1d(trial.owner[held], trial.owner[~held]).size
        assert 0.1 < held.mean() < 0.4


def test_images_of_nobody_are_each_their_own_owner(odd, engine):
    trial = drawn(odd, engine)

    nobodys = odd.owner == odd.nobody
    counts = np.bincount(trial.owner)
    assert (counts[trial.owner[nobodys]] == 1).all()
    same = odd.owner[:, None] == odd.owner
    np.testing.assert_array_equal(
        (trial.owner[:, None] == trial.owner)[~nobodys], (same & ~nobodys)[~nobodys]
    )


def test_with_few_owners_images_are_held_out_one_by_one(odd, engine):
    (shard,) = odd.shards
    few = replace(odd, shards=(replace(shard, owner=shard.owner % 4),))

    trial = drawn(few, engine)

    assert len(np.unique(trial.owner)) == odd.n_images
    for number in range(FOLDS):
        assert np.mean(trial.fold == number) == pytest.approx(0.2)


@pytest.mark.parametrize("variance", [0.0, 0.3])
def test_the_gram_of_a_trial_is_that_of_the_images_that_are_not_held_out(odd, engine, variance):
    trial = drawn(odd, engine, variance)
    evidence = trial.evidence

    found = trial.at(0.9)

    apart = np.square(trial.looks.astype(float)[:, None] - evidence.anchors).sum(axis=2)
    likeness = np.exp(-apart / (0.9 * evidence.median) ** 2)
    columns = np.hstack([trial.known.toarray(), likeness, trial.taste])
    for number, fold in enumerate(found.folds):
        held = trial.fold == number
        mean = columns[~held].mean(axis=0)
        fitted, owner = columns[~held] - mean, trial.owner[~held]
        covariance = np.eye(len(owner)) + variance * (owner[:, None] == owner)
        expected = fitted.T @ np.linalg.solve(covariance, fitted)
        np.testing.assert_allclose(fold.gram, expected, rtol=1e-5, atol=1e-4)
        np.testing.assert_allclose(columns_of(fold), columns[held], atol=1e-5)


@pytest.mark.parametrize("anchors", [0, 1, 5, 10_000])
def test_the_precision_of_a_trial_is_that_of_regressions_on_its_other_images(odd, engine, anchors):
    trial = drawn(odd, engine)
    at_width = trial.at(1.4)
    n_known, n_anchors = trial.known.shape[1], len(trial.evidence.anchors)
    penalty = penalties(trial.evidence, n_known, 20.0, 0.3)
    left_out = n_known + np.arange(anchors, n_anchors)
    expected = []
    for fold in at_width.folds:
        columns = columns_of(fold)
        scores = np.empty((len(columns), trial.n_tags))
        for tag in range(trial.n_tags):
            kept = np.delete(np.arange(len(penalty)), [tag, *left_out])
            gram = fold.gram[np.ix_(kept, kept)] + np.diag(penalty[kept])
            weights = np.linalg.solve(gram, fold.gram[kept, tag])
            scores[:, tag] = columns[:, kept] @ weights
        given = columns[:, : trial.n_tags] > 0
        expected.append(mean_precision(scores, given))

    found = at_width.precision(20.0, 0.3, anchors)

    assert found == pytest.approx(np.mean(expected), abs=1e-9)


def test_a_trial_does_not_depend_on_the_cut_into_blocks(odd, engine, monkeypatch):
    expected = drawn(odd, engine)
    monkeypatch.setattr(Collection, "blocks", lambda self: row_blocks(self.n_images, 37))

    found = drawn(odd, engine)

    np.testing.assert_array_equal(found.known.toarray(), expected.known.toarray())
    np.testing.assert_array_equal(found.fold, expected.fold)
    np.testing.assert_allclose(found.looks, expected.looks, atol=1e-6)


@pytest.mark.parametrize("n", [1, 256, 300, 700])
def test_columns_of_the_inverse_are_those_of_the_whole(n, rng):
    factor, penalty = rng.normal(size=(n, 40)), rng.uniform(1.0, 9.0, n)
    gram, some = factor @ factor.T, np.unique([0, n // 3, n - 1])

    found = inverse_columns(gram, penalty, some)

    expected = np.linalg.inv(gram + np.diag(penalty))[:, some]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_there_are_no_columns_of_the_inverse_where_a_length_is_negative():
    with pytest.raises(np.linalg.LinAlgError):
        inverse_columns(np.diag([1.0, -2.0]), np.ones(2), np.array([0]))


def test_columns_are_penalised_by_their_kind(evidence):
    found = penalties(evidence, 7, 5.0, 0.2)

    n_anchors, n_tastes = len(evidence.anchors), evidence.taste.shape[1]
    expected = [5.0] * 7 + [0.2] * n_anchors + [TASTE_RIDGE] * n_tastes
    assert found.tolist() == expected
