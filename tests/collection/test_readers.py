"""Tables of every kind: what is read, and what is refused with file, row and reason."""

import csv
import gzip
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sugartag.collection.readers import lines as lines_module
from sugartag.collection.readers.batch import Batch, Columns
from sugartag.collection.readers.lines import TextLines
from sugartag.collection.readers.table import read_table
from sugartag.errors import CollectionError, MissingExtraError

IMAGES = Columns(("image_id", "owner", "tags"), optional=("title",), omittable=("owner",))


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def rows_of(path: Path, columns: Columns = IMAGES) -> list[dict[str, object]]:
    return [
        {name: values[index] for name, values in batch.columns.items()}
        for batch in read_table(path, columns, rows_per_batch=2)
        for index in range(len(batch))
    ]


def numbers_of(path: Path) -> list[int]:
    return [number for batch in read_table(path, IMAGES) for number in batch.numbers]


# Lines


@given(
    text=st.text(alphabet="a\r\n", max_size=40),
    chunk=st.integers(1, 7),
)
def test_lines_are_the_same_whatever_the_size_of_the_chunks(tmp_path_factory, text, chunk):
    path = written(tmp_path_factory.mktemp("lines") / "t.csv", text)
    with path.open(encoding="utf-8", newline="") as file:
        expected = list(file)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines_module, "CHUNK_BYTES", chunk)
        found = list(TextLines(path))

    assert found == expected


def test_a_byte_that_is_not_utf8_is_named_with_line_and_offset(tmp_path):
    path = written(tmp_path / "t.csv", b"image_id\r\nab\r\nc\xffd\r\n")

    with pytest.raises(CollectionError, match=r"t\.csv, line 3: byte 15 \(0xff\) is not UTF-8"):
        list(TextLines(path))


def test_a_nul_byte_is_named_with_its_line(tmp_path):
    path = written(tmp_path / "t.csv", b"a\nb\0\n")

    with pytest.raises(CollectionError, match=r"line 2: byte 3 is NUL"):
        list(TextLines(path))


@pytest.mark.parametrize("start", [b"", b"x\n"])
def test_a_line_without_end_is_refused_and_not_read_to_its_end(tmp_path, monkeypatch, start):
    monkeypatch.setattr(lines_module, "CHUNK_BYTES", 10)
    monkeypatch.setattr(lines_module, "MAX_LINE_BYTES", 100)
    path = written(tmp_path / "t.csv", start + b"a" * 1000)
    lines = TextLines(path)

    with pytest.raises(CollectionError, match=f"line {1 + len(start) // 2}: .* longer than 100"):
        list(lines)
    assert lines.done < 150


def test_gzipped_text_is_read_and_progress_counts_compressed_bytes(tmp_path):
    path = written(tmp_path / "t.csv.gz", gzip.compress("ä\nb\n".encode()))
    lines = TextLines(path)

    assert list(lines) == ["ä\n", "b\n"]
    assert lines.done == lines.total == path.stat().st_size


@pytest.mark.parametrize("damage", [lambda whole: whole[:-9], lambda whole: b"plain text"])
def test_a_damaged_gzip_file_is_named(tmp_path, damage):
    path = written(tmp_path / "t.csv.gz", damage(gzip.compress(b"image_id\n" * 99)))

    with pytest.raises(CollectionError, match=r"t\.csv\.gz is not a whole gzip file"):
        list(TextLines(path))


# CSV and TSV


def test_columns_may_come_in_any_order_and_others_are_ignored(tmp_path):
    path = written(tmp_path / "t.csv", "tags,more, image_id ,owner\nx|y,?,1,anna\n")

    assert rows_of(path) == [{"image_id": "1", "owner": "anna", "tags": "x|y"}]


def test_a_byte_order_mark_is_no_part_of_the_first_column(tmp_path):
    path = written(tmp_path / "t.csv", b"\xef\xbb\xbfimage_id,owner,tags\n1,a,x\n")

    assert rows_of(path)[0]["image_id"] == "1"


def test_rows_are_numbered_by_the_line_on_which_they_start(tmp_path):
    text = 'image_id,owner,tags\n\n1,"an\nna\r\n",x\n\n2,b,"x"\n3,b,y'
    path = written(tmp_path / "t.csv", text)

    assert numbers_of(path) == [3, 7, 8]


