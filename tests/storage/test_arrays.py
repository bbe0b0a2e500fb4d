import hashlib
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as some

from sugartag.errors import StorageError
from sugartag.storage.arrays import (
    describe,
    inside,
    load_array,
    map_npy,
    read_manifest,
    save_array,
    write_manifest,
)

FORMAT = "sugartag-test/1"
VALUES = np.arange(12, dtype=np.float32).reshape(3, 4)

plain_arrays = some.arrays(
    st.sampled_from([np.int8, np.int64, np.uint8, np.float16, np.float32, np.float64, np.bool_]),
    some.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4),
)


@pytest.fixture
def saved(tmp_path):
    """One array in a folder, as the manifest describes it."""
    return save_array(tmp_path, "values", VALUES).as_json()


def header(text: str) -> bytes:
    """Return the first bytes of a .npy file whose header says ``text``."""
    padded = text.encode() + b" " * (53 - len(text) % 64 + 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded


def assert_one_line(error: pytest.ExceptionInfo) -> None:
    assert "\n" not in str(error.value)


@settings(deadline=None)
@given(array=plain_arrays)
def test_what_is_loaded_is_what_was_saved(array, tmp_path_factory):
    folder = tmp_path_factory.mktemp("round")

    entry = json.loads(json.dumps(save_array(folder, "values", array).as_json()))
    loaded = load_array(folder, entry, verify=True)

    assert loaded.dtype == array.dtype
    assert loaded.shape == array.shape
    np.testing.assert_array_equal(loaded, array)


def test_numpy_reads_what_is_saved(tmp_path):
    save_array(tmp_path, "values", VALUES[:, ::2])

    np.testing.assert_array_equal(np.load(tmp_path / "values.npy"), VALUES[:, ::2])


def test_an_entry_says_file_shape_type_and_hash(tmp_path):
    entry = save_array(tmp_path, "shards/0/values", VALUES)

    whole = (tmp_path / "shards/0/values.npy").read_bytes()
    assert entry.as_json() == {
        "file": "shards/0/values.npy",
        "shape": [3, 4],
        "dtype": "<f4",
        "sha256": hashlib.sha256(whole).hexdigest(),
    }
    assert describe(tmp_path, "shards/0/values") == entry


def test_a_loaded_array_is_mapped_and_cannot_be_written(saved, tmp_path):
    loaded = load_array(tmp_path, saved, verify=True)

    assert isinstance(loaded, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        loaded[0, 0] = 5.0


def test_a_changed_byte_is_found_by_its_hash(saved, tmp_path):
    raw = bytearray((tmp_path / "values.npy").read_bytes())
    raw[-1] ^= 1
    (tmp_path / "values.npy").write_bytes(raw)

    with pytest.raises(StorageError, match=r"values\.npy has changed since") as error:
        load_array(tmp_path, saved, verify=True)

    assert_one_line(error)
    load_array(tmp_path, saved, verify=False)


@pytest.mark.parametrize("kept", [0, 5, 9, 60, 127, 128, 140, -1])
def test_a_cut_file_is_named(kept, saved, tmp_path):
    whole = (tmp_path / "values.npy").read_bytes()
    (tmp_path / "values.npy").write_bytes(whole[:kept])

    with pytest.raises(StorageError, match=r"values\.npy is not a whole \.npy file") as error:
        load_array(tmp_path, saved, verify=False)

    assert_one_line(error)


@pytest.mark.parametrize(
    "content",
    [
        b"not an array at all",
        header("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4)"),
        header("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } {"),
        header("{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }"),
        header(f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({10**30},), }}"),
        header("{'descr': '<f4', 'fortran_order': False, 'shape': ('3',), }"),
        header("{'descr': 'nonsense', 'fortran_order': False, 'shape': (3,), }"),
        header("{'shape': (3,), }"),
        header("[" * 5000),
    ],
    ids=range(9),
)
def test_a_file_that_is_no_array_is_named(content, tmp_path):
    (tmp_path / "values.npy").write_bytes(content + b"\0" * 48)

    with pytest.raises(StorageError, match=r"values\.npy is not a whole \.npy file"):
        map_npy(tmp_path / "values.npy")


@pytest.mark.parametrize("shape", [(2,), (0,)])
def test_an_array_of_objects_is_refused_and_never_unpickled(shape, tmp_path):
    touched = tmp_path / "touched"

    class Trap:
        def __reduce__(self):
            return Path.touch, (touched,)

    array = np.empty(shape, dtype=object)
    array[:] = Trap()
    with (tmp_path / "values.npy").open("wb") as file:
        np.lib.format.write_array(file, array, allow_pickle=True)

    with pytest.raises(StorageError, match=r"values\.npy .*never loaded"):
        map_npy(tmp_path / "values.npy")

    assert not touched.exists()


def test_a_bare_pickle_is_refused_and_never_unpickled(tmp_path):
    (tmp_path / "values.npy").write_bytes(pickle.dumps([1, 2, 3]))

    with pytest.raises(StorageError, match=r"values\.npy is not a whole"):
        map_npy(tmp_path / "values.npy")


@pytest.mark.parametrize(
    "array",
    [np.array(["a", "bc"]), np.zeros(2, dtype=[("a", "<f4")]), np.zeros(2, dtype=complex)],
    ids=["text", "fields", "complex"],
)
def test_anything_but_plain_numbers_is_refused(array, tmp_path):
    np.save(tmp_path / "values.npy", array)

    with pytest.raises(StorageError, match=r"values\.npy holds .*, not numbers"):
        map_npy(tmp_path / "values.npy")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"shape": [4, 3]}, r"float32 of shape \(3, 4\), but the manifest says .* \(4, 3\)"),
        ({"shape": [12]}, r"shape \(3, 4\), but the manifest says .* \(12,\)"),
        ({"dtype": "<f8"}, r"float32 .* manifest says <f8"),
        ({"dtype": ">f4"}, r"float32 .* manifest says >f4"),
    ],
)
def test_another_shape_or_type_than_the_manifests_is_named(changed, said, saved, tmp_path):
    with pytest.raises(StorageError, match=said) as error:
        load_array(tmp_path, saved | changed, verify=False)

    assert_one_line(error)


