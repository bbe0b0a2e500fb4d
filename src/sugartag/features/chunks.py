"""Pictures read and described in batches by several threads, a chunk of images at a time."""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Semaphore

import numpy as np

from sugartag._typing import BoolArray, FloatArray, IntArray
from sugartag.errors import PictureError
from sugartag.features.encoders import Encoder, Prepared
from sugartag.features.images import DIGEST_BYTES, FileVersion, opened_inside

NOT_FINITE = "is described by numbers that are not finite float16"


@dataclass(frozen=True, eq=False)
class Task:
    """One image to describe."""

    path: str
    before: FileVersion | None = None
    """The version that its features were made from; None where it has none."""


@dataclass(frozen=True, eq=False)
class Looked:
    """What a look at a file gave."""

    version: FileVersion | None
    prepared: Prepared | None = None
    keeps: bool = False
    """Whether the features that the image has stay."""
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Chunk:
    """What is known of some consecutive images when all of them are done."""

    features: FloatArray
    """Images x dimensions, float16; zeros where there are none or the earlier ones are kept."""
    described: BoolArray
    """Which images are described here."""
    kept: BoolArray
    """Which keep the features they have."""
    size: IntArray
    mtime: IntArray
    digest: IntArray
    reasons: tuple[str, ...]
    """Why a picture cannot be read; empty where it can."""


@dataclass(frozen=True)
class Reading:
    """Where pictures are, and how they are read."""

    root: str
    max_pixels: int
    batch: int
    threads: int


@dataclass(frozen=True, eq=False)
class _Batch:
    """Some consecutive images, done."""

    looks: tuple[Looked, ...]
    """Without the pictures themselves, which are let go of as soon as they are described."""
    features: FloatArray
    """Images x dimensions, float16; zeros where there are none."""


def look_at(task: Task, reading: Reading, encoder: Encoder) -> Looked:
    """Open a file, and prepare its picture unless it is the one known already."""
    version: FileVersion | None = None
    try:
        with opened_inside(reading.root, task.path) as file:
            version = file.version
            if task.before is not None and version.looks_like(task.before):
                return Looked(task.before, keeps=True)
            version = replace(version, digest=file.digest())
            if task.before is not None and version.digest == task.before.digest:
                return Looked(version, keeps=True)
            image = file.picture(side=encoder.size, max_pixels=reading.max_pixels)
            return Looked(version, encoder.prepare(image))
    except PictureError as error:
        if version is None and task.before is not None:
            # The file is away, perhaps with its disk: that does not undo what is known of it.
            return Looked(task.before, keeps=True, reason=f"{error}; its features are kept")
        return Looked(version, reason=str(error))


def described_chunks(
    chunks: Sequence[Sequence[Task]], reading: Reading, encoder: Encoder
) -> Iterator[Chunk]:
    """Yield the chunks in order.

    Each thread reads a batch and describes it, so that none waits for another in the middle of a
    batch. One thread more than the encoder serves reads ahead.
    """
    workers = max(reading.threads, encoder.at_once) + 1
    serving = Semaphore(encoder.at_once)
    batches = (batch for chunk in chunks for batch in _batches(chunk, reading.batch))
    with ThreadPoolExecutor(workers, thread_name_prefix="embed") as pool:
        waiting: deque[Future[_Batch]] = deque()

        def next_batch() -> _Batch:
            while len(waiting) < 2 * workers and (tasks := next(batches, None)) is not None:
                waiting.append(pool.submit(_described, tasks, reading, encoder, serving))
            return waiting.popleft().result()

        try:
            for chunk in chunks:
                yield _chunk([next_batch() for _ in _batches(chunk, reading.batch)])
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _batches(tasks: Sequence[Task], size: int) -> Iterator[Sequence[Task]]:
    for start in range(0, len(tasks), size):
        yield tasks[start : start + size]


def _described(
    tasks: Sequence[Task], reading: Reading, encoder: Encoder, serving: Semaphore
) -> _Batch:
    looks = [look_at(task, reading, encoder) for task in tasks]
    features = np.zeros((len(tasks), encoder.dimensions), dtype=np.float16)
    rows = [row for row, look in enumerate(looks) if look.prepared is not None]
    prepared = [look.prepared for look in looks if look.prepared is not None]
    if rows:
        with serving, np.errstate(over="ignore"):
            features[rows] = encoder.encode(np.stack(prepared))
    emptied = (look if look.prepared is None else replace(look, prepared=_DONE) for look in looks)
    return _Batch(tuple(emptied), features)


_DONE: Prepared = np.zeros(0)


def _chunk(batches: Sequence[_Batch]) -> Chunk:
    found = [look for batch in batches for look in batch.looks]
    features: FloatArray = np.concatenate([batch.features for batch in batches])
    described = np.array([look.prepared is not None for look in found], dtype=np.bool_)
    finite: BoolArray = np.asarray(np.isfinite(features).all(axis=1))
    features[~finite] = 0.0
    reasons = [
        look.reason or ("" if good else NOT_FINITE)
        for look, good in zip(found, finite.tolist(), strict=True)
    ]
    versions = [look.version or FileVersion(0, 0) for look in found]
    digests = b"".join(version.digest.ljust(DIGEST_BYTES, b"\0") for version in versions)
    return Chunk(
        features=features,
        described=described & finite,
        kept=np.array([look.keeps for look in found], dtype=np.bool_),
        size=np.array([version.size for version in versions], dtype=np.int64),
        mtime=np.array([version.mtime_ns for version in versions], dtype=np.int64),
        digest=np.frombuffer(digests, dtype=np.uint8).reshape(-1, DIGEST_BYTES),
        reasons=tuple(reasons),
    )
