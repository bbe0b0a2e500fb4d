"""A fit that is killed goes on with --resume, and makes the same model to the last byte."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import killed_fits
from planted import resharded
from sugartag.cli.main import main
from sugartag.collection import Collection, save_collection
from sugartag.engine.checkpoint import work_beside
from sugartag.engine.checkpoint.work import this_code
from sugartag.errors import EngineError
from sugartag.methods.tag_prior import TagPrior
from sugartag.pipeline import fitting

KILLS = 10
SUGAR_TC = {"image_clusters": 4, "user_clusters": 2, "units_per_cluster": 5, "taxonomy_weight": 0}
FITS = {
    "sugar-plus": ["--set", "components=20"],
    "sugar-tc": [word for key, value in SUGAR_TC.items() for word in ("--set", f"{key}={value}")],
}
FIT = ("fit", "photos", "--out", "model", "--method", "linear-probe", "--checkpoint-every", 0)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def content(folder: Path) -> dict[Path, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder): path.read_bytes() for path in files}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def photos(tmp_path, monkeypatch, collection) -> Path:
    """A working folder with the planted collection, to be worked on in six blocks."""
    monkeypatch.setattr(Collection, "blocks", killed_fits.in_small_blocks)
    monkeypatch.chdir(tmp_path)
    save_collection(collection, tmp_path / "photos")
    return tmp_path


@pytest.fixture
def stop(monkeypatch):
    """Let a fit end with an error once it has come to the thresholds, or let it go on."""

    def learn(error: BaseException | None) -> None:
        def learned(*arguments: object, **named: object):
            if error is not None:
                raise error
            return whole(*arguments, **named)

        monkeypatch.setattr(fitting, "learn_thresholds", learned)

    whole = fitting.learn_thresholds
    return learn


@pytest.mark.parametrize("name", FITS)
def test_a_fit_killed_at_ten_blocks_makes_the_same_model_each_time(name, tmp_path, collection):
    save_collection(collection, tmp_path / "photos")
    options = ["--method", name, *FITS[name], "--checkpoint-every", "0"]
    command = [sys.executable, killed_fits.__file__, tmp_path, KILLS, *options]

    ended = subprocess.run(
        list(map(str, command)),
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr
    kills = json.loads(ended.stdout)
    assert [kill["code"] for kill in kills] == [0] * KILLS, kills
    assert [kill["killed"] for kill in kills] == [-9] * KILLS
    for number in range(KILLS):
        assert content(tmp_path / f"killed-{number}") == content(tmp_path / "whole"), kills[number]
    went_on = [kill for kill in kills if "blocks were read back" in kill["said"]]
    assert len(went_on) >= KILLS // 2
    assert not any("\nsugartag: 0 blocks" in kill["said"] for kill in went_on if kill["kept"])
    assert not list(tmp_path.glob(".*"))


# Killed when it would read its ninth block, in its second pass.
KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
import killed_fits
killed_fits.Collection.blocks = killed_fits.in_small_blocks
counter = killed_fits.CountedReads(Path("reads"), None if "--resume" in sys.argv else 9)
killed_fits.Collection.rows = lambda collection, block: counter(collection, block)
killed_fits.main(sys.argv[1:])
"""


def test_a_fit_in_a_process_of_its_own_is_killed_and_resumed(photos):
    code = KILLED.format(tests=str(Path(killed_fits.__file__).parent))
    command = [sys.executable, "-c", code, *map(str, FIT), "--workers", "1"]
    killed = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    assert killed.returncode == -signal.SIGKILL

    resumed = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=True)

    assert "blocks were read back from .model.work" in resumed.stderr
    assert names(photos) == {"photos", "model", "reads"}


def test_the_model_is_the_same_whether_work_is_kept_or_read_back(photos, stop):
    assert run(*FIT[:-1], 30, "--out", "usual").exit_code == 0
    stop(EngineError("the cluster is gone"))
    failed = run(*FIT)
    stop(None)

    resumed = run(*FIT, "--resume")

    assert failed.stderr == (
        "sugartag: the cluster is gone; what is done is kept: "
        "repeat the command with --resume to go on\n"
    )
    assert (failed.exit_code, resumed.exit_code) == (2, 0)
    assert resumed.stderr == "sugartag: 18 blocks were read back from .model.work\n"
    assert content(photos / "model") == content(photos / "usual")
    assert names(photos) == {"photos", "model", "usual"}


