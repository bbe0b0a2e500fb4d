"""Every benchmark runs at toy size through the command, and its ratios follow from its entries."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import sugartag
from performance import paper_size, scaling, scoring
from performance.benches import BENCHES
from performance.paper_size import METHODS, PAPER_UPDATES, RIVALS
from sugartag.cli.bench import NAMES
from sugartag.cli.main import main

TOY = ("--tags", 120, "--features", 16, "--workers", 1)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["bench", *map(str, arguments)])


def document(out, *arguments: object):
    result = run(*arguments, "--out", out)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"results: {out.resolve()}\n"
    return json.loads(out.read_text(encoding="utf-8"))


def refused(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    return line


@pytest.fixture(scope="module", autouse=True)
def _small_products():
    """Let the rate of products be measured in a moment: the steps say how large they are."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (paper_size, scoring):
            patch.setattr(module, "GEMM_SIZES", (64, 64, 64))
            patch.setattr(module, "GEMM_SECONDS", 0.01)
        yield


@pytest.fixture(scope="module")
def small_paper(tmp_path_factory):
    """Return a run in which the rivals are ended as soon as they have begun."""
    out = tmp_path_factory.mktemp("paper") / "results.json"
    size = ("--images", 300, "--owners", 60, "--units", 1, "--cap", 0.2, "--fractions", "4,2")
    return document(out, "paper-size", *TOY, *size), out


def test_every_method_of_paper_size_has_an_entry_with_its_cost(small_paper):
    found, _ = small_paper

    assert set(METHODS) | {"rates"} <= set(found["entries"])
    assert found["machine"]["cores"] >= 1
    for name in set(METHODS) - set(RIVALS):
        entry = found["entries"][name]
        assert entry["status"] == "measured"
        assert entry["cpu_seconds"] > 0
        assert 0 < entry["before_mb"] <= entry["peak_anonymous_mb"] <= entry["peak_rss_mb"]


def test_a_rival_that_meets_the_cap_is_ended_and_run_on_smaller_worlds(small_paper):
    found, _ = small_paper

    for name in RIVALS:
        entry = found["entries"][name]
        assert (entry["status"], entry["ended_by"]) == ("capped", "time")
        assert entry["seconds"] > 0.2
        smaller = [found["entries"][f"{name} at 1/{part}"] for part in (4, 2)]
        assert [one["asks"]["planted"]["world"]["n_images"] for one in smaller] == [75, 150]
        assert found["derived"]["stated"][name]["at_least"] == entry["seconds"]


def test_the_ratios_of_paper_size_follow_from_its_entries(small_paper):
    found, _ = small_paper
    entries, ratios = found["entries"], found["derived"]["ratios"]
    updates, ours = entries["sugar-tc-multiplicative"], entries["sugar-plus"]
    runs = [ours, entries["sugar-plus, run 2"], entries["sugar-plus, run 3"]]
    seconds = sorted(run["seconds"] for run in runs)[1]
    vote = entries["tag-vote-exact"]

    of_450 = updates["setup_seconds"] + PAPER_UPDATES * updates["median_update_seconds"]
    voting = vote["fit_seconds"] + vote["score_seconds"] * 300 / vote["images_scored"]
    exact = entries["sugar-tc-exact"]["fit_seconds"]

    assert ratios["exact / 450 updates"] == pytest.approx(exact / of_450)
    assert ratios["sugar-plus / tag-vote-exact"] == pytest.approx(seconds / voting)
    assert vote["images_scored"] == 30
    floors = []
    for run, before in zip(runs, ("rates", "rates, run 2", "rates, run 3"), strict=True):
        around = [entries[before], entries[f"{before}, after"]]
        pace = np.mean([1 / rates["gemm"]["median_flops_per_second"] for rates in around])
        reading = np.mean([1 / rates["read"]["bytes_per_second"] for rates in around])
        floor = sum(run["flops"].values()) * pace + 300 * 16 * 4 * reading
        floors.append(run["seconds"] / floor)
    assert ratios["sugar-plus / floor"] == pytest.approx(sorted(floors)[1], rel=0.05)


def test_the_exact_solver_is_not_above_the_updates(small_paper):
    both = small_paper[0]["derived"]["objectives"]

    assert both["exact"] <= both["multiplicative"]
    assert both["exact_is_lowest"] is True
    assert both["updates"] >= 3


def test_the_stages_are_those_of_the_papers_table(small_paper):
    found, _ = small_paper
    stages = found["entries"]["sugar-tc-exact"]["stages"]

    assert list(stages) == ["clustering", "adjacency", "completion", "assignment"]
    whole = found["entries"]["sugar-tc-exact"]["seconds"]
    # A busy machine may stop the process between two stages.
    assert 0.5 * whole < sum(one["seconds"] for one in stages.values()) < 1.05 * whole
    assert found["derived"]["published"]["hours"]["sugar-tc"]["completion"] == 1.2


def test_nothing_is_left_beside_the_results_but_the_results(small_paper):
    _, out = small_paper

    assert list(out.parent.iterdir()) == [out]


