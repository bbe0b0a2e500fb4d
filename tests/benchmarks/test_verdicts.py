"""Verdicts on real collections: what is changed in them, what is counted, and the stated bounds."""

import sys

import numpy as np
import pytest

import bench_verdicts
from comparison.jobs import read_json, write_json
from comparison.verdict_section import (
    DISTURBED,
    DOUBTS,
    FILE,
    IDLE,
    MET,
    MISSED,
    TRUTH,
    UNTAGGED,
    additions_met,
    condition,
    doubts_met,
    verdict_section,
    verdict_sections,
)
from comparison.verdicts import (
    DISTURBING,
    NOISE,
    NONE,
    REAL,
    Judged,
    longest_list,
    random_images,
    with_features,
)
from sugartag.collection.subset import hide_tags
from sugartag.engine import LocalEngine
from sugartag.evaluation.calibrate import HIDDEN_SHARE
from sugartag.methods.registry import make_method
from sugartag.pipeline.fitting import fit_model


def everything(collection):
    return slice(0, collection.n_images)


def run_of(**changes):
    counts = {"given": 1_000, "wrong": 90, "doubts": 50, "right_doubts": 45, "missing": 200}
    counts |= {"additions": 100, "right_additions": 85, "hindsight": 150}
    return (
        counts
        | {"recall": 0.75, "ece_given": 0.03, "ece_not_given": 0.01, "ece_both": 0.02}
        | changes
    )


@pytest.mark.parametrize(
    ("posterior", "right", "count"),
    [
        ([0.9, 0.8, 0.7, 0.6, 0.5], [1, 1, 1, 0, 1], 5),
        ([0.9, 0.8, 0.7, 0.6, 0.5], [0, 1, 1, 1, 1], 5),
        ([0.9, 0.8, 0.7, 0.6, 0.5], [1, 1, 1, 0, 0], 3),
        ([0.5, 0.9, 0.7], [0, 1, 1], 2),  # In any order.
        ([0.9, 0.7, 0.7], [1, 1, 0], 1),  # Equal values are added together or not at all.
        ([0.9, 0.9], [1, 0], 0),
        ([], [], 0),
    ],
)
def test_the_lowest_threshold_that_keeps_the_precision(posterior, right, count):
    assert longest_list(np.array(posterior), np.array(right, dtype=bool), 0.8) == count


def test_random_images_are_others_for_each_seed(collection):
    some = [random_images(collection, 50, seed) for seed in (0, 0, 1)]

    assert [one.n_images for one in some] == [50, 50, 50]
    ids = [list(one.ids) for one in some]
    assert ids[0] == ids[1] != ids[2]
    assert random_images(collection, None, 0) is collection
    assert random_images(collection, 10_000, 0) is collection


def test_features_are_replaced_by_noise_or_by_none(collection):
    noise, none = (with_features(collection, kind, 0) for kind in (NOISE, NONE))

    drawn = noise.rows(everything(noise)).features
    assert drawn.shape == (collection.n_images, collection.n_features)
    assert abs(drawn.mean()) < 0.02
    assert drawn.std() == pytest.approx(1.0, abs=0.02)
    assert none.n_features == 0
    assert with_features(collection, REAL, 0) is collection


def test_only_injected_tags_are_wrong(collection):
    here = Judged.injected(collection, 1, images=300, features=REAL)

    before = random_images(collection, 300, 1).tags_of(everything(here.given)).toarray() > 0
    given = here.given.tags_of(everything(here.given)).toarray() > 0
    row, tag = np.nonzero(given)
    right = here.answers.are_right(row, tag)
    assert np.array_equal(right, before[row, tag])
    assert 0.05 < (~right).sum() / before.sum() < 0.15
    assert not here.given.has_truth


def test_hidden_tags_are_right_and_not_given(collection):
    here = Judged.disturbed(collection, 0)

    before = collection.tags_of(everything(collection)).toarray() > 0
    place = {image: row for row, image in enumerate(collection.ids)}
    before = before[[place[image] for image in here.given.ids]]
    given = here.given.tags_of(everything(here.given)).toarray() > 0
    assert given.any(axis=1).all(), "images without a tag are left out"
    assert 0 < len(given) < collection.n_images
    hidden = np.nonzero(before & ~given)
    assert here.answers.are_right(*hidden).all()
    assert 0.13 < len(hidden[0]) / before.sum() < 0.25


