"""The commands around the catalogue, as a person runs them."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from photographs import TAGS, files_of, photographs
from sugartag.changes.catalogue import Catalogue
from sugartag.cli.main import main
from sugartag.metadata.xmp import read_xmp
from tables import write_table

CHANGES = """image_id,tag,action,score,reason,run_id,decision
a,sun,add,0.9,why,run-1,accept
a,sea,doubt,0.1,why,run-1,accept
b,sun,add,0.8,why,run-1,
c,dog,doubt,0.2,why,run-1,reject
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    photographs(tmp_path, TAGS).close()
    (tmp_path / "catalogue.sqlite").unlink()
    (tmp_path / "changes.csv").write_text(CHANGES)
    return tmp_path


def run(*words: object, code: int = 0) -> Result:
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == code, result.output
    return result


def names_in(path: Path) -> list[str]:
    return sorted(one.name for one in path.iterdir())


def sidecar(folder: Path, name: str) -> set[str]:
    return {word.name for word in read_xmp((folder / "root/sub" / name).read_bytes()).keywords}


def test_a_dry_run_prints_the_diff_and_writes_nothing(folder):
    before, files = names_in(folder), files_of(folder)

    result = run("apply", folder / "out", folder / "changes.csv", "--sidecars", "--dry-run")

    assert result.output.splitlines() == [
        "a  sub/a.jpg",
        "  - sea  (given by anna)",
        "  + sun  (accepted by file:changes.csv)",
        "1 tag to add and 1 to remove, in 1 image",
    ]
    assert (names_in(folder), files_of(folder)) == (before, files)


def test_apply_and_undo_as_the_commands_say(folder):
    files = files_of(folder)
    table = folder / "tags.jsonl"

    applied = run(
        "apply", folder / "out", folder / "changes.csv", "--sidecars", "--to-jsonl", table
    )

    assert sidecar(folder, "a.jpg.xmp") == {"dog", "sun"}
    rows = [json.loads(line) for line in table.read_text().splitlines()]
    assert rows[0]["tags"] == ["dog", "sun"]
    again = run("apply", folder / "out")
    assert again.output == "nothing to change\n"
    hint = applied.output.splitlines()[1].removeprefix("to undo: sugartag ")
    assert run("undo", folder / "out", "--list").output.startswith(hint.split()[-1])

    undone = run(*hint.split())

    assert "2 tags and 1 sidecar undone" in undone.output
    assert files_of(folder) == files


