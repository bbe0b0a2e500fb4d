"""Everything that is wrong with a folder of photographs, in one folder, and the real commands."""

import json
import os
import sys
from pathlib import Path

import pytest

from hostile_folder import LINE, ROW, ROW_AND_LINE, expected, write_hostile_folder
from sugartag.collection import open_collection
from unprivileged import Ran, run_unprivileged

MEMORY_MB = 1_200
SECRET = b"nothing of this is read"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the outcome of import and embed beside it."""
    base = tmp_path_factory.mktemp("hostile")
    write_hostile_folder(base / "photos")
    (base / "secret.jpg").write_bytes(SECRET)
    return base


@pytest.fixture(scope="module")
def states(hostile: Path) -> dict[str, tuple[int, int]]:
    return contents(hostile)


@pytest.fixture(scope="module")
def runs(hostile: Path, states: dict[str, tuple[int, int]]) -> dict[str, Ran]:
    assert states
    out = hostile / "out"
    command = [sys.executable, "-m", "sugartag"]
    return {
        "import": run_unprivileged(
            [*command, "import", hostile / "photos", "--out", out, "--owner-from", "folder"],
            hostile,
        ),
        "embed": run_unprivileged([*command, "embed", out], hostile),
    }


def contents(base: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of everything but what the commands are to write."""
    found = {}
    for folder, folders, files in os.walk(base):
        if Path(folder) == base:
            folders[:] = [name for name in folders if name != "out"]
            files = [name for name in files if name not in {"stdout", "stderr"}]
        for name in files:
            state = os.lstat(Path(folder) / name)
            found[str(Path(folder) / name)] = state.st_size, state.st_mtime_ns
    return found


def test_there_are_at_least_sixty() -> None:
    assert len(expected()) >= 60


def test_none_stops_the_commands_and_memory_stays_bounded(runs: dict[str, Ran]) -> None:
    for name, ran in runs.items():
        assert ran.exit_code == 0, (name, ran.stderr)
        assert "Traceback" not in ran.stderr
        assert ran.peak_mb < MEMORY_MB, name


@pytest.mark.parametrize("name", expected())
def test_each_has_its_row_or_its_line(hostile: Path, runs: dict[str, Ran], name: str) -> None:
    assert runs
    lines = (hostile / "out" / "errors.jsonl").read_text(encoding="utf-8").splitlines()
    reasons = {line["path"].rstrip("/"): line["reason"] for line in map(json.loads, lines)}
    rows = set(open_collection(hostile / "out").texts_of("paths") or ())

    assert (name in rows) == (expected()[name] in {ROW, ROW_AND_LINE})
    assert (name in reasons) == (expected()[name] in {LINE, ROW_AND_LINE})
    if name in reasons:
        assert reasons[name]
        assert "\n" not in reasons[name]
        assert len(reasons[name]) < 400


def test_nothing_beside_the_target_is_written(
    hostile: Path, states: dict[str, tuple[int, int]], runs: dict[str, Ran]
) -> None:
    assert runs
    assert contents(hostile) == states
    assert (hostile / "secret.jpg").read_bytes() == SECRET


def test_what_may_not_be_read_is_said_to_be_so(hostile: Path, runs: dict[str, Ran]) -> None:
    assert runs
    lines = (hostile / "out" / "errors.jsonl").read_text(encoding="utf-8").splitlines()
    reasons = {line["path"]: line["reason"] for line in map(json.loads, lines)}

    for path in ("locked.jpg", "locked-folder/", "sidecar-locked.jpg"):
        assert "Permission denied" in reasons[path]


def test_good_pictures_among_them_are_described(hostile: Path, runs: dict[str, Ran]) -> None:
    assert runs
    collection = open_collection(hostile / "out")
    described = dict(zip(collection.ids, collection.described.tolist(), strict=True))

    assert described["good.jpg"]
    assert described["million.jpg"]
    assert not described["truncated.jpg"]
    assert "ha" not in "".join(collection.tag_names)
