"""``sugartag tune``: what it writes, that it can be killed, and what it never sees."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from planted import without_features
from sugartag.cli import tune as tune_module
from sugartag.cli.main import main
from sugartag.collection.model import Collection
from sugartag.collection.store import save_collection
from sugartag.collection.subset import hide_tags
from sugartag.evaluation.tuning import tuning_task

TOP = ["format", "collection", "digest", "seed", "hide", "unseen", "budget", "machine", "methods"]
ENTRY = ["settings", "score", "default_score", "map", "miap", "seconds", "trials"]
TRIAL = ["settings", "score", "map", "miap", "f_top5", "seconds", "failed"]


@pytest.fixture(scope="module")
def photos(collection, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("tune") / "photos"
    save_collection(collection, folder)
    return folder


@pytest.fixture
def out(tmp_path) -> Path:
    return tmp_path / "tuned.json"


def run(photos: Path, out: Path, *options: object, methods: str = "linear-probe") -> Result:
    asked = ["tune", photos, "--methods", methods, "--out", out, *options]
    return CliRunner().invoke(main, [*map(str, asked)])


def done(photos: Path, out: Path, *options: object, methods: str = "linear-probe") -> Result:
    result = run(photos, out, *options, methods=methods)
    assert result.exit_code == 0, result.output
    return result


def refused(photos: Path, out: Path, *options: object, methods: str = "linear-probe") -> str:
    """Return the one line that says what is wrong."""
    result = run(photos, out, *options, methods=methods)
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    return line


def read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def choices(path: Path) -> dict:
    """Return what a file says, without what depends on the clock."""
    document = read(path)
    del document["machine"]
    for entry in document["methods"].values():
        for part in (entry, *entry["trials"]):
            del part["seconds"]
    return document


def tags_of(collection: Collection) -> set[tuple[int, int]]:
    rows, tags = collection.tags_of(slice(0, collection.n_images)).nonzero()
    return set(zip(rows.tolist(), tags.tolist(), strict=True))


def test_the_file_holds_every_trial_and_the_best_is_chosen(photos, out):
    shown = done(photos, out, "--budget", 5, "--seed", 3, methods="linear-probe,tag-prior")

    document = read(out)
    assert list(document) == TOP
    assert (document["format"], document["seed"], document["hide"], document["unseen"]) == (
        "sugartag-tuned/1", 3, 0.3, None,
    )  # fmt: skip
    assert list(document["methods"]) == ["linear-probe", "tag-prior"]
    for entry in document["methods"].values():
        assert list(entry) == ENTRY
        assert all(list(trial) == TRIAL for trial in entry["trials"])
        assert entry["trials"][0]["settings"] == {}
        top = max(entry["trials"], key=lambda trial: trial["score"])
        assert entry["settings"] == top["settings"]
        assert entry["score"] == top["score"] >= entry["default_score"]
        assert entry["score"] == pytest.approx((entry["map"] + entry["miap"]) / 2)
    header, *lines = shown.stdout.splitlines()
    assert header.split() == list(tune_module.COLUMNS)
    assert [line.split()[0] for line in lines] == ["linear-probe", "tag-prior"]


def test_every_method_has_the_same_number_of_trials_and_a_line_for_each(photos, out):
    names = ["linear-probe", "tag-vote", "implicit-als"]

    shown = done(photos, out, "--budget", 4, methods=",".join(names))

    assert [len(read(out)["methods"][name]["trials"]) for name in names] == [4, 4, 4]
    lines = [line for line in shown.stderr.splitlines() if ": trial " in line]
    assert len(lines) == 12
    assert lines[4].startswith("tag-vote: trial 1 of 4, score 0.")


def test_the_truth_changes_nothing(collection, photos, tmp_path):
    (shard,) = collection.shards
    turned = replace(collection, shards=(replace(shard, truth=shard.truth[::-1]),))
    save_collection(turned, tmp_path / "scrambled")

    done(photos, tmp_path / "a.json", "--budget", 4)
    done(tmp_path / "scrambled", tmp_path / "b.json", "--budget", 4)

    assert choices(tmp_path / "a.json") == choices(tmp_path / "b.json")


def test_unseen_tags_are_those_an_evaluation_scores_and_tuning_meets_none(
    collection, photos, out, monkeypatch
):
    tasks = []

    def spied(*arguments, **options):
        tasks.append(tuning_task(*arguments, **options))
        return tasks[-1]

    monkeypatch.setattr(tune_module, "tuning_task", spied)

    done(photos, out, "--budget", 1, "--unseen", 0.4, "--seed", 6, methods="tag-prior")

    evaluated = hide_tags(collection, 0.4, 6)
    met = tags_of(tasks[0].given) | tags_of(tasks[0].answers)
    assert met == tags_of(evaluated.collection)
    assert not met & tags_of(evaluated.taken)


# Killed when it would report its fourth trial, after that was written.
KILLED = """
import os, signal, sys
from sugartag.cli import tune
from sugartag.cli.main import main
told, line = [], tune._line
def last(*trial):
    told.append(trial)
    if len(told) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return line(*trial)
