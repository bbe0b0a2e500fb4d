import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from planted import planted_collection, resharded, without_features
from sugartag.collection import Collection, Shard, Texts, open_collection, save_collection
from sugartag.errors import StorageError
from sugartag.storage.arrays import sha256_of, write_manifest


@pytest.fixture(scope="module")
def described() -> Collection:
    """Return a collection of three shards in which nothing is left out."""
    cut = resharded(planted_collection(), 200, 201)
    shards = tuple(
        replace(
            shard,
            paths=Texts.of(f"Füße/{name}.jpg" for name in shard.ids),
            titles=Texts.of("" if place % 3 else f"語 🐾 {place}" for place in range(len(shard))),
        )
        for shard in cut.shards
    )
    return replace(cut, shards=shards, images_root="/photos")


@pytest.fixture
def folder(described, tmp_path) -> Path:
    save_collection(described, tmp_path / "photos")
    return tmp_path / "photos"


def assert_same(found: object, expected: object) -> None:
    if sparse.issparse(expected):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.toarray(), expected.toarray())
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    else:
        assert found == expected


def assert_same_collection(found: Collection, expected: Collection) -> None:
    assert len(found.shards) == len(expected.shards)
    for shard, other in zip(found.shards, expected.shards, strict=True):
        for part in fields(Shard):
            assert_same(getattr(shard, part.name), getattr(other, part.name))
    for part in fields(Collection):
        if part.name != "shards":
            assert_same(getattr(found, part.name), getattr(expected, part.name))


