"""An import as a whole: the target, a killed run, memory, and the same from every table."""

import os
import signal
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sugartag.collection import open_collection
from sugartag.collection.readers import Sources, import_collection
from sugartag.errors import CollectionError, StorageError, SugartagError
from tables import ROWS, imported, left_over, tags_by_image, write_table

SOURCE_FOLDER = Path(__file__).parents[2] / "src"


# The target


def test_an_existing_collection_is_replaced_only_when_asked(tmp_path):
    imported(tmp_path, ROWS)

    with pytest.raises(StorageError, match="exists already"):
        imported(tmp_path, ROWS[:1])
    imported(tmp_path, ROWS[:1], overwrite=True)

    assert open_collection(tmp_path / "out").n_images == 1
    assert left_over(tmp_path, {"photos.csv"}) == {"out"}


def test_a_bad_table_leaves_the_collection_it_would_have_replaced(tmp_path):
    imported(tmp_path, ROWS)

    with pytest.raises(CollectionError, match="image id '1'"):
        imported(tmp_path, [*ROWS, ROWS[0]], overwrite=True)

    assert open_collection(tmp_path / "out").n_images == 4


def test_only_a_collection_can_be_replaced(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "holiday.jpg").touch()

    with pytest.raises(StorageError, match=r"--overwrite replaces collections only: .*manifest"):
        imported(tmp_path, ROWS, overwrite=True)

    assert (tmp_path / "out" / "holiday.jpg").exists()


@pytest.mark.parametrize("make", [Path.touch, lambda path: path.symlink_to("elsewhere")])
def test_a_file_or_a_link_is_not_replaced(tmp_path, make):
    make(tmp_path / "out")

    with pytest.raises(StorageError, match="--overwrite replaces collections only"):
        imported(tmp_path, ROWS, overwrite=True)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_target_that_cannot_be_made_is_named(tmp_path, overwrite):
    table = write_table(tmp_path / "photos.csv", ROWS)

    for target in (tmp_path / ("a" * 300), table / "out"):
        with pytest.raises(StorageError, match=r"cannot write .*: (File name too|Not a dir)"):
            import_collection(Sources(table), target, overwrite=overwrite)


def test_a_target_that_holds_a_source_is_refused(tmp_path):
    imported(tmp_path, ROWS)
    table = write_table(tmp_path / "out" / "photos.csv", ROWS)

    for target in (table, tmp_path / "out", tmp_path):
        with pytest.raises(CollectionError, match=r"would replace .*photos\.csv; choose another"):
            import_collection(Sources(table), target, overwrite=True)

    assert table.exists()


def test_a_collection_with_a_file_that_somebody_added_is_not_replaced(tmp_path):
    imported(tmp_path, ROWS)
    (tmp_path / "out" / "notes.txt").write_text("mine")

    with pytest.raises(StorageError, match=r"sugartag did not write notes\.txt in it"):
        import_collection(Sources(tmp_path / "photos.csv"), tmp_path / "out", overwrite=True)

    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


def run(code: str, *arguments: object, **options: Any) -> "subprocess.Popen[str]":
    environment = {**os.environ, "PYTHONPATH": str(SOURCE_FOLDER)}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, **options)


STALLING = """
import sys, time
from pathlib import Path
from sugartag.collection.readers import Sources, import_collection

def stall(what, done, total):
    print("stalled", flush=True)
    time.sleep(600)

import_collection(Sources(Path(sys.argv[1])), Path(sys.argv[2]), rows_per_shard=2, progress=stall)
"""


def test_a_killed_import_leaves_nothing_under_the_name_and_the_next_one_clears_up(tmp_path):
    table = write_table(tmp_path / "photos.csv", ROWS)
    with run(STALLING, table, tmp_path / "out") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "stalled\n"
        process.send_signal(signal.SIGKILL)
    leftovers = left_over(tmp_path, {"photos.csv"})
    assert len(leftovers) == 1
    assert len(list((tmp_path / leftovers.pop() / "new" / "shards").iterdir())) == 2
    assert not (tmp_path / "out").exists()

    imported(tmp_path, ROWS)

    assert left_over(tmp_path, {"photos.csv"}) == {"out"}
    assert open_collection(tmp_path / "out").n_images == 4


DISK_FULL = """
import resource, sys
from pathlib import Path
from sugartag.collection.readers import Sources, import_collection
from sugartag.errors import StorageError

resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    import_collection(Sources(Path(sys.argv[1])), Path(sys.argv[2]))
except StorageError as error:
    print(error)
"""


@pytest.mark.skipif(os.name != "posix", reason="limits the size of files")
def test_a_disk_that_takes_no_more_is_reported_in_one_line(tmp_path):
    rows = [{"image_id": f"image-{n}", "owner": "a", "tags": ["x"]} for n in range(5000)]
    table = write_table(tmp_path / "photos.csv", rows)

    with run(DISK_FULL, table, tmp_path / "out") as process:
        assert process.stdout is not None
        assert len(process.stdout.readlines()) == 1

    assert left_over(tmp_path, {"photos.csv"}) == set()


