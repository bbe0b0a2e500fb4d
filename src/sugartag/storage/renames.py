"""Renames that never replace what they should not, and that last: exclusive, exchanged, synced."""

import ctypes
import errno
import os
from pathlib import Path

_NOREPLACE, _EXCHANGE = 1, 2
_HERE = -100
"""AT_FDCWD: paths are taken from the current folder."""
_CANNOT = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EXDEV}
"""What a kernel or file system answers that does not know these renames."""


def rename_new(source: Path, target: Path) -> None:
    """Give a file or folder a name; raise ``FileExistsError`` if there is something of that name.

    Where the system cannot do this in one step a file is linked, and a folder may take the place
    of an empty folder.
    """
    if _renameat2(source, target, _NOREPLACE):
        return
    if source.is_dir():
        try:
            source.rename(target)
        except (NotADirectoryError, OSError) as error:
            if os.path.lexists(target):
                raise FileExistsError(errno.EEXIST, "File exists", str(target)) from error
            raise
    else:
        target.hardlink_to(source)
        source.unlink()


def exchange(source: Path, target: Path) -> bool:
    """Let two folders change names in one step; return False where the system cannot."""
    return _renameat2(source, target, _EXCHANGE)


def sync_tree(path: Path) -> None:
    """Wait until a file, or all of a folder, is on the disk."""
    if path.is_dir():
        for folder, _, files in os.walk(path):
            for name in files:
                sync(Path(folder) / name)
            sync(Path(folder))
    else:
        sync(path)


def sync(path: Path) -> None:
    """Wait until one file, or the list of names in one folder, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems cannot sync folders; a failed disk says EIO.
        if error.errno not in {errno.EINVAL, errno.ENOTSUP, errno.EROFS}:
            raise
    finally:
        os.close(descriptor)


def _renameat2(source: Path, target: Path, flags: int) -> bool:
    """Rename as Linux can; return False where the kernel or the file system cannot."""
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is None:
        return False
    paths = os.fsencode(source), os.fsencode(target)
    if function(_HERE, paths[0], _HERE, paths[1], ctypes.c_uint(flags)) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(target))
