"""How the C library of Linux keeps memory; other systems are left to themselves."""

import ctypes
import os
from typing import Any

HEAPS_AT_MOST, MAPPED_AT_MOST, KEPT_AT_MOST = -8, -4, -1
"""What glibc calls M_ARENA_MAX, M_MMAP_MAX and M_TRIM_THRESHOLD."""
KEPT = 1 << 28
"""Bytes at the end of the heap that are kept for later when they are freed."""


def use_one_heap() -> None:
    """Let all threads of the process share one heap; to be called before there are any.

    Each thread has its own otherwise, and keeps tens of megabytes that were freed in it, for none
    but the first is ever given back: a fit of a million images was seen to hold a hundred. Large
    arrays are few, so that threads hardly wait for each other.

    Large arrays come from the heap as well. The system gives each a place of its own otherwise, of
    zeroed pages, and takes it back when it is freed: the next block of images has its pages zeroed
    anew, which was seen to take a tenth of the time.
    """
    for setting, value in ((HEAPS_AT_MOST, 1), (MAPPED_AT_MOST, 0), (KEPT_AT_MOST, KEPT)):
        _call("mallopt", setting, value)


def give_back_freed_memory() -> None:
    """Let the system have what was freed.

    It is kept for later otherwise, and where small arrays lie between large ones that are gone, for
    good: a fit was seen to hold a hundred megabytes that nobody used.
    """
    _call("malloc_trim", 0)


def _call(name: str, *values: int) -> None:
    """Call a function of the C library, if it has it."""
    if os.name == "posix":
        function: Any = getattr(ctypes.CDLL(None), name, None)
        if function is not None:
            function(*values)
