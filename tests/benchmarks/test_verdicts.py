import json
import re
import sys

import numpy as np
import pytest

import bench_verdicts
from bench_verdicts import JudgedCase, arguments, in_a_line, verdict_document
from comparison.jobs import DIGITS, plain_values, write_json
from comparison.verdicts import (
    COLUMNS,
    DISTURBING,
    FILE,
    JudgedRound,
    pooled_reliability,
    section_of,
    summarised_runs,
    verdict_section,
)
from sugartag.collection.subset import hide_tags
from sugartag.collection.synthetic import small
from sugartag.evaluation.calibrate import HIDDEN_SHARE


@pytest.fixture(scope="module")
def document(collection):
    cases = [
        JudgedCase("planted-clean", lambda seed: JudgedRound.planted(small(), seed)),
        JudgedCase("openclipart", lambda seed: JudgedRound.disturbed(collection, seed)),
    ]
    made = verdict_document(cases, ["tag-vote-own"], seeds=[0, 1])
    return json.loads(json.dumps(plain_values(made, digits=DIGITS)))


def test_every_run_is_kept_with_its_measures_and_their_mean(document):
    for case in document["cases"].values():
        entry = case["methods"]["tag-vote-own"]
        assert list(entry["runs"]) == ["0", "1"]
        values = [run["ece"] for run in entry["runs"].values()]
        assert entry["summary"]["ece"]["mean"] == pytest.approx(np.mean(values), rel=1e-4)
        assert entry["summary"]["ece"]["runs"] == 2


def test_a_measure_that_some_runs_lack_is_the_mean_of_the_others():
    runs = [dict.fromkeys(COLUMNS, 0.5), dict.fromkeys(COLUMNS, np.nan)]

    assert summarised_runs(runs)["add_precision"]["mean"] == 0.5
    assert summarised_runs(runs)["add_precision"]["runs"] == 1
    assert summarised_runs(runs[1:])["add_precision"] is None


def test_of_planted_worlds_it_is_told_how_all_tags_are_judged(document):
    planted, shipped = (
        document["cases"][name]["methods"]["tag-vote-own"]["summary"]
        for name in ("planted-clean", "openclipart")
    )

    assert planted["all_remove_recall"]["runs"] == 2
    assert planted["all_ece_given"]["mean"] != planted["ece_given"]["mean"]
    assert shipped["all_remove_recall"] is None


def test_a_planted_round_tells_seen_tags_and_all_of_them_and_methods_see_the_same():
    here = JudgedRound.planted(small(), 3)

    usual = small().generate(3)
    assert here.answers.tag_names == usual.concept_names
    assert here.about_all.tag_names == usual.tag_names
    for name in ("tags", "features"):
        one, other = (getattr(made.shards[0], name) for made in (here.given, usual))
        assert abs(one - other).max() == 0


def test_ranges_of_several_runs_are_added_up(document):
    runs = list(document["cases"]["openclipart"]["methods"]["tag-vote-own"]["runs"].values())

    pooled = pooled_reliability(runs, "given")

    sums = [sum(run["reliability"]["given"]["count"]) for run in runs]
    assert pooled.count.sum() == sum(sums)
    assert pooled.error() <= max(run["ece_given"] for run in runs) + 1e-9


def test_tags_are_disturbed_otherwise_than_calibration_does(collection):
    for seed in range(5):
        calibration = int(np.random.default_rng([seed, 1]).integers(2**31))
        ours, theirs = (
            hide_tags(collection, HIDDEN_SHARE, one).taken.shards[0].tags.toarray()
            for one in (DISTURBING + seed, calibration)
        )
        assert (ours != theirs).any()


