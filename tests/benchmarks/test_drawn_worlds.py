"""Worlds drawn at random: what is drawn, how it is summed up, and what the page says."""

import sys
from dataclasses import asdict

import pytest

import bench_drawn_worlds
from bench_drawn_worlds import arguments, document_of
from comparison import drawn_worlds
from comparison.drawn_worlds import (
    DIFFICULTY,
    FILE,
    LARGER_FILE,
    RANGES,
    drawn_section,
    drawn_world,
    section_of,
    summarised_worlds,
)
from comparison.jobs import read_json
from sugartag.collection.synthetic import World

TINY = World(n_images=150, n_tags=60, n_owners=15, n_groups=4, n_topics=3, tags_per_image=4.0)


def run(added, right, *, missing=1_000, remove_precision=0.9):
    return {
        "world": {"n_images": 4_000},
        "counts": {"added": added, "rightly_added": right, "missing": missing},
        "add_recall": right / missing,
        "remove_precision": remove_precision,
        "remove_recall": 0.5,
        "ece": 0.01,
        "all_remove_precision": 0.8,
        "all_remove_recall": 0.4,
        "all_ece_given": 0.02,
    }


def test_worlds_differ_and_each_number_has_its_own():
    worlds = [drawn_world(number) for number in range(60)]

    assert worlds[7] == drawn_world(7)
    assert len({world.visual_difficulty for world in worlds}) > 40
    for name, (low, high) in (RANGES | {"visual_difficulty": DIFFICULTY}).items():
        values = [getattr(world, name) for world in worlds]
        assert low <= min(values) < low + 0.2 * (high - low)
        assert high >= max(values) > high - 0.25 * (high - low)


def test_precision_is_of_worlds_with_enough_additions_and_of_all_additions():
    found = summarised_worlds([run(100, 90), run(300, 210), run(19, 0), run(0, 0)])

    assert (found["worlds"], found["adding"], found["adding_rightly"]) == (4, 2, 1)
    assert found["add_precision"] == pytest.approx(0.8)
    assert found["lowest_add_precision"] == pytest.approx(0.7)
    assert found["add_precision_of_all"] == pytest.approx(300 / 419)
    assert found["add_recall"] == pytest.approx(0.075)


def test_where_nothing_is_added_nothing_is_said_of_its_precision():
    document = document_of({"0": run(0, 0), "1": run(3, 3)})

    assert document["summary"]["adding"] == 0
    assert "add_precision" not in document["summary"]
    assert "add precision" not in section_of([document])


def test_the_page_compares_worlds_of_all_sizes():
    larger = document_of({"0": run(100, 90) | {"world": {"n_images": 40_000}}})

    page = section_of([document_of({"0": run(3, 3), "1": run(0, 0)}), larger])

    assert "| part | 2 worlds of 4,000 images | 1 worlds of 40,000 images |" in page
    assert "| add precision, all additions together | – | 0.900 |" in page
    assert "| remove precision, all tags, mean | 0.800 | 0.800 |" in page
    assert drawn_world(3, 40_000).n_owners == 4_000
    assert drawn_world(3, 40_000).missing_share == drawn_world(3).missing_share


def test_worlds_are_judged_once_and_the_page_says_what_was_found(tmp_path, monkeypatch, capsys):
    out = tmp_path / FILE
    monkeypatch.setattr(bench_drawn_worlds, "drawn_world", lambda number, n_images: TINY)
    monkeypatch.setattr(sys, "argv", ["bench", "--worlds", "1", "--out", str(out)])
    assert bench_drawn_worlds.main() == 0
    first = read_json(out)
    monkeypatch.setattr(sys, "argv", ["bench", "--worlds", "2", "--out", str(out)])

    assert bench_drawn_worlds.main() == 0

    again = read_json(out)
    assert again["runs"]["0"] == first["runs"]["0"]
    assert again["runs"]["1"]["world"] == asdict(TINY)
    assert again["summary"]["worlds"] == 2
    assert "world 0: " in capsys.readouterr().out
    (page,) = drawn_section(tmp_path)
    assert "2 worlds that nobody chose" in page
    assert f"{again['summary']['remove_precision']:.3f}" in page
    assert list(drawn_section(tmp_path / "nowhere")) == []


def test_a_file_has_all_runs_and_their_summary():
    runs = {"0": run(50, 45), "1": run(40, 20)}

    found = document_of(runs)

    assert found["format"] == drawn_worlds.FORMAT
    assert found["runs"] == runs
    assert found["summary"] == summarised_worlds(list(runs.values()))


def test_at_least_one_world_is_wanted(capsys):
    assert arguments([]).out.name == FILE
    assert arguments(["--images", "40000"]).out.name == LARGER_FILE
    with pytest.raises(SystemExit):
        arguments(["--worlds", "0"])

    assert "at least 1" in capsys.readouterr().err
