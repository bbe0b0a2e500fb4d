"""The folder in which a run keeps its work until what it makes stands: ``.NAME.work`` beside it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sugartag.errors import StorageError
from sugartag.resuming.code import this_code
from sugartag.resuming.kept import ENDING
from sugartag.storage.arrays import MANIFEST, read_manifest, write_manifest
from sugartag.storage.held import beside, clear, held_folder, remove

FORMAT = "sugartag-work/1"


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
    return beside(target, "work")


@contextmanager
def work_beside(target: Path, run: Mapping[str, str], *, resume: bool) -> Iterator[Work]:
    """Yield the work folder for a target; it is gone when the block ends without an error.

    ``run`` is what the caller knows that decides what the run makes; the code itself is added. With
    ``resume`` work that is there is kept, and must be of the same run; without, it is discarded.
    Work is one run's at a time.
    """
    folder, run = work_folder_of(target), {**run, **this_code()}
    with held_folder(folder, target):
        found = (folder / MANIFEST).exists()
        if found and resume:
            _require_same(folder, run)
            clear(folder, beginning=".")  # Files that were half written.
        else:
            clear(folder)
            write_manifest(folder, {"format": FORMAT, "run": run})
        work = Work(folder, found)
        try:
            yield work
        except BaseException:
            if not work.has_kept:
                remove(folder)
            raise
        remove(folder)


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
