"""Write a file or folder under another name, and rename it when it is whole."""

import glob
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sugartag.errors import StorageError, SugartagError

MARK = ".partial-"
OUR_FORMATS = b'"sugartag-'
"""What the manifest of a collection or model names; other programs write a manifest.json too."""
_being_written: set[Path] = set()
"""This process's own; in a container a dead run may well have had the same process number."""


@contextmanager
def folder_aside(target: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a new empty folder that becomes ``target`` when the block ends without an error.

    Whatever happens inside, nothing half-written ever stands under the target's name. What a
    killed run left beside it is cleared by the next run for the same target.
    """
    _refuse_existing(target, overwrite=overwrite)
    if target.exists() and (target.is_symlink() or not _is_ours(target)):
        raise StorageError(f"{target} is not a folder that sugartag wrote; it is left alone")
    _clear_leftovers(target)
    partial = target.parent / f".{target.name}{MARK}{os.getpid()}"
    try:
        partial.mkdir(parents=True)
    except OSError as error:
        raise _cannot_write(target, error) from error
    _being_written.add(partial)
    try:
        yield partial
    except BaseException as error:
        shutil.rmtree(partial, ignore_errors=True)
        if isinstance(error, OSError) and not isinstance(error, SugartagError):
            raise _cannot_write(target, error) from error
        raise
    finally:
        _being_written.discard(partial)
    _move_into_place(partial, target)


@contextmanager
def file_aside(target: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a path to write to; what is there when the block ends becomes ``target``."""
    _refuse_existing(target, overwrite=overwrite)
    if target.is_dir():
        raise StorageError(f"{target} is a folder; name a file to write to")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_write(target, error) from error
    partial = target.parent / f".{target.stem}{MARK}{os.getpid()}{target.suffix}"
    try:
        yield partial
        partial.replace(target)
    except SugartagError:
        raise
    except OSError as error:
        raise _cannot_write(target, error) from error
    finally:
        partial.unlink(missing_ok=True)


def replace_bytes(target: Path, data: bytes) -> None:
    """Make a file hold these bytes: after a crash it holds them all, or is as it was.

    A file that is there keeps its permissions. Only one process at a time may write a file so:
    what is written aside always has the same name, so that whoever is next can remove it. The
    new name itself is durable after :func:`sync_folder`.
    """
    partial = partial_of(target)
    try:
        with partial.open("wb") as file:
            file.write(data)
            if target.exists():
                os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    except OSError as error:
        raise _cannot_write(target, error) from error
    finally:
        partial.unlink(missing_ok=True)


def partial_of(target: Path) -> Path:
    """Return where a file is written before it replaces another."""
    return target.parent / f".{target.name}{MARK}sugartag"


def sync_folder(folder: Path) -> None:
    """Make sure that what was renamed or removed in a folder stays so after a crash."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _refuse_existing(target: Path, *, overwrite: bool) -> None:
    if target.exists() and not overwrite:
        raise StorageError(f"{target} exists already; choose another name or pass --overwrite")


def _is_ours(folder: Path) -> bool:
    """Tell whether a folder may be replaced: it is empty, or one of the kinds we write."""
    if not folder.is_dir():
        return False
    manifest = folder / "manifest.json"
    if manifest.is_file():
        text = manifest.read_bytes()
        return not text or OUR_FORMATS in text
    return not any(folder.iterdir()) or (folder / "concepts.json").is_file()


def _cannot_write(target: Path, error: OSError) -> StorageError:
    return StorageError(f"cannot write {target}: {error.strerror or error}")


def _move_into_place(partial: Path, target: Path) -> None:
    retired = target.parent / f".{target.name}{MARK}old-{os.getpid()}"
    if target.exists():
        target.rename(retired)
    partial.rename(target)
    if retired.is_dir():
        shutil.rmtree(retired)
    else:
        retired.unlink(missing_ok=True)


def _clear_leftovers(target: Path) -> None:
    """Remove the partial folders of runs that are no longer alive."""
    for leftover in target.parent.glob(f".{glob.escape(target.name)}{MARK}*"):
        owner = leftover.name.rpartition("-")[2]
        ours = owner == str(os.getpid()) and leftover not in _being_written
        if ours or (owner.isdigit() and not _alive(int(owner))):
            shutil.rmtree(leftover, ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