def test_tabs_separate_the_fields_of_tsv(tmp_path):
    path = written(tmp_path / "t.tsv", "image_id\towner\ttags\n1\ta, b\tx\n")

    assert rows_of(path)[0]["owner"] == "a, b"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"t\.csv is empty; its first line must name the columns"),
        ("\n\n", r"t\.csv is empty"),
        ("image_id,owner,tags\n", r"t\.csv has no rows"),
        ("1,anna,x\n2,b,y\n", r"no column 'image_id'; its columns are '1', 'anna', 'x'; name the"),
        ("image_id;owner;tags\n", r"t\.csv has no rows"),
        ("image_id,owner,tags,tags\n", r"has 2 columns 'tags'; keep one"),
        ("image_id,owner,tags\n1,a,x\n2,b\n", r"line 3: 2 fields where the header has 3"),
        ("image_id,owner,tags\n1,a,x,y\n", r"line 2: 4 fields where the header has 3"),
        ('image_id,owner,tags\n1,a,x\n2,"b,x\n3,a,y\n', r"line 3: unexpected end of data; check"),
        ('image_id,owner,tags\n1,"a"b,x\n', r"line 2: ',' expected after '\"'; check the quotes"),
    ],
)
def test_a_bad_csv_table_is_named(tmp_path, text, message):
    path = written(tmp_path / "t.csv", text)

    with pytest.raises(CollectionError, match=message):
        rows_of(path)


def test_a_field_without_end_is_refused_and_the_process_wide_limit_is_left_alone(tmp_path):
    before = csv.field_size_limit(5000)
    text = 'image_id,owner,tags\n1,a,"' + "long line\n" * 200_000
    path = written(tmp_path / "t.csv", text)

    with pytest.raises(CollectionError, match=r"line 2: field larger than field limit \(1048576\)"):
        rows_of(path)
    assert csv.field_size_limit(before) == 5000


# JSONL


def test_json_objects_may_leave_the_owner_out(tmp_path):
    path = written(
        tmp_path / "t.jsonl", '{"tags": ["x"], "image_id": 7}\n\n{"image_id": "8", "tags": null}'
    )
    batch = next(read_table(path, IMAGES))

    assert batch.texts("image_id") == ["7", "8"]
    assert batch.texts("owner") == ["", ""]
    assert batch.tags() == ([1, 0], ["x"])
    assert list(batch.numbers) == [1, 3]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", r"line 2: \[1\] is not a JSON object"),
        ("{", r"line 2: not JSON: Expecting property name .* at character"),
        ("[" * 100_000, r"line 2: not JSON: maximum recursion"),
        ('{"image_id": ' + "9" * 5000 + ', "tags": []}', r"line 2: not JSON: Exceeds the limit"),
        ('{"id": 1, "tags": []}', r"line 2: no 'image_id'; the object has 'id', 'tags'; give"),
        ('{"image_id": 1, "owner": "a"}', r"line 2: no 'tags'; the object has 'image_id', 'owner'"),
        ("{}", r"line 2: no 'image_id'; the object has nothing"),
    ],
)
def test_a_bad_json_line_is_named(tmp_path, line, message):
    path = written(tmp_path / "t.jsonl", '{"image_id": "1", "tags": []}\n' + line + "\n")

    with pytest.raises(CollectionError, match=message):
        rows_of(path)


def test_json_escapes_give_the_same_text_as_the_characters(tmp_path):
    row = {"image_id": "1", "owner": "Ζωή 🏖", "tags": ["plage|été"]}
    escaped = written(tmp_path / "a.jsonl", json.dumps(row))
    plain = written(tmp_path / "b.jsonl", json.dumps(row, ensure_ascii=False))

    assert rows_of(escaped) == rows_of(plain)


# Parquet


def test_parquet_rows_come_in_order_across_row_groups(tmp_path):
    path = tmp_path / "t.parquet"
    ids = list(range(10))
    table = {"image_id": ids, "owner": [None] * 10, "tags": [["x"]] * 10, "more": ids}
    pq.write_table(pa.table(table), path, row_group_size=3)

    assert [row["image_id"] for row in rows_of(path)] == ids
    assert numbers_of(path) == list(range(1, 11))


def test_parquet_without_a_column_or_without_rows_is_named(tmp_path):
    lacking, empty = tmp_path / "lacking.parquet", tmp_path / "empty.parquet"
    pq.write_table(pa.table({"image_id": [1], "user": [2]}), lacking)
    pq.write_table(pa.table({"image_id": [], "owner": [], "tags": []}), empty)

    with pytest.raises(CollectionError, match=r"no column 'owner'; its columns are 'image_id', 'u"):
        rows_of(lacking)
    with pytest.raises(CollectionError, match=r"empty\.parquet has no rows"):
        rows_of(empty)


