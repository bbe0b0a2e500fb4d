"""What is kept of one pass over the blocks: files of results, or of a total so far."""

import hashlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sugartag.engine.base import Block
from sugartag.errors import StorageError
from sugartag.storage.aside import file_aside
from sugartag.storage.values import read_value, write_value

logger = logging.getLogger(__name__)

ENDING = ".kept"


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
