"""Write a file or folder under another name, and rename it when it is whole.

What is unfinished lies in ``.NAME.partial`` beside the target, which one run has at a time. When
the block has ended it is synced to the disk and renamed. Nothing that appeared at the target
meanwhile is replaced; with ``overwrite`` old and new change places in one step. What a killed run
left is removed by the next run for the same target.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sugartag.errors import StorageError, SugartagError
from sugartag.storage.damage import foreign_file
from sugartag.storage.held import UNFINISHED, beside, clear, held_folder, remove
from sugartag.storage.renames import exchange, rename_new, sync, sync_tree

_NEW, _OLD = "new", "old"


@contextmanager
def folder_aside(target: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a new empty folder that becomes ``target`` when the block ends without an error.

    Whatever happens inside, nothing half-written ever stands under the target's name. What
    ``overwrite`` replaces is a folder that we wrote and to which nobody added a file.
    """
    _refuse_existing(target, overwrite=overwrite)
    with reserved(target) as partial:
        _recover(partial, target)
        _refuse_existing(target, overwrite=overwrite)
        _require_ours(target)
        made = partial / _NEW
        made.mkdir()
        yield made
        sync_tree(made)
        if overwrite and _is_there(target):
            # Looked at again: hours may have passed.
            _require_ours(target)
            _replace_folder(made, target, partial / _OLD)
        else:
            _place(made, target)
        sync(target.parent)


@contextmanager
def file_aside(target: Path, *, overwrite: bool = False, patience: float = 0.0) -> Iterator[Path]:
    """Yield a path to write to; what is there when the block ends becomes ``target``.

    Another run that writes the same target is waited for, if there is ``patience``: some seconds.
    """
    _refuse_existing(target, overwrite=overwrite)
    _require_plain(target)
    with reserved(target, patience) as partial:
        clear(partial)
        made = partial / f"{_NEW}{target.suffix}"
        yield made
        sync(made)
        if overwrite:
            _require_plain(target)
            made.replace(target)
        else:
            _place(made, target)
        sync(target.parent)


@contextmanager
def reserved(target: Path, patience: float = 0.0) -> Iterator[Path]:
    """Let nobody else write a target while the block runs.

    Yields the folder for what is unfinished, which is gone when the block ends.
    """
    partial = beside(target, UNFINISHED)
    with held_folder(partial, target, patience):
        try:
            yield partial
        except SugartagError:
            raise
        except OSError as error:
            raise StorageError(f"cannot write {target}: {error.strerror or error}") from error
        finally:
            # What cannot be removed now is removed by the next run.
            with suppress(OSError):
                remove(partial)


def _place(made: Path, target: Path) -> None:
    try:
        rename_new(made, target)
    except FileExistsError as error:
        raise StorageError(
            f"{target} appeared while it was being made and is left alone; choose another name"
        ) from error


def _replace_folder(made: Path, target: Path, retired: Path) -> None:
    """Let a folder take the place of another, in one step where the system can."""
    if exchange(made, target):
        return
    target.rename(retired)
    made.rename(target)


def _recover(partial: Path, target: Path) -> None:
    """Undo what a run that was killed between two renames had begun, and remove the rest."""
    if (partial / _OLD).is_dir() and not _is_there(target):
        (partial / _OLD).rename(target)
    clear(partial)


def _is_there(target: Path) -> bool:
    """Tell whether there is anything of that name, a link that leads nowhere included."""
    try:
        target.lstat()
    except FileNotFoundError:
        return False
    except (OSError, ValueError) as error:
        raise StorageError(f"cannot write {target}: {getattr(error, 'strerror', error)}") from error
    return True


def replace_bytes(target: Path, data: bytes) -> None:
    """Make a file hold these bytes: after a crash it holds them all, or is as it was.

    A file that is there keeps its permissions. Only one process at a time may write a file so:
    what is written aside always has the same name, so that whoever is next can remove it. The
    new name itself is durable once its folder is synced.
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
        raise StorageError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)


def partial_of(target: Path) -> Path:
    """Return where a file is written before it replaces another."""
    return target.parent / f".{target.name}.{UNFINISHED}-sugartag"


def _refuse_existing(target: Path, *, overwrite: bool) -> None:
    if _is_there(target) and not overwrite:
        raise StorageError(
            f"{target} exists already; choose another name or pass --overwrite "
            "(in Python: overwrite=True)"
        )


def _require_ours(target: Path) -> None:
    """Raise if there is anything at a target that we did not write."""
    if not _is_there(target):
        return
    if target.is_symlink() or not target.is_dir():
        raise StorageError(f"{target} is not a folder that sugartag wrote; it is left alone")
    foreign = foreign_file(target)
    if foreign is not None:
        raise StorageError(
            f"{target} is left alone: sugartag did not write {foreign} in it; move that, "
            "or choose another name"
        )


def _require_plain(target: Path) -> None:
    if target.is_dir():
        raise StorageError(f"{target} is a folder; name a file to write to")
    if target.exists() and not target.is_file():
        raise StorageError(f"{target} is not a regular file; name a file to write to")