def test_a_fit_that_is_stopped_says_how_to_go_on(photos, stop):
    stop(KeyboardInterrupt())

    stopped = run(*FIT)

    assert stopped.exit_code == 130
    assert stopped.stderr == (
        "sugartag: stopped; what is done is kept: repeat the command with --resume to go on\n"
    )
    assert names(photos) == {"photos", ".model.work"}


def test_an_update_that_was_stopped_is_made_again_and_is_the_same(photos, monkeypatch, collection):
    whole = resharded(collection, 400)
    save_collection(replace(whole, shards=whole.shards[:1]), photos / "first")
    assert run("fit", "first", "--out", "old", "--set", "components=20").exit_code == 0
    update = ("fit", "photos", "--update", "old", "--out", "new", "--checkpoint-every", 0)
    with monkeypatch.context() as patch:
        patch.setattr("sugartag.pipeline.model.save_model", lambda *_, **__: raise_interrupt())
        assert run(*update).exit_code == 130

    resumed = run(*update, "--resume")
    other = run(*update[:-4], "--out", "usual")

    assert resumed.exit_code == other.exit_code == 0
    assert content(photos / "new") == content(photos / "usual")


def raise_interrupt() -> None:
    raise KeyboardInterrupt


def test_resuming_what_was_never_begun_says_so_and_begins(photos):
    result = run(*FIT, "--resume")

    assert result.exit_code == 0
    assert result.stderr == (
        "sugartag: there is nothing to resume beside model; this begins at the start\n"
    )
    assert names(photos) == {"photos", "model"}


def test_without_resume_what_was_left_is_discarded_and_that_is_reported(photos, stop):
    stop(KeyboardInterrupt())
    run(*FIT)
    stop(None)

    result = run(*FIT)

    assert result.exit_code == 0
    assert result.stderr == (
        "sugartag: discarded what a run that did not end had left in .model.work\n"
    )
    assert names(photos) == {"photos", "model"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--seed", 3], "seed 0, now 3"),
        (["--set", "balance=0.25"], "balance 0.0, now 0.25"),
        (["--method", "tag-prior"], "method linear-probe, now tag-prior; "),
    ],
)
def test_another_run_is_not_resumed_and_what_differs_is_named(photos, stop, options, said):
    stop(KeyboardInterrupt())
    run(*FIT)
    stop(None)

    result = run(*FIT, "--resume", *options)

    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"sugartag: .model.work was left by another run ({said}")
    assert line.endswith("; start again without --resume")
    assert run(*FIT, "--resume").exit_code == 0


def test_work_of_code_that_was_edited_since_is_not_resumed(photos, stop, monkeypatch):
    stop(KeyboardInterrupt())
    run(*FIT)
    stop(None)
    edited = {**this_code(), "code": "0123456789ab"}
    with monkeypatch.context() as patch:
        patch.setattr("sugartag.engine.checkpoint.work.this_code", lambda: edited)
        result = run(*FIT, "--resume")

    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert f"left by another run (code {this_code()['code']}, now 0123456789ab); " in line
    assert names(photos) == {"photos", ".model.work"}


def test_another_collection_is_another_run(photos, stop, collection):
    stop(KeyboardInterrupt())
    run(*FIT)
    stop(None)
    other = replace(collection, tag_names=collection.tag_names[::-1])
    save_collection(other, photos / "photos", overwrite=True)

    result = run(*FIT, "--resume")

    assert result.exit_code == 2
    assert "was left by another run (collection " in result.stderr


def test_two_fits_for_the_same_target_do_not_run_at_once(photos):
    with work_beside(Path("model"), {}, resume=False):
        result = run(*FIT)

    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("sugartag: cannot write model: another run is writing it")
    assert ".model.work" in line


def test_an_error_before_anything_is_kept_leaves_nothing(photos, monkeypatch):
    def fit(self: TagPrior, *arguments: object, **named: object) -> None:
        raise EngineError("at once")

    monkeypatch.setattr(TagPrior, "fit", fit)

    result = run(*FIT[:4], "--method", "tag-prior")

    assert result.stderr == "sugartag: at once\n"
    assert names(photos) == {"photos"}


@pytest.mark.parametrize("seconds", ["-1", "soon"])
def test_an_interval_that_is_none_is_bad_usage(photos, seconds):
    result = run(*FIT, "--checkpoint-every", seconds)

    assert result.exit_code == 2
    assert "--checkpoint-every" in result.stderr
