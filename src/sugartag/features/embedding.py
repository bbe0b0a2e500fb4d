"""Describes the pictures of a collection folder by an encoder, and keeps the rows in the folder.

Images are described in chunks, which are kept in a work folder beside the collection until all are
there: a run that was killed goes on after the last whole chunk. Images that have features from the
same encoder are left alone unless their file has changed. An image that cannot be read keeps its
row, without features, and a line in ``errors.jsonl``.
"""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np

from sugartag._typing import BoolArray
from sugartag.collection.feature_update import (
    FeatureUpdate,
    FileVersions,
    clear_unlisted,
    encoder_of,
    file_versions,
    manifest_digest,
)
from sugartag.collection.model import Collection, Shard
from sugartag.collection.problems import write_problems
from sugartag.collection.store import open_collection
from sugartag.engine.base import Progress
from sugartag.engine.checkpoint.work import ENDING, work_beside
from sugartag.errors import CollectionError, SettingsError, StorageError
from sugartag.features.chunks import Chunk, Reading, Task, described_chunks
from sugartag.features.encoders import Encoder
from sugartag.features.images import MAX_PIXELS, FileVersion, quiet_pillow
from sugartag.storage.aside import file_aside, reserved
from sugartag.storage.values import read_value, write_value

IMAGES_PER_CHUNK = 64
BATCH = 16


@dataclass(frozen=True)
class EmbedSummary:
    """What came of a run."""

    images: int
    described: int
    """Pictures that the encoder saw, in this run or in the killed one that it went on with."""
    kept: int
    """Images whose features were there already."""
    unreadable: int
    first_unreadable: str
    """The path of the first of them, and why; empty where there is none."""
    seconds: float


@dataclass(frozen=True, eq=False)
class _Part:
    """A chunk of a shard, and where its result is kept."""

    shard: int
    rows: slice
    tasks: tuple[Task, ...]
    file: Path


def embed_collection(
    folder: Path,
    encoder: Encoder,
    *,
    overwrite: bool = False,
    batch: int = BATCH,
    threads: int | None = None,
    max_pixels: int = MAX_PIXELS,
    progress: Progress | None = None,
) -> EmbedSummary:
    """Describe the pictures of the collection in ``folder`` that are not described yet.

    ``overwrite`` replaces features of another encoder, or from elsewhere, and looks at every
    picture again. ``threads`` decode, as many as there are cores by default.
    """
    began, folder = time.perf_counter(), folder.resolve()
    collection = open_collection(folder)
    root = _images_root(folder, collection)
    versions = _earlier_versions(folder, collection, encoder, overwrite=overwrite)
    threads = threads or len(os.sched_getaffinity(0))
    reading = Reading(root, max_pixels, batch, threads)
    run = {
        "collection": manifest_digest(folder),
        "encoder": encoder.fingerprint,
        "pillow": metadata.version("pillow"),
        "batch": str(batch),
        "max_pixels": str(max_pixels),
        "overwrite": str(overwrite),
    }
    with work_beside(folder, run, resume=None) as work, quiet_pillow():
        parts = list(_parts(collection, versions, work.folder))
        _describe(parts, reading, encoder, progress)
        chunks = _Results(parts)
        summary = chunks.summary(collection, time.perf_counter() - began)
        with reserved(folder):
            _require_unchanged(folder, run["collection"])
            if chunks.differ_from(collection, versions):
                _store(folder, collection, chunks, encoder)
            else:
                clear_unlisted(folder)
            write_problems(folder, "embed", chunks.failures(collection))
    return summary


def _require_unchanged(folder: Path, digest: str) -> None:
    if manifest_digest(folder) != digest:
        raise StorageError(f"{folder} was written anew meanwhile; repeat the command")


def _images_root(folder: Path, collection: Collection) -> str:
    root = collection.images_root
    if root is None or any(shard.paths is None for shard in collection.shards):
        raise CollectionError(
            f"{folder} does not say where its pictures are; "
            "import a table with a path column, and with --images-root"
        )
    if not Path(root).is_dir():
        raise CollectionError(
            f"the pictures of {folder} were in {root}, which is no folder now; "
            "bring it back, or import again with another --images-root"
        )
    return root


def _earlier_versions(
    folder: Path, collection: Collection, encoder: Encoder, *, overwrite: bool
) -> list[FileVersions | None]:
    """Return what the features that stand were made from; nothing where they are to go."""
    nothing: list[FileVersions | None] = [None] * len(collection.shards)
    if overwrite or not collection.n_features:
        return nothing
    before = encoder_of(folder)
    if before is None:
        raise SettingsError(
            f"{folder} has features that were not made by sugartag embed; "
            "pass --overwrite to replace them"
        )
    if before.get("fingerprint") != encoder.fingerprint:
        raise SettingsError(
            f"{folder} has features of {before.get('name')}, which differs from {encoder.name}; "
            "pass --overwrite to replace them"
        )
    return [file_versions(folder, number) for number in range(len(collection.shards))]