@pytest.mark.parametrize(
    "damage", [lambda whole: b"garbage", lambda whole: whole[:-30], lambda _: b""]
)
def test_garbage_instead_of_parquet_is_named(tmp_path, damage):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"image_id": ["1"], "owner": ["a"], "tags": ["x"]}), path)
    written(path, damage(path.read_bytes()))

    with pytest.raises(CollectionError, match=r"t\.parquet: not readable as Parquet"):
        rows_of(path)


def test_parquet_text_that_is_not_utf8_is_named(tmp_path):
    path = tmp_path / "t.parquet"
    broken = pa.Array.from_buffers(
        pa.string(),
        1,
        [None, pa.py_buffer(np.array([0, 1], dtype=np.int32)), pa.py_buffer(b"\xff")],
    )
    pq.write_table(pa.table({"image_id": broken, "owner": ["a"], "tags": ["x"]}), path)

    with pytest.raises(CollectionError, match=r"t\.parquet.*can't decode byte 0xff"):
        rows_of(path)


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    path = written(tmp_path / "t.parquet", b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(MissingExtraError, match=r"pip install 'sugartag\[parquet\]'"):
        rows_of(path)


# Kinds of files


@pytest.mark.parametrize("name", ["t.xlsx", "t", "t.gz", "t.parquet.gz", "t.csv.bz2"])
def test_a_table_of_unknown_kind_is_refused(tmp_path, name):
    path = written(tmp_path / name, "image_id")

    with pytest.raises(CollectionError, match=r"tables end with \.csv, \.tsv, \.jsonl"):
        rows_of(path)


@pytest.mark.parametrize("name", ["t.CSV", "t.csv.gz", "t.CSV.GZ"])
def test_the_case_of_the_extension_does_not_matter(tmp_path, name):
    text = b"image_id,owner,tags\n1,a,x\n"
    path = written(tmp_path / name, gzip.compress(text) if name.lower().endswith("gz") else text)

    assert numbers_of(path) == [2]


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path):
    (tmp_path / "folder.csv").mkdir()

    with pytest.raises(CollectionError, match=r"absent\.csv does not exist; check the name"):
        rows_of(tmp_path / "absent.csv")
    with pytest.raises(CollectionError, match=r"folder\.csv is a folder; name a file"):
        rows_of(tmp_path / "folder.csv")
    with pytest.raises(CollectionError, match=r"cannot read .*: File name too long"):
        rows_of(tmp_path / ("a" * 300 + ".csv"))


# Values


def batch_of(**columns: list[object]) -> Batch:
    n = len(next(iter(columns.values())))
    return Batch(Path("t.jsonl"), "line", range(5, 5 + n), columns, n, n)


@pytest.mark.parametrize("value", [1.5, True, ["1"], {"a": 1}, b"bytes"])
def test_what_is_neither_text_nor_a_whole_number_is_no_id(value):
    with pytest.raises(CollectionError, match=r"t\.jsonl, line 6: image_id is .*, not text"):
        batch_of(image_id=["1", value]).texts("image_id")


@pytest.mark.parametrize("value", ["", "  ", None])
def test_an_empty_id_is_refused(value):
    with pytest.raises(CollectionError, match="line 6: image_id is empty; give it a value"):
        batch_of(image_id=["1", value]).filled_texts("image_id")


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_text_that_cannot_be_stored_is_refused(text):
    with pytest.raises(CollectionError, match=r"line 6: owner is .* cannot be written as UTF-8"):
        batch_of(owner=["a", text]).texts("owner")
    with pytest.raises(CollectionError, match=r"line 6: tags holds .* cannot be written as UTF-8"):
        batch_of(tags=["a", text]).tags()


@pytest.mark.parametrize("value", [7, {"x": 1}, True])
def test_tags_that_are_neither_list_nor_text_are_refused(value):
    with pytest.raises(CollectionError, match=r"line 6: tags is .*; give a list of texts, or text"):
        batch_of(tags=[["x"], value]).tags()


@pytest.mark.parametrize("value", [7, None, ["x"]])
def test_a_list_of_anything_but_texts_holds_no_tags(value):
    with pytest.raises(CollectionError, match=r"line 6: tags holds .*, not text"):
        batch_of(tags=[["x"], ["y", value]]).tags()


def test_long_values_are_cut_in_messages():
    with pytest.raises(CollectionError) as caught:
        batch_of(owner=["\0" * 100_000]).texts("owner")

    assert len(str(caught.value)) < 300
