"""What each part of sugar-plus is worth: what is measured, and what the page makes of it."""

import sys

import pytest

import bench_ablations
from comparison.ablations import (
    FILE,
    PARTS,
    RANKING,
    VERDICTS,
    WHOLE,
    ablation_section,
    ablation_sections,
    differences,
    earning_table,
    earns_its_place,
    ranking_table,
    verdict_table,
    worth_of_parts,
)
from comparison.jobs import read_json, write_json
from sugartag.methods.registry import make_method

NAMES, VIEW = "without names in the joint view", "without the joint view"


def by_seed(*values):
    return {str(seed): {"map": one, "miap": 0.5} for seed, one in enumerate(values)}


def judged(additions, right, doubts=0, **errors):
    error = {"ece_given": 0.04, "ece_not_given": 0.02} | errors
    counts = {"additions": additions, "right_additions": right, "doubts": doubts}
    return counts | {"right_doubts": doubts} | error


RUNS = {WHOLE: by_seed(0.70, 0.72), NAMES: by_seed(0.60, 0.64), VIEW: by_seed(0.50, 0.50)}


def worth(**cases):
    """Return the worth of one part; each case has the whole's values and those without it."""
    made = {
        name: {RANKING: {WHOLE: by_seed(*whole), NAMES: by_seed(*part)}}
        for name, (whole, part) in cases.items()
    }
    return worth_of_parts(made)[NAMES]


@pytest.mark.parametrize("part", PARTS)
def test_every_part_is_a_setting_that_can_be_left_out(part):
    made = make_method("sugar-plus", PARTS[part])

    assert (made == make_method("sugar-plus")) == (part == WHOLE)


@pytest.mark.parametrize(
    ("whole", "part", "earns"),
    [
        ((0.506, 0.5061, 0.506), (0.5, 0.5, 0.5), True),
        ((0.504, 0.5041, 0.504), (0.5, 0.5, 0.5), False),  # Too little.
        ((0.51, 0.53, 0.50), (0.5, 0.5, 0.5), False),  # Not sure.
        ((0.52,), (0.5,), False),  # One seed has no interval.
    ],
)
def test_a_part_must_gain_enough_and_surely(whole, part, earns):
    assert earns_its_place(worth(mdi=(whole, part))) is earns


@pytest.mark.parametrize(("lost", "earns"), [(0.0029, True), (0.0031, False)])
def test_a_part_must_not_lose_much_anywhere(lost, earns):
    gained = ((0.52, 0.52), (0.5, 0.5))

    found = worth(mdi=gained, openclipart=((0.5 - lost, 0.5 - lost), (0.5, 0.5)))

    assert earns_its_place(found) is earns
    cells = earning_table({NAMES: found}).splitlines()[2].split(" | ")
    assert cells[0] == "| names in the joint view"
    assert cells[1] == "+0.020 (MAP, Material Design Icons)"
    assert cells[2] == "-0.003 (MAP, OpenClipart)"
    assert cells[3] == ("yes |" if earns else "**no** |")


def test_where_seeds_change_nothing_landmarks_are_compared():
    whole = {"0": {"map": 0.5, "by_item": [0.4, 0.6]}}
    part = {"0": {"map": 0.4, "by_item": [0.3, 0.5]}}

    assert differences(whole, part, "map") == pytest.approx([0.1, 0.1])
    assert differences(whole, part, "miap") == []


def test_differences_are_those_of_seeds_that_both_have():
    assert differences(by_seed(0.7, 0.8, 0.9), by_seed(0.5, 0.7), "map") == pytest.approx(
        [0.2, 0.1]
    )


def test_the_table_has_the_whole_first_and_then_what_is_missed_most():
    lines = ranking_table(RUNS).splitlines()

    assert [line.split("|")[1].strip() for line in lines[2:]] == [WHOLE, VIEW, NAMES]
    assert "| 0.710 |" in lines[2]
    # Differences of -0.1 and -0.08: Student's t of one degree of freedom is 12.706.
    assert "0.620 (-0.090: -0.217 to +0.037)" in lines[4]
    assert "F top 5" not in lines[0]


