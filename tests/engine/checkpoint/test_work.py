"""The folder a run keeps its work in: one run's at a time, and never taken for another's."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from sugartag.engine.checkpoint import work, work_beside
from sugartag.engine.checkpoint.work import digest_of, this_code
from sugartag.errors import StorageError

RUN = {"seed": "1", "method": "sugar-plus"}


@pytest.fixture
def target(tmp_path) -> Path:
    return tmp_path / "model"


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def left_by_a_dead_run(target: Path) -> Path:
    """Leave work as a killed run does, and return its folder."""
    with suppress(RuntimeError), work_beside(target, RUN, resume=False) as work:
        (work.folder / "00000-total.kept").write_text("some")
        (work.folder / ".00001-total.kept.partial").mkdir()
        raise RuntimeError("killed")
    return work.folder


def test_the_work_lies_beside_the_target_and_is_gone_when_all_is_done(target, tmp_path):
    with work_beside(target, RUN, resume=False) as work:
        (work.folder / "00000-total.kept").touch()
        assert names(tmp_path) == {".model.work"}
        assert not work.found

    assert names(tmp_path) == set()


def test_a_run_that_kept_nothing_leaves_nothing(target, tmp_path):
    with pytest.raises(RuntimeError), work_beside(target, RUN, resume=False):
        raise RuntimeError("at once")

    assert names(tmp_path) == set()


def test_what_a_killed_run_kept_is_there_when_it_is_resumed(target):
    folder = left_by_a_dead_run(target)

    with work_beside(target, RUN, resume=True) as work:
        assert work.found
        assert work.has_kept
        assert names(folder) == {"lock", "manifest.json", "00000-total.kept"}


def test_without_resume_what_was_left_is_discarded(target):
    folder = left_by_a_dead_run(target)

    with work_beside(target, RUN, resume=False) as work:
        assert work.found
        assert not work.has_kept
        assert names(folder) == {"lock", "manifest.json"}


def test_another_run_is_not_continued_and_not_harmed(target):
    folder = left_by_a_dead_run(target)

    with (
        pytest.raises(
            StorageError,
            match=r"left by another run \(seed 1, now 2; anchors not said, now 5\); start again",
        ),
        work_beside(target, {**RUN, "seed": "2", "anchors": "5"}, resume=True),
    ):
        pytest.fail("the block must not begin")

    assert "00000-total.kept" in names(folder)


@pytest.mark.parametrize("differing", ["code", "sugartag", "numpy", "scipy", "numba"])
def test_work_of_other_code_is_not_continued_and_not_harmed(target, monkeypatch, differing):
    folder, now = left_by_a_dead_run(target), this_code()
    monkeypatch.setattr(work, "this_code", lambda: {**now, differing: "another"})

    with (
        pytest.raises(
            StorageError,
            match=rf"left by another run \({differing} {now[differing]}, now another\); start",
        ),
        work_beside(target, RUN, resume=True),
    ):
        pytest.fail("the block must not begin")

    assert "00000-total.kept" in names(folder)


def code_in(folder: Path) -> Path:
    for name, text in (("a.py", "x = 1"), ("sub/b.py", "y = 2"), ("c.json", "{}")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_the_same_code_elsewhere_is_the_same(tmp_path):
    one, two = code_in(tmp_path / "one"), code_in(tmp_path / "two")
    (two / "__pycache__").mkdir()
    (two / "__pycache__" / "a.cpython-311.pyc").write_bytes(b"made from it")
    (two / "style.css").write_text("p {}")

    assert digest_of(one) == digest_of(two)


@pytest.mark.parametrize(
    "edit",
    [
        lambda folder: (folder / "sub" / "b.py").write_text("y = 3"),
        lambda folder: (folder / "c.json").write_text("[]"),
        lambda folder: (folder / "d.py").touch(),
        lambda folder: (folder / "a.py").unlink(),
        lambda folder: (folder / "a.py").rename(folder / "sub" / "a.py"),
        lambda folder: (folder / "e.toml").write_text("z = 1"),
    ],
)
def test_edited_code_is_other_code(tmp_path, edit):
    before = digest_of(code_in(tmp_path))

    edit(tmp_path)

    assert digest_of(tmp_path) != before


@pytest.mark.parametrize("text", ["", "{", '{"format": "sugartag-work/1"}', '{"format": "x"}'])
def test_a_damaged_manifest_is_told(target, text):
    folder = left_by_a_dead_run(target)
    (folder / "manifest.json").write_text(text)

    with pytest.raises(StorageError), work_beside(target, RUN, resume=True):
        pytest.fail("the block must not begin")


def test_two_runs_never_work_for_the_same_target_at_once(target):
    with work_beside(target, RUN, resume=False) as work:
        (work.folder / "00000-total.kept").touch()
        for resume in (False, True):
            with (
                pytest.raises(
                    StorageError, match=r"cannot write .*model: another run .*\.model\.work"
                ),
                work_beside(target, RUN, resume=resume),
            ):
                pytest.fail("the block must not begin")
        assert work.has_kept


def test_the_lock_of_a_killed_process_is_nobodys(target):
    program = (
        "import sys, time; from pathlib import Path\n"
        "from sugartag.engine.checkpoint import work_beside\n"
        "with work_beside(Path(sys.argv[1]), {}, resume=False) as work:\n"
        "    (work.folder / 'a.kept').touch(); print('working', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(target)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(StorageError, match="another run"), work_beside(target, {}, resume=True):
            pytest.fail("the block must not begin")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()

        with work_beside(target, {}, resume=True) as work:
            assert work.has_kept


def test_a_folder_of_that_name_that_is_not_ours_is_left_alone(target, tmp_path):
    mine = tmp_path / ".model.work"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years")

    for resume in (False, True):
        with (
            pytest.raises(StorageError, match=r"\.model\.work is in the way"),
            work_beside(target, RUN, resume=resume),
        ):
            pytest.fail("the block must not begin")

    assert names(mine) == {"thesis.txt"}


def test_a_link_of_that_name_is_not_followed(target, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    left_by_a_dead_run(target).rename(elsewhere)
    (tmp_path / ".model.work").symlink_to(elsewhere)

    with pytest.raises(StorageError, match="in the way"), work_beside(target, RUN, resume=False):
        pytest.fail("the block must not begin")

    assert "00000-total.kept" in names(elsewhere)


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()

    with (
        pytest.raises(
            StorageError, match=r"cannot write .*file/model: (Not a directory|File exists)"
        ),
        work_beside(tmp_path / "file" / "model", RUN, resume=False),
    ):
        pytest.fail("the block must not begin")
