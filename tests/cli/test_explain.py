"""``sugartag suggest --explain``: a line for each verdict, or one line that says what is wrong."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from click.testing import CliRunner, Result

from sugartag.cli.main import main
from sugartag.methods.base import PartKind
from tables import write_table

TOPICS = [["sea", "beach", "sand, wet"], ["wood", "tree", "müll"], ["home", "cat", "sofa"]]
SUGGEST = ("suggest", "model", "photos", "--add-from", 0.3, "--doubt-below", 0.5)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def done(*arguments: object) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stderr) == (0, ""), result.output


def refused(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    assert line.startswith("sugartag: ")
    return line


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a collection of photos and a model."""
    folder = tmp_path_factory.mktemp("made")
    rng = np.random.default_rng(1)
    topic = rng.integers(3, size=180)
    looks = np.eye(3)[topic] * 4 + rng.standard_normal((180, 3))
    rows = [
        {
            "image_id": f"photo {number}",
            "owner": f"owner {rng.integers(12)}",
            "tags": [tag for tag in TOPICS[t] if rng.random() < 0.7],
        }
        for number, t in enumerate(topic)
    ]
    write_table(folder / "photos.csv", rows)
    np.save(folder / "photos.npy", looks.astype(np.float32))
    table, photos = folder / "photos.csv", folder / "photos"
    done("import", table, "--out", photos, "--features", folder / "photos.npy")
    done("fit", photos, "--out", folder / "model")
    done("fit", photos, "--out", folder / "vote", "--method", "tag-vote")
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    shutil.copytree(made, folder)
    monkeypatch.chdir(folder)
    return folder


def lines_of(path: Path) -> list[dict[str, Any]]:
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    return [json.loads(line) for line in text.removesuffix("\n").split("\n")]


def test_every_verdict_has_a_line_with_all_that_it_follows_from(here):
    done(*SUGGEST, "--out", "changes.csv", "--explain", "why.jsonl")

    with (here / "changes.csv").open(encoding="utf-8", newline="") as file:
        changes = [{**row, "score": float(row["score"])} for row in csv.DictReader(file)]
    assert {row.pop("decision") for row in changes} == {""}
    lines = lines_of(here / "why.jsonl")
    assert [{name: line[name] for name in changes[0]} for line in lines] == changes
    assert {line["action"] for line in lines} >= {"add", "keep"}
    for line in lines:
        parts = line["parts"]
        added = sum(part["contribution"] for part in parts)
        assert added == pytest.approx(line["evidence"], abs=1e-4)
        shares = sum(part["share"] for part in parts)
        assert shares == pytest.approx(1.0, abs=1e-4) or shares == 0
        assert set(line) - set(changes[0]) == {
            "evidence", "base_rate", "judged", "decided", "parts",
        }  # fmt: skip
        assert 0 <= line["base_rate"] <= 1
        assert (type(line["judged"]), line["decided"]) == (bool, None)
        for part in parts:
            assert set(part) == {"kind", "name", "contribution", "share"}
            assert part["kind"] in get_args(PartKind)


def test_changes_are_the_same_with_and_without(here):
    done(*SUGGEST, "--out", "plain.csv")
    for kind in ("csv", "jsonl", "parquet"):
        done(*SUGGEST, "--out", f"changes.{kind}", "--explain", f"why-{kind}.jsonl")

    assert (here / "changes.csv").read_bytes() == (here / "plain.csv").read_bytes()
    assert len({(here / f"why-{kind}.jsonl").read_bytes() for kind in ("csv", "jsonl")}) == 1
    assert list(lines_of(here / "changes.jsonl")[0]) == [
        "image_id", "tag", "action", "score", "reason", "run_id", "decision",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("model photos --out c.csv --explain why.csv", "why.csv must end in .jsonl"),
        ("model photos --out c.csv --explain why", "why must end in .jsonl"),
        ("model photos --out c.jsonl --explain ./c.jsonl", "name another file for explanations"),
        ("vote photos --out c.csv --explain why.jsonl", "tag-vote does not explain its verdicts"),
        (
            "model photos --out c.csv --explain photos.csv/w.jsonl",
            "cannot write photos.csv/w.jsonl",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_written(here, arguments, said):
    before = set(here.rglob("*"))

    assert said in refused("suggest", *arguments.split())
    assert set(here.rglob("*")) == before


def test_explanations_are_replaced_only_when_asked(here):
    (here / "why.jsonl").write_text("of yesterday")

    line = refused(*SUGGEST, "--out", "changes.csv", "--explain", "why.jsonl")
    assert "why.jsonl exists already" in line
    assert (here / "why.jsonl").read_text() == "of yesterday"
    assert not (here / "changes.csv").exists()
    done(*SUGGEST, "--out", "changes.csv", "--explain", "why.jsonl", "--overwrite")

    assert lines_of(here / "why.jsonl")
