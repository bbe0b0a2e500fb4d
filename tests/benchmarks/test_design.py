"""Settings chosen on some collections and measured on another."""

import sys
from dataclasses import asdict

import pytest

import bench_design
from comparison.design import (
    DEFAULT,
    FILE,
    GRID,
    design_section,
    design_sections,
    held_out,
    relative,
    variant_table,
    variants,
)
from comparison.jobs import read_json, write_json
from sugartag.methods.registry import make_method

DEFAULTS = asdict(make_method("sugar-plus"))


def one(precision, by_image=None):
    """Return the run of one seed."""
    return {"0": {"map": precision} | ({} if by_image is None else {"miap": by_image})}


CASES = {
    "mdi": {DEFAULT: one(0.5, 0.4), "a=1": one(0.55, 0.4), "b=2": one(0.5, 0.44)},
    "openclipart": {DEFAULT: one(0.5, 0.5), "a=1": one(0.6, 0.6), "b=2": one(0.5, 0.5)},
    "div400": {DEFAULT: one(0.8), "a=1": one(0.4), "b=2": one(0.84)},
}


@pytest.mark.parametrize("name", variants(DEFAULTS))
def test_a_variant_changes_one_setting_of_the_method(name):
    settings = variants(DEFAULTS)[name]

    changed = asdict(make_method("sugar-plus", settings))

    differing = {key: value for key, value in changed.items() if value != DEFAULTS[key]}
    assert differing == settings
    assert len(settings) == (name != DEFAULT)


@pytest.mark.parametrize("setting", GRID)
def test_the_grid_lies_around_the_default(setting):
    assert min(GRID[setting]) < DEFAULTS[setting] < max(GRID[setting])


def test_a_variant_is_the_mean_of_its_ratios_to_the_defaults():
    assert relative(CASES["mdi"], "a=1") == pytest.approx((1.1 + 1.0) / 2)
    assert relative(CASES["div400"], "a=1") == pytest.approx(0.5)
    assert relative(CASES["mdi"], DEFAULT) == 1


def test_ratios_are_taken_seed_by_seed():
    case = {
        DEFAULT: {"0": {"map": 0.1}, "1": {"map": 0.5}},
        "a=1": {"0": {"map": 0.2}, "1": {"map": 0.5}, "2": {"map": 0.9}},
    }

    assert relative(case, "a=1") == pytest.approx((2.0 + 1.0) / 2)


def test_the_collection_held_out_has_no_say_in_the_choice():
    found = {row.case: row for row in held_out(CASES)}

    # Without Div400 a=1 is far ahead, and there it halves MAP.
    assert (found["div400"].chosen, found["div400"].hindsight) == ("a=1", "b=2")
    assert found["div400"].on_others == pytest.approx((1.05 + 1.2) / 2)
    assert found["div400"].ratio == pytest.approx(0.5)
    assert found["div400"].best_ratio == pytest.approx(1.05)
    # With it b=2 is ahead, which does nothing for the drawings.
    assert (found["openclipart"].chosen, found["openclipart"].hindsight) == ("b=2", "a=1")
    assert found["openclipart"].ratio == pytest.approx(1.0)


def test_the_defaults_may_be_chosen():
    worse = {name: {DEFAULT: one(0.5), "a=1": one(0.4)} for name in ("mdi", "div400")}

    assert {row.chosen for row in held_out(worse)} == {DEFAULT}


def test_variants_that_some_collection_lacks_are_not_chosen():
    lacking = CASES | {"mdi": {DEFAULT: one(0.5, 0.4), "b=2": one(0.5, 0.44)}}

    assert {row.chosen for row in held_out(lacking)} == {"b=2"}
    assert "| `a=1` | – | +20.0 % | -50.0 % | -15.0 % |" in variant_table(lacking)


def test_the_section_has_what_was_chosen_and_every_variant(tmp_path):
    document = {"cases": CASES, "machine": {"cpu": "some processor"}, "date": "2026-01-02"}
    assert list(design_sections(tmp_path)) == []
    write_json(tmp_path / FILE, document)

    (section,) = design_sections(tmp_path)

    assert section == design_section(document)
    chosen = "| Div400 | 0.800 / – | `a=1` | +12.5 % | 0.400 / – | -50.0 % | `b=2` | 0.840 / – |"
    assert chosen in section
    assert "| `b=2` | +0.0 % | +5.0 % | +5.0 % | +3.3 % |" in section  # In the order of the page.


def test_one_collection_alone_makes_no_section(tmp_path):
    write_json(tmp_path / FILE, {"cases": {"mdi": CASES["mdi"], "div400": {}}})

    assert list(design_sections(tmp_path)) == []


def test_the_command_measures_the_defaults_and_the_settings_asked_for(
    data, tmp_path, monkeypatch, capsys
):
    out = tmp_path / FILE
    words = ["bench", "openclipart", "mdi", "--data", str(data), "--out", str(out)]
    monkeypatch.setattr(sys, "argv", [*words, "--settings", "neighbour_weight"])

    assert bench_design.main() == 0
    monkeypatch.setattr(sys, "argv", [*words, "--settings", "visual_share"])
    assert bench_design.main() == 0

    cases = read_json(out)["cases"]
    varied = [one for one in variants(DEFAULTS) if one.startswith(("neigh", "visual_share"))]
    assert set(cases["mdi"]) == {DEFAULT, *varied}
    assert len(varied) >= 4
    assert all(0 < run["map"] <= 1 for runs in cases["mdi"].values() for run in runs.values())
    assert capsys.readouterr().out.count("openclipart, defaults, seed 0") == 1
