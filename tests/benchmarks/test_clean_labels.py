"""Classifiers trained on clean labels never see the labels of the images they score."""

import sys
from dataclasses import replace

import numpy as np
import pytest

import bench_clean_labels
from bench_clean_labels import arguments, measured
from comparison import clean_labels
from comparison.cases import TaskRound
from comparison.clean_labels import (
    KINDS,
    N_FOLDS,
    HeldOutScores,
    Labelled,
    best_floor,
    choose,
    cross_validated,
    dealt,
    found_by_many,
    mean_precision,
    missing_found,
)
from comparison.extra_sections import CLEAN_LABELS, OURS
from comparison.jobs import read_json, write_json
from sugartag.collection.synthetic import World
from sugartag.evaluation.protocol import truth_task
from sugartag.linalg.logistic import logistic_weights


@pytest.fixture(scope="module")
def here(collection):
    return TaskRound(truth_task(collection), author_aware=False)


@pytest.fixture(scope="module")
def known(here):
    return Labelled.of(here.task)


@pytest.fixture(autouse=True)
def few_scales(monkeypatch):
    monkeypatch.setattr(clean_labels, "FEATURE_SCALES", (1.0, 4.0))


def test_folds_over_owners_keep_the_images_of_an_owner_together(known, rng):
    fold = dealt(known, "owners", rng, N_FOLDS)

    assert set(fold) == set(range(N_FOLDS))
    assert all(len(set(fold[known.owner == owner])) == 1 for owner in set(known.owner))


def test_folds_over_images_are_of_one_size(known, rng):
    assert np.ptp(np.bincount(dealt(known, "images", rng, N_FOLDS))) <= 1


@pytest.mark.parametrize("over", ["images", "owners"])
def test_the_labels_of_a_fold_do_not_change_its_scores(here, known, over, monkeypatch):
    fold = dealt(known, over, np.random.default_rng([0, clean_labels.FOLDING]), N_FOLDS)
    fixed = clean_labels.Chosen(2.0, 30.0, 0.0, 0.5)
    monkeypatch.setattr(clean_labels, "choose", lambda *_: fixed)
    before, _ = cross_validated(here.task, known, KINDS["ridge"], over=over, seed=0)

    labels = known.labels.copy()
    labels[fold == 0] ^= True
    lying = replace(known, labels=labels)
    after, _ = cross_validated(here.task, lying, KINDS["ridge"], over=over, seed=0)

    assert (after.table[fold == 0] == before.table[fold == 0]).all()
    assert not np.allclose(after.table[fold == 1], before.table[fold == 1])


@pytest.mark.parametrize("kind", KINDS)
def test_clean_labels_beat_the_tags_as_given(here, known, kind):
    scores, chosen = cross_validated(here.task, known, KINDS[kind], over="images", seed=0)

    found = measured(here, scores, 0)

    tags = here.task.given.rows(slice(0, here.task.given.n_images)).tags.toarray()
    given = measured(here, HeldOutScores(tags, 0.0), 0)
    assert found["map"] > given["map"] + 0.05
    assert found["map"] == pytest.approx(chosen.precision, abs=0.08)


def test_tags_whose_truth_is_not_known_are_never_predicted(here, known):
    scores, _ = cross_validated(here.task, known, KINDS["ridge"], over="images", seed=0)

    others = np.setdiff1d(np.arange(here.task.given.n_tags), list(here.task.concept_tag.values()))

    assert len(others)
    assert not (scores.table[:, others] > np.float32(scores.floor)).any()


def test_what_is_chosen_is_the_best_of_the_splits(known, rng):
    fold, inner = (dealt(known, "images", rng, N_FOLDS) for _ in range(2))

    chosen = choose(known, KINDS["ridge"], fold, inner)

    only = replace(KINDS["ridge"], penalties=(1e6,))
    assert chosen.precision > choose(known, only, fold, inner).precision
    assert chosen.penalty in KINDS["ridge"].penalties


def test_the_floor_is_where_f_is_highest():
    scores = np.array([[0.9, 0.1], [0.8, 0.7], [0.2, 0.15], [0.3, 0.6]])
    wanted = np.array([[True, False], [True, True], [False, False], [False, True]])

    assert 0.3 <= best_floor(scores, wanted) < 0.6


def test_precision_is_over_the_concepts_that_some_image_has():
    scores = np.array([[0.9, 0.5], [0.1, 0.5]])

    assert mean_precision(scores, np.array([[True, False], [False, False]])) == 1.0


