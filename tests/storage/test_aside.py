import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import sugartag.storage.aside as aside_module
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


@pytest.mark.parametrize("aside", ["folder_aside", "file_aside"])
def test_what_a_living_run_is_writing_is_kept(aside, tmp_path, writer):
    target = tmp_path / "photos"
    process = writer(target, aside)

    with (
        pytest.raises(StorageError, match=r"cannot write .*photos: another run is writing it"),
        getattr(aside_module, aside)(target),
    ):
        pytest.fail("the block must not begin")

    assert process.poll() is None
    assert "half of it" in {path.read_text() for path in tmp_path.rglob("*") if path.is_file()}


def test_two_runs_in_one_process_do_not_write_one_target_either(tmp_path):
    with folder_aside(tmp_path / "photos") as partial:
        (partial / "a.txt").touch()
        with pytest.raises(StorageError, match="cannot write"), folder_aside(tmp_path / "photos"):
            pass

    assert names(tmp_path / "photos") == {"a.txt"}


@pytest.mark.parametrize("aside", ["folder_aside", "file_aside"])
def test_what_a_killed_run_left_is_cleared_by_the_next(aside, tmp_path, writer):
    target = tmp_path / "photos"
    killed(writer(target, aside))
    assert len(names(tmp_path)) == 1

    with getattr(aside_module, aside)(target) as partial:
        if not partial.is_dir():
            partial.touch()

    assert names(tmp_path) == {"photos"}


@pytest.mark.parametrize("aside", [folder_aside, file_aside])
def test_a_folder_in_the_way_that_is_not_ours_is_refused_and_left_alone(aside, tmp_path):
    mine = tmp_path / ".photos.partial"
    mine.mkdir()
    (mine / "lock").write_text("the key of the door")

    with (
        pytest.raises(StorageError, match=r"\.photos\.partial is in the way"),
        aside(tmp_path / "photos"),
    ):
        pytest.fail("the block must not begin")

    assert (mine / "lock").read_text() == "the key of the door"


@pytest.mark.parametrize("aside", [folder_aside, file_aside])
def test_a_link_in_the_way_is_not_followed(aside, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / ".photos.partial").symlink_to(elsewhere)

    with pytest.raises(StorageError, match="is in the way"), aside(tmp_path / "photos"):
        pytest.fail("the block must not begin")

    assert names(elsewhere) == set()


def test_links_in_what_a_killed_run_left_are_removed_and_not_followed(tmp_path, writer):
    target, elsewhere = tmp_path / "photos", written_before(tmp_path / "elsewhere")
    killed(writer(target, "folder_aside"))
    (tmp_path / ".photos.partial" / "new" / "link").symlink_to(elsewhere)
    (tmp_path / ".photos.partial" / "link").symlink_to(elsewhere)

    with folder_aside(target):
        pass

    assert names(tmp_path) == {"photos", "elsewhere"}
    assert names(elsewhere) == {"manifest.json"}


@pytest.mark.parametrize("length", [200, 201, 255])
@pytest.mark.parametrize("aside", [folder_aside, file_aside])
def test_a_name_as_long_as_the_file_system_allows_can_be_written(aside, length, tmp_path):
    target = tmp_path / ("x" * length)

    with aside(target) as partial:
        if not partial.is_dir():
            partial.touch()

    assert names(tmp_path) == {target.name}


@pytest.mark.parametrize("aside", [folder_aside, file_aside])
def test_a_name_that_is_too_long_is_told_in_one_line(aside, tmp_path):
    with (
        pytest.raises(StorageError, match="File name too long"),
        aside(tmp_path / ("x" * 256)),
    ):
        pytest.fail("the block must not begin")


@pytest.fixture(params=["in one step", "in several steps"])
def system(request, monkeypatch):
    """A system that has exclusive renames and exchanges, and one that has not."""
    if request.param == "in several steps":
        monkeypatch.setattr("sugartag.storage.renames._renameat2", lambda *_: False)


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_that_appeared_meanwhile_is_not_replaced(overwrite, tmp_path):
    target = tmp_path / "photos"

    def write() -> None:
        with folder_aside(target, overwrite=overwrite):
            target.mkdir()
            (target / "holidays.jpg").touch()

    with pytest.raises(StorageError, match="left alone"):
        write()

    assert names(target) == {"holidays.jpg"}
    assert names(tmp_path) == {"photos"}


@pytest.mark.usefixtures("system")
def test_a_file_that_appeared_meanwhile_is_not_replaced(tmp_path):
    target = tmp_path / "table.csv"

    def write() -> None:
        with file_aside(target) as partial:
            partial.write_text("new")
            target.write_text("of somebody else")

    with pytest.raises(StorageError, match="appeared while it was being made and is left alone"):
        write()

    assert target.read_text() == "of somebody else"
    assert names(tmp_path) == {"table.csv"}