def edited(folder: Path, *keys: str | int, value: object) -> None:
    """Change one value of the manifest, found by its keys."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    place = manifest
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    write_manifest(folder, manifest)


def replaced(folder: Path, name: str, array: np.ndarray, *keys: str | int) -> None:
    """Replace an array file, and what the manifest says of it, so that both agree."""
    path = folder / f"{name}.npy"
    np.save(path, array)
    entry = {
        "file": f"{name}.npy",
        "shape": list(array.shape),
        "dtype": array.dtype.str,
        "sha256": sha256_of(path),
    }
    edited(folder, *keys, value=entry)


def test_what_is_opened_is_what_was_saved(folder, described):
    assert_same_collection(open_collection(folder), described)


def test_what_is_not_known_stays_unknown(tmp_path):
    bare = without_features(planted_collection())
    bare = replace(
        bare, concept_names=(), shards=tuple(replace(shard, truth=None) for shard in bare.shards)
    )

    save_collection(bare, tmp_path / "photos")

    assert_same_collection(open_collection(tmp_path / "photos"), bare)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_features_are_kept_in_their_precision(kind, described, tmp_path):
    shards = [replace(s, features=s.features.astype(kind)) for s in described.shards]
    stored = replace(described, shards=tuple(shards))

    save_collection(stored, tmp_path / "photos")
    opened = open_collection(tmp_path / "photos")

    assert_same_collection(opened, stored)
    assert opened.rows(slice(190, 210)).features.dtype == np.float32


def test_half_precision_features_take_half_the_room(described, tmp_path):
    sizes = {}
    for kind in (np.float16, np.float32):
        shards = [replace(s, features=s.features.astype(kind)) for s in described.shards]
        save_collection(replace(described, shards=tuple(shards)), tmp_path / kind.__name__)
        path = tmp_path / kind.__name__ / "shards/00000/features.npy"
        sizes[kind] = path.stat().st_size - 128

    assert sizes[np.float16] * 2 == sizes[np.float32]


def test_features_are_mapped_and_not_read(folder):
    assert isinstance(open_collection(folder).shards[0].features, np.memmap)


def test_a_slice_of_texts_is_stored_alone(described, folder):
    opened = open_collection(folder)

    assert len(opened.shards[1].ids.data) == len("".join(described.shards[1].ids).encode())


def test_an_opened_collection_can_replace_itself(folder, described):
    save_collection(open_collection(folder), folder, overwrite=True)

    assert_same_collection(open_collection(folder), described)
    assert [path.name for path in folder.parent.iterdir()] == ["photos"]


def test_an_existing_folder_is_refused_unless_asked(folder, described):
    with pytest.raises(StorageError, match="exists already"):
        save_collection(described, folder)


def test_the_manifest_counts_what_is_there(folder, described):
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))

    assert manifest["format"] == "sugartag-collection/1"
    counts = [manifest[key] for key in ("images", "tags", "owners", "groups", "concepts")]
    assert counts == [600, described.n_tags, described.n_owners, described.n_groups, 40]


def test_nothing_stands_under_the_name_when_saving_fails(described, tmp_path):
    broken = replace(described)
    object.__setattr__(broken, "groups", None)

    with pytest.raises(AttributeError):
        save_collection(broken, tmp_path / "photos")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["features", "tags.indices", "ids.data", "owner"])
def test_a_changed_byte_in_any_file_is_found(name, folder):
    path = folder / f"shards/00002/{name}.npy"
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)

    with pytest.raises(StorageError, match=rf"shards/00002/{name}\.npy has changed"):
        open_collection(folder)


def test_a_missing_file_is_named(folder):
    (folder / "shards/00001/features.npy").unlink()

    with pytest.raises(StorageError, match=r"shards/00001/features\.npy is missing"):
        open_collection(folder)


def test_a_cut_file_is_named_even_without_hashes(folder):
    path = folder / "shards/00000/features.npy"
    path.write_bytes(path.read_bytes()[:-4])

    with pytest.raises(StorageError, match=r"features\.npy is not a whole \.npy file"):
        open_collection(folder, verify=False)


def test_another_format_version_is_named(folder):
    edited(folder, "format", value="sugartag-collection/2")

    with pytest.raises(StorageError, match=r"'sugartag-collection/2'.*'sugartag-collection/1'"):
        open_collection(folder)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("files",), {}),
        (("files",), []),
        (("files",), None),
        (("shards",), None),
        (("shards",), [{}]),
        (("shards",), [5]),
        (("shards", 0, "files"), {}),
        (("shards", 0, "files", "owner"), {"file": "owner.npy"}),
    ],
)
def test_a_manifest_that_lacks_something_is_named_in_one_line(keys, value, folder):
    edited(folder, *keys, value=value)

    with pytest.raises(StorageError, match=r"photos is damaged: |json describes") as error:
        open_collection(folder)

    assert "\n" not in str(error.value)


def changed_at(place: int, value: int):
    def change(array: np.ndarray) -> np.ndarray:
        made = array.copy()
        made[place] = value
        return made

    return change


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("tags.indices", changed_at(3, 50)),
        ("tags.indices", changed_at(3, -1)),
        ("tags.indices", lambda array: array[:-1]),
        ("tags.indptr", changed_at(7, 100_000)),
        ("tags.indptr", changed_at(0, 1)),
        ("tags.indptr", lambda array: array[:-1]),
        ("truth.indices", changed_at(3, 40)),
    ],
)
def test_tags_that_cannot_be_are_named(name, change, folder):
    path = f"shards/00000/{name}"
    array = change(np.load(folder / f"{path}.npy"))
    replaced(folder, path, array, "shards", 0, "files", name)

    with pytest.raises(StorageError, match=f"damaged: {name.split('.')[0]}: is a sparse array"):
        open_collection(folder)


@pytest.mark.parametrize(
    "change",
    [lambda array: array[:0], changed_at(0, 1), changed_at(-1, 3)],
    ids=["none", "start", "end"],
)
def test_texts_that_cannot_be_are_named(change, folder):
    path = "shards/00000/ids.offsets"
    array = change(np.load(folder / f"{path}.npy"))
    replaced(folder, path, array, "shards", 0, "files", "ids.offsets")

    with pytest.raises(StorageError, match="damaged: ids: offsets"):
        open_collection(folder)


def test_names_that_are_no_text_are_named(folder):
    size = np.load(folder / "tags.data.npy").size
    replaced(folder, "tags.data", np.full(size, 255, np.uint8), "files", "tags.data")

    with pytest.raises(StorageError, match=r"damaged: tags: .*utf-8"):
        open_collection(folder)


@pytest.mark.parametrize("features", [np.ones((1, 48), np.int64), np.ones(1, np.float32)])
def test_features_that_are_no_rows_of_numbers_are_named(features, folder):
    name = "shards/00001/features"
    replaced(folder, name, features, "shards", 1, "files", "features")

    with pytest.raises(
        StorageError, match=r"shard 1\.features (is int64, not floats|has 1 axes, not 2)"
    ):
        open_collection(folder)


def test_a_file_outside_the_folder_is_refused(folder):
    edited(folder, "shards", 0, "files", "owner", "file", value="../../etc/owner.npy")

    with pytest.raises(StorageError, match="lies outside the folder"):
        open_collection(folder)


def in_first_shard(folder: Path, name: str) -> tuple[str, np.ndarray, tuple[str | int, ...]]:
    path = f"shards/00000/{name}"
    return path, np.load(folder / f"{path}.npy"), ("shards", 0, "files", name)


@pytest.mark.parametrize("name", ["tags.indptr", "tags.indices", "truth.indptr", "ids.offsets"])
@pytest.mark.parametrize("kind", [np.uint64, np.uint32, np.float64, ">i8"])
def test_indices_of_another_kind_than_signed_integers_are_refused(name, kind, folder):
    path, array, keys = in_first_shard(folder, name)
    replaced(folder, path, array.astype(kind), *keys)

    with pytest.raises(StorageError, match=f"damaged: {name.split('.')[0]}: "):
        open_collection(folder)


def test_rows_that_fall_are_refused_though_differences_of_unsigned_numbers_never_do(folder):
    path, array, keys = in_first_shard(folder, "tags.indptr")
    fallen = array.astype(np.uint64)
    fallen[5] = 10**6
    replaced(folder, path, fallen, *keys)

    with pytest.raises(StorageError, match="damaged: tags: "):
        open_collection(folder)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38])
def test_features_that_nothing_can_be_computed_from_are_refused(value, folder):
    path, array, keys = in_first_shard(folder, "features")
    array[3, 4] = value
    replaced(folder, path, array, *keys)

    with pytest.raises(StorageError, match=r"shard 0\.features has "):
        open_collection(folder)


@pytest.mark.parametrize("owner", [-1, 10_000])
def test_an_owner_that_is_not_there_is_refused(owner, folder):
    path, array, keys = in_first_shard(folder, "owner")
    array[2] = owner
    replaced(folder, path, array, *keys)

    with pytest.raises(StorageError, match=r"shard 0\.owner points to"):
        open_collection(folder)


def test_a_text_that_starts_within_a_character_is_refused(folder):
    path, array, keys = in_first_shard(folder, "paths.offsets")
    array[1] = 2  # Every path begins with "Füße": the second byte of the ü.
    replaced(folder, path, array, *keys)

    with pytest.raises(StorageError, match="middle of a character"):
        open_collection(folder)


@pytest.mark.parametrize("key", ["images", "tags", "owners", "groups", "concepts"])
def test_a_count_that_is_not_so_is_noticed(key, folder):
    edited(folder, key, value=7)

    with pytest.raises(StorageError, match=f"its manifest says 7 {key}"):
        open_collection(folder)


@pytest.mark.parametrize("key", ["images", "images_root"])
def test_an_edited_manifest_is_noticed_by_its_checksum(key, folder):
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**manifest, key: "/etc"}), encoding="utf-8")

    with pytest.raises(StorageError, match=r"was edited .* checksum does not match"):
        open_collection(folder)


def test_a_manifest_that_is_only_laid_out_anew_is_read(folder, described):
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(manifest, sort_keys=True), encoding="utf-8")

    assert_same_collection(open_collection(folder), described)
