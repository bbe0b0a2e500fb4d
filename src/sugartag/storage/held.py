"""A folder that one run has to itself, marked as ours before anything in it is removed.

The lock is an open file in the folder: it ends with the process, however that ends, and holds
across containers that share a file system, where process numbers mean nothing.
"""

import errno
import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sugartag.errors import StorageError

UNFINISHED = "partial"
"""How the names of folders end that hold what is not whole yet, and is never gone on with."""
LOCK = "lock"
MARKER = b"sugartag keeps unfinished work in this folder and will remove it\n"
LONGEST_NAME = 200
"""In bytes, for folders beside a target to have its name and an ending."""
SECONDS_BETWEEN_TRIES = 0.05
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}
"""File systems without locks: there, runs are not kept apart."""


def beside(target: Path, ending: str) -> Path:
    """Return the hidden path beside a target that has its name and an ending."""
    name = target.name
    if len(os.fsencode(name)) > LONGEST_NAME:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return target.parent / f".{name}.{ending}"


@contextmanager
def held_folder(folder: Path, target: Path, patience: float = 0.0) -> Iterator[None]:
    """Make a folder, or take one that an ended run left, and hold it until the block ends.

    ``target`` is what is being written, for messages; a run that holds the folder is waited for as
    many seconds as there is ``patience``. A link, or a folder that is not marked as
    ours, is refused and left alone.
    """
    try:
        if not target.parent.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
        ends = time.monotonic() + patience
        while (lock := _lock_of(folder, target, ends)) is None:
            pass  # Another run has just ended, and taken its folder away.
    except StorageError:
        raise
    except OSError as error:
        raise StorageError(f"cannot write {target}: {error.strerror or error}") from error
    try:
        yield
    finally:
        os.close(lock)


def is_left_over(folder: Path) -> bool:
    """Tell whether a folder is marked as ours, and whoever held it has ended."""
    lock = folder / LOCK
    if folder.is_symlink() or lock.is_symlink() or not lock.is_file() or not _is_ours(folder):
        return False
    with lock.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            return error.errno in _NO_LOCKS
    return True


def clear(folder: Path, *, beginning: str = "") -> None:
    """Remove what a held folder has beside its lock; links are removed, not followed."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.startswith(beginning):
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            elif entry.name != LOCK:
                Path(entry.path).unlink(missing_ok=True)


def remove(folder: Path) -> None:
    """Remove a held folder, its lock last: half of it is never mistaken for another's."""
    clear(folder)
    (folder / LOCK).unlink()
    folder.rmdir()


def _lock_of(folder: Path, target: Path, ends: float) -> int | None:
    """Return the open lock of a folder, or None if the folder went away meanwhile."""
    if folder.is_symlink():
        raise _in_the_way(folder, target)
    folder.mkdir(exist_ok=True)
    try:
        inside = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        if not _is_ours(folder):
            raise _in_the_way(folder, target)
        lock = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644, dir_fd=inside)
    except FileNotFoundError:
        return None
    finally:
        os.close(inside)
    try:
        _take(lock, folder, target, ends)
        if not _is_at(lock, folder / LOCK):
            os.close(lock)
            return None
        os.pwrite(lock, MARKER, 0)
    except BaseException:
        os.close(lock)
        raise
    return lock


def _take(lock: int, folder: Path, target: Path, ends: float) -> None:
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= ends:
                raise StorageError(
                    f"cannot write {target}: another run is writing it and has its work in "
                    f"{folder}; wait for it, or choose another name"
                ) from error
            time.sleep(SECONDS_BETWEEN_TRIES)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return
            raise
        else:
            return


def _is_ours(folder: Path) -> bool:
    """Tell whether a folder is marked as ours, or has nothing in it yet that could be lost."""
    lock = folder / LOCK
    if lock.is_symlink():
        return False
    if lock.is_file() and lock.read_bytes()[: len(MARKER)] == MARKER:
        return True
    return not any(path.name != LOCK for path in folder.iterdir()) and not _says_something(lock)


def _says_something(lock: Path) -> bool:
    return lock.exists() and (not lock.is_file() or lock.stat().st_size > 0)


def _in_the_way(folder: Path, target: Path) -> StorageError:
    return StorageError(
        f"cannot write {target}: {folder} is in the way and is not marked as sugartag's own; "
        "move it, or choose another name"
    )


def _is_at(descriptor: int, path: Path) -> bool:
    """Tell whether an open file is still the one at a path."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
