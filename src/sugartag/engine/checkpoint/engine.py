"""An engine that keeps what its passes gave, so that a run that was killed goes on.

What happens between passes is done again when a run goes on. It asks for the same passes in the
same order, because methods are decided by their settings, seed and data; a pass that was kept is
read back instead of made, to the last bit.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Concatenate

import numpy.typing as npt

from sugartag.engine.base import (
    Block,
    Progress,
    RestartableEngine,
    Result,
    Shared,
    Sum,
    SumSoFar,
    Total,
    name_of_pass,
)
from sugartag.engine.checkpoint.work import KeptPass, Pass
from sugartag.storage.values import bytes_in

logger = logging.getLogger(__name__)

SECONDS_BETWEEN = 30.0
WORTH_KEEPING = 0.1
"""Of the seconds between two writes: what took longer than this share is kept at a pass's end."""
MAX_PILED_BYTES = 64 << 20
"""Results that wait to be written, at most, before those of one more block."""
MAX_SHARE = 0.25
"""Of a pass's time that may go into writing its results; beyond, they are made again if need be."""


@dataclass(eq=False)
class ResumableEngine:
    """Runs blocks on another engine, and keeps in a folder what that gave.

    An empty folder begins a run; that of a run that was killed continues it. A result that was
    handed out is not to be changed while its pass goes on: it may not have been written yet.
    """

    inner: RestartableEngine
    folder: Path
    seconds_between: float = SECONDS_BETWEEN
    """Seconds of work that a kill may cost, about; 0 keeps each block as soon as it is done."""
    blocks_read: int = field(default=0, init=False)
    """How many blocks were read back and not made."""
    _begun: int = field(default=0, init=False, repr=False)

    def __getattr__(self, name: str) -> Any:
        """Return what the other engine has besides."""
        if name.startswith("_") or name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    @property
    def threads(self) -> int:
        """How many threads work in the calling process, between passes, may use."""
        return self.inner.threads

    @property
    def shares_memory(self) -> bool:
        """Whether the workers see what is in the memory of the calling process."""
        return self.inner.shares_memory

    @property
    def scratch(self) -> Path | None:
        """The folder for files that ``room`` maps; None if it is in memory."""
        return self.inner.scratch

    def room(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return zeros for what grows with the collection: in memory, or mapped to a file."""
        return self.inner.room(shape, dtype)

    @property
    def progress(self) -> Progress | None:
        """Called with how far a pass has come."""
        return self.inner.progress

    def map(
        self,
        function: Callable[Concatenate[Block, Shared], Result],
        blocks: Sequence[Block],
        *shared: Shared.args,
        **named: Shared.kwargs,
    ) -> Iterator[Result]:
        """Yield ``function(block, ...)`` for each block, in order, a few ahead at most."""
        # Counted when it is asked for, not when the first result is: that may be much later.
        kept = self._begin("map", function, blocks)
        return self._mapped(kept, function, blocks, shared, named)

    def sum(
        self,
        function: Callable[Concatenate[Block, Shared], Sum],
        blocks: Sequence[Block],
        *shared: Shared.args,
        **named: Shared.kwargs,
    ) -> Sum:
        """Return the sum of ``function(block, ...)``, added as the other engine does it."""
        if not blocks:
            raise ValueError("there is nothing to sum: no blocks")
        keeper = self._keeper("sum", function, blocks)
        done, start = keeper.restored(0, None)
        so_far: SumSoFar[Sum] | None = None
        try:
            for so_far in self.inner.sums_so_far(function, blocks[done:], start, *shared, **named):
                keeper.look_at(done + so_far.blocks, so_far.value)
        except KeyboardInterrupt:
            if so_far is not None:
                keeper.keep(done + so_far.blocks, so_far.value)
            raise
        result: Sum = start if so_far is None else so_far.value()
        return result

    def fold(
        self,
        function: Callable[Concatenate[Block, Shared], Any],
        blocks: Sequence[Block],
        total: Total,
        *shared: Shared.args,
        **named: Shared.kwargs,
    ) -> Total:
        """Return a total that took ``function(block, ...)`` of each block, in order.

        It is the one given, or one read back that took the first blocks in its place.
        """
        keeper = self._keeper("fold", function, blocks)
        done, total = keeper.restored(0, total)
        is_whole = True
        try:
            pieces = self.inner.pieces(function, blocks[done:], total, *shared, **named)
            for n_blocks, piece in pieces:
                is_whole = False
                total.take(piece)
                # Or it would stay until the next is there, and both may be large.
                del piece
                done += n_blocks
                is_whole = True
                keeper.look_at(done, lambda: total)
        except KeyboardInterrupt:
            if is_whole and done:
                keeper.keep(done, lambda: total)
            raise
        return total

    def _begin(self, verb: str, function: Callable[..., Any], blocks: Sequence[Block]) -> KeptPass:
        number, self._begun = self._begun, self._begun + 1
        what = Pass.over(blocks, number, verb, name_of_pass(function))
        return KeptPass(self.folder, what)

    def _keeper(
        self, verb: str, function: Callable[..., Any], blocks: Sequence[Block]
    ) -> "_TotalKeeper":
        return _TotalKeeper(self, self._begin(verb, function, blocks))

    def _mapped(
        self,
        kept: KeptPass,
        function: Callable[..., Any],
        blocks: Sequence[Block],
        shared: Sequence[Any],
        named: Mapping[str, Any],
    ) -> Iterator[Any]:
        done = 0
        with self.inner.while_taken():
            for results in kept.chunks():
                done += len(results)
                self._tell_read(kept.what, blocks, done, len(results))
                yield from results
        pile = _Pile(kept, done, self.seconds_between)
        try:
            for result in self.inner.map(function, blocks[done:], *shared, **named):
                pile.add(result)
                yield result
        except KeyboardInterrupt:
            pile.keep()
            raise
        finally:
            pile.end()

    def _tell_read(self, what: Pass, blocks: Sequence[Block], done: int, new: int) -> None:
        self.blocks_read += new
        logger.info("%s: %d of %d blocks read back", what.name, done, what.n_blocks)
        if self.progress is not None:
            rows, total = (
                sum(block.stop - block.start for block in part) for part in (blocks[:done], blocks)
            )
            self.progress(what.name, rows, total)


class _Pile:
    """Results of a pass that are not written yet."""

    def __init__(self, kept: KeptPass, first: int, seconds_between: float) -> None:
        self._kept, self._every = kept, seconds_between
        self._first = first
        self._results: list[Any] = []
        self._bytes = 0
        self._began = self._last = time.monotonic()
        self._writing = 0.0
        self._is_kept = True

    def add(self, result: Any) -> None:
        """Take a result, and write all that are there if it is time to."""
        if not self._is_kept:
            return
        self._results.append(result)
        self._bytes += bytes_in(result)
        if self._age >= self._every or self._bytes > MAX_PILED_BYTES:
            self._write()

    def keep(self) -> None:
        """Write what is there, however little it took: somebody has stopped the run."""
        if self._results and self._is_kept:
            self._write()

    def end(self) -> None:
        """Write what is there, if it took long enough to be worth it."""
        if self._results and self._age >= WORTH_KEEPING * self._every:
            self._write()

    @property
    def _age(self) -> float:
        return time.monotonic() - self._last

    def _write(self) -> None:
        began = time.monotonic()
        results, self._results, self._bytes = self._results, [], 0
        self._is_kept = _written(self._kept, self._first, results, self._kept.keep_chunk)
        self._first += len(results)
        self._last = time.monotonic()
        self._writing += self._last - began
        if self._every and self._writing > MAX_SHARE * (self._last - self._began):
            logger.info("%s: not kept on, too large for the time it takes", self._kept.what.name)
            self._is_kept = False


class _TotalKeeper:
    """Writes a total from time to time."""

    def __init__(self, engine: ResumableEngine, kept: KeptPass) -> None:
        self._engine, self._kept = engine, kept
        self._every = engine.seconds_between
        self._last = time.monotonic()
        self._pause = self._every
        self._is_kept = True

    def restored(self, done: int, total: Any) -> tuple[int, Any]:
        """Return what was kept, or else what is given."""
        found = self._kept.total()
        if found is None:
            return done, total
        self._engine.blocks_read += found[0]
        logger.info("%s: %d of %d blocks read back", self._kept.what.name, *self._of(found[0]))
        return found

    def look_at(self, done: int, total: Callable[[], Any]) -> None:
        """Write the total if it is time to, or if it is the last and took long enough.

        It is asked for only then: it may have a long way to come.
        """
        is_last = done == self._kept.what.n_blocks
        began = time.monotonic()
        age = began - self._last
        if self._is_kept and age >= (WORTH_KEEPING * self._every if is_last else self._pause):
            self._is_kept = _written(self._kept, done, total(), self._kept.keep_total)
            self._last = time.monotonic()
            if self._every:
                self._pause = max(self._every, (self._last - began) / MAX_SHARE)

    def keep(self, done: int, total: Callable[[], Any]) -> None:
        """Write the total, however little it took: somebody has stopped the run."""
        if self._is_kept and done < self._kept.what.n_blocks:
            _written(self._kept, done, total(), self._kept.keep_total)

    def _of(self, done: int) -> tuple[int, int]:
        return done, self._kept.what.n_blocks


def _written(kept: KeptPass, number: int, value: Any, keep: Callable[[int, Any], None]) -> bool:
    """Keep a value, and tell whether it is of a kind that can be kept."""
    try:
        keep(number, value)
    except TypeError as error:
        logger.info("%s: not kept, %s", kept.what.name, error)
        return False
    return True
