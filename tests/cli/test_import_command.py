"""``sugartag import``: what it prints, and how it fails."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from sugartag.cli.main import main
from sugartag.collection import open_collection
from tables import ROWS, write_table

SOURCE_FOLDER = Path(__file__).parents[2] / "src"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "photos.csv", ROWS)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["import", *arguments])


def test_the_end_says_what_there_is_and_what_comes_next(folder):
    np.save("x.npy", np.ones((4, 3), dtype=np.float32))
    rows = [{"owner": "anna", "group": "g"}, {"owner": "zoe", "group": "g"}]
    write_table(folder / "groups.jsonl", rows)
    write_table(folder / "truth.tsv", [{"image_id": "1", "concept": "sun"}])

    sources = ["--features", "x.npy", "--groups", "groups.jsonl", "--truth", "truth.tsv"]
    result = run("photos.csv", "--out", "mine", *sources)

    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "mine: 4 images, 4 tags, 2 owners, 1 group, 1 true concept, features of 3 numbers",
        "  tags are split on '|'",
        "  without any tag: 1 image",
        "  without an owner: 1 image",
        "  skipped, as the owner has no image here: 1 membership",
        "  1 pair of tags look alike, none is merged: see mine/variants.csv",
        "Next: sugartag fit mine --out mine-model",
    ]
    assert result.stderr == ""
    assert open_collection(folder / "mine").n_features == 3


def test_without_any_tag_suggestions_come_next(folder):
    write_table(folder / "photos.csv", [{**row, "tags": []} for row in ROWS])

    result = run("photos.csv", "--out", "mine")

    assert result.exit_code == 0, result.output
    assert "mine: 4 images, 0 tags, 2 owners" in result.stdout
    assert "Next: sugartag suggest MODEL mine --out changes.csv" in result.stdout


def test_options_reach_the_import(folder):
    result = run("photos.csv", "--out", "my photos", "--lowercase", "--min-uses", "3")

    assert result.exit_code == 0, result.output
    assert "no features: methods that look at the images need --features" in result.stdout
    assert "Next: sugartag fit 'my photos' --out 'my photos-model'" in result.stdout
    assert open_collection(folder / "my photos").tag_names == ("sun",)


def test_a_collection_is_replaced_when_asked(folder):
    assert run("photos.csv", "--out", "mine").exit_code == 0
    refused = run("photos.csv", "--out", "mine")
    assert refused.exit_code == 2
    assert refused.stderr.startswith("sugartag: mine exists already; choose another name or pass")

    assert run("photos.csv", "--out", "mine", "--overwrite").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("absent.csv", "absent.csv does not exist; check the name"),
        (".", ". holds no picture to import (.heic,"),
        (". --features x.npy", "--features does not go with a folder of photographs"),
        (". --owner-from nobody", "--owner-from nobody: neither one of folder, creator, artist"),
        ("photos.csv --update", "--update does not go with a table; leave it out"),
        ("photos.csv --truth truth.csv", "truth.csv, line 2: no image has the id '9'"),
        ("photos.csv --features bad.npy", "bad.npy has 2 rows and photos.csv has 4"),
        ("photos.csv --features photos.csv", "photos.csv is not a whole .npy file of numbers"),
        ("photos.csv --images-root absent", "--images-root absent is not a folder"),
        ("photos.csv --images-root .", "photos.csv, line 2: path 'a/1.jpg' cannot be found"),
        ("latin1.csv", "latin1.csv, line 2: byte 22 (0xe9) is not UTF-8; save the table as UTF-8"),
    ],
)
def test_bad_input_is_one_line_and_code_2_and_leaves_nothing(folder, arguments, message):
    write_table(folder / "truth.csv", [{"image_id": "9", "concept": "x"}])
    np.save("bad.npy", np.zeros((2, 2)))
    (folder / "latin1.csv").write_bytes(b"image_id,owner,tags\n1,\xe9,x\n")
    before = sorted(folder.iterdir())

    result = run(*arguments.split(), "--out", "mine")

    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"sugartag: {message}")
    assert result.stderr.count("\n") == 1
    assert sorted(folder.iterdir()) == before


def test_help_has_an_example(folder):
    result = run("--help")

    assert result.exit_code == 0
    assert "    $ sugartag import photos.csv --out photos --features vectors.npy\n" in result.stdout


def test_the_package_runs_as_a_module(folder):
    environment = {**os.environ, "PYTHONPATH": str(SOURCE_FOLDER)}
    command = [sys.executable, "-m", "sugartag", "import", "photos.csv", "--out", "mine"]

    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("mine: 4 images")