tune._line = last
main(sys.argv[1:])
"""


def test_a_killed_run_is_continued_to_the_same_end(photos, tmp_path):
    killed, whole = tmp_path / "killed.json", tmp_path / "whole.json"
    asked = ["--methods", "tag-prior,linear-probe", "--budget", "3"]
    command = [sys.executable, "-c", KILLED, "tune", photos, "--out", killed, *asked]
    process = subprocess.run([*map(str, command)], stderr=subprocess.DEVNULL, check=False)
    there = sum(len(entry["trials"]) for entry in read(killed)["methods"].values())

    again = done(photos, killed, "--budget", 3, methods="tag-prior,linear-probe")
    done(photos, whole, "--budget", 3, methods="tag-prior,linear-probe")

    assert process.returncode == -signal.SIGKILL
    assert there == 4
    assert "continuing: 4 trials are there" in again.stderr
    assert choices(killed) == choices(whole)


def test_a_larger_budget_continues_as_if_it_had_been_asked_for_at_once(photos, tmp_path):
    grown, whole = tmp_path / "grown.json", tmp_path / "whole.json"

    done(photos, grown, "--budget", 2)
    done(photos, grown, "--budget", 5)
    done(photos, whole, "--budget", 5)

    assert choices(grown) == choices(whole)


def test_a_finished_file_is_shown_without_another_trial(photos, out, monkeypatch):
    first = done(photos, out, "--budget", 2)
    monkeypatch.setattr("sugartag.evaluation.tuning.evaluate", lambda *_, **__: pytest.fail("made"))

    again = done(photos, out, "--budget", 2)

    assert again.stdout == first.stdout
    assert ": trial " not in again.stderr


def test_other_methods_of_the_file_stay_and_those_with_fewer_trials_are_named(photos, out):
    done(photos, out, "--budget", 2, methods="linear-probe,original")

    shown = done(photos, out, "--budget", 3, methods="tag-vote")

    assert {name: len(entry["trials"]) for name, entry in read(out)["methods"].items()} == {
        "linear-probe": 2, "original": 1, "tag-vote": 3,
    }  # fmt: skip
    assert "fewer trials: linear-probe;" in shown.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--budget", 2, "--seed", 9], "--seed 0, not 9"),
        (["--budget", 2, "--hide", 0.2], "--hide 0.3, not 0.2"),
        (["--budget", 2, "--unseen", 0.2], "--unseen None, not 0.2"),
        (["--budget", 1], "budget of 2"),
    ],
)
def test_a_file_made_otherwise_is_refused_and_left_alone(photos, out, options, said):
    done(photos, out, "--budget", 2)
    before = out.read_bytes()

    line = refused(photos, out, *options)

    assert said in line
    assert "--overwrite" in line
    assert out.read_bytes() == before


def test_a_file_of_another_collection_is_refused_until_it_may_be_overwritten(
    collection, photos, tmp_path, out
):
    (shard,) = collection.shards
    other = replace(collection, shards=(replace(shard, features=shard.features * 2),))
    save_collection(other, tmp_path / "other")
    done(photos, out, "--budget", 2)

    assert "another collection" in refused(tmp_path / "other", out, "--budget", 2)
    done(tmp_path / "other", out, "--budget", 1, "--overwrite")

    assert len(read(out)["methods"]["linear-probe"]["trials"]) == 1


def test_a_folder_in_the_way_is_named(photos, tmp_path):
    assert str(tmp_path) in refused(photos, tmp_path, "--budget", 1)
    assert "folder" in refused(photos, tmp_path, "--budget", 1, "--overwrite")


def test_a_method_that_never_works_is_told_after_all_others(collection, tmp_path, out):
    save_collection(without_features(collection), tmp_path / "blind")

    result = run(tmp_path / "blind", out, "--budget", 2, methods="tag-vote,tag-prior")

    assert result.exit_code == 2
    assert "tag-vote: all trials failed" in result.stderr.splitlines()[-1]
    assert read(out)["methods"]["tag-vote"]["score"] is None
    assert read(out)["methods"]["tag-prior"]["score"] > 0
    assert result.stdout.splitlines()[1].split()[:3] == ["tag-vote", "-", "-"]


def test_scores_too_large_for_memory_lie_in_a_file_that_is_cleared(
    photos, tmp_path, out, monkeypatch
):
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    done(photos, tmp_path / "memory.json", "--budget", 2)

    monkeypatch.setattr(tune_module, "BYTES_IN_MEMORY", 0)
    done(photos, out, "--budget", 2)

    assert choices(out) == choices(tmp_path / "memory.json")
    assert list(place.iterdir()) == []


def test_stopped_by_the_keyboard_it_says_where_the_trials_are(photos, out, monkeypatch):
    def stopped(*arguments, **options):
        yield next(whole(*arguments, **options))
        raise KeyboardInterrupt

    whole = tune_module.tune
    monkeypatch.setattr(tune_module, "tune", stopped)

    result = run(photos, out, "--budget", 3)

    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == (
        f"sugartag: stopped; the trials made so far are in {out}: repeat the command to go on"
    )
    assert len(read(out)["methods"]["linear-probe"]["trials"]) == 1


@pytest.mark.parametrize(
    ("options", "methods", "said"),
    [
        (["--budget", 0], "tag-prior", "--budget"),
        (["--budget", 1], "magic", "'magic'"),
        (["--budget", 1, "--hide", 1.5], "tag-prior", "1.5"),
        (["--budget", 1, "--unseen", "nan"], "tag-prior", "nan"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(photos, out, options, methods, said):
    assert said in refused(photos, out, *options, methods=methods)
    assert not out.exists()


def test_a_method_whose_package_is_missing_is_named_before_any_trial(photos, out, monkeypatch):
    monkeypatch.setattr(tune_module, "missing_package", lambda name: "implicit")

    assert "pip install" in refused(photos, out, "--budget", 1, methods="implicit-als")
    assert not out.exists()