def _parts(
    collection: Collection, versions: Sequence[FileVersions | None], work: Path
) -> Iterator[_Part]:
    for number, (shard, version) in enumerate(zip(collection.shards, versions, strict=True)):
        tasks = _tasks(shard, version)
        for start in range(0, len(tasks), IMAGES_PER_CHUNK):
            some = tuple(tasks[start : start + IMAGES_PER_CHUNK])
            file = work / f"{number:05d}-{start:08d}{ENDING}"
            yield _Part(number, slice(start, start + len(some)), some, file)


def _tasks(shard: Shard, versions: FileVersions | None) -> list[Task]:
    paths = list(shard.paths or ())
    if versions is None:
        return [Task(path) for path in paths]
    has = _has_features(shard)
    return [
        Task(path, FileVersion(int(size), int(mtime), bytes(digest)) if described else None)
        for path, size, mtime, digest, described in zip(
            paths, versions.size, versions.mtime, versions.digest, has.tolist(), strict=True
        )
    ]


def _has_features(shard: Shard) -> BoolArray:
    if shard.has_features is None:
        return np.full(len(shard), shard.features is not None)
    return shard.has_features


def _describe(
    parts: Sequence[_Part], reading: Reading, encoder: Encoder, progress: Progress | None
) -> None:
    """Describe the chunks that are not there yet, and keep each as soon as it is whole."""
    total = sum(len(part.tasks) for part in parts)
    missing = [part for part in parts if _read(part.file) is None]
    done = total - sum(len(part.tasks) for part in missing)
    chunks = described_chunks([part.tasks for part in missing], reading, encoder)
    for part, chunk in zip(missing, chunks, strict=True):
        with file_aside(part.file, overwrite=True) as partial:
            write_value(partial, chunk)
        done += len(part.tasks)
        if progress is not None:
            progress("embedding", done, total)


def _read(file: Path) -> Chunk | None:
    """Return a chunk that was kept; None if there is none, or it is damaged."""
    if not file.exists():
        return None
    try:
        found = read_value(file)
    except StorageError:
        return None
    return found if isinstance(found, Chunk) else None


class _Results:
    """The chunks of a run, read one at a time: together they may not fit in memory."""

    def __init__(self, parts: Sequence[_Part]) -> None:
        self._parts = parts

    def __iter__(self) -> Iterator[tuple[_Part, Chunk]]:
        for part in self._parts:
            chunk = _read(part.file)
            if chunk is None:
                raise StorageError(f"{part.file} went away; repeat the command")
            yield part, chunk

    def of_shard(self, number: int) -> Iterator[tuple[slice, Chunk]]:
        """Yield the chunks of one shard, and its rows that they are of."""
        some = _Results([part for part in self._parts if part.shard == number])
        for part, chunk in some:
            yield part.rows, chunk

    def failures(self, collection: Collection) -> Iterator[dict[str, str]]:
        """Yield the images whose pictures cannot be read, and why."""
        for part, chunk in self:
            ids = collection.shards[part.shard].ids
            for offset, reason in enumerate(chunk.reasons):
                if reason:
                    image = ids[part.rows.start + offset]
                    path = part.tasks[offset].path
                    yield {"image_id": image, "path": path, "reason": reason}

    def differ_from(self, collection: Collection, versions: Sequence[FileVersions | None]) -> bool:
        """Tell whether there is anything to store that the folder does not hold."""
        for part, chunk in self:
            version, shard = versions[part.shard], collection.shards[part.shard]
            if version is None or chunk.described.any():
                return True
            touched = chunk.mtime != version.mtime[part.rows]
            if (chunk.kept != _has_features(shard)[part.rows]).any() or touched[chunk.kept].any():
                return True
        return False

    def summary(self, collection: Collection, seconds: float) -> EmbedSummary:
        """Count what came of the run."""
        counts = [
            (int(chunk.described.sum()), int(chunk.kept.sum()), sum(map(bool, chunk.reasons)))
            for _, chunk in self
        ]
        described, kept, unreadable = (sum(some) for some in zip(*counts, strict=True))
        first = next(self.failures(collection), None)
        return EmbedSummary(
            images=collection.n_images,
            described=described,
            kept=kept,
            unreadable=unreadable,
            first_unreadable="" if first is None else f"{first['path']} {first['reason']}",
            seconds=seconds,
        )


def _store(folder: Path, collection: Collection, results: _Results, encoder: Encoder) -> None:
    """Put the rows into the folder, shard by shard; they count once all are there."""
    update = FeatureUpdate(folder)
    start = 0
    for number, shard in enumerate(collection.shards):
        n = len(shard)
        features = np.zeros((n, encoder.dimensions), dtype=np.float16)
        present = np.zeros(n, dtype=np.bool_)
        versions = FileVersions(
            np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64), np.zeros((n, 16), np.uint8)
        )
        for rows, chunk in results.of_shard(number):
            features[rows] = chunk.features
            kept = np.flatnonzero(chunk.kept) + rows.start
            if len(kept):
                features[kept] = collection.features_at(start + kept)
            present[rows] = chunk.described | chunk.kept
            versions.size[rows], versions.mtime[rows] = chunk.size, chunk.mtime
            versions.digest[rows] = chunk.digest
        mask = None if present.all() else present
        update.write(number, {"features": features, "has_features": mask, **versions.arrays()})
        start += n
    update.finish(
        {
            "name": encoder.name,
            "dimensions": encoder.dimensions,
            "fingerprint": encoder.fingerprint,
        }
    )