def test_missing_tags_are_found_by_the_longest_list_that_is_right_often_enough(here):
    task, everything = here.task, slice(0, here.given.n_images)
    given = here.given.rows(everything).tags.toarray() > 0
    right = np.zeros(given.shape, dtype=bool)
    right[:, list(task.concept_tag.values())] = task.positives_of(everything).toarray()[
        :, list(task.concept_tag.keys())
    ]
    missing = np.argwhere(right & ~given)
    known = np.zeros_like(given)
    known[:, list(task.concept_tag.values())] = True
    wrong = np.argwhere(known & ~right & ~given)
    scores = np.where(given, 9.0, 0.0)
    # Three right ones, a wrong one, a right one; then a hundred wrong ones, and the rest unsaid.
    for place, (image, tag) in enumerate([*missing[:3], wrong[0], missing[3], *wrong[1:101]]):
        scores[image, tag] = 2.0 - 0.01 * place

    assert missing_found(task, scores, 0.8) == pytest.approx(4 / len(missing))
    assert missing_found(task, scores, 0.9) == pytest.approx(3 / len(missing))
    scores[tuple(wrong[101])] = 3.0
    assert missing_found(task, scores, 1.0) == 0.0


def test_many_labels_are_those_of_other_images_of_the_same_world(monkeypatch):
    world = World(n_images=300, n_tags=80, n_owners=30, n_topics=4, n_features=20)
    monkeypatch.setattr(clean_labels, "MORE_IMAGES", 1_500)
    seen = []

    def learned(inputs, labels, *settings):
        seen.append((len(inputs), len(labels)))
        return logistic_weights(inputs, labels, *settings)

    monkeypatch.setattr(clean_labels, "logistic_weights", learned)

    many = found_by_many(world, 0, 0.6)
    monkeypatch.setattr(clean_labels, "MORE_IMAGES", 100)
    few = found_by_many(world, 0, 0.6)

    assert seen == [(1_500, 1_500), (100, 100)]
    assert 0.0 <= few < many < 1.0


def test_a_run_continues_where_it_stopped(here, tmp_path, monkeypatch, capsys):
    out, fitted = tmp_path / CLEAN_LABELS, []

    def quick(here, method, seed):
        fitted.append((method.name, seed))
        return {"map": 0.5 + 0.1 * seed, "miap": 0.6, "f_top5": 0.4, "missing": 0.1, "seconds": 1.0}

    monkeypatch.setattr(bench_clean_labels, "planted_round", lambda name: lambda seed: here)
    monkeypatch.setattr(bench_clean_labels, "measured", quick)
    monkeypatch.setattr(
        bench_clean_labels,
        "KINDS",
        {name: replace(KINDS["ridge"], penalties=(30.0,)) for name in KINDS},
    )
    words = ["bench", "--cases", "planted-hard", "--seeds", "2", "--folds", "images"]
    monkeypatch.setattr(sys, "argv", [*words, "--out", str(out)])
    assert bench_clean_labels.main() == 0
    first = len(fitted)
    kept = read_json(out)
    del kept["cases"]["planted-hard"]["runs"]["1"]["images"]["ridge"]
    write_json(out, kept)

    assert bench_clean_labels.main() == 0

    assert first == 2 * 3
    assert fitted[first:] == [("clean-labels", 1)]
    summary = read_json(out)["cases"]["planted-hard"]["summary"]
    assert summary[OURS]["map"]["mean"] == pytest.approx(0.55)
    assert summary["images"]["difference"]["map"] == {"mean": 0.0, "low": 0.0, "high": 0.0}


def test_sugar_plus_is_measured_with_its_defaults(here, tmp_path, monkeypatch, capsys):
    out = tmp_path / CLEAN_LABELS
    monkeypatch.setattr(bench_clean_labels, "planted_round", lambda name: lambda seed: here)
    words = ["bench", "--cases", "planted-clean", "--seeds", "1", "--folds", "owners"]
    monkeypatch.setattr(sys, "argv", [*words, "--out", str(out)])

    assert bench_clean_labels.main() == 0

    run = read_json(out)["cases"]["planted-clean"]["runs"]["0"]
    assert run[OURS]["map"] > 0.3
    assert {"logistic", "ridge"} == set(run["owners"])
    assert "planted-clean, seed 0, sugar-plus: MAP " in capsys.readouterr().out


def test_by_default_all_worlds_and_both_kinds_of_folds_are_measured():
    asked = arguments([])

    assert (len(asked.cases), asked.seeds, asked.folds) == (3, 5, ["images", "owners"])
