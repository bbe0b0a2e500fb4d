"""A model folder gives back the model that was saved, or one line that says what is wrong."""

import copy
import errno
import functools
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from planted import as_new, planted_collection, resharded
from sugartag.collection.model import Rows
from sugartag.collection.store import save_collection
from sugartag.collection.subset import without_truth
from sugartag.engine import LocalEngine
from sugartag.engine.checkpoint.work import work_folder_of
from sugartag.errors import StorageError
from sugartag.methods.registry import METHODS, make_method
from sugartag.pipeline.fitting import fit_model, run_id
from sugartag.pipeline.model import FORMAT, Model, load_model, save_model
from sugartag.storage.arrays import sha256_of, write_manifest

SMALL_TENSOR = {"image_clusters": 8, "user_clusters": 3, "units_per_cluster": 4}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in METHODS},
    "sugar-tc": ("sugar-tc", SMALL_TENSOR),
    "sugar-tc, reconstruction": ("sugar-tc", {**SMALL_TENSOR, "scoring": "reconstruction"}),
}
"""Every method of the registry, and one that keeps its tensor and a sparse matrix besides."""
RICHEST = "sugar-tc, reconstruction"
WITH_COLLECTION = "tag-vote-own"

every_variant = pytest.mark.parametrize("variant", VARIANTS)


@functools.cache
def model_of(variant: str) -> Model:
    name, settings = VARIANTS[variant]
    return fitted(name, settings)


def fitted(name: str, settings: dict[str, Any], seed: int = 4) -> Model:
    method = make_method(name, settings)
    return fit_model(method, planted_collection(), engine=LocalEngine(), seed=seed)


def saved(variant: str, folder: Path) -> Path:
    save_model(model_of(variant), folder)
    return folder


def kinds_of_rows() -> Iterator[Rows]:
    """Yield images the model was fitted on, new ones of known owners, and new ones of nobody."""
    collection = planted_collection()
    yield collection.rows(slice(0, collection.n_images))
    some = collection.rows(slice(100, 140))
    yield as_new(some, collection)
    yield as_new(some, collection, owner=collection.nobody)


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def contents_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in files_of(folder)}


def edit_manifest(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    edit(manifest)
    write_manifest(folder, manifest)


def forge(folder: Path, name: str, array: np.ndarray) -> None:
    """Replace one array and describe it truly, as only someone who means it would."""
    path = folder / f"{name}.npy"
    np.save(path, array)
    entry = {"file": path.name, "shape": array.shape, "dtype": array.dtype.str}
    edit_manifest(folder, lambda m: m["files"].update({name: {**entry, "sha256": sha256_of(path)}}))


def refused(folder: Path) -> str:
    """Return the one line that says why the folder cannot be loaded."""
    with pytest.raises(StorageError) as caught:
        load_model(folder)
    line = str(caught.value)
    assert line
    assert "\n" not in line
    return line


@every_variant
@pytest.mark.parametrize("strangers_only", [False, True])
def test_a_loaded_model_scores_as_the_saved_one_bit_for_bit(variant, strangers_only, tmp_path):
    before, after = model_of(variant), load_model(saved(variant, tmp_path / "model"))

    for rows in kinds_of_rows():
        expected = before.fitted.scores(rows, strangers_only=strangers_only)
        got = after.fitted.scores(rows, strangers_only=strangers_only)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)
    assert after.fitted.floor == before.fitted.floor


@every_variant
def test_the_rest_of_a_model_comes_back_too(variant, tmp_path):
    before, after = model_of(variant), load_model(saved(variant, tmp_path / "model"))

    assert type(after.fitted) is type(before.fitted)
    assert after.method == before.method
    assert (after.run_id, after.seed) == (before.run_id, before.seed)
    for name in ("tag_names", "owner_names", "ids"):
        assert list(getattr(after.catalogue, name)) == list(getattr(before.catalogue, name))
    for kind in ("added", "given"):
        old, new = getattr(before.calibration, kind), getattr(after.calibration, kind)
        np.testing.assert_array_equal(new.scores, old.scores)
        np.testing.assert_array_equal(new.values, old.values)