def test_scaling_compares_the_largest_with_a_quarter_of_it(tmp_path):
    out, work = tmp_path / "scaling.json", tmp_path / "work"

    sizes = ("--images", "200,400,800", "--methods", "linear-probe")

    found = document(out, "scaling", *TOY, *sizes, "--work", work)

    entries, growth = found["entries"], found["derived"]["growth"]["linear-probe"]
    few, many = entries["linear-probe 200"], entries["linear-probe 800"]
    assert [(one["from"], one["to"]) for one in growth] == [(200, 400), (400, 800), (200, 800)]
    assert growth[-1]["seconds"] == pytest.approx(many["seconds"] / few["seconds"])
    assert growth[-1]["peak_anonymous"] == pytest.approx(
        many["peak_anonymous_mb"] / few["peak_anonymous_mb"]
    )
    assert len(list(work.glob("planted-*/manifest.json"))) == 3


SCORING = ("scoring", *TOY, "--images", 300, "--repeats", 2)
SCORED = "sugar-plus,sugar-tc,linear-probe,tag-vote-exact"


@pytest.fixture(scope="module")
def small_scoring(tmp_path_factory):
    out = tmp_path_factory.mktemp("scoring") / "scoring.json"
    return document(out, *SCORING, "--methods", SCORED), out


def test_scoring_is_told_as_a_share_of_the_rate_of_products(small_scoring):
    found, _ = small_scoring

    entries, shares = found["entries"], found["derived"]["share_of_gemm"]
    gemm = entries["rates"]["gemm"]["flops_per_second"]
    for name in SCORED.split(","):
        entry = entries[name]
        assert entry["images_per_second"] == pytest.approx(300 / min(entry["score_seconds"]))
        assert shares[name] == pytest.approx(
            entry["flops_per_image"] * entry["images_per_second"] / gemm
        )
    assert entries["linear-probe"]["flops_per_image"] == 2 * 2 * 16 * (120 + 16)


def test_what_was_measured_is_skipped_and_what_was_not_is_added(small_scoring):
    before, out = small_scoring

    result = run(*SCORING, "--methods", f"{SCORED},tag-vote-usearch", "--out", out)

    assert result.exit_code == 0
    assert result.stderr.count("measured (was there)") == 6
    assert "tag-vote-usearch: begins" in result.stderr
    found = json.loads(out.read_text(encoding="utf-8"))
    added = found["entries"].pop("tag-vote-usearch")
    assert added["status"] == "measured"
    assert found["entries"] == before["entries"]
    assert found["derived"]["share_of_gemm"]["tag-vote-usearch"] is None


def test_the_solvers_are_compared_on_one_problem(tmp_path):
    anchors = ("--anchor-images", 20, "--anchor-users", 10, "--updates", 15, "--workers", 1)

    found = document(tmp_path / "s.json", "solvers", "--images", 300, "--tags", 60, *anchors)

    entries, derived = found["entries"], found["derived"]
    exact, updates = entries["exact"], entries["multiplicative"]
    assert exact["shape"] == updates["shape"] == entries["nonnegative"]["shape"]
    assert updates["steps"] == 15
    assert exact["relative_residual"] < 1e-6
    assert exact["objective"] <= entries["nonnegative"]["objective"]
    truncated = entries["exact, truncated"]
    gap = truncated["objective"] / exact["objective"] - 1
    assert 0 < gap <= truncated["relative_gap"]
    assert truncated["objective"] <= truncated["stated_objective"]
    assert derived["exact_over_multiplicative_cpu"] == pytest.approx(
        exact["cpu_seconds"] / updates["cpu_seconds"]
    )
    assert derived["exact_is_lowest"] is True


def test_the_command_knows_every_benchmark():
    assert list(NAMES) == list(BENCHES)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("solvers", "--cap", 3), "bench solvers has no option --cap; it has --images"),
        (("scoring", "--images", "3,4"), "takes one number for --images"),
        (("scoring", "--images", "many"), "is not a whole number"),
        (("scoring", "--methods", "magic"), "there is no method 'magic'; choose from: sugar-plus"),
        (("paper-size", "--images", 0), "--images is 0"),
        (("paper-size", "--query-share", 0), "--query-share is 0.0"),
        (("paper-size", "--cap", 0), "--cap is 0.0"),
        (("paper-size", "--fractions", 64), "give two different numbers"),
        (("scaling", "--images", "5,5"), "give different sizes"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(tmp_path, arguments, words):
    assert words in refused(*arguments, "--out", tmp_path / "results.json")
    assert not (tmp_path / "results.json").exists()


def test_a_measurement_that_fails_is_told_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(scaling, "SETTINGS", {"original": {"magic": 1}})
    out = tmp_path / "results.json"

    result = run("scaling", *TOY, "--images", 40, "--methods", "original", "--out", out)

    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith(
        "sugartag: 1 of 1 failed; original 40: original has no setting 'magic'"
    )
    entry = json.loads(out.read_text(encoding="utf-8"))["entries"]["original 40"]
    assert entry["status"] == "failed"


def test_an_installed_package_says_in_one_line_that_it_has_no_measurements(tmp_path):
    installed = tmp_path / "python" / "site-packages"
    unneeded = shutil.ignore_patterns("assets", "__pycache__")
    shutil.copytree(Path(sugartag.__file__).parent, installed / "sugartag", ignore=unneeded)

    found = subprocess.run(
        [sys.executable, "-m", "sugartag", "bench", "scoring", "--out", "results.json"],
        env={**os.environ, "PYTHONPATH": str(installed)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert found.returncode == 2
    assert found.stdout == ""
    (line,) = found.stderr.splitlines()
    assert line.startswith("sugartag: measurements need a source checkout")
    assert not (tmp_path / "results.json").exists()
