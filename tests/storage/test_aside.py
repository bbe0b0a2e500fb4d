import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sugartag.errors import StorageError
from sugartag.storage.aside import file_aside, folder_aside

WRITE_AND_WAIT = """
import sys, time
from pathlib import Path
from sugartag.storage.aside import {aside}

with {aside}(Path(sys.argv[1])) as partial:
    (partial / "half.txt" if partial.is_dir() else partial).write_text("half of it")
    print("written", flush=True)
    time.sleep(60)
"""


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def dead_process() -> int:
    """Return the number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


@pytest.fixture
def writer():
    """Start processes that have half written a target; whatever happens, none outlives the test."""
    started = []

    def start(target: Path, aside: str) -> subprocess.Popen:
        command = [sys.executable, "-c", WRITE_AND_WAIT.format(aside=aside), str(target)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "written\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def killed(process: subprocess.Popen) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_a_folder_gets_its_name_when_it_is_whole(tmp_path):
    target = tmp_path / "photos"

    with folder_aside(target) as partial:
        (partial / "a.txt").write_text("whole")
        assert not target.exists()

    assert names(tmp_path) == {"photos"}
    assert (target / "a.txt").read_text() == "whole"


def test_a_file_gets_its_name_when_it_is_whole(tmp_path):
    target = tmp_path / "table.csv"

    with file_aside(target) as partial:
        partial.write_text("whole")
        assert not target.exists()

    assert names(tmp_path) == {"table.csv"}
    assert target.read_text() == "whole"


def test_a_partial_file_keeps_its_extension(tmp_path):
    with file_aside(tmp_path / "table.parquet") as partial:
        partial.touch()

        assert partial.suffix == ".parquet"


@pytest.mark.parametrize("error", [RuntimeError("no"), KeyboardInterrupt(), SystemExit(1)])
def test_nothing_is_left_of_a_folder_after_an_error(error, tmp_path):
    def write() -> None:
        with folder_aside(tmp_path / "photos") as partial:
            (partial / "a.txt").write_text("half")
            raise error

    with pytest.raises(type(error)):
        write()

    assert names(tmp_path) == set()


@pytest.mark.parametrize("error", [RuntimeError("no"), KeyboardInterrupt(), SystemExit(1)])
def test_nothing_is_left_of_a_file_after_an_error(error, tmp_path):
    def write() -> None:
        with file_aside(tmp_path / "table.csv") as partial:
            partial.write_text("half")
            raise error

    with pytest.raises(type(error)):
        write()

    assert names(tmp_path) == set()


@pytest.mark.parametrize("aside", ["folder_aside", "file_aside"])
def test_nothing_stands_under_the_name_after_a_kill(aside, tmp_path, writer):
    target = tmp_path / "photos"

    killed(writer(target, aside))

    assert not target.exists()


def test_what_a_killed_run_left_is_cleared_by_the_next(tmp_path, writer):
    target = tmp_path / "photos"
    killed(writer(target, "folder_aside"))
    assert len(names(tmp_path)) == 1

    with folder_aside(target) as partial:
        (partial / "a.txt").touch()

    assert names(tmp_path) == {"photos"}
    assert names(target) == {"a.txt"}


def test_what_a_living_run_is_writing_is_kept(tmp_path, writer):
    target = tmp_path / "photos"
    process = writer(target, "folder_aside")
    (theirs,) = tmp_path.iterdir()

    with folder_aside(target):
        pass

    assert process.poll() is None
    assert (theirs / "half.txt").read_text() == "half of it"


def test_what_was_left_for_another_target_is_kept(tmp_path):
    other = tmp_path / f".other.partial-{dead_process()}"
    other.mkdir()

    with folder_aside(tmp_path / "photos"):
        pass

    assert other.is_dir()


@pytest.mark.parametrize("name", ["[photos]", "*", "photos?"])
def test_leftovers_are_found_by_name_and_not_by_pattern(name, tmp_path):
    mine = tmp_path / f".{name}.partial-{dead_process()}"
    other = tmp_path / f".photosX.partial-{dead_process()}"
    mine.mkdir()
    other.mkdir()

    with folder_aside(tmp_path / name):
        pass

    assert names(tmp_path) == {name, other.name}


def test_a_leftover_with_our_own_process_number_is_in_nobodys_way(tmp_path):
    (tmp_path / f".photos.partial-{os.getpid()}").mkdir()
    (tmp_path / f".photos.partial-{os.getpid()}" / "old.txt").touch()

    with folder_aside(tmp_path / "photos") as partial:
        assert names(partial) == set()

    assert names(tmp_path) == {"photos"}


def test_the_same_target_is_not_written_twice_at_once(tmp_path):
    with folder_aside(tmp_path / "photos") as partial:
        (partial / "a.txt").touch()
        with pytest.raises(StorageError, match="cannot write"), folder_aside(tmp_path / "photos"):
            pass

    assert names(tmp_path / "photos") == {"a.txt"}


@pytest.mark.parametrize("aside", [folder_aside, file_aside])
def test_an_existing_target_is_refused_and_left_alone(aside, tmp_path):
    target = tmp_path / "photos"
    target.write_text("of yesterday")

    with pytest.raises(StorageError, match=r"photos exists already.*--overwrite"), aside(target):
        pytest.fail("the block must not begin")

    assert target.read_text() == "of yesterday"


def written_before(target: Path) -> Path:
    """Write a folder as an earlier run would have."""
    target.mkdir()
    (target / "manifest.json").write_text('{"format": "sugartag-test/1"}')
    return target


def test_a_folder_is_replaced_when_asked(tmp_path):
    target = written_before(tmp_path / "photos")

    with folder_aside(target, overwrite=True) as partial:
        (partial / "new.txt").touch()
        assert names(target) == {"manifest.json"}

    assert names(target) == {"new.txt"}
    assert names(tmp_path) == {"photos"}


def test_an_error_leaves_the_folder_that_was_to_be_replaced(tmp_path):
    target = written_before(tmp_path / "photos")

    with pytest.raises(RuntimeError), folder_aside(target, overwrite=True):
        raise RuntimeError("no")

    assert names(target) == {"manifest.json"}
    assert names(tmp_path) == {"photos"}


@pytest.mark.parametrize("name", ["beach.jpg", "manifest.json"])
def test_a_folder_that_holds_other_things_is_never_replaced(name, tmp_path):
    target = tmp_path / "holidays"
    target.mkdir()
    (target / name).write_text('{"format": "of another program"}')

    with (
        pytest.raises(StorageError, match="not a folder that sugartag wrote"),
        folder_aside(target, overwrite=True),
    ):
        pytest.fail("the block must not begin")

    assert names(target) == {name}


def test_what_a_link_leads_to_is_never_replaced(tmp_path):
    elsewhere = written_before(tmp_path / "elsewhere")
    (tmp_path / "photos").symlink_to(elsewhere)

    with (
        pytest.raises(StorageError, match="left alone"),
        folder_aside(tmp_path / "photos", overwrite=True),
    ):
        pytest.fail("the block must not begin")

    assert names(elsewhere) == {"manifest.json"}


def test_a_file_is_replaced_when_asked(tmp_path):
    target = tmp_path / "table.csv"
    target.write_text("old")

    with file_aside(target, overwrite=True) as partial:
        partial.write_text("new")
        assert target.read_text() == "old"

    assert target.read_text() == "new"


def test_an_empty_folder_is_replaced_when_asked(tmp_path):
    (tmp_path / "photos").mkdir()

    with folder_aside(tmp_path / "photos", overwrite=True) as partial:
        (partial / "new.txt").touch()

    assert names(tmp_path / "photos") == {"new.txt"}


@pytest.mark.parametrize("aside", [folder_aside, file_aside])
def test_a_disk_that_fails_is_told_with_the_target(aside, tmp_path):
    with (
        pytest.raises(StorageError, match=r"cannot write .*photos: No space left"),
        aside(tmp_path / "photos"),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")

    assert names(tmp_path) == set()


def test_a_folder_is_never_replaced_by_a_file(tmp_path):
    (tmp_path / "photos").mkdir()

    with (
        pytest.raises(StorageError, match="is a folder"),
        file_aside(tmp_path / "photos", overwrite=True),
    ):
        pass


@pytest.mark.parametrize("aside", [folder_aside, file_aside])
def test_folders_on_the_way_are_made(aside, tmp_path):
    target = tmp_path / "a" / "b" / "photos"

    with aside(target) as partial:
        if not partial.is_dir():
            partial.touch()

    assert target.exists()


@pytest.mark.parametrize("aside", [folder_aside, file_aside])
def test_a_place_that_cannot_be_written_is_named(aside, tmp_path):
    (tmp_path / "file").touch()

    with (
        pytest.raises(
            StorageError, match=r"cannot write .*file/photos: (Not a directory|File exists)"
        ),
        aside(tmp_path / "file" / "photos"),
    ):
        pass


def test_a_file_that_was_never_written_is_named(tmp_path):
    with (
        pytest.raises(StorageError, match=r"cannot write .*table.csv: No such file"),
        file_aside(tmp_path / "table.csv"),
    ):
        pass


def test_an_error_that_names_its_cause_is_not_renamed(tmp_path):
    with (
        pytest.raises(StorageError, match=r"^the disk is tired$"),
        file_aside(tmp_path / "table.csv"),
    ):
        raise StorageError("the disk is tired")