def test_the_section_has_the_measures_the_ranges_and_the_caveats(document):
    section = section_of(document)

    assert section.startswith("## Verdicts\n")
    assert "a tag is added from the chance on that" in section
    assert "Means over 2 seeds" in " ".join(section.split())
    assert "counts as wrong there" in " ".join(section.split())
    assert "the last columns judge all" in " ".join(section.split())
    mean = document["cases"]["planted-clean"]["methods"]["tag-vote-own"]["summary"]["ece"]["mean"]
    assert re.search(rf"^\| planted: clean \|.* {mean:.3f} ", section, re.MULTILINE)


def test_it_says_of_how_many_seeds_a_measure_is_that_others_lack(document):
    entry = document["cases"]["planted-clean"]["methods"]["tag-vote-own"]
    lacking = {key: run | {"ece": np.nan} for key, run in entry["runs"].items()}
    some = {"0": entry["runs"]["0"], "1": lacking["1"]}
    changed = entry | {"runs": some, "summary": summarised_runs(list(some.values()))}
    cases = {"planted-clean": {"methods": {"tag-vote-own": changed}}}

    section = section_of(document | {"cases": cases})

    assert section.count("(1 of 2 seeds)") == 1


def test_rows_of_a_table_are_as_long_as_its_head_and_stand_between_empty_lines(document):
    tables = re.findall(r"(?:^\|.*\|$\n?)+", section_of(document), re.MULTILINE)

    assert len(tables) == 2
    for table in tables:
        assert len({line.count("|") for line in table.splitlines()}) == 1
    assert not re.search(r"[^|\n]\n\|", section_of(document))


def test_lines_of_text_fit_the_page(document):
    assert all(len(line) <= 100 for line in section_of(document).splitlines() if line[:1] != "|")


def test_without_a_result_file_there_is_no_section(document, tmp_path):
    assert list(verdict_section(tmp_path)) == []

    write_json(tmp_path / FILE, document)

    assert list(verdict_section(tmp_path)) == [section_of(document)]


def test_the_command_writes_the_file(collection, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        bench_verdicts,
        "made_case",
        lambda name, scratch: JudgedCase(name, lambda seed: JudgedRound.planted(small(), seed)),
    )
    words = ["bench", "--methods", "tag-vote-own", "--seeds", "1", "--cases", "planted-hard"]
    out = tmp_path / FILE
    monkeypatch.setattr(sys, "argv", [*words, "--out", str(out)])

    assert bench_verdicts.main() == 0

    assert list(json.loads(out.read_text(encoding="utf-8"))["cases"]) == ["planted-hard"]
    assert "planted-hard, tag-vote-own, seed 0: add" in capsys.readouterr().out


def test_an_unknown_method_is_an_error_in_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bench", "--methods", "nobody", "--out", str(tmp_path / "x")])

    assert bench_verdicts.main() == 2

    assert "nobody" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_by_default_the_default_method_is_judged_on_everything():
    asked = arguments([])

    assert (asked.methods, asked.seeds, len(asked.cases)) == ("sugar-plus", 5, 8)


def test_a_planted_world_is_the_one_of_the_comparison(tmp_path):
    case = bench_verdicts.made_case("planted-noisy", tmp_path)

    here = case.start(0)

    assert here.given.n_images == 4_000
    assert len(here.answers.tag_names) == 240


def test_a_run_without_doubts_can_be_told():
    run = dict.fromkeys(COLUMNS, 0.25) | {"remove_precision": np.nan}

    assert "remove nan / 0.250" in in_a_line(run)


def test_the_page_counts_the_additions_of_all_seeds_together(document):
    changed = json.loads(json.dumps(document))
    runs = changed["cases"]["planted-clean"]["methods"]["tag-vote-own"]["runs"]
    for number, run in enumerate(runs.values()):
        run["counts"] |= {"added": 1_000 + number, "rightly_added": 900}
    nothing = changed["cases"]["openclipart"]["methods"]["tag-vote-own"]["runs"]
    for run in nothing.values():
        run["counts"] |= {"added": 0, "rightly_added": 0}

    page = section_of(changed)

    assert "| 1,800 of 2,001 |" in page
    assert re.search(r"OpenClipart, as shipped \|.*\| – \|\n", page)
