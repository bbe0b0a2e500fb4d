"""How long work takes that is done again and again: all rates of this machine are made from it."""

import time
from collections.abc import Callable

import numpy as np

Clock = Callable[[], float]


def times_of(work: Callable[[], object], *, seconds: float, clock: Clock) -> list[float]:
    """Return how long each repetition took, of those that take so many seconds together.

    There is one at least, and one before, not counted, that finds nothing ready.
    """
    work()
    times: list[float] = []
    began = clock()
    while not times or clock() - began < seconds:
        start = clock()
        work()
        times.append(clock() - start)
    return times


def product_times(
    sizes: tuple[int, int, int],
    kind: type[np.floating] = np.float32,
    *,
    seconds: float,
    clock: Clock = time.perf_counter,
) -> list[float]:
    """Return how long each of some matrix products took; ``sizes`` are rows, inner and columns."""
    n_rows, n_inner, n_columns = sizes
    rng = np.random.default_rng(0)
    left = rng.random((n_rows, n_inner)).astype(kind)
    right = rng.random((n_inner, n_columns)).astype(kind)
    out = np.empty((n_rows, n_columns), dtype=kind)
    return times_of(lambda: np.matmul(left, right, out=out), seconds=seconds, clock=clock)


def product_flops(sizes: tuple[int, int, int]) -> float:
    """Return the multiplications and additions of one such product."""
    n_rows, n_inner, n_columns = sizes
    return 2.0 * n_rows * n_inner * n_columns
