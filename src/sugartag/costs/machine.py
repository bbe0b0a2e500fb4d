"""How fast the machine multiplies matrices, and how much memory and disk it has left."""

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

Clock = Callable[[], float]

SIZES = (1_024, 512, 512)
"""Rows, inner size and columns of the product that is timed."""
SECONDS = 0.2
"""How long the product is repeated; the fastest repetition counts."""
_MEMINFO = Path("/proc/meminfo")


@dataclass(frozen=True)
class Rates:
    """The speed of a machine."""

    cores: int
    product: float
    """Floating-point operations per second of float32 matrix products on one core."""

    def as_json(self) -> dict[str, float | int]:
        """Return the rates by name, to four digits."""
        return asdict(self) | {"product": float(f"{self.product:.4g}")}


def measure_rates(*, clock: Clock = time.perf_counter) -> Rates:
    """Time matrix products on one core for a fraction of a second."""
    with threadpool_limits(1):
        best = min(product_times(SIZES, seconds=SECONDS, clock=clock))
    return Rates(os.cpu_count() or 1, product_flops(SIZES) / max(best, 1e-9))


def product_times(
    sizes: tuple[int, int, int], *, seconds: float, clock: Clock = time.perf_counter
) -> list[float]:
    """Return how long each repetition of a float32 matrix product took.

    There is at least one, after a first that is not counted.
    """
    n_rows, n_inner, n_columns = sizes
    rng = np.random.default_rng(0)
    left = rng.random((n_rows, n_inner), dtype=np.float32)
    right = rng.random((n_inner, n_columns), dtype=np.float32)
    out = left @ right
    times: list[float] = []
    began = clock()
    while not times or clock() - began < seconds:
        start = clock()
        np.matmul(left, right, out=out)
        times.append(clock() - start)
    return times


def product_flops(sizes: tuple[int, int, int]) -> float:
    """Return the multiplications and additions of one such product."""
    n_rows, n_inner, n_columns = sizes
    return 2.0 * n_rows * n_inner * n_columns


def available_memory() -> int | None:
    """Return the bytes that can be used without swapping; None where the system does not say."""
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = [line for line in lines if line.startswith("MemAvailable:")]
    return int(found[0].split()[1]) * 1024 if found else None


def free_disk(place: Path) -> int:
    """Return the bytes that are free where a file of this name would be written."""
    folder = place.absolute()
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free
