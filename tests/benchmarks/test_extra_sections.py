"""The sections about clean labels and about fewer tags say what the files say."""

import re

import pytest

from comparison.extra_sections import (
    CLEAN_LABELS,
    MANY,
    OURS,
    VOCABULARY,
    extra_sections,
    labels_section,
    labels_summary,
    labels_table,
    vocabulary_section,
    vocabulary_table,
)
from comparison.jobs import write_json

MACHINE = {"date": "2026-01-01", "machine": {"cpu": "some processor"}}


def scores(precision, inner=None):
    found = {"map": precision, "miap": 0.5, "f_top5": 0.25, "missing": 0.125}
    return found if inner is None else found | {"inner_map": inner}


RUNS = {
    "0": {OURS: scores(0.70), "images": {"logistic": scores(0.6, 0.9), "ridge": scores(0.8, 0.1)}},
    "1": {OURS: scores(0.74), "images": {"logistic": scores(0.9, 0.3), "ridge": scores(0.6, 0.4)}},
}
BOUNDED = {
    "1": {"0": 0.70, "1": 0.72},
    "1/2": {"0": 0.60, "1": 0.64},
}


@pytest.fixture
def labels():
    summary = labels_summary(RUNS)
    cases = {"planted-hard": {"data": {}, "runs": RUNS, "summary": summary}}
    return MACHINE | {"folds": 5, "cases": cases}


@pytest.fixture
def vocabulary():
    cost = {"fit_cpu_seconds": 1234.5, "fit_mb": 2345.6, "predictors": 7000, "inputs": 7532}
    runs = {
        share: {seed: scores(value) | cost for seed, value in found.items()}
        for share, found in BOUNDED.items()
    }
    one = {share: {"0": found["0"]} for share, found in runs.items()}
    counts = {"images": 20_000, "tags": 8_000}
    cases = {
        "openclipart": {"data": counts, "runs": runs},
        "large": {"data": counts, "runs": one},
    }
    return MACHINE | {"cases": cases}


def test_the_classifier_is_the_one_that_inner_splits_prefer():
    found = labels_summary(RUNS)["images"]

    assert found["chosen"] == {"logistic": 1, "ridge": 1}
    assert found["better"]["map"]["mean"] == pytest.approx(0.6)
    assert found["difference"]["map"]["mean"] == pytest.approx(0.12)
    # Differences of 0.10 and 0.14: Student's t of one degree of freedom is 12.706.
    assert found["difference"]["map"]["high"] == pytest.approx(0.12 + 12.706 * 0.02, abs=1e-4)


def test_seeds_that_lack_a_classifier_are_in_no_difference():
    half = {"0": RUNS["0"], "1": {OURS: scores(0.9), "images": {"ridge": scores(0.1, 0.9)}}}

    found = labels_summary(half)

    assert found["images"]["difference"]["map"]["mean"] == pytest.approx(0.1)
    assert found["images"]["difference"]["map"]["high"] is None
    assert "owners" not in found


def test_the_table_has_both_classifiers_and_the_difference():
    lines = labels_table(labels_summary(RUNS)).splitlines()

    assert [line.split("|")[1].strip() for line in lines[2:]] == [
        "sugar-plus, no labels",
        "logistic regression, other images",
        "ridge classifier, other images",
        "sugar-plus less the better (logistic regression 1 of 2, ridge classifier 1 of 2), "
        "other images",
    ]
    assert "| +0.120 ± 0.254 |" in lines[5]


def test_what_very_many_labels_find_is_the_last_row():
    many = {
        seed: run | {MANY: {"missing": found, "images": 100_000}}
        for (seed, run), found in zip(RUNS.items(), (0.03, 0.05), strict=True)
    }

    last = labels_table(labels_summary(many)).splitlines()[-1]

    told = "| logistic regression, 100,000 other images, 2 seeds | – | – | – | 0.040 ± 0.127 |"
    assert last == told


def test_a_classifier_that_was_always_better_is_named():
    one = {"0": RUNS["0"]}

    assert "| sugar-plus less logistic regression, other images | +0.100 |" in labels_table(
        labels_summary(one)
    )


def test_fewer_tags_are_compared_with_all_of_them(vocabulary):
    lines = vocabulary_table(vocabulary["cases"]["openclipart"]["runs"]).splitlines()

    assert "| all | 7,000 | 7,532 | 0.710 | 0.500 |" in lines[2]
    assert "| 1/2 | 7,000 | 7,532 | 0.620 (-0.090: -0.217 to +0.037) |" in lines[3]
    assert lines[3].endswith("| 1,234.5 | 2,346 |")


def test_one_seed_has_no_interval(vocabulary):
    assert "| 0.600 (-0.100) |" in vocabulary_table(vocabulary["cases"]["large"]["runs"])


def test_the_sections_name_sizes_and_seeds(labels, vocabulary):
    assert "### planted: hard to see, 2 seeds" in labels_section(labels)
    assert "in 5 folds" in " ".join(labels_section(labels).split())
    assert "### planted: large, 20,000 images, 8,000 tags, 1 seed\n" in vocabulary_section(
        vocabulary
    )


def test_sections_are_there_when_their_files_are(labels, vocabulary, tmp_path):
    assert list(extra_sections(tmp_path)) == []

    write_json(tmp_path / VOCABULARY, vocabulary)
    write_json(tmp_path / CLEAN_LABELS, labels)

    assert list(extra_sections(tmp_path)) == [
        labels_section(labels),
        vocabulary_section(vocabulary),
    ]


def test_lines_fit_the_page_and_tables_stand_between_empty_lines(labels, vocabulary):
    for section in (labels_section(labels), vocabulary_section(vocabulary)):
        assert all(len(line) <= 100 for line in section.splitlines() if line[:1] != "|")
        assert not re.search(r"[^|\n]\n\|", section)
        assert section.endswith("Measured on some processor, 2026-01-01.\n")
