"""Change sets as files: what is read back is what was written, or there is no file."""

import csv
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sugartag.errors import MissingExtraError, SettingsError, StorageError
from sugartag.pipeline.changes import KINDS, Change, check_kind, write_changes

COLUMNS = ["image_id", "tag", "action", "score", "reason", "run_id"]
ODD = [
    "plain",
    "a, b",
    'say "cheese"',
    "two\nlines",
    "old\rmac",
    "dos\r\nlines",
    "  spaces  ",
    "ünïcödé",
    "日本",
    "👩‍🚀",
    "=1+1",
    "tab\there",
    "back\\slash",
    "a|b",
    "line\u2028separator",
    "",
]
CHANGES = [
    Change(f"image {text}", text, action, score, f"because {text}", "run-1")
    for text in ODD
    for action, score in (("add", 0.8125), ("keep", 1.0), ("doubt", 0.0))
]
IN_PARTS = [CHANGES[:5], [], CHANGES[5:]]

every_kind = pytest.mark.parametrize("kind", KINDS)


def read(path: Path) -> tuple[list[str], list[Change]]:
    """Return the columns and the rows of a change set, by other means than ours."""
    if path.suffix.lower() == ".parquet":
        table = pq.read_table(path)
        return table.column_names, [Change(**row) for row in table.to_pylist()]
    with path.open(encoding="utf-8", newline="") as file:
        if path.suffix.lower() == ".csv":
            header, *rows = csv.reader(file)
            found = [dict(zip(header, row, strict=True)) for row in rows]
            return header, [Change(**{**row, "score": float(row["score"])}) for row in found]
        found = [json.loads(line) for line in file.read().split("\n") if line]
    assert len({tuple(row) for row in found}) == 1
    return list(found[0]), [Change(**row) for row in found]


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


@every_kind
def test_what_is_read_back_is_what_was_written(kind, tmp_path):
    counts = write_changes(IN_PARTS, tmp_path / f"changes{kind}")

    columns, found = read(tmp_path / f"changes{kind}")
    assert columns == COLUMNS
    assert found == CHANGES
    assert counts == {"add": len(ODD), "keep": len(ODD), "doubt": len(ODD)}
    assert names_in(tmp_path) == [f"changes{kind}"]


@every_kind
def test_no_changes_make_a_file_without_rows(kind, tmp_path):
    counts = write_changes([], tmp_path / f"changes{kind}")

    assert counts == {"add": 0, "keep": 0, "doubt": 0}
    if kind == ".jsonl":
        assert (tmp_path / "changes.jsonl").read_bytes() == b""
    else:
        assert read(tmp_path / f"changes{kind}") == (COLUMNS, [])


def test_parquet_holds_texts_and_numbers(tmp_path):
    write_changes([CHANGES[:1]], tmp_path / "changes.parquet")

    schema = pq.read_schema(tmp_path / "changes.parquet")
    assert schema.field("score").type == pa.float64()
    assert all(schema.field(name).type == pa.string() for name in COLUMNS if name != "score")


def test_text_files_are_utf_8_with_plain_line_ends(tmp_path):
    plain = [replace(CHANGES[0], tag="sjö")]

    write_changes([plain], tmp_path / "changes.csv")
    write_changes([plain], tmp_path / "changes.jsonl")

    csv_bytes, json_bytes = ((tmp_path / f"changes.{k}").read_bytes() for k in ("csv", "jsonl"))
    assert csv_bytes.startswith(b"image_id,tag,action,score,reason,run_id\nimage plain,sj\xc3\xb6,")
    assert json_bytes.endswith(b"\n")
    assert b"sj\xc3\xb6" in json_bytes
    assert b"\r" not in csv_bytes + json_bytes


def test_the_extension_decides_whatever_its_case(tmp_path):
    write_changes([CHANGES], tmp_path / "CHANGES.JSONL")

    assert read(tmp_path / "CHANGES.JSONL") == (COLUMNS, CHANGES)


@pytest.mark.parametrize("name", ["changes.xlsx", "changes", "csv", "changes.csv.gz"])
def test_an_extension_we_do_not_write_is_named_before_anything_is_written(name, tmp_path):
    def never() -> Iterator[list[Change]]:
        pytest.fail("nothing must be computed")
        yield []

    with pytest.raises(
        SettingsError, match=r"must end in one of: \.csv, \.jsonl, \.parquet"
    ) as raised:
        write_changes(never(), tmp_path / name)

    assert str(tmp_path / name) in str(raised.value)
    assert "\n" not in str(raised.value)
    assert names_in(tmp_path) == []


def test_without_pyarrow_only_parquet_is_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)

    check_kind(Path("changes.csv"))
    with pytest.raises(MissingExtraError, match=r"pip install 'sugartag\[parquet\]'"):
        check_kind(Path("changes.parquet"))


def broken(error: BaseException) -> Iterator[list[Change]]:
    yield CHANGES[:5]
    raise error


@every_kind
@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RuntimeError("no"), RuntimeError),
        (KeyboardInterrupt(), KeyboardInterrupt),
        (StorageError("the model is gone"), StorageError),
        (OSError(28, "No space left on device"), StorageError),
    ],
    ids=["error", "stopped", "ours", "disk full"],
)
def test_an_error_in_the_middle_leaves_no_file(kind, error, expected, tmp_path):
    with pytest.raises(expected):
        write_changes(broken(error), tmp_path / f"changes{kind}")

    assert names_in(tmp_path) == []


@every_kind
def test_an_error_in_the_middle_leaves_the_file_of_yesterday(kind, tmp_path):
    path = tmp_path / f"changes{kind}"
    write_changes([CHANGES], path)

    with pytest.raises(RuntimeError):
        write_changes(broken(RuntimeError("no")), path, overwrite=True)

    assert read(path) == (COLUMNS, CHANGES)
    assert names_in(tmp_path) == [path.name]


@every_kind
def test_a_file_is_replaced_only_when_asked(kind, tmp_path):
    path = tmp_path / f"changes{kind}"
    write_changes([CHANGES], path)

    with pytest.raises(StorageError, match=r"exists already.*--overwrite"):
        write_changes([CHANGES[:2]], path)
    assert read(path)[1] == CHANGES
    write_changes([CHANGES[:2]], path, overwrite=True)

    assert read(path)[1] == CHANGES[:2]


def test_a_row_is_the_change_field_by_field(tmp_path):
    write_changes([CHANGES[:1]], tmp_path / "changes.jsonl")

    (line,) = (tmp_path / "changes.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line) == asdict(CHANGES[0])
