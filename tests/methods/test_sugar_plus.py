"""The closed forms of sugar-plus against the slow way, and what its model of people learns."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from planted import planted_collection
from sugartag.assignment.calibration import MonotoneMap
from sugartag.collection.build import collection_from_arrays
from sugartag.collection.synthetic import World
from sugartag.collection.texts import Texts
from sugartag.engine import LocalEngine
from sugartag.errors import SettingsError
from sugartag.evaluation.protocol import evaluate, hidden_task, truth_task
from sugartag.methods.registry import make_method
from sugartag.methods.settings import with_settings
from sugartag.methods.sugar_plus import SugarPlus, best_threshold, mean_precision
from sugartag.methods.sugar_plus_belief import (
    Belief,
    Evidences,
    Weights,
    estimated_recall,
    fitted_weights,
    rising_share,
    slip_shares,
)
from sugartag.methods.sugar_plus_evidence import (
    TASTE_SHRINKAGE,
    EvidencePlan,
    gather_evidence,
    words_of,
)
from sugartag.methods.sugar_plus_history import SHRINKAGE, write_history
from sugartag.methods.sugar_plus_ridge import Ridge, normal_equations

PLAN = EvidencePlan(
    anchors=12, kernel_width=1.4, max_predictors=30, titles=True, tastes=3, unit_features=True
)
ENGINE = LocalEngine()


@pytest.fixture(scope="module")
def collection():
    return planted_collection()


@pytest.fixture(scope="module")
def evidence(collection):
    return gather_evidence(PLAN, collection, engine=ENGINE, rng=np.random.default_rng(0))


def all_rows(collection):
    return collection.rows(slice(0, collection.n_images))


def columns_of(collection, evidence):
    rows = all_rows(collection)
    return np.hstack([evidence.sparse_part(rows).toarray(), evidence.dense_part(rows)])


def penalties(evidence):
    return np.linspace(0.5, 3.0, evidence.n_sparse + evidence.n_dense)


def ridge_of(collection, evidence, variance):
    normal = normal_equations(collection, evidence, variance, engine=ENGINE)
    return Ridge.solved(normal, evidence.predictor, penalties(evidence), collection.n_images)


def literal_weights(columns, tags, covariance, penalty, without):
    """Solve the regression of one tag on all columns but one, by its normal equations."""
    inverse = np.linalg.inv(covariance)
    kept = np.setdiff1d(np.arange(columns.shape[1]), without)
    some = columns[:, kept]
    gram = some.T @ inverse @ some + np.diag(penalty[kept])
    found = np.zeros(columns.shape[1])
    found[kept] = np.linalg.solve(gram, some.T @ inverse @ tags)
    return found


@pytest.mark.parametrize("variance", [0.0, 0.4])
def test_one_inverse_gives_the_regression_of_every_tag_on_all_columns_but_itself(
    collection, evidence, variance
):
    ridge = ridge_of(collection, evidence, variance)
    columns = columns_of(collection, evidence)
    columns = columns - columns.mean(axis=0)
    tags = all_rows(collection).tags.toarray().astype(float)
    same = collection.owner[:, None] == collection.owner
    same &= collection.owner[:, None] < collection.nobody
    covariance = np.eye(collection.n_images) + variance * same
    outside = np.setdiff1d(np.arange(collection.n_tags), evidence.predictor)

    for tag in (*evidence.predictor[:3], *outside[:2]):
        without = np.flatnonzero(evidence.predictor == tag)
        centred = tags[:, tag] - tags[:, tag].mean()
        expected = literal_weights(columns, centred, covariance, penalties(evidence), without)
        np.testing.assert_allclose(ridge.weights[:, tag], expected, rtol=1e-6, atol=1e-9)


def test_a_fitted_image_is_judged_by_the_others(collection, evidence):
    ridge = ridge_of(collection, evidence, 0.0)
    rows = all_rows(collection)
    found = ridge.excess(rows, evidence.sparse_part(rows), evidence.dense_part(rows))
    columns = columns_of(collection, evidence)
    columns = columns - columns.mean(axis=0)
    tags = rows.tags.toarray().astype(float)
    tags -= tags.mean(axis=0)
    unit = np.eye(collection.n_images - 1)

    for image in (3, 77):
        others = np.arange(collection.n_images) != image
        for tag in evidence.predictor[[0, 9]]:
            without = np.flatnonzero(evidence.predictor == tag)
            weights = literal_weights(
                columns[others], tags[others, tag], unit, penalties(evidence), without
            )
            # The centre is that of all images; one of 600 moves it by next to nothing.
            assert found[image, tag] == pytest.approx(columns[image] @ weights, abs=1e-8)


def test_a_new_image_is_judged_by_all(collection, evidence):
    ridge = ridge_of(collection, evidence, 0.0)
    rows = all_rows(collection)
    new = replace(rows, position=np.full(len(rows), collection.n_images))

    found = ridge.excess(new, evidence.sparse_part(new), evidence.dense_part(new))

    columns = columns_of(collection, evidence)
    expected = (columns - columns.mean(axis=0)) @ ridge.weights
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("most", [1_000, 4])
def test_history_is_the_weighted_share_among_the_owners_other_images(collection, most):
    share = np.asarray(all_rows(collection).tags.mean(axis=0)).ravel()
    history = write_history(
        collection,
        share,
        width=0.7,
        most=most,
        unit_features=True,
        engine=ENGINE,
        rng=np.random.default_rng(0),
    )
    rows = all_rows(collection)
    found = history.habits(rows)
    tags = rows.tags.toarray()
    features = rows.features / np.linalg.norm(rows.features, axis=1)[:, None]

    kept = np.bincount(collection.owner[history.image], minlength=collection.n_owners)
    assert kept.max() <= most
    for image in (1, 2, 3, 10, 200):
        mine = [i for i in history.image if rows.owner[i] == rows.owner[image] and i != image]
        assert found.told[image] == bool(mine)
        away = features[mine] - features[image] if mine else np.zeros((0, features.shape[1]))
        weight = np.exp(-np.square(away @ history.directions).sum(axis=1) / history.width**2)
        for weights, answer in ((np.ones(len(mine)), found.always), (weight, found.alike)):
            expected = weights @ (tags[mine] - share) / (weights.sum() + SHRINKAGE)
            np.testing.assert_allclose(answer[image], expected, atol=1e-5)


def test_words_are_runs_of_letters_in_lower_case():
    assert words_of("Baby-Tux 04 (b & W) ÉCOLE") == {"baby", "tux", "école"}


def test_titles_are_evidence_where_there_are_any(collection):
    names = ["a red boat" if i % 2 else "the hill" for i in range(collection.n_images)]
    (shard,) = collection.shards
    titled = replace(collection, shards=(replace(shard, titles=Texts.of(names)),))

    found = gather_evidence(PLAN, titled, engine=ENGINE, rng=np.random.default_rng(0))

    assert list(found.words) == ["boat", "hill", "red", "the"]
    part = found.sparse_part(all_rows(titled))[:, len(found.predictor) :].toarray()
    np.testing.assert_array_equal(part[:2], [[0, 1, 0, 1], [1, 0, 1, 0]])
    no_titles = replace(all_rows(titled), titles=None)
    assert found.sparse_part(no_titles)[:, len(found.predictor) :].nnz == 0
    left_out = replace(PLAN, titles=False)
    assert not len(
        gather_evidence(left_out, titled, engine=ENGINE, rng=np.random.default_rng(0)).words
    )


def test_the_taste_of_groups_leaves_the_owner_out():
    # Owners 0 and 1 share a group; owner 2 is alone in another.
    groups = sparse.csr_array(np.array([[1, 0], [1, 0], [0, 1]]))
    tags = np.zeros((12, 3))
    tags[:4, 0] = tags[4:8, 1] = tags[8:, 2] = 1
    owner = np.repeat([0, 1, 2], 4)
    rng = np.random.default_rng(0)
    features = rng.random((12, 4))
    made = collection_from_arrays(
        sparse.csr_array(tags), owner, features=features.astype(np.float32), groups=groups
    )

    taste = gather_evidence(PLAN, made, engine=ENGINE, rng=rng).taste

    # Three tastes of three tags turn and lose nothing: lengths are those of the tag counts.
    other_owner = tags[4:8].sum(axis=0) - 4 * tags.mean(axis=0)
    expected = np.linalg.norm(other_owner) / (4 + TASTE_SHRINKAGE)
    assert np.linalg.norm(taste[0]) == pytest.approx(expected)
    np.testing.assert_allclose(taste[[2, 3]], 0.0, atol=1e-12)


def beliefs(**changes):
    fields = {
        "content_weight": 1.0,
        "alike_weight": 0.0,
        "always_stamp": 1.0,
        "alike_stamp": 0.0,
        "share": np.array([0.1]),
        "given": MonotoneMap(np.array([0.0, 1.0]), np.array([0.0, 1.0])),
        "recall": 0.6,
        "slips": np.array([0.02]),
    }
    return Belief(**(fields | changes))


def said(content, always=0.0):
    column = np.atleast_1d(np.asarray(content, dtype=float))[:, None]
    return Evidences(column, np.full_like(column, always), 0 * column, np.ones(len(column), bool))


def test_belief_is_bayes_rule_for_people_who_forget_and_slip():
    given = np.array([[True], [False]])

    found = beliefs().probability(said([0.2, 0.2]), given).ravel()

    chance, recall, slip = 0.3, 0.6, 0.02
    belongs = (chance - slip) / (recall - slip)
    odds = belongs / (1 - belongs)
    expected = [odds * recall / slip, odds * (1 - recall) / (1 - slip)]
    np.testing.assert_allclose(found, [o / (1 + o) for o in expected], rtol=1e-3)


def test_a_tag_that_the_owner_stamps_is_believed_less_when_given():
    given = np.array([[True]])

    stamped = beliefs().probability(said(0.2, always=0.5), given)

    assert stamped < beliefs().probability(said(0.2), given) - 0.3


def test_more_evidence_is_always_more_belief():
    content = np.linspace(-0.3, 1.5, 60)

    for was_given in (True, False):
        found = beliefs().probability(said(content), np.full((60, 1), was_given)).ravel()
        assert np.all(np.diff(found) > 0)
        assert found.min() > 0
        assert found.max() < 1


def test_look_alikes_are_believed_as_far_as_they_say_more_than_the_owners_other_images():
    assert Weights(1.0, 0.0, 0.7).alike_share == 1.0
    assert Weights(1.0, 0.35, 0.7).alike_share == pytest.approx(1 / 2)
    assert Weights(1.0, 0.4, 0.2).alike_share == 0.0
    assert Weights(1.0, 0.4, -0.2).alike_share == 0.0


def test_weights_are_those_of_least_squares():
    rng = np.random.default_rng(1)
    content, always, alike = rng.standard_normal((3, 50, 4))
    excess = 0.5 * content + 0.2 * always - 0.1 * alike

    found = fitted_weights(Evidences(content, always, alike, np.ones(50, bool)), excess)

    assert (found.content, found.always, found.alike) == pytest.approx((0.5, 0.2, -0.1), abs=1e-6)


def test_slips_are_the_uses_that_fall_like_chance():
    rng = np.random.default_rng(2)
    n = 20_000
    belongs = rng.random(n) < 0.2
    scores = rng.standard_normal(n) + 4.0 * belongs
    slipped = ~belongs & (rng.random(n) < 0.05)
    given = (belongs & (rng.random(n) < 0.7)) | slipped

    found = slip_shares(scores[:, None], given[:, None])[0]

    assert found == pytest.approx(slipped.sum() / given.sum(), abs=0.04)


def test_recall_is_how_often_the_surest_tags_are_given():
    rng = np.random.default_rng(4)
    belongs = rng.random((2_000, 20)) < 0.1
    scores = rng.standard_normal(belongs.shape) + 6.0 * belongs
    given = belongs & (rng.random(belongs.shape) < 0.6)

    assert estimated_recall(scores, given) == pytest.approx(0.6, abs=0.08)
    assert estimated_recall(scores, np.zeros_like(given)) == 0.7


def test_the_learned_share_rises_and_fits():
    rng = np.random.default_rng(3)
    scores = rng.random((400, 100))
    given = rng.random(scores.shape) < scores**2

    found = rising_share(scores, given)

    at = np.linspace(0.2, 0.95, 9)
    assert np.all(np.diff(found.values) >= 0)
    np.testing.assert_allclose(found(at), at**2, atol=0.05)


def test_the_threshold_is_where_the_expected_f_is_highest():
    probability = np.array([0.9, 0.8, 0.5, 0.1, 0.1])
    f = [
        2 * probability[:k].sum() / (k + probability.sum()) for k in range(1, len(probability) + 1)
    ]

    assert best_threshold(probability) == probability[int(np.argmax(f))]


def test_mean_precision_is_that_of_the_ranking():
    scores = np.array([[0.9, 0.1], [0.5, 0.3], [0.1, 0.2]])
    given = np.array([[True, False], [False, False], [True, False]])

    assert mean_precision(scores, given) == pytest.approx((1 + 2 / 3) / 2, abs=1e-6)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("anchors", "-1"),
        ("kernel_width", "0"),
        ("anchor_ridge", "0"),
        ("tag_ridge", "-2"),
        ("owner_variance", "-0.1"),
        ("history", "-1"),
        ("look_alike_width", "nan"),
    ],
)
def test_settings_out_of_range_are_refused(key, value):
    with pytest.raises(SettingsError, match=key):
        with_settings(SugarPlus, {key: value})


def measured(name, task, settings=None):
    method = make_method(name, settings or {})
    return evaluate(method, task, engine=ENGINE, rng=np.random.default_rng(0)).metrics


def test_it_finds_the_truth_better_than_a_vote_and_its_own_tags_in_a_noisy_world():
    world = World(n_images=1_500, n_tags=120, n_owners=150, random_noise=2.0, habits_per_owner=2.0)
    task = truth_task(world.generate(5))

    ours, vote = measured("sugar-plus", task), measured("tag-vote-own", task)

    assert ours.map > vote.map + 0.01
    assert ours.miap > vote.miap + 0.01
    assert ours.f_top[5] > vote.f_top[5] + 0.02


def test_each_part_that_is_on_by_default_earns_its_place():
    world = World(n_images=1_500, n_tags=120, n_owners=150, random_noise=2.0, habits_per_owner=2.0)
    task = truth_task(world.generate(6))
    whole = measured("sugar-plus", task).map

    assert whole > measured("sugar-plus", task, {"anchors": 0}).map + 0.05
    assert whole > measured("sugar-plus", task, {"owner_variance": 0.0}).map


def test_the_owners_history_finds_hidden_tags_where_owners_upload_series():
    rng = np.random.default_rng(0)
    subject = np.repeat(np.arange(60), 10)
    owner = subject // 3
    features = rng.random((60, 16))[subject] + 0.1 * rng.random((600, 16))
    favourite = rng.integers(20, size=60)[subject]
    tags = np.zeros((600, 20))
    tags[np.arange(600), favourite] = rng.random(600) < 0.8
    tags[np.arange(600), rng.integers(20, size=600)] = 1
    made = collection_from_arrays(
        sparse.csr_array(tags), owner, features=features.astype(np.float32)
    )
    task = hidden_task(made, 0.3, 0)
    few = {"anchors": 10}

    with_history = measured("sugar-plus", task, few).map
    without = measured("sugar-plus", task, {**few, "history": 0}).map

    assert with_history > without + 0.05
