"""How fast this machine is at what fits consist of, measured in about a second."""

import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy import linalg, sparse
from threadpoolctl import threadpool_limits

from sugartag.costs.timing import Clock, product_flops, product_times, times_of

ROWS, INNER, COLUMNS = 1_024, 512, 512
"""A product as passes make them: rows of a block, features, anchors."""
SYSTEM = 800
"""Columns of the system that is inverted."""
SPARSE_ENTRIES = 8
"""Entries in each row of the sparse matrix: tags of an image."""
COPIED_BYTES = 1 << 25
READ_BYTES = 1 << 26
"""Of a file, at most."""
LEAST_SECONDS = 0.04
"""Each rate is the best of repetitions that take at least so long."""
SMALL_CALLS = 2_000


@dataclass(frozen=True)
class Rates:
    """What this machine does in a second."""

    cores: int
    product32_one: float
    """Multiplications and additions of float32 matrix products, one core."""
    product32_all: float
    """The same with all cores."""
    product64_one: float
    product64_all: float
    solve64_all: float
    """Those of a Cholesky inverse in float64, all cores."""
    sparse_one: float
    """Multiply-adds of a sparse by a dense matrix, one core."""
    copied: float
    """Bytes written by arithmetic on arrays that do not fit a cache, one core."""
    hashed: float
    """Bytes of which SHA-256 is taken."""
    read: float
    """Bytes read from a file; of the collection if there is one."""
    read_is_cached: bool
    """Whether that file, by its speed, was in memory already, so that a disk would be slower."""
    calls: float
    """Small array operations: what a step costs in Python, whatever its size."""

    def as_json(self) -> dict[str, float | int | bool]:
        """Return all rates by name, to four digits."""
        return {
            key: value if isinstance(value, int) else float(f"{value:.4g}")
            for key, value in asdict(self).items()
        }


CACHED_FROM = 2.5e9
"""Bytes a second from which on a file is taken to be in memory: faster than most disks."""


def measure_rates(file: Path | None = None, *, clock: Clock = time.perf_counter) -> Rates:
    """Measure this machine; ``file`` is one to read from.

    A clock of processor time leaves out what others do on a busy machine.
    """
    rng = np.random.default_rng(0)
    with threadpool_limits(1):
        product32_one, product64_one = (_products(kind, clock) for kind in (np.float32, np.float64))
        sparse_one = _sparse_products(rng, clock)
        copied = _copies(clock)
        solve64_one = _solves(rng, clock)
    product32_all, product64_all = (_products(kind, clock) for kind in (np.float32, np.float64))
    read = _read(file, clock) if file is not None else copied
    return Rates(
        cores=os.cpu_count() or 1,
        product32_one=product32_one,
        product32_all=product32_all,
        product64_one=product64_one,
        product64_all=product64_all,
        # On a busy machine threads that wait for each other make a small inverse far slower.
        solve64_all=max(_solves(rng, clock), solve64_one),
        sparse_one=sparse_one,
        copied=copied,
        hashed=_hashes(clock),
        read=read,
        read_is_cached=file is None or read > CACHED_FROM,
        calls=_small_calls(clock),
    )


def _best(work: Callable[[], object], amount: float, clock: Clock) -> float:
    """Return the amount of work a second, the best of some repetitions."""
    best = min(times_of(work, seconds=LEAST_SECONDS, clock=clock))
    return amount / max(best, 1e-9)


def _products(kind: type[np.floating], clock: Clock) -> float:
    sizes = ROWS, INNER, COLUMNS
    best = min(product_times(sizes, kind, seconds=LEAST_SECONDS, clock=clock))
    return product_flops(sizes) / max(best, 1e-9)


def _solves(rng: np.random.Generator, clock: Clock) -> float:
    wide = rng.random((SYSTEM, SYSTEM))
    gram = wide @ wide.T + SYSTEM * np.eye(SYSTEM)

    def solve() -> None:
        factor, _ = linalg.lapack.dpotrf(gram, lower=1)
        linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)

    return _best(solve, float(SYSTEM) ** 3, clock)


def _sparse_products(rng: np.random.Generator, clock: Clock) -> float:
    column = rng.integers(COLUMNS, size=ROWS * SPARSE_ENTRIES)
    row = np.arange(0, len(column) + 1, SPARSE_ENTRIES)
    ones = np.ones(len(column), dtype=np.float32)
    left = sparse.csr_array((ones, column, row), shape=(ROWS, COLUMNS))
    right = rng.random((COLUMNS, COLUMNS)).astype(np.float32)
    return _best(lambda: left @ right, float(len(column)) * COLUMNS, clock)


def _copies(clock: Clock) -> float:
    array = np.ones(COPIED_BYTES // 4, dtype=np.float32)
    out = np.empty_like(array)
    return _best(lambda: np.multiply(array, np.float32(1.5), out=out), float(COPIED_BYTES), clock)


def _hashes(clock: Clock) -> float:
    data = np.zeros(COPIED_BYTES // 8, dtype=np.uint8).data
    return _best(lambda: hashlib.sha256(data), float(len(data)), clock)


def _read(file: Path, clock: Clock) -> float:
    """Read the file once: the second time it would come from memory."""
    began = clock()
    with file.open("rb") as stream:
        got = len(stream.read(READ_BYTES))
    return got / max(clock() - began, 1e-6)


def _small_calls(clock: Clock) -> float:
    one, two = np.ones(8), np.ones(8)

    def call() -> None:
        for _ in range(SMALL_CALLS):
            one + two

    return _best(call, float(SMALL_CALLS), clock)
