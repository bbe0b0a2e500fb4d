"""The folder in which a run keeps its work until what it makes stands: ``.NAME.work`` beside it."""

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sugartag.errors import StorageError
from sugartag.resuming.code import this_code
from sugartag.resuming.kept import ENDING
from sugartag.storage.arrays import MANIFEST, read_manifest, write_manifest
from sugartag.storage.aside import MARK

FORMAT = "sugartag-work/1"
LOCK = "lock"


@dataclass(frozen=True)
class Work:
    """A run's work folder, and what was found in it."""

    folder: Path
    found: bool
    """A run that did not end had left work there: it is continued, or was discarded."""

    @property
    def has_kept(self) -> bool:
        """Whether there is anything to go on with."""
        return any(self.folder.glob(f"*{ENDING}"))


def work_folder_of(target: Path) -> Path:
    """Return where the work for a target is."""
    return target.parent / f".{target.name}.work"


@contextmanager
def work_beside(target: Path, run: Mapping[str, str], *, resume: bool) -> Iterator[Work]:
    """Yield the work folder for a target; it is gone when the block ends without an error.

    ``run`` is what the caller knows that decides what the run makes; the code itself is added. With
    ``resume`` work that is there is kept, and must be of the same run; without, it is discarded.
    Work is one run's at a time.
    """
    folder, run = work_folder_of(target), {**run, **this_code()}
    with _locked(folder, target):
        found = (folder / MANIFEST).exists()
        if found and resume:
            _require_same(folder, run)
            _clear(folder, f".*{MARK}*")
        else:
            _clear(folder, "*", ".*")
            write_manifest(folder, {"format": FORMAT, "run": run})
        work = Work(folder, found)
        try:
            yield work
        except BaseException:
            if not work.has_kept:
                _remove(folder, target)
            raise
        _remove(folder, target)


@contextmanager
def _locked(folder: Path, target: Path) -> Iterator[None]:
    """Make the folder, and have it alone: the lock ends with the process, however that ends."""
    while (lock := _lock_of(folder, target)) is None:
        pass  # Another run has just ended, and taken its folder away.
    try:
        yield
    finally:
        os.close(lock)


def _lock_of(folder: Path, target: Path) -> int | None:
    """Return the open lock file of the folder, or None if the folder went away meanwhile."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and target.parent.is_dir():
            return None
        raise StorageError(f"cannot write {target}: {error.strerror or error}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(lock, folder / LOCK):
            return lock
    except BlockingIOError as error:
        os.close(lock)
        raise StorageError(
            f"another run is writing {target} and has its work in {folder}; "
            "wait for it, or choose another name"
        ) from error
    os.close(lock)
    return None


def _is_at(descriptor: int, path: Path) -> bool:
    """Tell whether an open file is still the one at a path."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _require_same(folder: Path, run: Mapping[str, str]) -> None:
    then: Any = read_manifest(folder, format_name=FORMAT).get("run")
    if not isinstance(then, dict):
        raise StorageError(f"{folder / MANIFEST} is damaged; start again without --resume")
    differences = [
        f"{key} {then.get(key, 'not said')}, now {run.get(key, 'not said')}"
        for key in dict.fromkeys([*then, *run])
        if then.get(key) != run.get(key)
    ]
    if differences:
        raise StorageError(
            f"{folder} was left by another run ({'; '.join(differences)}); "
            "start again without --resume"
        )


def _clear(folder: Path, *patterns: str) -> None:
    for pattern in patterns:
        for path in folder.glob(pattern):
            if path.is_file() and path.name != LOCK:
                path.unlink(missing_ok=True)


def _remove(folder: Path, target: Path) -> None:
    # Under another name first, so that nobody ever finds half of it; one that a kill leaves is
    # cleared with the other leftovers of the target.
    retired = target.parent / f".{target.name}{MARK}work-{os.getpid()}"
    folder.rename(retired)
    shutil.rmtree(retired, ignore_errors=True)
