"""What a piece of work costs: time and peak memory, and the machine it ran on."""

import importlib.metadata
import os
import platform
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from threadpoolctl import threadpool_info

from sugartag.engine.heap import give_back_freed_memory

SECONDS_BETWEEN_SAMPLES = 0.02
BYTES_PER_MB = 1_000_000
_STATM = Path("/proc/self/statm")
_PROCESSES = Path("/proc")
_TICKS = Path("/proc/stat")
_ANONYMOUS = ("RssAnon:", "RssShmem:")


class Meter:
    """Measures the block it is the context of.

    The memory is that of the whole process, sampled, so that what was there before the block
    counts too, and a peak shorter than the time between two samples may be missed. What was freed
    before is given back first.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        """Wall time from entering the block to leaving it."""
        self.cpu_seconds = 0.0
        """Processor time of all threads: it does not care what else the machine was doing."""
        self.stolen_seconds = 0.0
        """Processor time that the host of a virtual machine gave to others meanwhile."""
        self.before_rss_mb = 0.0
        """The memory the process held on entering the block, in millions of bytes."""
        self.before_anonymous_mb = 0.0
        """The same without the pages of mapped files, which the system may drop at any time."""
        self.peak_rss_mb = 0.0
        """The most memory the process was seen to hold, in millions of bytes."""
        self.peak_anonymous_mb = 0.0
        """The same without the pages of mapped files."""
        self._over = threading.Event()
        self._sampler = threading.Thread(target=self._sample_until_over, daemon=True)

    def __enter__(self) -> Self:
        give_back_freed_memory()
        self._sample()
        self.before_rss_mb = self.peak_rss_mb
        self.before_anonymous_mb = self.peak_anonymous_mb
        self._sampler.start()
        self._stolen_before = stolen_seconds()
        self._cpu_before = time.process_time()
        self._started = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.seconds = time.perf_counter() - self._started
        self.cpu_seconds = time.process_time() - self._cpu_before
        self.stolen_seconds = stolen_seconds() - self._stolen_before
        self._over.set()
        self._sampler.join()
        self._sample()

    def _sample_until_over(self) -> None:
        while not self._over.wait(SECONDS_BETWEEN_SAMPLES):
            self._sample()

    def _sample(self) -> None:
        self.peak_rss_mb = max(self.peak_rss_mb, resident_bytes() / BYTES_PER_MB)
        anonymous = anonymous_bytes() / BYTES_PER_MB
        self.peak_anonymous_mb = max(self.peak_anonymous_mb, anonymous)


def stolen_seconds() -> float:
    """Return the processor time that the host gave to others while this machine had work to do.

    It is that of all processors since the machine started; 0 where the system does not say.
    """
    try:
        first, *_ = _TICKS.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return 0.0
    numbers = first.split()
    return int(numbers[8]) / os.sysconf("SC_CLK_TCK") if len(numbers) > 8 else 0.0


def resident_bytes() -> int:
    """Return the memory this process holds now; where the system does not say, its peak so far."""
    try:
        pages = int(_STATM.read_text(encoding="ascii").split()[1])
    except OSError:
        return _peak_bytes()
    return pages * os.sysconf("SC_PAGE_SIZE")


def anonymous_bytes(process: int | None = None) -> int:
    """Return the memory that a process, this one if not said, holds beside mapped files.

    Where the system does not tell the two apart: of this process all it holds, of another 0.
    """
    place = _PROCESSES / ("self" if process is None else str(process)) / "status"
    try:
        lines = place.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    held = [int(line.split()[1]) * 1024 for line in lines if line.startswith(_ANONYMOUS)]
    if not held and process is None:
        return resident_bytes()
    return sum(held)


def machine() -> dict[str, Any]:
    """Describe the machine and the libraries, as results name them."""
    return {
        "cpu": _cpu_name(),
        "cores": len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count(),
        "memory_mb": _memory_mb(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "blas": _blas_name(),
        "sugartag": _version(),
    }


def _peak_bytes() -> int:
    # Not on every system, and needed only where there is no /proc.
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _memory_mb() -> int | None:
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return None
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // BYTES_PER_MB


def _blas_name() -> str:
    libraries = [entry for entry in threadpool_info() if entry["user_api"] == "blas"]
    names = {
        f"{entry['internal_api']} {entry['version']}, {entry['num_threads']} threads"
        for entry in libraries
    }
    return "; ".join(sorted(names)) or "unknown"


def _version() -> str:
    try:
        return importlib.metadata.version("sugartag")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
