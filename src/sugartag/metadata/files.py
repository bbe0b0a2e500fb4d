"""Untrusted files: opened only if they are regular files, and read up to a limit."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


class UnreadableError(ValueError):
    """A file cannot be read, or is not taken; the message says why."""


@contextmanager
def regular_file(path: Path, *, root: Path | None = None) -> Iterator[BinaryIO]:
    """Open a regular file: no pipe is waited for, no device read, no link followed out of root."""
    with _opened(path, root) as file:
        try:
            yield file
        except OSError as error:
            raise UnreadableError(f"cannot be read ({error.strerror or error})") from error


def _opened(path: Path, root: Path | None) -> BinaryIO:
    try:
        if root is not None and not Path(os.path.realpath(path)).is_relative_to(root):
            raise UnreadableError("a link that leads out of the folder; it is not followed")
        # Without O_NONBLOCK, to open a pipe waits until somebody writes to it.
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise UnreadableError(f"cannot be read ({error.strerror or error})") from error
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise UnreadableError("not a regular file")
    return os.fdopen(number, "rb")


def whole_file(path: Path, limit: int, *, root: Path | None = None) -> bytes:
    """Return the bytes of a file of at most ``limit`` bytes."""
    with regular_file(path, root=root) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise UnreadableError(f"larger than {limit:,} bytes; it was not read")
    return data
