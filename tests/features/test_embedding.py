"""Embedding a collection: only what is new, the same after a kill, rows without features."""

import csv
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hostile_pictures import READ, REFUSED, write_all
from sugartag.collection import feature_update
from sugartag.collection.feature_update import FeatureUpdate, clear_unlisted
from sugartag.collection.folders.importing import FolderSources, import_folder
from sugartag.collection.folders.owners import owner_rule
from sugartag.collection.readers import Sources, import_collection
from sugartag.collection.store import open_collection, save_collection
from sugartag.collection.texts import Texts
from sugartag.collection.vocabulary import TagRules
from sugartag.errors import CollectionError, SettingsError, StorageError
from sugartag.features import embedding
from sugartag.features.embedding import embed_collection
from sugartag.features.encoders import Encoder, make_encoder
from sugartag.storage.arrays import write_manifest
from sugartag.storage.damage import damaged_files
from tiny_onnx import write_encoder

N = 30
ROWS_PER_SHARD = 11


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """A folder of small pictures, each of a grey of its own."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(N):
        Image.new("L", (40, 30), 8 * number).save(folder / f"{number:02d}.png")
    return folder


@pytest.fixture
def encoder(tmp_path: Path) -> Encoder:
    return make_encoder(write_encoder(tmp_path), threads=1)


def imported(photos: Path, *, rows_per_shard: int = ROWS_PER_SHARD) -> Path:
    table, out = photos.parent / "photos.csv", photos.parent / "collection"
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["image_id", "owner", "tags", "path"])
        for path in sorted(photos.iterdir()):
            writer.writerow([path.stem, "anna", "beach", path.name])
    import_collection(Sources(table, images_root=photos), out, rows_per_shard=rows_per_shard)
    return out


def features(folder: Path) -> np.ndarray:
    collection = open_collection(folder)
    return collection.features_at(np.arange(collection.n_images))


def errors(folder: Path) -> list[dict[str, str]]:
    path = folder / "errors.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_every_picture_is_described_by_its_own_row(photos: Path, encoder: Encoder) -> None:
    folder = imported(photos)

    found = embed_collection(folder, encoder, batch=4, threads=3)

    expected = np.arange(N)[:, None] * 8 / 255 * np.ones(3)
    assert (found.images, found.described, found.kept, found.unreadable) == (N, N, 0, 0)
    np.testing.assert_allclose(features(folder), expected, atol=1e-3)
    assert open_collection(folder).n_with_features == N
    assert open_collection(folder).shards[0].has_features is None
    assert damaged_files(folder) == []
    assert not (folder / "errors.jsonl").exists()
    assert [path.name for path in folder.parent.iterdir() if path.name.startswith(".")] == []


def test_a_second_run_looks_at_nothing_and_changes_nothing(photos: Path, encoder: Encoder) -> None:
    folder = imported(photos)
    embed_collection(folder, encoder)
    before = contents(folder)

    found = embed_collection(folder, encoder)

    assert (found.described, found.kept) == (0, N)
    assert contents(folder) == before


def test_only_files_that_changed_are_described_again(photos: Path, encoder: Encoder) -> None:
    folder = imported(photos)
    embed_collection(folder, encoder)
    before = features(folder)
    Image.new("L", (40, 30), 255).save(photos / "17.png")
    os.utime(photos / "03.png", ns=(5, 5))

    found = embed_collection(folder, encoder)

    assert (found.described, found.kept) == (1, N - 1)
    assert np.flatnonzero((features(folder) != before).any(axis=1)).tolist() == [17]
    assert embed_collection(folder, encoder).described == 0


def test_pictures_that_cannot_be_read_stay_without_features(photos: Path, encoder: Encoder) -> None:
    folder = imported(photos)
    (photos / "04.png").write_bytes(b"no picture")
    (photos / "20.png").unlink()

    found = embed_collection(folder, encoder)

    collection = open_collection(folder)
    assert (found.described, found.unreadable) == (N - 2, 2)
    assert np.flatnonzero(~collection.described).tolist() == [4, 20]
    assert not collection.features_at(np.array([4, 20])).any()
    assert [(line["image_id"], line["path"]) for line in errors(folder)] == [
        ("04", "04.png"),
        ("20", "20.png"),
    ]
    assert "No such file" in errors(folder)[1]["reason"]
    before = contents(folder)
    embed_collection(folder, encoder)
    assert contents(folder) == before


def test_a_mended_picture_is_described_and_leaves_the_list(photos: Path, encoder: Encoder) -> None:
    folder = imported(photos)
    good = (photos / "04.png").read_bytes()
    (photos / "04.png").write_bytes(b"no picture")
    embed_collection(folder, encoder)
    (photos / "04.png").write_bytes(good)

    found = embed_collection(folder, encoder)

    assert (found.described, found.kept, found.unreadable) == (1, N - 1, 0)
    assert open_collection(folder).n_with_features == N
    assert not (folder / "errors.jsonl").exists()


def test_features_of_a_file_that_is_away_are_kept(photos: Path, encoder: Encoder) -> None:
    folder = imported(photos)
    embed_collection(folder, encoder)
    before = features(folder)
    (photos / "04.png").unlink()

    found = embed_collection(folder, encoder)

    assert (found.kept, found.unreadable) == (N, 1)
    assert errors(folder)[0]["reason"].endswith("its features are kept")
    np.testing.assert_array_equal(features(folder), before)


def test_every_hostile_file_has_its_row_and_none_stops_the_run(
    tmp_path: Path, encoder: Encoder
) -> None:
    photos = tmp_path / "hostile"
    photos.mkdir()
    names = [name for name in [*REFUSED, *READ] if "\u202e" not in name]
    write_all(photos)
    table = tmp_path / "t.jsonl"
    lines = [{"image_id": name, "owner": "x", "tags": ["a"], "path": name} for name in names]
    table.write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    import_collection(Sources(table), tmp_path / "collection")
    collection = replace(open_collection(tmp_path / "collection"), images_root=str(photos))
    folder = tmp_path / "rooted"
    save_collection(collection, folder)

    found = embed_collection(folder, encoder)

    refused = [name for name in names if name in REFUSED]
    assert found.images == len(names)
    assert [line["image_id"] for line in errors(folder)] == refused
    assert all(line["reason"] for line in errors(folder))
    assert open_collection(folder).n_with_features == len(names) - len(refused)


def test_paths_never_leave_the_images_folder(photos: Path, encoder: Encoder) -> None:
    folder = imported(photos, rows_per_shard=100)
    (photos.parent / "secret.png").write_bytes((photos / "00.png").read_bytes())
    collection = open_collection(folder)
    paths = ["../secret.png", str(photos.parent / "secret.png"), *list(collection.ids)[2:]]
    shard = replace(collection.shards[0], paths=Texts.of(paths))
    outside = photos.parent / "outside"
    save_collection(replace(collection, shards=(shard,)), outside)

    embed_collection(outside, encoder)

    assert all("does not stay inside" in line["reason"] for line in errors(outside)[:2])


def test_pictures_beyond_the_bound_are_refused(photos: Path, encoder: Encoder) -> None:
    folder = imported(photos)

    found = embed_collection(folder, encoder, max_pixels=1199)

    assert found.unreadable == N
    assert "40 x 30 pixels" in found.first_unreadable
    assert open_collection(folder).n_with_features == 0


def killed_in_a_fork(job: Callable[[], object]) -> None:
    """Run a job in a process of its own, which is expected to be killed by it."""
    process = os.fork()
    if not process:
        job()
        os._exit(0)
    status = os.waitpid(process, 0)[1]
    assert os.WIFSIGNALED(status)


def end_after(chunks: int) -> Callable[[str, int, int], None]:
    """Return a progress that kills the process at the end of so many chunks."""
    seen = []

    def progress(what: str, done: int, total: int) -> None:
        seen.append(done)
        if len(seen) == chunks:
            os.kill(os.getpid(), signal.SIGKILL)

    return progress


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_a_run_that_was_killed_goes_on_and_ends_in_the_same_bytes(
    photos: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(embedding, "IMAGES_PER_CHUNK", 4)
    (photos / "09.png").write_bytes(b"no picture")
    folder, described = imported(photos), []
    pristine = contents(folder)

    # The encoder is made in the process that uses it: its threads do not live on in a fork.
    name = encoder.name
    for chunks in (2, 3):
        killed_in_a_fork(
            lambda chunks=chunks: embed_collection(  # type: ignore[misc]
                folder, make_encoder(name, threads=1), progress=end_after(chunks)
            )
        )
        assert contents(folder) == pristine
    embed_collection(folder, encoder, progress=lambda what, done, total: described.append(done))

    after = contents(folder)
    other = imported_elsewhere(photos, tmp_path / "elsewhere")
    embed_collection(other, encoder)
    assert len(described) == 8 - 5
    assert contents(other) == after
    assert not (folder.parent / ".collection.work").exists()


def imported_elsewhere(photos: Path, parent: Path) -> Path:
    parent.mkdir()
    table = photos.parent / "photos.csv"
    import_collection(
        Sources(table, images_root=photos), parent / "collection", rows_per_shard=ROWS_PER_SHARD
    )
    return parent / "collection"


def test_a_kill_before_the_manifest_is_replaced_leaves_the_collection_as_it_was(
    photos: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = imported(photos)
    embed_collection(folder, encoder)
    Image.new("L", (40, 30), 255).save(photos / "17.png")
    before = features(folder)
    name = encoder.name
    with monkeypatch.context() as patch:
        end = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # noqa: E731
        patch.setattr(FeatureUpdate, "finish", end)
        killed_in_a_fork(lambda: embed_collection(folder, make_encoder(name, threads=1)))

    np.testing.assert_array_equal(features(folder), before)
    embed_collection(folder, encoder)

    listed = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["shards"]
    files = {entry["file"] for shard in listed for entry in shard["files"].values()}
    there = {path.relative_to(folder).as_posix() for path in folder.glob("shards/*/*.npy")}
    assert there == files
    assert features(folder)[17].min() > 0.99


STEPS = ["announced", "one array written", "described", "replaced arrays removed"]


def killed_while_storing(
    step: str, monkeypatch: pytest.MonkeyPatch, job: Callable[[], object]
) -> None:
    """Run a job in a process that is killed just before it would do this."""
    kill = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # noqa: E731
    replace_file, seen = Path.replace, []

    def at_manifest(number: int) -> Callable[[Path, Path], Path]:
        def replaced(path: Path, target: Path) -> Path:
            seen.append(1) if target.name == "manifest.json" else None
            return kill() if len(seen) == number else replace_file(path, target)

        return replaced

    with monkeypatch.context() as patch:
        if step in ("announced", "described"):
            patch.setattr(Path, "replace", at_manifest(1 + STEPS.index(step) // 2))
        elif step == "one array written":
            patch.setattr(FeatureUpdate, "write", interrupted(FeatureUpdate.write, kill))
        else:
            clears = iter([clear_unlisted, kill])
            patch.setattr(feature_update, "clear_unlisted", lambda folder: next(clears)(folder))
        killed_in_a_fork(job)


def interrupted(write: Callable[..., None], kill: Callable[[], None]) -> Callable[..., None]:
    """Return what writes the arrays of one shard, and ends the process after the first."""

    def once(update: FeatureUpdate, number: int, arrays: dict[str, object]) -> None:
        write(update, number, dict.fromkeys(arrays) | {"features": arrays["features"]})
        kill()

    return once


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_any_step_of_storing_leaves_a_whole_collection(
    step: str, photos: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, name = imported(photos), encoder.name
    embed_collection(folder, encoder)
    before = features(folder)
    Image.new("L", (40, 30), 255).save(photos / "17.png")
    killed_while_storing(
        step, monkeypatch, lambda: embed_collection(folder, make_encoder(name, threads=1))
    )

    assert damaged_files(folder) == []
    changed = np.flatnonzero((features(folder) != before).any(axis=1)).tolist()
    assert changed == ([17] if step == STEPS[-1] else [])

    copy = photos.parent / "copy"
    shutil.copytree(folder, copy)
    import_collection(Sources(photos.parent / "photos.csv"), copy, overwrite=True)
    assert open_collection(copy).n_features == 0

    embed_collection(folder, encoder)
    assert features(folder)[17].min() > 0.99
    listed = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["shards"]
    files = {entry["file"] for shard in listed for entry in shard["files"].values()}
    assert {path.relative_to(folder).as_posix() for path in folder.glob("shards/*/*.npy")} == files
    assert list(folder.glob(".*")) == []


@pytest.mark.parametrize("entry", [5, None, {}, {"file": 5}])
@pytest.mark.parametrize("key", ["source.size", "else"])
def test_a_manifest_that_describes_other_arrays_badly_is_told(
    key: str, entry: object, photos: Path, encoder: Encoder
) -> None:
    folder = imported(photos)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest["shards"][0]["files"][key] = entry
    write_manifest(folder, manifest)

    with pytest.raises(StorageError, match="describes"):
        embed_collection(folder, encoder, overwrite=True)


def test_what_is_imported_anew_while_it_is_embedded_stays_as_it_is(
    photos: Path, encoder: Encoder
) -> None:
    folder = imported(photos)
    table = photos.parent / "photos.csv"
    lines = table.read_text(encoding="utf-8").splitlines(keepends=True)

    def import_in_reverse(what: str, done: int, total: int) -> None:
        table.write_text("".join([lines[0], *lines[:0:-1]]), encoding="utf-8")
        import_collection(Sources(table, images_root=photos), folder, overwrite=True)

    with pytest.raises(StorageError, match="was written anew meanwhile; repeat the command"):
        embed_collection(folder, encoder, progress=import_in_reverse)

    assert open_collection(folder).n_features == 0
    embed_collection(folder, encoder)
    assert features(folder)[0].max() > features(folder)[1].max()


def test_work_of_another_encoder_is_not_gone_on_with(
    photos: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(embedding, "IMAGES_PER_CHUNK", 4)
    folder, name = imported(photos), encoder.name
    killed_in_a_fork(
        lambda: embed_collection(folder, make_encoder(name, threads=1), progress=end_after(3))
    )
    (tmp_path / "other").mkdir()
    other = make_encoder(write_encoder(tmp_path / "other", mean=[1, 1, 1]), threads=1)

    embed_collection(folder, other)

    assert features(folder).max() < 0


def test_features_of_another_encoder_are_replaced_only_if_asked(
    photos: Path, encoder: Encoder, tmp_path: Path
) -> None:
    folder = imported(photos)
    embed_collection(folder, encoder)
    (tmp_path / "other").mkdir()
    other = make_encoder(write_encoder(tmp_path / "other", mean=[1, 1, 1]), threads=1)

    with pytest.raises(SettingsError, match="pass --overwrite"):
        embed_collection(folder, other)
    embed_collection(folder, other, overwrite=True)

    assert features(folder).max() < 0


def test_features_from_elsewhere_are_replaced_only_if_asked(photos: Path, encoder: Encoder) -> None:
    folder = imported(photos)
    np.save(photos.parent / "x.npy", np.ones((N, 5), np.float32))
    table = photos.parent / "photos.csv"
    given = photos.parent / "given"
    import_collection(Sources(table, photos.parent / "x.npy", images_root=photos), given)

    with pytest.raises(SettingsError, match="not made by sugartag embed"):
        embed_collection(given, encoder)
    embed_collection(given, encoder, overwrite=True)

    np.testing.assert_array_equal(features(given), features_of(folder, encoder))


def features_of(folder: Path, encoder: Encoder) -> np.ndarray:
    embed_collection(folder, encoder)
    return features(folder)


def test_a_collection_without_paths_says_what_it_needs(tmp_path: Path, encoder: Encoder) -> None:
    table = tmp_path / "t.csv"
    table.write_text("image_id,owner,tags\n1,anna,beach\n", encoding="utf-8")
    import_collection(Sources(table), tmp_path / "collection")

    with pytest.raises(CollectionError, match="--images-root"):
        embed_collection(tmp_path / "collection", encoder)


def test_pictures_that_moved_away_are_missed_by_name(photos: Path, encoder: Encoder) -> None:
    folder = imported(photos)
    photos.rename(photos.parent / "moved")

    with pytest.raises(CollectionError, match="which is no folder now"):
        embed_collection(folder, encoder)


def test_a_mask_of_another_kind_or_length_is_refused(photos: Path, encoder: Encoder) -> None:
    folder = imported(photos, rows_per_shard=100)
    embed_collection(folder, encoder)
    for mask in (np.ones(N, np.int8), np.ones(N - 1, np.bool_)):
        update = FeatureUpdate(folder)
        update.write(0, {"features": np.zeros((N, 3), np.float16), "has_features": mask})
        update.finish({})

        with pytest.raises((StorageError, CollectionError), match="has_features"):
            open_collection(folder)


def test_a_folder_imported_again_keeps_what_was_computed(photos: Path, encoder: Encoder) -> None:
    out, rules = photos.parent / "collection", TagRules()
    sources = FolderSources(photos, owner_rule("folder"))
    import_folder(sources, out, rules=rules)
    embed_collection(out, encoder)
    Image.new("L", (40, 30), 255).save(photos / "02b.png")
    Image.new("L", (40, 30), 250).save(photos / "17.png")
    (photos / "05.png").unlink()
    (photos / "06.png").write_bytes(b"no picture")

    import_folder(sources, out, rules=rules, update=True)
    carried = open_collection(out).n_with_features
    found = embed_collection(out, encoder)

    expected = [8 * number for number in range(N) if number != 5]
    expected[expected.index(8 * 17)] = 250
    expected.insert(3, 255)
    known = np.array(expected)[:, None] / 255 * np.ones(3)
    has = open_collection(out).described
    assert carried == N - 3  # One is gone, two have other bytes.
    assert (found.described, found.kept, found.unreadable) == (2, N - 3, 1)
    np.testing.assert_allclose(features(out)[has], known[has], atol=1e-3)
    assert [line["path"] for line in errors(out) if line["stage"] == "embed"] == ["06.png"]


def test_lines_of_the_import_stay_in_the_list(photos: Path, encoder: Encoder) -> None:
    folder = imported(photos)
    line = json.dumps({"stage": "import", "path": "x.xmp", "reason": "is damaged"})
    (folder / "errors.jsonl").write_text(line + "\n", encoding="utf-8")
    (photos / "04.png").write_bytes(b"no picture")

    embed_collection(folder, encoder)
    embed_collection(folder, encoder)

    assert [one["path"] for one in errors(folder)] == ["x.xmp", "04.png"]
