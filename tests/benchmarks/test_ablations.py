"""What each part of sugar-plus is worth: the measurement continues, and the table is right."""

import sys

import pytest

import bench_ablations
from comparison.ablations import (
    FILE,
    PARTS,
    WHOLE,
    ablation_section,
    ablation_sections,
    case_table,
)
from comparison.jobs import read_json, write_json
from sugartag.methods.registry import make_method

RUNS = {
    WHOLE: {"0": {"map": 0.70, "miap": 0.80}, "1": {"map": 0.72, "miap": 0.82}},
    "without titles": {"0": {"map": 0.60, "miap": 0.81}, "1": {"map": 0.64, "miap": 0.82}},
    "without anchors": {"0": {"map": 0.50, "miap": 0.60}, "1": {"map": 0.50, "miap": 0.60}},
    "without interests": {"0": {"map": 0.70, "miap": 0.80}, "1": {"map": 0.72, "miap": 0.82}},
}


@pytest.mark.parametrize("part", PARTS)
def test_every_part_is_a_setting_that_can_be_left_out(part):
    made = make_method("sugar-plus", PARTS[part])

    assert (made == make_method("sugar-plus")) == (part == WHOLE)


def test_the_table_has_the_whole_first_and_then_what_is_missed_most():
    lines = case_table(RUNS).splitlines()

    assert [line.split("|")[1].strip() for line in lines[2:]] == [
        WHOLE,
        "without anchors",
        "without titles",
    ]
    assert "0.710" in lines[2]
    # Differences of -0.1 and -0.08: Student's t of one degree of freedom is 12.706.
    assert "0.620 (-0.090: -0.217 to +0.037)" in lines[4]


def test_what_has_no_effect_is_not_shown():
    assert "without interests" not in case_table(RUNS)


def test_one_seed_has_no_interval():
    one = {part: {"0": runs["0"]} for part, runs in RUNS.items()}

    assert "0.600 (-0.100) |" in case_table(one)


def test_without_a_result_file_there_is_no_section(tmp_path):
    assert list(ablation_sections(tmp_path)) == []

    document = {"cases": {"planted-noisy": RUNS}}
    write_json(tmp_path / FILE, document)

    assert list(ablation_sections(tmp_path)) == [ablation_section(document)]
    assert "### planted: noisy, 2 seeds" in ablation_section(document)


def test_a_run_continues_where_it_stopped(tmp_path, monkeypatch, capsys):
    out = tmp_path / FILE
    asked = []

    def measured(here, settings, seed):
        asked.append((dict(settings), seed))
        return {"map": 0.5}

    monkeypatch.setattr(bench_ablations, "measured", measured)
    words = ["bench", "planted-noisy", "--seeds", "2", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", [*words, "--parts", WHOLE, "without titles"])
    assert bench_ablations.main() == 0
    first = len(asked)
    kept = read_json(out)
    del kept["cases"]["planted-noisy"]["without titles"]["1"]
    write_json(out, kept)

    assert bench_ablations.main() == 0

    assert first == 4
    assert asked[4:] == [({"titles": False}, 1)]