@pytest.mark.parametrize(
    "changed",
    [{"shape": 3}, {"shape": None}, {"shape": ["x"]}, {"shape": [float("inf")]}, {"shape": [{}]}],
)
def test_an_entry_that_makes_no_sense_is_named(changed, saved, tmp_path):
    with pytest.raises(StorageError, match=r"manifest\.json describes an array badly"):
        load_array(tmp_path, saved | changed, verify=False)


@pytest.mark.parametrize("key", ["file", "shape", "dtype", "sha256"])
def test_an_entry_that_lacks_something_is_named(key, saved, tmp_path):
    del saved[key]

    with pytest.raises(StorageError, match=r"manifest\.json describes an array badly"):
        load_array(tmp_path, saved, verify=False)


@pytest.mark.parametrize("entry", [None, 5, [1, 2], "values.npy"])
def test_an_entry_that_is_no_entry_is_named(entry, tmp_path):
    with pytest.raises(StorageError, match=r"manifest\.json describes an array badly"):
        load_array(tmp_path, entry, verify=False)


def test_a_missing_file_is_named(saved, tmp_path):
    (tmp_path / "values.npy").unlink()

    with pytest.raises(StorageError, match=r"values\.npy is missing"):
        load_array(tmp_path, saved, verify=True)


@pytest.mark.parametrize("name", ["../secret.npy", "a/../../secret.npy", "{outside}", "a\0.npy"])
def test_a_path_that_leads_out_of_the_folder_is_refused(name, saved, tmp_path):
    folder = tmp_path / "inner"
    folder.mkdir()
    np.save(tmp_path / "secret.npy", VALUES)
    name = name.replace("{outside}", str(tmp_path / "secret.npy"))

    with pytest.raises(StorageError, match="lies outside the folder"):
        load_array(folder, saved | {"file": name}, verify=False)


def test_a_link_that_leads_out_of_the_folder_is_refused(saved, tmp_path):
    folder = tmp_path / "inner"
    folder.mkdir()
    np.save(tmp_path / "secret.npy", VALUES)
    (folder / "values.npy").symlink_to(tmp_path / "secret.npy")

    with pytest.raises(StorageError, match="lies outside the folder"):
        load_array(folder, saved, verify=False)


def test_a_path_within_the_folder_is_taken(tmp_path):
    assert inside(tmp_path, "shards/00000/a.npy") == tmp_path / "shards/00000/a.npy"


def test_a_manifest_comes_back_as_it_was_written(tmp_path):
    manifest = {"format": FORMAT, "name": "Füße 🐾", "counts": [1, 2], "root": None}

    write_manifest(tmp_path, manifest)

    assert read_manifest(tmp_path, format_name=FORMAT) == manifest


def test_a_folder_without_a_manifest_is_named(tmp_path):
    with pytest.raises(StorageError, match=r"is not a sugartag-test/1 folder: .* manifest\.json"):
        read_manifest(tmp_path, format_name=FORMAT)


def test_a_manifest_without_a_checksum_is_refused(tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps({"format": FORMAT}))

    with pytest.raises(StorageError, match="its checksum is missing; write the folder again"):
        read_manifest(tmp_path, format_name=FORMAT)


@pytest.mark.parametrize("found", ["sugartag-test/2", "sugartag-other/1", None, 1])
def test_another_format_or_version_is_named_with_the_one_read(found, tmp_path):
    write_manifest(tmp_path, {"format": found})

    with pytest.raises(StorageError, match=r"has format .*; this version reads 'sugartag-test/1'"):
        read_manifest(tmp_path, format_name=FORMAT)


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b'{"format": "sugartag-test/1"',
        b'{"format": "sugartag-test/1", "name": "\xff"}',
        b"\x93NUMPY",
        b'{"format": ' + b"[" * 100_000,
        b'{"format": "sugartag-test/1", "images": ' + b"9" * 5000 + b"}",
    ],
    ids=["empty", "cut", "bytes", "binary", "deep", "huge-number"],
)
def test_a_damaged_manifest_is_named(damaged, tmp_path):
    (tmp_path / "manifest.json").write_bytes(damaged)

    with pytest.raises(StorageError, match=r"manifest\.json is not valid JSON") as error:
        read_manifest(tmp_path, format_name=FORMAT)

    assert_one_line(error)


@pytest.mark.parametrize("other", ["[]", "5", '"sugartag-test/1"', "null"])
def test_a_manifest_that_is_no_object_has_no_format(other, tmp_path):
    (tmp_path / "manifest.json").write_text(other)

    with pytest.raises(StorageError, match="has format None"):
        read_manifest(tmp_path, format_name=FORMAT)


def test_a_manifest_too_large_to_read_is_refused_by_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr("sugartag.storage.arrays.MAX_MANIFEST_BYTES", 20)
    write_manifest(tmp_path, {"format": FORMAT, "name": "much longer than twenty bytes"})

    with pytest.raises(StorageError, match=r"manifest\.json is larger than 20 bytes"):
        read_manifest(tmp_path, format_name=FORMAT)
