"""Room for arrays that grow with the collection: in memory, or in files that the system maps.

What is mapped is written out and dropped when memory is wanted for something else, so that a
process holds no more than what it works on.
"""

import math
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sugartag.errors import StorageError

SMALL = 1 << 22
"""Bytes of an array that is not worth a file."""


def room_in(
    folder: Path | None, shape: int | tuple[int, ...], dtype: npt.DTypeLike
) -> npt.NDArray[Any]:
    """Return zeros, mapped to a file of the folder if there is one and they are many.

    The file has no name: whatever ends the process, nothing is left of it.
    """
    shape = (shape,) if isinstance(shape, int) else shape
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if folder is None or size < SMALL:
        return np.zeros(shape, dtype=dtype)
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            _reserve(file.fileno(), size)
            return np.memmap(file, dtype=dtype, mode="r+", shape=shape)
    except OSError as error:
        raise StorageError(
            f"cannot write {size:,} bytes of scratch to {folder}: {error.strerror or error}"
        ) from error


def _reserve(file: int, size: int) -> None:
    """Take the disk space now: to find out while writing to a mapped file would be too late."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
    else:
        os.ftruncate(file, size)
