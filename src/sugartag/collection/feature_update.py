"""Other features for a collection folder that stands.

New arrays are written under new names beside the old ones, after the manifest has announced them
as files of ours; they count from the moment it is replaced by one that describes them, which is one
rename. What is no longer described is removed then, or by the next update.
With the features stands what they were made from: the version of each image file, and the encoder.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sugartag._typing import IntArray
from sugartag.collection.companions import COMPANIONS
from sugartag.collection.store import FORMAT
from sugartag.errors import StorageError
from sugartag.storage.arrays import (
    MANIFEST,
    Array,
    load_array,
    read_manifest,
    save_array,
    write_manifest,
)
from sugartag.storage.aside import file_aside
from sugartag.storage.damage import OTHERS
from sugartag.storage.held import UNFINISHED, is_left_over, remove
from sugartag.storage.renames import sync

KEYS = ("features", "has_features", "source.size", "source.mtime", "source.digest")
"""The arrays of a shard that an update replaces."""
_TIMES = "updates"


@dataclass(frozen=True, eq=False)
class FileVersions:
    """Which version of each image file the features of a shard were made from."""

    size: IntArray
    mtime: IntArray
    """In nanoseconds."""
    digest: IntArray
    """Images x bytes; zeros where the file was never read."""

    def arrays(self) -> dict[str, Array]:
        """Return the arrays as they are stored."""
        return dict(zip(KEYS[2:], (self.size, self.mtime, self.digest), strict=True))


class FeatureUpdate:
    """Writes the features of all shards again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._replaced: list[str] = []
        self._manifest = _manifest_of(folder)
        self._times = self._manifest.get(_TIMES, 0) + 1
        clear_unlisted(folder)
        shards = range(len(self._manifest["shards"]))
        coming = [f"{self._name(number, key)}.npy" for number in shards for key in KEYS]
        self._replace_manifest(self._manifest | {OTHERS: [*COMPANIONS, *coming]})

    def write(self, number: int, arrays: Mapping[str, Array | None]) -> None:
        """Write the arrays of one shard; None leaves one out."""
        files = self._manifest["shards"][number]["files"]
        for key in KEYS:
            if (before := files.pop(key, None)) is not None:
                self._replaced.append(before["file"])
            if (array := arrays.get(key)) is not None:
                name = self._name(number, key)
                files[key] = save_array(self._folder, name, array).as_json()
                sync(self._folder / f"{name}.npy")

    def finish(self, encoder: Mapping[str, Any]) -> None:
        """Replace the manifest, then remove what it no longer describes."""
        for number in range(len(self._manifest["shards"])):
            sync(self._folder / f"shards/{number:05d}")
        now = {_TIMES: self._times, "encoder": dict(encoder)}
        self._replace_manifest(self._manifest | now | {OTHERS: [*COMPANIONS, *self._replaced]})
        clear_unlisted(self._folder)

    def _name(self, number: int, key: str) -> str:
        return f"shards/{number:05d}/{key}-{self._times}"

    def _replace_manifest(self, manifest: dict[str, Any]) -> None:
        with file_aside(self._folder / MANIFEST, overwrite=True) as partial:
            write_manifest(partial.parent, manifest, name=partial.name)


def clear_unlisted(folder: Path) -> None:
    """Remove what killed runs left: unfinished files, arrays that the manifest does not list."""
    shards = _manifest_of(folder)["shards"]
    listed = {entry["file"] for shard in shards for entry in shard["files"].values()}
    for number in range(len(shards)):
        for path in (folder / f"shards/{number:05d}").glob("*.npy"):
            name = path.relative_to(folder).as_posix()
            key, _, times = path.stem.rpartition("-")
            is_ours = path.stem in KEYS or (key in KEYS and times.isdecimal())
            if is_ours and name not in listed:
                path.unlink(missing_ok=True)
    for path in folder.glob(f".*.{UNFINISHED}"):
        if is_left_over(path):
            remove(path)


def encoder_of(folder: Path) -> dict[str, Any] | None:
    """Return what a folder's features were made with; None where nothing says so."""
    found = read_manifest(folder, format_name=FORMAT).get("encoder")
    return found if isinstance(found, dict) else None


def file_versions(folder: Path, number: int) -> FileVersions | None:
    """Return which files the features of a shard were made from, if that is known."""
    shard = _manifest_of(folder)["shards"][number]
    files = shard["files"]
    if not all(key in files for key in KEYS[2:]):
        return None
    size, mtime, digest = (load_array(folder, files[key], verify=True) for key in KEYS[2:])
    rows = int(shard["rows"])
    if size.shape != (rows,) or mtime.shape != (rows,) or digest.shape[:1] != (rows,):
        raise StorageError(f"{folder}: the versions of shard {number} are damaged; embed it again")
    return FileVersions(size, mtime, np.asarray(digest))


def _manifest_of(folder: Path) -> dict[str, Any]:
    """Return the manifest, after checking what opening a collection does not look at."""
    manifest = read_manifest(folder, format_name=FORMAT)
    times, shards = manifest.get(_TIMES, 0), manifest.get("shards")
    if type(times) is int and isinstance(shards, list) and all(map(_is_shard, shards)):
        return manifest
    raise StorageError(f"{folder / MANIFEST} describes its shards badly; import it again")


def _is_shard(described: Any) -> bool:
    match described:
        case {"rows": int(), "files": dict() as files}:
            entries = files.values()
            return all(isinstance(one, dict) and type(one.get("file")) is str for one in entries)
    return False


def manifest_digest(folder: Path) -> str:
    """Return the SHA-256 of all that a folder's manifest describes."""
    manifest = read_manifest(folder, format_name=FORMAT)
    described = {key: value for key, value in manifest.items() if key != OTHERS}
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()