@pytest.mark.usefixtures("system")
def test_old_and_new_change_places(tmp_path):
    target = written_before(tmp_path / "photos")

    with folder_aside(target, overwrite=True) as partial:
        (partial / "new.txt").touch()

    assert names(target) == {"new.txt"}
    assert names(tmp_path) == {"photos"}


@pytest.mark.parametrize("seen", ["exchange", "rename"])
def test_a_kill_between_two_renames_loses_nothing(seen, tmp_path, monkeypatch):
    target = written_before(tmp_path / "photos")
    if seen == "rename":
        monkeypatch.setattr("sugartag.storage.renames._renameat2", lambda *_: False)
    program = (
        "import os, sys; from pathlib import Path; from sugartag.storage import aside, renames\n"
        "if sys.argv[2] == 'rename': renames._renameat2 = lambda *_: False\n"
        "rename = Path.rename\n"
        "def killed(self, target):\n"
        "    rename(self, target); os.kill(os.getpid(), 9)\n"
        "with aside.folder_aside(Path(sys.argv[1]), overwrite=True) as partial:\n"
        "    (partial / 'new.txt').touch(); Path.rename = killed\n"
    )
    subprocess.run([sys.executable, "-c", program, str(target), seen], check=False)

    if seen == "exchange":
        assert names(target) == {"new.txt"}
        return
    with pytest.raises(RuntimeError), folder_aside(target, overwrite=True):
        raise RuntimeError("so that only what was begun is undone")
    assert names(target) == {"manifest.json"}
    assert names(tmp_path) == {"photos"}


def test_what_is_renamed_is_on_the_disk_before(tmp_path, monkeypatch):
    synced, fsync = [], os.fsync

    def recorded(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        synced.append((path.name, (tmp_path / "photos").exists()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", recorded)
    with folder_aside(tmp_path / "photos") as partial:
        (partial / "sub").mkdir()
        (partial / "sub" / "a.txt").touch()

    before = [name for name, placed in synced if not placed]
    assert set(before) == {"new", "sub", "a.txt"}
    assert synced[-1] == (tmp_path.name, True)


@pytest.mark.parametrize("aside", [folder_aside, file_aside])
def test_a_device_is_never_replaced(aside, tmp_path):
    os.mkfifo(tmp_path / "photos")

    with pytest.raises(StorageError), aside(tmp_path / "photos", overwrite=True):
        pytest.fail("the block must not begin")

    assert (tmp_path / "photos").is_fifo()


@pytest.mark.parametrize("name", ["notes.txt", "mine.npy", "sub/notes.txt", "link"])
def test_a_folder_to_which_somebody_added_a_file_is_left_alone(name, tmp_path):
    target = written_before(tmp_path / "photos")
    (target / name).parent.mkdir(exist_ok=True)
    if name == "link":
        (target / name).symlink_to(tmp_path)
    else:
        (target / name).write_text("mine")

    with (
        pytest.raises(StorageError, match=f"sugartag did not write {name} in it"),
        folder_aside(target, overwrite=True),
    ):
        pytest.fail("the block must not begin")

    assert os.path.lexists(target / name)


def test_what_runs_inside_a_folder_have_begun_is_in_the_way_until_they_have_ended(tmp_path, writer):
    target = written_before(tmp_path / "photos")
    process = writer(target / "errors.jsonl", "file_aside")
    with (
        pytest.raises(StorageError, match=r"sugartag did not write .errors.jsonl.partial/"),
        folder_aside(target, overwrite=True),
    ):
        pytest.fail("the block must not begin")

    killed(process)
    with folder_aside(target, overwrite=True) as partial:
        (partial / "a.txt").touch()

    assert names(target) == {"a.txt"}


def test_a_hidden_folder_inside_that_is_not_marked_as_ours_is_left_alone(tmp_path):
    target = written_before(tmp_path / "photos")
    (target / ".mine.partial").mkdir()
    (target / ".mine.partial/notes.txt").write_text("mine")

    with (
        pytest.raises(StorageError, match=r"did not write .mine.partial/notes.txt in it"),
        folder_aside(target, overwrite=True),
    ):
        pytest.fail("the block must not begin")


def test_a_run_that_is_waited_for_is_followed_by_the_next(tmp_path, writer):
    target = tmp_path / "tags"
    process = writer(target, "file_aside")
    threading.Timer(0.3, process.kill).start()

    with file_aside(target, patience=60.0) as partial:
        partial.write_text("whole")

    assert target.read_text() == "whole"


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
        pytest.raises(StorageError, match="sugartag did not write"),
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
