"""Freed memory, given back to the system."""

import ctypes
import os


def give_back_freed_memory() -> None:
    """Let the system have what was freed.

    The C library of Linux keeps it for later, and where small arrays lie between large ones that
    are gone, for good: a fit was seen to hold a hundred megabytes that nobody used. Other systems
    are left to themselves.
    """
    if os.name == "posix":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