def test_additions_above_a_probability_are_added_on_request(folder):
    run("apply", folder / "out", folder / "changes.csv", "--above", 0.7, "--by", "carla")

    with Catalogue.open(folder / "out.catalogue.sqlite") as catalogue:
        (sun,) = [tag for tag in catalogue.image("b").tags if tag.tag == "sun"]
        assert (sun.source, sun.run_id) == ("model", "run-1")
        assert catalogue.runs("apply")[0].by == "carla"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["apply", "out"], "nothing was decided"),
        (["apply", "out", "--above", "0.5", "--accepted-only"], "exclude each other"),
        (["apply", "out", "--to-csv", "a.txt"], "must end in .csv"),
        (["apply", "missing"], "does not exist"),
        (["undo", "out"], "there is nothing to undo"),
        (["undo", "out", "x"], "nothing was applied yet"),
        (["export", "out", "--out", "a.doc"], "must end in one of"),
        (["export", "out", "--to", "cleanlab", "--out", "c"], "holds no proposals"),
        (["tags", "alias", "out", "a"], "not of the form A=B"),
        (["tags", "drop", "out", "moon"], "has no tag 'moon'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(folder, monkeypatch, words, message):
    monkeypatch.chdir(folder)

    result = run(*words, code=2)

    assert message in result.output
    assert result.output.count("\n") == 1


def test_a_sidecar_that_cannot_be_written_is_named_and_the_exit_code_says_so(folder):
    (folder / "root/sub/a.jpg.xmp").write_bytes(b"broken")

    result = run("apply", folder / "out", folder / "changes.csv", "--sidecars", code=2)

    assert "a: not well-formed" in result.output
    assert "1 sidecars could not be written" in result.output
    (folder / "root/sub/a.jpg.xmp").unlink()
    run("apply", folder / "out", "--sidecars")
    assert sidecar(folder, "a.jpg.xmp") == {"dog", "sun"}


def test_tags_are_listed_aliased_and_baked(folder):
    out = folder / "out"
    assert run("tags", "list", out).output.splitlines() == [
        "       3  sea",
        "       2  dog",
        "       2  old",
    ]
    run("tags", "alias", out, "old=ancient")
    run("tags", "implies", out, "dog=animal")
    listed = json.loads(run("tags", "list", out, "--json").output)
    assert listed["aliases"] == {"old": "ancient"}
    assert listed["implications"] == {"dog": ["animal"]}

    assert "4 tags to add and 2 to remove" in run("tags", "bake", out, "--dry-run").output
    run("tags", "bake", out, "--sidecars")
    assert sidecar(folder, "c.jpg.xmp") == {"dog", "animal", "ancient"}
    run("undo", out, "last")
    run("tags", "alias", out, "old", "--remove")
    run("tags", "implies", out, "dog=animal", "--remove")
    assert run("tags", "list", out, "--used-once").output == ""


def test_every_export_is_written_by_its_command(folder):
    run("apply", folder / "out", folder / "changes.csv")
    for kind, name in {
        "table": "a.csv",
        "provenance": "b.jsonl",
        "text": "texts",
        "label-studio": "tasks.json",
        "cleanlab": "arrays",
        "fiftyone": "samples.json",
        "hugging-face": "metadata.jsonl",
    }.items():
        run("export", folder / "out", "--to", kind, "--out", folder / name, "--min-uses", 1)
        assert (folder / name).exists()


def test_search_prints_what_it_finds_with_the_place_by_given_tags(folder):
    run("apply", folder / "out", folder / "changes.csv")

    lines = run("search", folder / "out", "sun OR sea").stdout.splitlines()

    assert lines == [
        "     1  100.0 %  a  (no. 1 by given tags)",
        "     2  100.0 %  b  (no. 2 by given tags)",
        "     3  100.0 %  e  (no. 3 by given tags)",
        "3 images",
    ]
    first = run("search", folder / "out", "sun OR sea", "--limit", 1).stdout.splitlines()
    assert first[-1] == "3 images; the next with --offset 1"
    found = json.loads(run("search", folder / "out", "dog", "--json").stdout)
    assert (found["total"], found["hits"][0]["image_id"]) == (2, "a")


def test_a_query_that_cannot_be_read_is_one_line(folder):
    result = run("search", folder / "out", "sun AND", code=2)

    assert result.stderr.splitlines() == ["sugartag: the query lacks a word at its end: 'sun AND'"]


def test_search_by_a_model_asks_it_first(folder):
    np.save(folder / "features.npy", np.random.default_rng(0).normal(size=(6, 4)))
    rows = [{"image_id": k, "owner": k % 2, "tags": ["sea", "sun"][k % 2 :]} for k in range(6)]
    table = write_table(
        folder / "table2.jsonl", [{**one, "image_id": f"{one['image_id']}"} for one in rows]
    )
    run("import", table, "--out", folder / "small", "--features", folder / "features.npy")
    run("fit", folder / "small", "--out", folder / "model", "--method", "tag-vote")

    result = run("search", folder / "small", "sea score>0", "--model", folder / "model")

    assert result.stdout.splitlines()[-1].endswith(" images")
    with Catalogue.open(folder / "small.catalogue.sqlite") as catalogue:
        assert [one.method for one in catalogue.runs("suggest")] == ["tag-vote"]
    run("search", folder / "small", "sea", "--model", folder / "model", "--run", "x", code=2)