def test_the_shares_of_verdicts_are_over_all_seeds():
    runs = {
        WHOLE: {"0": judged(10, 9), "1": judged(30, 21)},
        NAMES: {"0": judged(0, 0, ece_given=0.06), "1": judged(0, 0, 4, ece_given=0.06)},
    }

    whole, without = verdict_table(runs).splitlines()[2:]

    assert whole == f"| {WHOLE} | 20 | 75.0 % | 0 | – | 0.040 | 0.020 |"
    assert without.startswith(f"| {NAMES} | 0 | – | 2 | 100.0 % | 0.060 (+0.020: +0.020 to ")


def test_without_a_result_file_there_is_no_section(tmp_path):
    assert list(ablation_sections(tmp_path)) == []

    document = {"cases": {"mdi": {RANKING: RUNS, VERDICTS: {}}, "div400": {RANKING: {}}}}
    write_json(tmp_path / FILE, document)

    assert list(ablation_sections(tmp_path)) == [ablation_section(document)]
    assert "### Material Design Icons, 2 seeds" in ablation_section(document)
    assert "Div400, 0 seeds" not in ablation_section(document)


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["bench", *map(str, words)])
    return bench_ablations.main()


def test_real_runs_are_ranked_and_judged(data, tmp_path, monkeypatch, capsys):
    out = tmp_path / FILE

    code = run(monkeypatch, "openclipart", "--data", data, "--seeds", 1, "--out", out)

    assert code == 0
    found = read_json(out)["cases"]["openclipart"]
    assert list(found[RANKING]) == list(found[VERDICTS]) == list(PARTS)
    for part in PARTS:
        assert 0 < found[RANKING][part]["0"]["map"] <= 1
        assert found[VERDICTS][part]["0"]["wrong"] > 0
    assert "### OpenClipart, 1 seed\n" in ablation_section(read_json(out))


def test_a_run_continues_where_it_stopped(data, tmp_path, monkeypatch, capsys):
    out, asked = tmp_path / FILE, []

    def ranked(here, settings, seed, kept):
        asked.append((dict(settings), seed))
        return {"map": 0.5}

    monkeypatch.setattr(bench_ablations, "ranked", ranked)
    words = ("mdi", "--data", data, "--seeds", 2, "--out", out, "--ranking-only")
    words = (*words, "--parts", WHOLE, NAMES)
    assert run(monkeypatch, *words) == 0
    kept = read_json(out)
    del kept["cases"]["mdi"][RANKING][NAMES]["1"]
    write_json(out, kept)

    assert run(monkeypatch, *words) == 0

    assert len(asked) == 5
    assert asked[4] == ({"name_prior": 0.0}, 1)
    assert read_json(out)["cases"]["mdi"][VERDICTS] == {}


def test_a_file_made_with_other_defaults_is_refused(data, tmp_path, monkeypatch, capsys):
    out = tmp_path / FILE
    monkeypatch.setattr(bench_ablations, "ranked", lambda *_: {"map": 0.5})
    words = ("mdi", "--data", data, "--seeds", 1, "--out", out, "--ranking-only")
    assert run(monkeypatch, *words) == 0
    changed = read_json(out)
    changed["defaults"]["own_weight"] = 17.0
    write_json(out, changed)

    assert run(monkeypatch, *words) == 2
    assert "was made with other defaults; pass --again" in capsys.readouterr().err
    assert run(monkeypatch, *words, "--again") == 0


def test_the_whole_is_always_measured(capsys):
    with pytest.raises(SystemExit):
        bench_ablations.arguments(["mdi", "--parts", NAMES])

    assert "must name 'whole'" in capsys.readouterr().err