@every_variant
def test_a_folder_holds_a_manifest_and_plain_arrays_and_nothing_else(variant, tmp_path):
    folder = saved(variant, tmp_path / "model")

    for path in files_of(folder):
        if path.name == "manifest.json":
            json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
        else:
            assert path.suffix == ".npy"
            assert np.load(path, allow_pickle=False).dtype.kind in "biuf"
            assert b"\x80\x04" not in path.read_bytes()[:2]


def test_a_model_of_several_shards_comes_back(tmp_path, engine):
    cut = resharded(planted_collection(), 1, 250)
    before = fit_model(make_method("tag-vote"), cut, engine=engine, seed=0)

    save_model(before, tmp_path / "model")
    after = load_model(tmp_path / "model")

    rows = cut.rows(slice(0, cut.n_images))
    np.testing.assert_array_equal(after.fitted.scores(rows), before.fitted.scores(rows))
    assert list(after.catalogue.ids) == list(cut.ids)


@pytest.mark.parametrize("variant", [WITH_COLLECTION, "sugar-tc"])
def test_the_same_seed_writes_the_same_bytes(variant, tmp_path):
    save_model(fitted(*VARIANTS[variant]), tmp_path / "again")

    assert contents_of(tmp_path / "again") == contents_of(saved(variant, tmp_path / "model"))


def test_the_truth_is_not_looked_at(tmp_path, engine):
    blind = without_truth(planted_collection())
    model = fit_model(make_method("tag-vote-own"), blind, engine=engine, seed=4)

    save_model(model, tmp_path / "blind")

    assert contents_of(tmp_path / "blind") == contents_of(saved("tag-vote-own", tmp_path / "model"))


def test_a_run_is_named_by_what_decides_its_outcome(collection):
    method = make_method("tag-prior")
    renamed = replace(collection, tag_names=tuple(f"other {n}" for n in range(collection.n_tags)))

    names = [
        run_id(method, collection, 0),
        run_id(method, collection, 1),
        run_id(make_method("tag-prior", {"per_owner": True}), collection, 0),
        run_id(make_method("original"), collection, 0),
        run_id(method, planted_collection(seed=8), 0),
        run_id(method, renamed, 0),
    ]

    assert len(set(names)) == len(names)
    assert run_id(method, planted_collection(), 0) == names[0]
    assert names[0].startswith("tag-prior-")


@pytest.mark.parametrize("variant", [WITH_COLLECTION, RICHEST])
def test_a_changed_byte_in_any_array_is_found_and_its_file_named(variant, tmp_path):
    folder = saved(variant, tmp_path / "model")

    arrays = [path for path in files_of(folder) if path.suffix == ".npy" and np.load(path).size]

    assert len(arrays) > 10
    for path in arrays:
        whole = path.read_bytes()
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        assert f"{path} has changed since it was written" in refused(folder)
        path.write_bytes(whole)
    load_model(folder)


@pytest.mark.parametrize("variant", [WITH_COLLECTION, RICHEST])
def test_a_missing_or_cut_file_is_named(variant, tmp_path):
    folder = saved(variant, tmp_path / "model")

    for path in files_of(folder):
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        assert str(path) in refused(folder)
        path.unlink()
        assert path.name in refused(folder)
        path.write_bytes(whole)
    load_model(folder)


def test_a_folder_of_another_format_is_refused(tmp_path):
    folder = saved("tag-prior", tmp_path / "model")
    edit_manifest(folder, lambda manifest: manifest.update(format="sugartag-model/9"))

    line = refused(folder)

    assert "'sugartag-model/9'" in line
    assert f"this version reads {FORMAT!r}" in line


