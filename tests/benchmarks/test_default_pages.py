"""Defaults beside the best settings, presets, training: committed numbers and their pages."""

from pathlib import Path

import pytest

import bench_defaults
import bench_mrtf
import bench_paper_defaults
import bench_presets
from comparison import defaults, mrtf, paper_defaults, presets
from comparison.filling import RESULTS
from comparison.jobs import read_json
from sugartag.methods.search_spaces import search_space


def document_of(module):
    return read_json(Path(RESULTS) / module.FILE)


@pytest.mark.parametrize(
    ("module", "page", "rendered"),
    [
        (mrtf, bench_mrtf.PAGE, mrtf.with_table),
        (paper_defaults, bench_paper_defaults.PAGE, paper_defaults.with_tables),
        (presets, bench_presets.PAGE, presets.with_table),
    ],
    ids=["mrtf", "paper-defaults", "presets"],
)
def test_a_page_has_the_table_of_its_result_file(module, page, rendered):
    text = page.read_text(encoding="utf-8")

    assert module.BEGIN in text
    assert rendered(text, document_of(module)) == text


def test_the_page_of_defaults_is_made_of_its_result_file():
    document = document_of(defaults)
    names = {name for case in document["cases"].values() for name in case["methods"]}
    spaces = {name: search_space(name) for name in names}

    assert bench_defaults.PAGE.read_text(encoding="utf-8") == defaults.page(document, spaces)


@pytest.mark.parametrize("method", ["trvsc", "tag-vote", "sugar-tc"])
def test_a_search_finds_the_best_of_a_score_that_falls_apart_by_choices(method):
    space = search_space(method)
    start = space.point_of({})
    best = tuple(len(values) - 1 for values in space.values)
    asked = []

    def score_at(point):
        asked.append(point)
        return -sum(abs(a - b) for a, b in zip(point, best, strict=True))

    defaults.search(space, 1000, score_at)

    assert asked[0] == start
    assert len(set(asked)) == len(asked)
    assert best in asked


def test_a_search_ends_after_its_trials():
    asked = []

    defaults.search(search_space("nmc"), 4, lambda point: asked.append(point) or 0.0)

    assert len(asked) == 5


def test_settings_in_words_name_every_choice_so_that_defaults_may_change():
    space = search_space("tag-prior")

    assert defaults.words_of(space, space.point_of({})) == "per_owner=False"
    assert defaults.words_of(space, space.point_of({"per_owner": True})) == "per_owner=True"


def test_the_ratio_is_that_of_the_defaults_to_the_best():
    runs = {
        "per_owner=False": {"map": 0.2, "miap": 0.4},
        "per_owner=True": {"map": 0.4, "miap": 0.8},
    }

    assert defaults.ratio(runs, search_space("tag-prior")) == pytest.approx(0.5)
    assert defaults.ratio({}, search_space("tag-prior")) is None
