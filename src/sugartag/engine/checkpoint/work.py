"""The folder in which a run keeps its work until what it makes stands: ``.NAME.work`` beside it.

It holds what is kept of each pass over the blocks, files of results or of a total so far, and what
code made them: work that other code has kept is never mixed into a result.
"""

import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from sugartag.engine.base import Block
from sugartag.errors import StorageError
from sugartag.storage.arrays import MANIFEST, read_manifest, write_manifest
from sugartag.storage.aside import file_aside
from sugartag.storage.held import beside, clear, held_folder, remove
from sugartag.storage.values import read_value, write_value

logger = logging.getLogger(__name__)

FORMAT = "sugartag-work/1"
ENDING = ".kept"
PACKAGE = Path(__file__).resolve().parents[2]
VERSIONS = ("sugartag", "numpy", "scipy", "numba")
"""Packages that decide the last bits of a result."""
DECIDING = {".py", ".json", ".toml", ".gz"}
"""Endings of the package's files that a result can depend on: code, constants, the taxonomy."""


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
def work_beside(target: Path, run: Mapping[str, str], *, resume: bool | None) -> Iterator[Work]:
    """Yield the work folder for a target; it is gone when the block ends without an error.

    ``run`` is what the caller knows that decides what the run makes; the code itself is added. With
    ``resume`` work that is there is kept, and must be of the same run; without, it is discarded;
    None keeps that of the same run and discards any other. Work is one run's at a time.
    """
    folder, run = work_folder_of(target), {**run, **this_code()}
    with held_folder(folder, target):
        found = (folder / MANIFEST).exists()
        if found and (_is_same(folder, run) if resume is None else resume):
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


def _is_same(folder: Path, run: Mapping[str, str]) -> bool:
    try:
        _require_same(folder, run)
    except StorageError:
        return False
    return True


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


@dataclass(frozen=True)
class Pass:
    """What a pass is known by, so that it is never mistaken for another."""

    number: int
    """Passes are counted as they are begun, from 0."""
    verb: str
    name: str
    n_blocks: int
    bounds: str
    """A digest of where each block begins and ends."""

    @classmethod
    def over(cls, blocks: Sequence[Block], number: int, verb: str, name: str) -> "Pass":
        """Describe a pass over some blocks."""
        bounds = ",".join(f"{block.start}:{block.stop}" for block in blocks)
        digest = hashlib.sha256(bounds.encode()).hexdigest()
        return cls(number, verb, name, len(blocks), digest)

    def __str__(self) -> str:
        return f"{self.verb} {self.name!r} over {self.n_blocks} blocks"


@dataclass(frozen=True)
class KeptPass:
    """The files of one pass in a folder."""

    folder: Path
    what: Pass

    def chunks(self) -> Iterator[list[Any]]:
        """Yield the results that were kept, as many at a time as were written together.

        They are those of the first blocks, in order. A damaged file ends them: the rest of the
        pass is to be made again.
        """
        done = 0
        while results := self._read(self._chunk(done)):
            yield results
            done += len(results)

    def keep_chunk(self, first: int, results: list[Any]) -> None:
        """Write the results of the blocks from number ``first`` on."""
        self._write(self._chunk(first), results)

    def total(self) -> tuple[int, Any] | None:
        """Return how many blocks went into the total that was kept, and the total."""
        found: tuple[int, Any] | None = self._read(self._total)
        return found

    def keep_total(self, done: int, total: Any) -> None:
        """Write the total of the first ``done`` blocks, in place of the one before."""
        self._write(self._total, (done, total))

    def _chunk(self, first: int) -> Path:
        return self.folder / f"{self.what.number:05d}-from-{first:08d}{ENDING}"

    @property
    def _total(self) -> Path:
        return self.folder / f"{self.what.number:05d}-total{ENDING}"

    def _write(self, path: Path, content: Any) -> None:
        with file_aside(path, overwrite=True) as partial:
            write_value(partial, (self.what, content))

    def _read(self, path: Path) -> Any:
        """Return what was kept in a file; None if there is none, or it is damaged."""
        if not path.exists():
            return None
        try:
            what, content = read_value(path)
        except StorageError as error:
            logger.warning("%s; this part is made again", error)
            return None
        if what != self.what:
            raise StorageError(
                f"{path} was kept of {what}, where this run has {self.what}: the code or the data "
                "changed in between; start again without --resume"
            )
        return content


@cache
def this_code() -> dict[str, str]:
    """Return versions, and a digest of this package's files: a version may be edited."""
    versions = {name: metadata.version(name) for name in VERSIONS}
    return {**versions, "code": digest_of(PACKAGE)[:12]}


def digest_of(folder: Path) -> str:
    """Return a digest of the deciding files below a folder: where they are, and their bytes."""
    found = {
        path.relative_to(folder).as_posix(): path
        for path in folder.rglob("*")
        if path.suffix in DECIDING and path.is_file()
    }
    digest = hashlib.sha256()
    for name in sorted(found):
        digest.update(name.encode() + b"\0" + hashlib.sha256(found[name].read_bytes()).digest())
    return digest.hexdigest()
