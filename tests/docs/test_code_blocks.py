"""Every block of code in the documentation runs, or says beside it why it is not run here.

A block that cannot run has a comment above it: ``<!-- not run: reason -->``, or, where only some of
its lines cannot, ``<!-- not run (sugartag serve): reason -->``. Blocks of a page run in order.
"""

import csv
import json
import re
import shlex
import shutil
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import sugartag
from sugartag.changes import Selection, catalogue_of
from sugartag.changes.change_files import load_change_file
from sugartag.cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = [
    *(
        ROOT / name
        for name in ("README.md", "CONTRIBUTING.md", "examples/method-package/README.md")
    ),
    *sorted((ROOT / "docs").rglob("*.md")),
]
FENCE = re.compile(
    r"((?:^<!-- not run.*? -->\n)*)^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
MARK = re.compile(r"<!-- not run(?: \(([^)]+)\))?: (.+?) -->", re.DOTALL)
LANGUAGES = {"python", "sh", "json", "toml", "yaml", "csv", "text"}
N_PICTURES, N_FITTED = 70, 60
TAGS_OF_THE_PAGES = ["NYC", "new york", "poodle", "dog", "untitled", "digital camera", "beach"]
AGAIN = {"sugartag import ~/Pictures --out pictures --owner-from folder --update"}
"""What goes on with what the line before has made."""
SAVED = re.compile(r"\.save\(\"(.+?)\"\)")


@dataclass(frozen=True)
class Block:
    page: Path
    language: str
    code: str
    marks: tuple[tuple[str, str], ...]
    """What is not run, "" for all of it, and why."""

    def is_run(self, line: str = "") -> bool:
        return not any(
            not what or any(line.startswith(one.strip()) for one in what.split(","))
            for what, _ in self.marks
        )

    @property
    def lines(self) -> list[str]:
        whole = self.code.replace("\\\n", " ").splitlines()
        return [line for text in whole if (line := text.partition("  #")[0].strip())]


def blocks_of(page: Path) -> Iterator[Block]:
    for above, language, code in FENCE.findall(page.read_text(encoding="utf-8")):
        yield Block(page, language, code, tuple(MARK.findall(above)))


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def pages_with(language: str) -> list[Path]:
    return list(dict.fromkeys(block.page for block in BLOCKS if block.language == language))


def test_every_block_has_a_language_and_every_mark_a_reason():
    assert len(BLOCKS) > 80
    assert {block.language for block in BLOCKS} <= LANGUAGES
    assert all(len(reason.split()) > 2 for block in BLOCKS for _, reason in block.marks)


def test_every_mark_belongs_to_a_block_and_spares_something():
    marks = [re.findall(r"^<!-- not run", page.read_text("utf-8"), re.MULTILINE) for page in PAGES]

    assert sum(map(len, marks)) == sum(len(block.marks) for block in BLOCKS)
    for block in BLOCKS:
        for what, _ in block.marks:
            for one in what.split(","):
                assert any(line.startswith(one.strip()) for line in block.lines), (block.page, one)


def test_most_lines_are_run():
    lines = [(block, line) for block in BLOCKS if block.language == "sh" for line in block.lines]
    sugartag_lines = [pair for pair in lines if pair[1].startswith("sugartag")]

    assert sum(block.is_run(line) for block, line in sugartag_lines) > 0.6 * len(sugartag_lines)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Make a folder with all that the pages start from, of some of the shipped photographs."""
    folder = tmp_path_factory.mktemp("prepared")
    packed = resources.files("sugartag") / "assets" / "photos" / "photos.zip"
    with resources.as_file(packed) as path, zipfile.ZipFile(path) as archive:
        archive.extractall(folder / "Pictures", archive.namelist()[: 2 * N_PICTURES])
    shutil.copytree(folder / "Pictures", folder / "pictures")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        ran("sugartag photos Pictures --out review")
        ran("sugartag export review/collection --out photos.csv")
        _write_tables(sugartag.Collection.read("review/collection"))
        ran("sugartag import photos.csv --out whole --features vectors.npy --images-root Pictures")
        every = sugartag.Collection.read("whole")
        every[:N_FITTED].save("photos")
        every[N_FITTED:].save("new-photos")
        ran("sugartag fit photos --out photos.model")
        ran("sugartag suggest photos.model photos --out changes.csv --add-from 0.1")
        _decide("changes.csv", "decided.csv")
        ran("sugartag apply photos changes.csv")
    return folder


def _write_tables(every: sugartag.Collection) -> None:
    """Write the tables of the pages: features, groups, a truth, and an export of exiftool."""
    np.save("vectors.npy", every.features)
    rows = _read("photos.csv")
    for row, tag in zip(rows, cycle(TAGS_OF_THE_PAGES), strict=False):
        row["tags"] = "|".join(filter(None, (row["tags"], tag)))
    owners = list(dict.fromkeys(row["owner"] for row in rows))
    truth = [(row["image_id"], tag) for row in rows for tag in row["tags"].split("|") if tag]
    _write("photos.csv", rows)
    _write(
        "groups.csv", [{"owner": one, "group": f"group {k % 3}"} for k, one in enumerate(owners)]
    )
    _write("truth.csv", [{"image_id": image, "concept": tag} for image, tag in truth])
    exported = [(row["image_id"], row["tags"].replace("|", ", "), row["owner"]) for row in rows]
    columns = ("SourceFile", "Keywords", "Artist")
    _write("exif.csv", [dict(zip(columns, row, strict=True)) for row in exported])


def _read(path: str) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _write(path: str, rows: list[dict[str, str]]) -> None:
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _decide(path: str, *more: str) -> None:
    """Write decisions into a change set: additions are accepted, and given tags rejected."""
    rows = _read(path)
    for action, decision in (("add", "accept"), ("keep", "reject")):
        for row in [row for row in rows if row["action"] == action][:3]:
            row["decision"] = decision
    for name in (path, *more):
        _write(name, rows)


@pytest.fixture
def work(prepared, tmp_path, monkeypatch):
    """Copy what is prepared, and go there; it is the home folder, too."""
    folder = tmp_path / "work"
    shutil.copytree(prepared, folder, symlinks=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    return folder


def remove(target: str) -> None:
    """Remove a file or folder, and what people decided about it."""
    shutil.rmtree(target) if Path(target).is_dir() else Path(target).unlink(missing_ok=True)
    for decided in Path.cwd().glob(f"{target}.catalogue.sqlite*"):
        decided.unlink()


def ran(line: str) -> None:
    """Run a line; what it makes is taken away before, if it stands there already."""
    words = [word.replace("~", str(Path.home())) for word in shlex.split(line)]
    assert words[0] == "sugartag", f"not a command of ours, so mark it: {line}"
    if "--out" in words and "--overwrite" not in words and line not in AGAIN:
        remove(words[words.index("--out") + 1])
    done = CliRunner().invoke(main, words[1:], catch_exceptions=False)
    assert done.exit_code == 0, f"{line}\n{done.output}"


def decide_in_the_browser(folder: str) -> None:
    """Reject some given tags, as somebody does on the review page."""
    with catalogue_of(Path(folder) / "collection") as catalogue:
        load_change_file(catalogue, Path(folder) / "changes.csv")
        best = catalogue.proposals(Selection(actions=("keep",), state="open")).proposals[:3]
        for one in best:
            catalogue.decide(one.image_id, one.tag, "reject", reviewer="anna", expected=one.version)
    assert best


@pytest.mark.parametrize("page", pages_with("sh"), ids=name_of)
def test_the_commands_of_a_page_run(page, work):
    for block in blocks_of(page):
        if block.language == "sh":
            for line in block.lines:
                if block.is_run(line):
                    ran(line)
                    if "--out changes.csv" in line:
                        _decide("changes.csv")
                elif line.startswith("sugartag serve review/collection"):
                    decide_in_the_browser("review")


@pytest.mark.parametrize("page", pages_with("python"), ids=name_of)
def test_the_python_of_a_page_runs(page, work):
    pytest.importorskip("pandas")
    names: dict[str, object] = {}
    for block in blocks_of(page):
        if block.language == "python" and block.is_run():
            for target in SAVED.findall(block.code):
                remove(target)
            exec(compile(block.code, name_of(page), "exec"), names)

    assert names


@pytest.mark.parametrize("language", ["json", "toml", "yaml", "csv"])
def test_data_that_is_shown_can_be_read(language):
    for block in BLOCKS:
        if block.language != language:
            continue
        if language == "json":
            json.loads(block.code)
        elif language == "toml":
            tomllib.loads(block.code)
        elif language == "yaml":
            assert pytest.importorskip("yaml").safe_load(block.code)
        else:
            rows = list(csv.reader(block.code.splitlines()))
            assert {len(row) for row in rows} == {len(rows[0])}