def test_a_method_that_this_version_does_not_have_is_named(tmp_path):
    folder = saved("tag-prior", tmp_path / "model")
    edit_manifest(folder, lambda manifest: manifest.update(method="tag-priest"))

    assert "'tag-priest'" in refused(folder)


@pytest.mark.parametrize("outside", ["../share.npy", "{parent}/share.npy", "sub/../../share.npy"])
def test_a_manifest_that_names_a_file_outside_the_folder_is_refused(outside, tmp_path):
    folder = saved("tag-prior", tmp_path / "model")
    shutil.copy(folder / "fitted.share.npy", tmp_path / "share.npy")
    name = outside.format(parent=tmp_path)
    edit_manifest(folder, lambda manifest: manifest["files"]["fitted.share"].update(file=name))

    assert "outside the folder" in refused(folder)


def test_a_link_that_leads_out_of_the_folder_is_refused(tmp_path):
    folder = saved("tag-prior", tmp_path / "model")
    (folder / "fitted.share.npy").rename(tmp_path / "share.npy")
    (folder / "fitted.share.npy").symlink_to(tmp_path / "share.npy")

    assert "outside the folder" in refused(folder)


@pytest.mark.parametrize("outside", ["..", "../elsewhere", "{parent}", "{parent}/elsewhere"])
def test_a_manifest_that_names_a_collection_outside_the_folder_is_refused(outside, tmp_path):
    save_collection(planted_collection(), tmp_path / "photos")
    save_collection(planted_collection(), tmp_path / "photos" / "elsewhere")
    folder = saved(WITH_COLLECTION, tmp_path / "photos" / "model")
    name = outside.format(parent=folder.parent)
    edit_manifest(
        folder, lambda manifest: manifest["state"]["fitted"]["collection"].update(collection=name)
    )

    assert "outside the folder" in refused(folder)


def test_an_array_of_another_shape_than_the_manifest_says_is_refused(tmp_path):
    folder = saved("tag-prior", tmp_path / "model")
    np.save(folder / "fitted.share.npy", np.load(folder / "fitted.share.npy")[:-1])

    assert "but the manifest says" in refused(folder)


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("fitted.user_links.indices", lambda array: array + 10_000),
        ("fitted.user_links.indices", lambda array: array - 10_000),
        ("fitted.user_links.indptr", lambda array: array[::-1].copy()),
        ("fitted.user_links.indptr", lambda array: array[:-1]),
        ("fitted.user_links.data", lambda array: array[:-1]),
        ("fitted.reconstruction.tag_affinity.indices", lambda array: array + 10_000),
        ("catalogue.ids.offsets", lambda array: array + 1),
        ("catalogue.ids.offsets", lambda array: array[::-1].copy()),
        ("catalogue.owner_names.offsets", lambda array: array[:0]),
        ("catalogue.owner_names.data", lambda array: array[:-1]),
    ],
)
def test_indices_out_of_range_are_refused_even_if_the_manifest_vouches_for_them(
    name, spoil, tmp_path
):
    folder = saved(RICHEST, tmp_path / "model")
    forge(folder, name, spoil(np.load(folder / f"{name}.npy")))

    refused(folder)


@pytest.mark.parametrize(
    ("field", "wrong"),
    [("neighbours", "20"), ("neighbours", 20.5), ("unit_features", 1), ("own_weight", "much")],
)
def test_a_value_of_another_type_than_the_code_says_is_refused(field, wrong, tmp_path):
    folder = saved(WITH_COLLECTION, tmp_path / "model")
    edit_manifest(folder, lambda manifest: manifest["state"]["fitted"].update({field: wrong}))

    assert "manifest.json is damaged" in refused(folder)


