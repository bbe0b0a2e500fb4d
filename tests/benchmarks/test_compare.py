import copy
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import compare
from comparison.cases import CASE_NAMES, open_case
from comparison.jobs import Effort, Job, forget_jobs, read_json, run_job, write_json
from comparison.render import comparison_section
from comparison.rounds import hidden_case
from comparison.summary import comparison_document, margins, summarised, t_interval
from sugartag.errors import SettingsError, StorageError
from sugartag.evaluation.protocol import hidden_task
from sugartag.evaluation.tuning import tuning_task

TIMES = {"date", "machine", "fit_seconds", "score_seconds", "peak_rss_mb", "tuning_seconds"}
METHODS = ("tag-prior", "tag-vote")


@pytest.fixture(scope="module")
def case(collection):
    return hidden_case("openclipart", "A small collection.", collection)


def asked_for(out: Path, **changes: object) -> compare.Asked:
    words = ["openclipart", "--methods", ",".join(METHODS), "--seeds", "2", "--budget", "2"]
    words += ["--replicates", "20"]
    asked = vars(compare.arguments([*words, "--out", str(out)]))
    return compare.Asked(**(asked | changes))


def in_this_process(case, *, at_most=99):
    def run_all(jobs, asked):
        for job in jobs[:at_most]:
            run_job(job, case, asked.folder, effort=asked.effort)
            yield job, 0

    return run_all


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(inner) for key, inner in value.items() if key not in TIMES}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def whole(case, tmp_path_factory):
    """A comparison that was never stopped, as it is on disk."""
    out = tmp_path_factory.mktemp("whole") / "comparison-openclipart.json"
    assert compare.compare(case, asked_for(out), in_this_process(case)) == 0
    return out


def test_a_run_stopped_after_one_job_continues_to_the_same_file(case, whole, tmp_path, capsys):
    out = tmp_path / "comparison.json"

    compare.compare(case, asked_for(out), in_this_process(case, at_most=1))
    assert not out.exists()
    compare.compare(case, asked_for(out), in_this_process(case))

    assert "3 of 4 jobs to do" in capsys.readouterr().out
    assert without_times(read_json(out)) == without_times(read_json(whole))


def test_a_job_killed_between_two_trials_makes_the_same_choice(case, whole, tmp_path):
    job = Job("tag-vote", 1)
    finished = read_json(job.file_in(asked_for(whole).folder))
    killed = {
        key: v for key, v in finished.items() if key not in ("finished", "tuned", "tuned_with")
    }
    killed["trials"] = killed["trials"][:1]
    write_json(job.file_in(tmp_path), killed)

    run = run_job(job, case, tmp_path, effort=Effort(2, 20))

    assert without_times(run) == without_times(finished["finished"]["run"])
    assert read_json(job.file_in(tmp_path))["trials"][0] == killed["trials"][0]


def test_methods_of_the_result_file_are_not_run_again_without_the_job_files(case, whole, tmp_path):
    out = tmp_path / "comparison.json"
    out.write_bytes(whole.read_bytes())

    def refuse(jobs, asked):
        assert [job.method for job in jobs] == ["original", "original"]
        return iter(())

    compare.compare(case, asked_for(out, methods="tag-prior,original"), refuse)

    assert set(read_json(out)["methods"]) == set(METHODS)


def test_methods_asked_for_again_are_run_anew_and_the_others_kept(case, whole, tmp_path):
    out = tmp_path / "comparison.json"
    changed = read_json(whole)
    changed["methods"]["tag-vote"]["runs"]["0"]["tuned"]["map"] = 0.9
    write_json(out, changed)
    asked = asked_for(out, methods="tag-vote", again=True)

    compare.compare(case, asked, in_this_process(case))

    assert without_times(read_json(out)) == without_times(read_json(whole))


def test_more_seeds_are_added_to_those_there_are_and_nothing_is_lost(case, whole, tmp_path, capsys):
    out, elsewhere = tmp_path / "comparison.json", tmp_path / "elsewhere.json"
    compare.compare(case, asked_for(out, seeds=1), in_this_process(case))
    of_one_seed = read_json(out)

    compare.compare(case, asked_for(out), in_this_process(case, at_most=1))
    assert {key: read_json(out)[key] for key in of_one_seed} == of_one_seed
    # Without the files of its jobs, as on another machine.
    elsewhere.write_bytes(out.read_bytes())
    capsys.readouterr()
    compare.compare(case, asked_for(elsewhere), in_this_process(case))

    assert "1 of 4 jobs to do" in capsys.readouterr().out
    assert without_times(read_json(elsewhere)) == without_times(read_json(whole))


