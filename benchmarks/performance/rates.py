"""What this machine can do at best: the rates that claims are measured against."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sugartag.costs.machine import product_flops, product_times

READ_AT_ONCE = 16 << 20


def gemm_rate(n_rows: int, n_inner: int, n_columns: int, *, seconds: float) -> dict[str, Any]:
    """Return the rate of single-precision matrix products on all cores, the fastest of several."""
    sizes = n_rows, n_inner, n_columns
    times, flops = product_times(sizes, seconds=seconds), product_flops(sizes)
    return {
        "sizes": list(sizes),
        "products": len(times),
        "flops_per_second": flops / min(times),
        "median_flops_per_second": flops / float(np.median(times)),
    }


def read_rate(files: Sequence[Path]) -> dict[str, Any]:
    """Return how fast files are read from first to last, from the system's cache if they are there.

    They are read twice and the second time counts: that is how methods find them.
    """
    room = bytearray(READ_AT_ONCE)
    seconds = n_bytes = 0.0
    for _ in range(2):
        began, n_bytes = time.perf_counter(), 0.0
        for file in files:
            with file.open("rb", buffering=0) as stream:
                while got := stream.readinto(room):
                    n_bytes += got
        seconds = time.perf_counter() - began
    return {"bytes": n_bytes, "bytes_per_second": n_bytes / max(seconds, 1e-9)}
