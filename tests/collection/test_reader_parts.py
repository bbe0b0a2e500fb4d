"""What an import is made of: names, ids, paths and features, each on its own."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sugartag.collection.readers.batch import Batch
from sugartag.collection.readers.features import open_features
from sugartag.collection.readers.ids import Buckets, Duplicate, IdIndex
from sugartag.collection.readers.paths import PathCheck
from sugartag.collection.readers.shards import Names
from sugartag.collection.texts import Texts
from sugartag.collection.vocabulary import clean, clean_lowercase
from sugartag.errors import CollectionError, StorageError

# Names


@given(st.text())
def test_cleaning_twice_changes_nothing(text):
    assert clean(clean(text)) == clean(text)
    assert clean_lowercase(clean_lowercase(text)) == clean_lowercase(text)


def test_names_are_numbered_from_one_by_their_clean_form():
    names = Names()

    found = names.numbers(["b", " a", "", "a", "\t", "e\u0301", "\u00e9"], 7)

    assert found.tolist() == [1, 2, 0, 2, 0, 3, 3]
    assert list(names) == ["b", "a", "\u00e9"]


# Ids


def index_of(folder: Path, ids: list[str], *, per_shard: int, hash_of=hash) -> IdIndex:
    shards = [Texts.of(ids[first : first + per_shard]) for first in range(0, len(ids), per_shard)]
    index = IdIndex(
        folder, rows_per_shard=per_shard, ids_of_shard=shards.__getitem__, hash_of=hash_of
    )
    for number, shard in enumerate(shards):
        first = number * per_shard + 2
        assert index.add(list(shard), range(first, first + len(shard))) is None
    return index


def test_a_repeated_id_is_found_within_a_shard(tmp_path):
    index = IdIndex(tmp_path, rows_per_shard=9, ids_of_shard=[].__getitem__)

    assert index.add(["a", "b", "c", "b", "a"], [2, 3, 5, 8, 9]) == Duplicate("b", 3, 8)


def test_the_earliest_repetition_across_shards_is_found(tmp_path):
    ids = [f"id-{number}" for number in range(1000)]
    ids[900], ids[700] = "id-3", "id-600"

    assert index_of(tmp_path, ids, per_shard=64).sort() == Duplicate("id-600", 602, 702)


def test_different_ids_with_the_same_hash_are_no_repetition(tmp_path):
    ids = [f"id-{number}" for number in range(50)]
    index = index_of(tmp_path, ids, per_shard=8, hash_of=lambda _: -7)

    assert index.sort() is None
    rows, known = index.rows_of(["id-49", "absent", "id-0"])
    assert known.tolist() == [True, False, True]
    assert rows[known].tolist() == [49, 0]


def test_a_repetition_among_colliding_hashes_is_found(tmp_path):
    ids = [f"id-{number}" for number in range(50)]
    ids[40] = "id-20"

    index = index_of(tmp_path, ids, per_shard=8, hash_of=lambda text: len(text))

    assert index.sort() == Duplicate("id-20", 22, 42)


@given(st.sets(st.text(max_size=3), min_size=1, max_size=60), st.integers(1, 9), st.integers(1, 5))
def test_every_id_is_found_where_it_is(tmp_path_factory, ids, per_shard, buckets):
    known_ids = sorted(ids)
    folder = tmp_path_factory.mktemp("ids")
    index = index_of(folder, known_ids, per_shard=per_shard, hash_of=lambda t: hash(t) % buckets)

    assert index.sort() is None
    rows, known = index.rows_of([*known_ids, "no such id"])
    assert known.tolist() == [True] * len(ids) + [False]
    assert rows[known].tolist() == list(range(len(ids)))


def test_records_come_back_from_their_bucket_in_order(tmp_path):
    buckets = Buckets(tmp_path / "new", width=2)
    buckets.add(np.array([3, 1, 3]), np.array([[1, 2], [3, 4], [5, 6]]))
    buckets.add(np.array([3]), np.array([[7, 8]]))
    buckets.add(np.empty(0, dtype=np.int64), np.empty((0, 2), dtype=np.int64))

    assert buckets.read(3).tolist() == [[1, 2], [5, 6], [7, 8]]
    assert buckets.read(0).shape == (0, 2)


# Paths


def batch_of_paths(*paths: str) -> Batch:
    return Batch(Path("t.csv"), "line", range(5, 5 + len(paths)), {"path": paths}, 1, 1)


@pytest.mark.parametrize("path", ["/a.jpg", "\\a.jpg", "C:\\a.jpg", "c:/a.jpg"])
def test_an_absolute_path_is_refused_even_without_a_root(path):
    with pytest.raises(CollectionError, match=r"line 6: path .* is absolute"):
        PathCheck(None).paths(batch_of_paths("ok/a.jpg", path))


@pytest.mark.parametrize("path", ["..", "../a.jpg", "a/../../b.jpg", "a\\..\\b.jpg"])
def test_a_path_that_climbs_is_refused_even_without_a_root(path):
    with pytest.raises(CollectionError, match=r"line 6: path .* contains '\.\.'"):
        PathCheck(None).paths(batch_of_paths("a..b/c..jpg", path))


def test_paths_are_checked_on_disk_under_a_root(tmp_path):
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (tmp_path / "secret.jpg").touch()
    for name in ("a.jpg", "sub/e\u0301.jpg"):
        (root / name).touch()
    (root / "in.jpg").symlink_to("sub/e\u0301.jpg")
    (root / "out.jpg").symlink_to("../secret.jpg")
    (root / "up").symlink_to("..")
    (root / "dangling.jpg").symlink_to("nothing")
    check = PathCheck(root)

    good = ["a.jpg", "sub/e\u0301.jpg", "in.jpg"]
    assert check.paths(batch_of_paths(*good)) == good
    for bad, reason in {
        "out.jpg": "is a link that leads out",
        "up/secret.jpg": "leads out of .* through a link",
        "dangling.jpg": "cannot be found",
        "absent.jpg": "cannot be found under .*No such file",
        "sub": "is not a file",
        "": "is empty",
    }.items():
        with pytest.raises(CollectionError, match=f"line 6: path '{bad}' {reason}"):
            check.paths(batch_of_paths("a.jpg", bad))


def test_a_root_that_is_no_folder_is_refused(tmp_path):
    with pytest.raises(CollectionError, match="absent is not a folder"):
        PathCheck(tmp_path / "absent")


# Features


def saved(path: Path, array: np.ndarray) -> Path:
    np.save(path, array)
    return path


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    ("given", "kept"),
    [("<f2", "<f2"), (">f2", "<f2"), ("<f4", "<f4"), (">f4", "<f4"), ("<f8", "<f4")],
)
def test_features_are_copied_in_pieces(tmp_path, monkeypatch, given, kept, order):
    monkeypatch.setattr("sugartag.collection.readers.features.PIECE_BYTES", 3 * 8 * 4)
    values = np.arange(40).reshape(10, 4).astype(given, order=order)
    file = open_features(saved(tmp_path / "x.npy", values))

    file.copy_rows(2, tmp_path / "part.npy", [f"id-{n}" for n in range(2, 9)])

    part = np.load(tmp_path / "part.npy")
    assert part.dtype == np.dtype(kept)
    np.testing.assert_array_equal(part, values[2:9].astype(kept))


@pytest.mark.parametrize(
    ("value", "kind", "reason"),
    [
        (np.nan, "f2", "nan is not a finite number"),
        (-np.inf, "f4", "-inf is not a finite number"),
        (np.nan, "f8", "nan is not a finite number"),
        (1e300, "f8", r"1e\+300 is above 1e\+15"),
    ],
)
def test_a_number_that_cannot_be_a_feature_is_named_with_row_and_image(
    tmp_path, monkeypatch, value, kind, reason
):
    monkeypatch.setattr("sugartag.collection.readers.features.PIECE_BYTES", 3 * 8 * 2)
    values = np.zeros((9, 2), dtype=kind)
    values[7, 1] = value
    file = open_features(saved(tmp_path / "x.npy", values))

    with pytest.raises(
        CollectionError, match=rf"x\.npy, row 8 \(index 7, image 'g'\), column 2: {reason}"
    ):
        file.copy_rows(1, tmp_path / "part.npy", list("abcdefgh"))


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(4), r"has shape \(4,\); save an array of images x numbers"),
        (np.zeros((2, 2, 2)), r"has shape \(2, 2, 2\)"),
        (np.zeros((2, 0)), r"has shape \(2, 0\)"),
        (np.zeros((2, 2), dtype=int), r"holds int64, not floats; save it with array\.astype"),
        (np.array([["a"]]), r"holds <U1, not numbers"),
        (np.array([[None]], dtype=object), r"Python objects, which are never loaded"),
    ],
)
def test_an_array_that_cannot_be_features_is_named(tmp_path, array, message):
    np.save(tmp_path / "x.npy", array, allow_pickle=True)

    with pytest.raises((CollectionError, StorageError), match=rf"x\.npy.*{message}"):
        open_features(tmp_path / "x.npy")


@pytest.mark.parametrize(
    "damage", [lambda whole: whole[:-1], lambda whole: whole[:20], lambda _: b""]
)
def test_a_truncated_features_file_is_named(tmp_path, damage):
    path = saved(tmp_path / "x.npy", np.zeros((20, 3)))
    path.write_bytes(damage(path.read_bytes()))

    with pytest.raises(StorageError, match=r"x\.npy is not a whole \.npy file"):
        open_features(path)


def test_a_features_file_that_claims_an_impossible_size_is_named(tmp_path):
    path = tmp_path / "x.npy"
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (1 << 62, 1 << 10)}
        np.lib.format.write_array_header_1_0(file, header)

    with pytest.raises((StorageError, CollectionError), match=r"x\.npy"):
        open_features(path)
