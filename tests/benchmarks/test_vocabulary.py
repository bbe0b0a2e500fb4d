"""Fewer tags that predict: what is measured, and that a run continues."""

import json
import sys
from contextlib import nullcontext

import pytest

import bench_vocabulary
from bench_vocabulary import CASES, LARGE, SHARES, Job, arguments, in_process, measured
from comparison.extra_sections import VOCABULARY
from comparison.jobs import read_json, write_json
from comparison.rounds import hidden_case
from sugartag.errors import EngineError


@pytest.fixture(scope="module")
def runs(collection):
    case = hidden_case("openclipart", "A small collection.", collection)
    return {share: measured(case, Job("openclipart", 0, share)) for share in SHARES[:3]}


def test_fewer_tags_make_a_smaller_regression(runs):
    predictors = [run["predictors"] for run in runs.values()]

    assert predictors[0] == 49  # Of 50 tags one is never used.
    assert predictors[1:] == [25, 13]
    assert all(run["anchors"] > 0 for run in runs.values())
    # How many anchors are used is chosen anew each time; the tastes of groups are always there.
    tastes = {run["inputs"] - run["predictors"] - run["anchors"] for run in runs.values()}
    assert tastes == {32}


def test_each_run_has_its_metrics_and_its_cost(runs):
    for run in runs.values():
        assert 0 < run["map"] < 1
        assert run["fit_cpu_seconds"] > 0
        assert 0 < run["fit_mb"] < run["peak_mb"]
        assert run["data"]["tags"] == 50


def test_a_run_continues_where_it_stopped(tmp_path, monkeypatch, capsys):
    out, asked = tmp_path / VOCABULARY, []

    def quick(job, data):
        asked.append(job)
        return {"map": 0.5, "data": {"images": 10, "tags": 5}}

    monkeypatch.setattr(bench_vocabulary, "in_process", quick)
    words = ["bench", "--cases", "openclipart", "large", "--seeds", "2", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", words)
    assert bench_vocabulary.main() == 0
    first = len(asked)
    kept = read_json(out)
    del kept["cases"]["openclipart"]["runs"]["1/4"]["1"]
    write_json(out, kept)

    assert bench_vocabulary.main() == 0

    assert first == 4 * 2 + 4 * 1
    assert asked[first:] == [Job("openclipart", 1, "1/4")]
    assert kept["cases"]["large"]["data"] == {"images": 10, "tags": 5}


def test_a_job_prints_what_it_found(collection, monkeypatch, capsys):
    case = hidden_case("openclipart", "A small collection.", collection)
    monkeypatch.setattr(bench_vocabulary, "vocabulary_case", lambda name, data: nullcontext(case))
    monkeypatch.setattr(sys, "argv", ["bench", "--job", "openclipart", "0", "1/8"])

    assert bench_vocabulary.main() == 0

    assert json.loads(capsys.readouterr().out)["predictors"] == 7


def test_a_process_that_fails_is_an_error_that_names_it(capfd):
    with pytest.raises(EngineError, match="nothing 0 1 ended with code 2"):
        in_process(Job("nothing", 0, "1"), None)

    assert "there is no case 'nothing'" in capfd.readouterr().err


def test_the_large_world_has_more_tags_than_predict_by_default():
    assert LARGE.n_tags > 4_000
    assert arguments([]).cases == list(CASES)