def test_what_was_begun_outlives_a_run_of_fewer_seeds(case, tmp_path):
    out = tmp_path / "comparison.json"
    compare.compare(case, asked_for(out, seeds=1), in_this_process(case))
    compare.compare(case, asked_for(out), in_this_process(case, at_most=1))
    begun = read_json(out)["begun"]

    compare.compare(case, asked_for(out, seeds=1, again=True), in_this_process(case))

    assert {name: list(some) for name, some in begun.items()} == {"tag-prior": ["1"]}
    assert read_json(out)["seeds"] == [0]
    assert "begun" not in read_json(out)  # What is run again is run again for all its seeds.
    compare.compare(case, asked_for(out), in_this_process(case, at_most=1))
    compare.compare(case, asked_for(out, seeds=1, methods="tag-vote"), in_this_process(case))
    assert list(read_json(out)["begun"]) == ["tag-prior"]


@pytest.mark.parametrize(
    ("change", "word"), [({"effort": Effort(3, 20)}, "budget"), ({"seeds": 1}, "seeds")]
)
def test_a_result_file_of_another_comparison_is_refused(case, whole, change, word):
    with pytest.raises(StorageError, match=f"another {word}"):
        compare.compare(case, asked_for(whole, **change), in_this_process(case))


def test_what_a_killed_job_left_half_written_is_no_run(case, tmp_path):
    asked = asked_for(tmp_path / "comparison.json")
    asked.folder.mkdir()
    (asked.folder / ".tag-prior-0.partial-77.json").write_text('{"format"', encoding="utf-8")

    assert compare.known_runs(case, asked, [0, 1]) == {}


def test_forgetting_a_method_spares_one_whose_name_is_longer(tmp_path):
    for name in ("tag-vote-0", "tag-vote-11", "tag-vote-own-0"):
        (tmp_path / f"{name}.json").touch()

    forget_jobs("tag-vote", tmp_path)

    assert [file.name for file in tmp_path.iterdir()] == ["tag-vote-own-0.json"]


def test_a_job_file_of_other_data_is_refused(case, tmp_path):
    job = Job("tag-prior", 0)
    run_job(job, case, tmp_path, effort=Effort(0, 0))
    changed = read_json(job.file_in(tmp_path))
    changed["data"]["images"] += 1
    write_json(job.file_in(tmp_path), changed)

    with pytest.raises(StorageError, match="was made with data"):
        run_job(job, case, tmp_path, effort=Effort(0, 0))


def test_tuning_sees_no_tag_that_is_measured(case, collection):
    everything = slice(0, collection.n_images)
    for seed in range(3):
        measured = hidden_task(collection, 0.3, seed).answers.tags_of(everything)

        task = tuning_task(case.start(seed).given, share=0.3, seed=seed)

        seen = task.given.tags_of(everything) + task.answers.tags_of(everything)
        assert measured.nnz > 0
        assert measured.multiply(seen).nnz == 0


def test_the_first_seed_alone_has_an_interval_over_images(whole):
    entry = read_json(whole)["methods"]["tag-vote"]

    low, high = entry["bootstrap"]["map"]

    assert low < entry["runs"]["0"]["tuned"]["map"] < high
    assert "intervals" not in entry["runs"]["1"]["tuned"]
    assert "intervals" not in entry["runs"]["0"]["default"]


def test_the_summary_is_the_mean_over_seeds(whole):
    entry = read_json(whole)["methods"]["tag-vote"]

    values = [run["tuned"]["author_aware"]["map"] for run in entry["runs"].values()]

    found = entry["summary"]["tuned"]["author_aware_map"]
    assert found["mean"] == pytest.approx(np.mean(values), rel=1e-5)


def test_an_interval_over_seeds_is_that_of_student():
    found = t_interval([0.1, 0.2, 0.3])

    # Standard error 0.1 / sqrt(3), and 4.302653 for two degrees of freedom.
    half = 4.302653 * 0.1 / 3**0.5
    assert [found["mean"], found["low"], found["high"]] == pytest.approx(
        [0.2, 0.2 - half, 0.2 + half]
    )
    assert t_interval([0.4]) == {"mean": 0.4, "low": None, "high": None}


