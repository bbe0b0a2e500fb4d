"""Pictures read ahead by threads and described in batches, a chunk of images at a time."""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

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

    @property
    def ahead(self) -> int:
        """How many pictures may be ready, or being read, before they are described."""
        return 4 * self.batch + self.threads


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
    """Yield the chunks in order; threads read on while the encoder works."""
    tasks = iter([task for chunk in chunks for task in chunk])
    with ThreadPoolExecutor(reading.threads, thread_name_prefix="decode") as pool:
        waiting: deque[Future[Looked]] = deque()

        def fill() -> None:
            while len(waiting) < reading.ahead and (task := next(tasks, None)) is not None:
                waiting.append(pool.submit(look_at, task, reading, encoder))

        def taken(count: int) -> Iterator[Looked]:
            for _ in range(count):
                fill()
                yield waiting.popleft().result()

        try:
            for chunk in chunks:
                yield _described(taken(len(chunk)), len(chunk), reading.batch, encoder)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _described(looks: Iterator[Looked], count: int, batch: int, encoder: Encoder) -> Chunk:
    features = np.zeros((count, encoder.dimensions), dtype=np.float16)
    found: list[Looked] = []
    rows: list[int] = []
    arrays: list[Prepared] = []

    def describe() -> None:
        with np.errstate(over="ignore"):
            features[rows] = encoder.encode(np.stack(arrays))
        rows.clear()
        arrays.clear()

    for row, look in enumerate(looks):
        if look.prepared is not None:
            rows.append(row)
            arrays.append(look.prepared)
            if len(rows) == batch:
                describe()
        # The pictures themselves are let go of as soon as they are described.
        found.append(replace(look, prepared=None if look.prepared is None else _DONE))
    if rows:
        describe()
    return _chunk(features, found)


_DONE: Prepared = np.zeros(0)


def _chunk(features: FloatArray, found: Sequence[Looked]) -> Chunk:
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
