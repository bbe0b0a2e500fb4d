"""Whatever the system answers, a command says it in one line and exits with code 2."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from sugartag.cli.main import main
from tables import ROWS, write_table

SHELL = f"{sys.executable} -m sugartag"


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    write_table(tmp_path / "photos.csv", ROWS)
    monkeypatch.chdir(tmp_path)
    assert run("import", "photos.csv", "--out", "photos").exit_code == 0
    return tmp_path


def run(*arguments: object):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def refused(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    return result.stderr


def by_shell(command: str) -> tuple[int, str]:
    done = subprocess.run(
        ["bash", "-c", command], stderr=subprocess.PIPE, text=True, timeout=60, check=False
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (f"{SHELL} methods > /dev/full", "No space left on device"),
        (f"{SHELL} --help > /dev/full", "No space left on device"),
        (f"{SHELL} methods >&-", "standard output is closed"),
    ],
)
def test_an_output_that_cannot_be_written_to_is_told(command, said, here):
    code, told = by_shell(command)

    assert code == 2
    assert told.count("\n") == 1
    assert said in told


def test_an_output_that_nobody_reads_is_told(here):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "sugartag", "methods"],
        stdout=writing, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    os.close(writing)

    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "Broken pipe" in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["import", "photos.csv", "--out", "{long}"],
        ["fit", "photos", "--out", "{long}", "--method", "tag-prior"],
        ["estimate", "{long}"],
        ["doctor", "{long}"],
        ["suggest", "{long}", "photos", "--out", "changes.csv"],
        ["import", "{long}", "--out", "other"],
    ],
)
def test_a_name_of_more_than_255_bytes_is_told(command, here):
    assert "File name too long" in refused(*(part.format(long="x" * 300) for part in command))


@pytest.mark.parametrize(
    "command",
    [
        ["import", "pipe.csv", "--out", "other"],
        ["import", "photos.csv", "--out", "other", "--features", "pipe.csv"],
        ["import", "photos.csv", "--out", "other", "--groups", "pipe.csv"],
        ["evaluate", "photos", "--methods", "original", "--hide", "0.3", "--tuned", "pipe.csv"],
    ],
)
def test_a_pipe_is_not_waited_for(command, here):
    os.mkfifo("pipe.csv")

    assert "not a regular file" in refused(*command)


@pytest.mark.parametrize("command", [["doctor", "photos"], ["fit", "photos", "--out", "model"]])
@pytest.mark.parametrize("kind", [os.mkfifo, os.mkdir])
def test_a_manifest_that_is_no_file_is_told(command, kind, here):
    Path("photos/manifest.json").unlink()
    kind("photos/manifest.json")

    assert "manifest.json" in refused(*command)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_manifest_that_may_not_be_read_is_told(here):
    Path("photos/manifest.json").chmod(0)

    assert "Permission denied" in refused("doctor", "photos")


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied", "x"), MemoryError()])
@pytest.mark.parametrize("command", [["doctor", "photos"], ["fit", "photos", "--out", "model"]])
def test_what_no_command_expects_is_caught_in_one_place(command, error, here, monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("sugartag.collection.store._collection", fail)
    monkeypatch.setattr("sugartag.collection.store.read_manifest", fail)

    line = refused(*command)

    assert ("Permission denied" in line) or ("out of memory" in line)


@pytest.mark.parametrize(
    "shape", [(2**63, 4), (2**32, 2**32), (2**63, 0), (2**62, 2**62, 0), (3, 2**62), (-3, 4)]
)
def test_features_of_a_shape_that_cannot_be_are_told(shape, here):
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header = text + b" " * (117 - len(text)) + b"\n"
    Path("x.npy").write_bytes(b"\x93NUMPY\x01\0" + len(header).to_bytes(2, "little") + header)

    assert "x.npy is not a whole .npy file" in refused(
        "import", "photos.csv", "--out", "other", "--features", "x.npy"
    )


@pytest.mark.parametrize("length", [9_000, 12_000])
def test_a_header_of_many_characters_is_read_or_told(length, here):
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(ROWS)}, 2), }}".encode()
    header = text + b" " * (length - len(text)) + b"\n"
    head = b"\x93NUMPY\x02\0" + len(header).to_bytes(4, "little") + header
    Path("x.npy").write_bytes(head + np.ones((len(ROWS), 2), np.float32).tobytes())

    result = run("import", "photos.csv", "--out", "other", "--features", "x.npy")

    assert result.exit_code == (0 if length < 10_000 else 2)
    assert result.stderr.count("\n") <= 1


def odd_columns() -> dict[str, object]:
    arrow = pytest.importorskip("pyarrow")
    return {
        "timestamp": arrow.array([2**62 + 1], arrow.timestamp("ns")),
        "time64": arrow.array([5], arrow.time64("ns")),
        "duration": arrow.array([2**62], arrow.duration("s")),
        "date": arrow.array([2**31 - 1], arrow.date32()),
        "time zone": arrow.array([1], arrow.timestamp("s", tz="Nowhere/City")),
    }


@pytest.mark.parametrize("kind", ["timestamp", "time64", "duration", "date", "time zone"])
@pytest.mark.parametrize("name", ["image_id", "tags"])
def test_a_type_of_parquet_that_is_no_text_is_told(kind, name, here):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {"image_id": arrow.array(["1"]), "owner": arrow.array(["a"])}
    columns |= {"tags": arrow.array(["sun"]), name: odd_columns()[kind]}
    parquet.write_table(arrow.table(columns), "odd.parquet")

    line = refused("import", "odd.parquet", "--out", "other")

    assert f"column '{name}' holds" in line or "write it as text" in line or "give a list" in line


def test_with_traceback_one_sees_where(here):
    result = run("--traceback", "doctor", "nowhere")

    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1  # A fault that doctor itself reports.
    result = run("--traceback", "fit", "nowhere", "--out", "model")
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("sugartag: nowhere is not")


def test_a_terminated_run_clears_up_as_an_interrupted_one(here):
    program = (
        "import sys, time; from sugartag.cli.main import main\n"
        "import sugartag.collection.readers.importer as importer\n"
        "def stall(*_, **__): print('writing', flush=True); time.sleep(60)\n"
        "importer.ShardRows.shard = stall\n"
        "main(['import', 'photos.csv', '--out', 'other'])\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=30)

    assert process.returncode == 130
    assert "sugartag: stopped" in told
    assert {path.name for path in here.iterdir()} == {"photos.csv", "photos"}