def test_margins_are_taken_seed_by_seed_from_the_best_other_method():
    maps = {"a": [0.5, 0.7], "b": [0.4, 0.5], "c": [0.1, 0.6], "failed": []}
    found = margins({name: dict(enumerate(some)) for name, some in maps.items()})

    assert {name: margin["over"] for name, margin in found.items()} == {
        "a": "b",
        "b": "a",
        "c": "a",
    }
    assert found["a"]["by_seed"] == pytest.approx([0.1, 0.2])
    assert found["a"]["mean"] == pytest.approx(0.15)
    # Standard error 0.05, and 12.7062 for one degree of freedom.
    assert found["a"]["high"] == pytest.approx(0.15 + 12.7062 * 0.05)
    assert found["c"]["by_seed"] == pytest.approx([-0.4, -0.1])


def test_where_a_seed_was_skipped_margins_are_those_of_the_others():
    found = margins({"a": {0: 0.5, 1: 0.7, 2: 0.9}, "b": {0: 0.4, 2: 0.5}})

    assert found["a"]["by_seed"] == pytest.approx([0.1, 0.4])
    assert found["b"]["by_seed"] == pytest.approx([-0.1, -0.4])


def test_a_run_that_is_skipped_is_not_run_and_the_page_says_so(case, whole, tmp_path, capsys):
    out = tmp_path / "comparison.json"
    words = ["openclipart", "--methods", ",".join(METHODS), "--seeds", "2", "--budget", "2"]
    words += ["--replicates", "20", "--out", str(out), "--skip", "tag-vote", "1"]

    compare.compare(case, compare.arguments(words), in_this_process(case))

    assert "3 of 3 jobs to do" in capsys.readouterr().out
    found = read_json(out)
    assert found["skipped"] == {"tag-vote": [1]}
    assert {name: list(entry["runs"]) for name, entry in found["methods"].items()} == {
        "tag-prior": ["0", "1"],
        "tag-vote": ["0"],
    }
    assert "- tag-vote was not run with seed 1:" in comparison_section(found)
    compare.compare(case, asked_for(out), in_this_process(case))
    assert without_times(read_json(out)) == without_times(read_json(whole))


@pytest.mark.parametrize("words", [("tag-vot", "1"), ("tag-vote", "last")])
def test_what_cannot_be_skipped_is_named(words, capsys):
    with pytest.raises(SystemExit) as ended:
        compare.arguments(["openclipart", "--skip", *words])

    assert ended.value.code == 2
    assert f"not {' '.join(words)}" in capsys.readouterr().err


def test_margins_over_landmarks_are_those_of_the_same_landmarks(case, whole):
    runs = {
        name: {0: copy.deepcopy(read_json(whole)["methods"][name]["runs"]["0"])} for name in METHODS
    }
    runs["tag-prior"][0]["tuned"]["by_item"] = [0.1, 0.5, 0.9]
    runs["tag-vote"][0]["tuned"]["by_item"] = [0.3, 0.7, 1.1]

    document = comparison_document(case, runs, seeds=[0], effort=Effort(2, 20), processes=1)

    assert document["methods"]["tag-vote"]["margin"]["over_items"] == pytest.approx([0.2, 0.2])


def test_a_metric_that_a_run_lacks_has_no_mean():
    runs = [{"map": 0.5, "add_precision": None}, {"map": 0.7, "add_precision": 0.1}]

    assert set(summarised(runs)) == {"map"}
    assert summarised([{"failed": "no features"}, {"map": 0.7}]) == {}


def test_a_method_that_cannot_run_says_why(collection, tmp_path):
    from planted import without_features

    blind = hidden_case("openclipart", "Without features.", without_features(collection))

    run = run_job(Job("tag-vote", 0), blind, tmp_path, effort=Effort(1, 0))

    assert "needs image features" in run["tuned"]["failed"]
    assert run["failed_trials"] == 1


def test_data_that_are_not_shipped_have_to_be_named(tmp_path):
    for name in CASE_NAMES:
        with pytest.raises(SettingsError, match="needs --data"), open_case(name):
            pass
        with pytest.raises(SettingsError, match="there is no folder"), open_case(name, tmp_path):
            pass


def test_the_command_writes_a_result_file(data, tmp_path):
    out = tmp_path / "comparison-documerica.json"
    command = [sys.executable, compare.__file__, "documerica", "--methods", "tag-prior"]
    command += ["--seeds", "1", "--budget", "1", "--replicates", "2", "--out", str(out)]

    done = subprocess.run(
        [*command, "--data", str(data)], check=True, capture_output=True, text=True
    )

    found = json.loads(out.read_text(encoding="utf-8"))["methods"]["tag-prior"]
    assert "1 trials" in done.stdout
    assert found["runs"]["0"]["tuned"]["map"] > 0