def test_images_that_lost_their_tags_are_judged_by_the_tags_they_had(collection):
    here = Judged.untagged(collection, 0)

    assert here.given.n_images == collection.n_images
    assert 0.1 < here.images.n_images / collection.n_images < 0.3
    assert not here.images.tags_of(everything(here.images)).nnz
    place = {image: row for row, image in enumerate(collection.ids)}
    rows = [place[image] for image in here.images.ids]
    had = collection.tags_of(everything(collection)).toarray()[rows] > 0
    assert had.any(axis=1).all()
    assert here.answers.are_right(*np.nonzero(had)).all()
    assert not here.answers.are_right(*np.nonzero(~had)).any()
    others = here.given.tags_of(everything(here.given)).toarray()
    assert others[np.setdiff1d(np.arange(len(others)), rows)].any()
    found = here.run({}, engine=LocalEngine(), seed=0, hindsight=True)
    assert found["given"] == 0
    assert found["missing"] == had.sum()


def test_tags_are_disturbed_independently_of_calibration(collection):
    for seed in range(5):
        calibration = int(np.random.default_rng([seed, 1]).integers(2**31))
        ours, theirs = (
            hide_tags(collection, HIDDEN_SHARE, one).taken.shards[0].tags.toarray()
            for one in (DISTURBING + seed, calibration)
        )
        assert (ours != theirs).any()


def test_the_truth_judges_its_concepts_on_the_images_left(collection):
    here = Judged.by_truth(collection, 0)

    assert here.given.n_images == here.answers.n_images == 540
    assert here.answers.tag_names == collection.concept_names
    assert not here.given.has_truth


def test_candidates_are_the_ten_best_tags_that_an_image_lacks(collection):
    here = Judged.disturbed(collection, 0)
    engine = LocalEngine()
    model = fit_model(make_method("sugar-plus"), here.given, engine=engine, seed=0)

    posterior, right = here.candidates(model, engine=engine)

    assert len(posterior) == len(right) == 10 * here.given.n_images
    assert ((posterior >= 0) & (posterior <= 1)).all()
    # Those most likely are right more often than the others.
    order = np.argsort(-posterior)
    assert right[order[:300]].mean() > 2 * right[order[3_000:]].mean()


def test_a_run_counts_verdicts_of_a_real_fit(collection):
    here = Judged.disturbed(collection, 0)
    given = here.given.tags_of(everything(here.given))

    found = here.run({"own_weight": 1.0}, engine=LocalEngine(), seed=0, hindsight=True)

    row, tag = given.nonzero()
    assert found["given"] == given.nnz
    assert found["wrong"] == np.count_nonzero(~here.answers.are_right(row, tag))
    assert found["right_doubts"] <= found["doubts"] <= found["given"]
    assert found["right_additions"] <= found["additions"]
    assert found["missing"] == len(here.answers.pairs) - (found["given"] - found["wrong"])
    parts = sorted((found["ece_given"], found["ece_not_given"]))
    assert found["ece_both"] <= parts[1]


@pytest.mark.parametrize(
    ("doubts", "right", "met"),
    [(50, 40, MET), (50, 39, MISSED), (1, 1, MET), (1, 0, IDLE), (2, 0, MISSED), (0, 0, IDLE)],
)
def test_doubts_are_right_or_very_few(doubts, right, met):
    assert doubts_met(run_of(doubts=doubts, right_doubts=right)) == met


@pytest.mark.parametrize(
    ("additions", "right", "hindsight", "met"),
    [
        (100, 80, 200, MET),
        (100, 79, 200, MISSED),
        (100, 80, 201, MISSED),
        (0, 0, 0, IDLE),  # No threshold would have helped.
        (0, 0, 10, MISSED),
    ],
)
def test_additions_are_right_and_enough(additions, right, hindsight, met):
    found = run_of(additions=additions, right_additions=right, hindsight=hindsight)

    assert additions_met(found) == met