PEAK = """
import sys
from pathlib import Path
from sugartag.collection.readers import Sources, import_collection, related

related.ROWS_PER_LOOK_UP = 4096
table, true, out = map(Path, sys.argv[1:])
import_collection(Sources(table, truth=true), out, rows_per_shard=8192)
status = Path("/proc/self/status").read_text()
print(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))
"""


def peak_megabytes(tmp_path: Path, n_rows: int) -> float:
    table, truth = tmp_path / f"{n_rows}.csv", tmp_path / f"{n_rows}-truth.csv"
    with table.open("w") as file, truth.open("w") as true:
        file.write("image_id,owner,tags,title\n")
        true.write("image_id,concept\n")
        for n in range(n_rows):
            file.write(f"image-{n:020d},owner{n % 99},a{n % 31}|b{n % 37}|c,title of {n:020d}\n")
            true.write(f"image-{n:020d},c\n")
    with run(PEAK, table, truth, tmp_path / f"out-{n_rows}") as process:
        assert process.stdout is not None
        return int(process.stdout.read()) / 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak from /proc")
def test_memory_does_not_grow_with_the_rows(tmp_path):
    few, many = peak_megabytes(tmp_path, 30_000), peak_megabytes(tmp_path, 300_000)

    # The ids alone would take more than 20 MB.
    assert many - few < 15


# The same from every kind of table

LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
TAG = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0|"), max_size=5)
IMAGE = st.fixed_dictionaries(
    {
        "owner": st.text(LETTERS, max_size=4),
        "tags": st.lists(TAG, max_size=4),
        "title": st.text(LETTERS, max_size=6),
    }
)


def tidy(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip()


@settings(max_examples=12, deadline=None)
@given(images=st.lists(IMAGE, min_size=1, max_size=6), rows_per_shard=st.integers(2, 8))
def test_every_kind_of_table_gives_the_texts_back(images, rows_per_shard):
    rows = [{"image_id": f"é{n}", **image} for n, image in enumerate(images)]
    rows[0]["tags"] = [*rows[0]["tags"], "x"]
    manifests = set()
    with tempfile.TemporaryDirectory() as name:
        for kind in ("csv", "tsv", "jsonl", "parquet"):
            table = write_table(Path(name) / f"photos.{kind}", rows)
            out = Path(name) / kind
            import_collection(Sources(table), out, rows_per_shard=rows_per_shard)
            manifests.add((out / "manifest.json").read_text(encoding="utf-8"))
        collection = open_collection(out)
        titles = collection.texts_of("titles") or [""] * len(rows)
        owners = [*collection.owner_names, ""]

        assert len(manifests) == 1
        assert list(titles) == [tidy(row["title"]) for row in rows]
        assert [owners[o] for o in collection.owner] == [tidy(row["owner"]) for row in rows]
        assert tags_by_image(out) == {
            row["image_id"]: {tidy(tag) for tag in row["tags"]} - {""} for row in rows
        }


def test_whole_numbers_as_ids_are_texts(tmp_path):
    rows = [{"image_id": 7, "owner": 12, "tags": ["x"]}, {"image_id": 8, "owner": None, "tags": []}]
    truth = write_table(tmp_path / "truth.parquet", [{"image_id": 8, "concept": "x"}])
    groups = write_table(tmp_path / "groups.jsonl", [{"owner": 12, "group": 3}])

    for kind in ("jsonl", "parquet"):
        table = write_table(tmp_path / f"photos.{kind}", rows)
        import_collection(Sources(table, groups=groups, truth=truth), tmp_path / kind)
        collection = open_collection(tmp_path / kind)
        assert list(collection.ids) == ["7", "8"]
        assert list(collection.owner_names) == ["12"]
        assert list(collection.group_names) == ["3"]
        assert collection.truth_of(slice(0, 2)).toarray().tolist() == [[0], [1]]


def test_progress_ends_at_its_total(tmp_path):
    seen: dict[str, tuple[int, int]] = {}
    truth = write_table(tmp_path / "truth.csv", [{"image_id": "1", "concept": "x"}])

    imported(
        tmp_path,
        ROWS,
        truth=truth,
        progress=lambda what, done, total: seen.update({what: (done, total)}),
    )

    assert set(seen) == {"bytes of photos.csv", "bytes of truth.csv", "finishing"}
    assert all(done == total for done, total in seen.values())


def error_of_import(table: Path, out: Path) -> str | None:
    try:
        import_collection(Sources(table), out)
    except SugartagError as error:
        return str(error)
    return None


@settings(max_examples=60, deadline=None)
@given(content=st.binary(max_size=60), kind=st.sampled_from(["csv", "tsv", "jsonl", "parquet"]))
def test_no_bytes_whatever_give_anything_but_a_named_error(content, kind):
    header = b"" if kind in ("jsonl", "parquet") else b"image_id,owner,tags\n"
    with tempfile.TemporaryDirectory() as name:
        table = Path(name) / f"t.{kind}"
        table.write_bytes(header + content)
        message = error_of_import(table, Path(name) / "out")

        assert message is None or str(table) in message
        assert left_over(Path(name), {table.name, "out"}) == set()
        assert (Path(name) / "out").exists() == (message is None)