def places_in(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value of a manifest, to three only of many that are alike."""
    if path:
        yield path
    keys = list(tree) if isinstance(tree, dict) else []
    if isinstance(tree, list):
        keys = list(range(len(tree)))
    is_alike = isinstance(tree, list) or path == ("files",)
    for key in keys[:3] if is_alike else keys:
        yield from places_in(tree[key], (*path, key))


@pytest.mark.parametrize("variant", [WITH_COLLECTION, RICHEST])
@pytest.mark.parametrize("wrong", [None, "?", -1, [], {}])
def test_whatever_a_manifest_says_wrong_a_folder_loads_or_is_refused(variant, wrong, tmp_path):
    folder = saved(variant, tmp_path / "model")
    whole = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    reasons = []

    for *way, last in places_in(whole):
        spoilt = copy.deepcopy(whole)
        functools.reduce(lambda tree, key: tree[key], way, spoilt)[last] = wrong
        write_manifest(folder, spoilt)
        try:
            load_model(folder)
        except StorageError as error:
            reasons.append(str(error))

    assert len(reasons) > 20
    assert not [reason for reason in reasons if "\n" in reason]


def test_a_model_is_replaced_only_when_asked(tmp_path):
    folder = saved("tag-prior", tmp_path / "model")

    with pytest.raises(StorageError, match=r"model exists already.*--overwrite"):
        save_model(model_of("original"), folder)
    assert load_model(folder).method.name == "tag-prior"
    save_model(model_of("original"), folder, overwrite=True)

    assert load_model(folder).method.name == "original"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize(
    "file", ["holiday.jpg", "manifest.json"], ids=["photos", "somebody else's manifest"]
)
def test_a_folder_that_is_not_ours_is_never_replaced(file, tmp_path):
    target = tmp_path / "mine"
    target.mkdir()
    (target / file).write_text('{"name": "My browser extension", "version": "1"}')

    with pytest.raises(StorageError, match="--overwrite replaces models only"):
        save_model(model_of("original"), target, overwrite=True)
    with pytest.raises(StorageError, match="is left alone"):
        save_collection(planted_collection(), target, overwrite=True)

    assert [path.name for path in target.iterdir()] == [file]
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_collection_is_never_replaced_by_a_model(tmp_path):
    save_collection(planted_collection(), tmp_path / "photos")
    before = contents_of(tmp_path / "photos")

    with pytest.raises(StorageError, match=r"models only: .*'sugartag-collection/1'"):
        save_model(model_of("original"), tmp_path / "photos", overwrite=True)

    assert contents_of(tmp_path / "photos") == before


def test_a_disk_that_fills_up_is_named_and_leaves_nothing(tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sugartag.pipeline.encoding.save_array", full)

    with pytest.raises(StorageError, match=r"^cannot write .*model: No space left on device$"):
        save_model(model_of("tag-prior"), tmp_path / "model")

    assert list(tmp_path.iterdir()) == []


# Killed when it would write its third array, however busy the machine is.
KILLED = """
import os, signal, sys
from sugartag.cli.main import main
from sugartag.pipeline import encoding
written, save_array = [], encoding.save_array
def save(folder, name, array):
    written.append(name)
    if len(written) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return save_array(folder, name, array)
encoding.save_array = save
main(["fit", sys.argv[1], "--method", "original", "--out", sys.argv[2]])
"""


def test_nothing_stands_under_the_name_when_a_fit_is_killed_while_writing(tmp_path):
    target, photos = tmp_path / "models" / "mine", tmp_path / "photos"
    target.parent.mkdir()
    save_collection(planted_collection(), photos)

    killed = subprocess.run([sys.executable, "-c", KILLED, photos, target], check=False)

    assert killed.returncode == -signal.SIGKILL
    assert not target.exists()
    shutil.rmtree(work_folder_of(target))  # Kept on purpose, to go on from.
    (half,) = target.parent.iterdir()
    assert len(list((half / "new").iterdir())) == 2
    assert not (half / "new" / "manifest.json").exists()
    save_model(model_of("original"), target)
    assert [path.name for path in target.parent.iterdir()] == ["mine"]