@pytest.fixture
def document():
    real, noise = condition(REAL, "300"), condition(NOISE, "1,000")
    doubts = {
        real: {"0": run_of(), "1": run_of(doubts=10, right_doubts=8)},
        noise: {"0": run_of(doubts=6, right_doubts=6)},
    }
    truth = {"all": {"0": run_of()}}
    disturbed = {"20 %": {"0": run_of(), "1": run_of(ece_given=0.09)}}
    untagged = {"all": {"0": run_of(doubts=0, right_doubts=0)}}
    cases = {
        "documerica": {
            DOUBTS: doubts,
            TRUTH: truth,
            DISTURBED: disturbed,
            UNTAGGED: untagged,
        }
    }
    head = {"machine": {"cpu": "some processor"}, "date": "2026-01-02"}
    return head | {"injected_rate": 0.1, "untagged_share": 0.2, "cases": cases}


def test_the_section_says_which_bounds_are_met(document):
    section = verdict_section(document)

    assert "Of the stated bounds, 3 of 5 are met." in " ".join(section.split())
    # 60 doubts of 2,000 tags, 53 of them injected.
    assert "| DOCUMERICA | real | 300 | 2,000 | 3.00 % | 88.3 % | yes |" in section
    assert "| DOCUMERICA | Gaussian noise | 1,000 | 1,000 | 0.60 % | 100.0 % | **no** |" in section
    assert "| DOCUMERICA | 100 | 85.0 % | 150 | yes |" in section
    # 1,820 right tags are given and 400 are missing; the mean ECE of the given ones is too large.
    counts = "| 20 % | 0.82 | 0.75 | 200 | 85.0 % | 300 | 100 | 90.0 %"
    assert f"{counts} | 0.060 | 0.010 | 0.020 | **no** |" in section
    assert "| DOCUMERICA | 100 | 85.0 % | 150 | 0.010 | yes |" in section
    assert "The truth is incomplete" in section


def test_a_bound_that_holds_without_verdicts_is_not_counted_as_met(document):
    none = {"doubts": 0, "right_doubts": 0}
    document["cases"]["documerica"][DISTURBED]["20 %"] = {"0": run_of(**none)}

    section = verdict_section(document)

    assert "| 0 | – | 0.030 | 0.010 | 0.020 | idle |" in section
    assert "3 of 5 are met. Another 1 (*idle*)" in " ".join(section.split())


def test_what_was_not_measured_is_left_out(document, tmp_path):
    assert list(verdict_sections(tmp_path)) == []
    del document["cases"]["documerica"][TRUTH]
    write_json(tmp_path / FILE, document)

    (section,) = verdict_sections(tmp_path)

    assert "independent truth" not in section
    assert section.count("### ") == 3


def test_the_command_judges_what_each_collection_is_good_for(data, tmp_path, monkeypatch, capsys):
    out = tmp_path / FILE
    words = ["bench", "documerica", "openclipart", "mdi", "--data", str(data), "--seeds", "1"]
    monkeypatch.setattr(sys, "argv", [*words, "--out", str(out)])

    assert bench_verdicts.main() == 0
    told = capsys.readouterr().out.count("seed 0")
    assert bench_verdicts.main() == 0

    cases = read_json(out)["cases"]
    assert {name: list(found) for name, found in cases.items()} == {
        "documerica": [TRUTH, DISTURBED, UNTAGGED, DOUBTS],
        "openclipart": [DISTURBED, UNTAGGED],
        "mdi": [DISTURBED, UNTAGGED, DOUBTS],
    }
    assert len(cases["mdi"][DOUBTS]) == 12
    assert told == 37
    assert "seed 0" not in capsys.readouterr().out  # Nothing was left to do.
    assert verdict_section(read_json(out)).count("\n| Material Design Icons |") == 16


def test_a_case_that_cannot_be_judged_is_no_choice(capsys):
    with pytest.raises(SystemExit):
        bench_verdicts.arguments(["div400"])

    assert "invalid choice: 'div400'" in capsys.readouterr().err
