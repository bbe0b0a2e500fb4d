"""What an engine is: three verbs over blocks of rows."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar, runtime_checkable

import numpy.typing as npt

from sugartag.engine.room import room_in

Block = slice
"""A run of consecutive rows: ``slice(start, stop)``."""

Shared = ParamSpec("Shared")
Result = TypeVar("Result")


class Addable(Protocol):
    """A result that can be added to another of its kind."""

    def __add__(self, other: Self, /) -> Self:
        """Return the sum of the two."""
        ...


Sum = TypeVar("Sum", bound=Addable)

Taken = TypeVar("Taken", contravariant=True)


class Takes(Protocol[Taken]):
    """Something that results are taken into, one after the other, and that changes by it.

    One with the attribute ``takes_sums``, true, may be given the sum of the results of a few
    neighbouring blocks in place of each: the same to it, but for rounding.
    """

    def take(self, result: Taken, /) -> None:
        """Take the result of the next block."""
        ...


Total = TypeVar("Total", bound=Takes[Any])

Given = TypeVar("Given", covariant=True)


class Engine(Protocol):
    """Runs one block function over many blocks.

    The function gets the block and the shared values, which are sent to a worker once and not
    once a block. Results come back in block order, whatever order they were made in, so that
    the same blocks give the same floating-point sum whatever the number of workers.
    """

    @property
    def threads(self) -> int:
        """How many threads work in the calling process, between passes, may use."""
        ...

    @property
    def shares_memory(self) -> bool:
        """Whether the workers see what is in the memory of the calling process."""
        ...

    @property
    def scratch(self) -> Path | None:
        """The folder for files that ``room`` maps; None if it is in memory."""
        ...

    def room(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return zeros for what grows with the collection: in memory, or mapped to a file."""
        ...

    def map(
        self,
        function: Callable[Concatenate[Block, Shared], Result],
        blocks: Sequence[Block],
        *shared: Shared.args,
        **named: Shared.kwargs,
    ) -> Iterator[Result]:
        """Yield ``function(block, ...)`` for each block, in order, a few ahead at most."""
        ...

    def sum(
        self,
        function: Callable[Concatenate[Block, Shared], Sum],
        blocks: Sequence[Block],
        *shared: Shared.args,
        **named: Shared.kwargs,
    ) -> Sum:
        """Return the sum of ``function(block, ...)`` over the blocks, added in block order."""
        ...

    def fold(
        self,
        function: Callable[Concatenate[Block, Shared], Any],
        blocks: Sequence[Block],
        total: Total,
        *shared: Shared.args,
        **named: Shared.kwargs,
    ) -> Total:
        """Return ``total`` after it took ``function(block, ...)`` of each block, in order.

        Use what is returned: an engine that goes on with an earlier run returns another object.
        """
        ...


class RestartableEngine(Engine, Protocol):
    """An engine whose passes can be begun in the middle, and end as if begun at the start."""

    @property
    def progress(self) -> "Progress | None":
        """Called with how far a pass has come."""
        ...

    def sums_so_far(
        self,
        function: Callable[Concatenate[Block, Shared], Sum],
        blocks: Sequence[Block],
        start: Sum | None,
        *shared: Shared.args,
        **named: Shared.kwargs,
    ) -> Iterator["SumSoFar[Sum]"]:
        """Yield the sum so far, every few blocks and after the last.

        A sum that is begun again with one that was asked for here, as ``start``, and with the
        blocks that it is not of, ends with the same bits. Without blocks nothing is yielded.
        """
        ...

    def pieces(
        self,
        function: Callable[Concatenate[Block, Shared], Any],
        blocks: Sequence[Block],
        total: Takes[Any],
        *shared: Shared.args,
        **named: Shared.kwargs,
    ) -> Iterator[tuple[int, Any]]:
        """Yield what a total is to take, in order, each after how many blocks it is of."""
        ...

    def while_taken(self) -> AbstractContextManager[Any]:
        """Keep this process as it is while somebody takes the results of ``map``."""
        ...


class BlockEngine:
    """What all engines do alike with passes that can be begun in the middle."""

    scratch: Path | None

    def room(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return zeros for what grows with the collection: in memory, or mapped to a file."""
        return room_in(self.scratch, shape, dtype)

    def sum(
        self: RestartableEngine,
        function: Callable[Concatenate[Block, Shared], Sum],
        blocks: Sequence[Block],
        *shared: Shared.args,
        **named: Shared.kwargs,
    ) -> Sum:
        """Return the sum of ``function(block, ...)``, in an order that only the blocks decide."""
        if not blocks:
            raise ValueError("there is nothing to sum: no blocks")
        (whole,) = deque(self.sums_so_far(function, blocks, None, *shared, **named), maxlen=1)
        return whole.value()

    def fold(
        self: RestartableEngine,
        function: Callable[Concatenate[Block, Shared], Any],
        blocks: Sequence[Block],
        total: Total,
        *shared: Shared.args,
        **named: Shared.kwargs,
    ) -> Total:
        """Return ``total`` after it took ``function(block, ...)`` of each block, in order."""
        return taken_into(total, self.pieces(function, blocks, total, *shared, **named))


class SumSoFar(Protocol[Given]):
    """What the first blocks of a pass add up to; another thing once the next is asked for."""

    @property
    def blocks(self) -> int:
        """How many blocks of this pass it is of."""
        ...

    def value(self) -> Given:
        """Return the sum, from wherever it is."""
        ...


class Progress(Protocol):
    """Shows how far a pass over the blocks has come."""

    def __call__(self, what: str, done: int, total: int) -> None:
        """Take note that ``done`` of ``total`` rows of the pass called ``what`` are done."""
        ...


@runtime_checkable
class Stages(Protocol):
    """Progress that also shows stages with passes inside them."""

    def begin(self, what: str, total: int) -> None:
        """Take note that a stage begins."""
        ...

    def end(self, what: str) -> None:
        """Take note that it has ended."""
        ...


@dataclass
class Stage:
    """A stage of a fit as the method sees it: something to count the steps of."""

    what: str
    total: int
    progress: Progress | None
    done: int = 0

    def advance(self, steps: int = 1) -> None:
        """Report that some more steps are done."""
        self.done = min(self.done + steps, self.total)
        if self.progress is not None:
            self.progress(self.what, self.done, self.total)


@contextmanager
def stage(engine: "Engine", what: str, total: int = 1) -> Iterator[Stage]:
    """Report a stage of a fit while the block runs: ``what`` in words, of ``total`` steps.

    A stage of one step is shown with the time it takes; passes of the engine may run inside it.
    """
    progress: Progress | None = getattr(engine, "progress", None)
    if isinstance(progress, Stages):
        progress.begin(what, total)
    try:
        yield Stage(what, total, progress)
    finally:
        if isinstance(progress, Stages):
            progress.end(what)


def steps(engine: "Engine", what: str, total: int) -> Iterator[int]:
    """Count from 0 up to ``total``, and report each step as one of a stage."""
    with stage(engine, what, total) as counted:
        for number in range(total):
            yield number
            counted.advance()


def taken_into(total: Total, pieces: Iterable[tuple[int, Any]]) -> Total:
    """Return the total after it took all pieces."""
    for _, piece in pieces:
        total.take(piece)
        # Or it would stay until the next is there, and both may be large.
        del piece
    return total


def row_blocks(n_rows: int, rows_per_block: int) -> tuple[Block, ...]:
    """Cut ``n_rows`` rows into consecutive blocks, the last one possibly shorter."""
    if rows_per_block < 1:
        raise ValueError(f"rows_per_block must be at least 1, not {rows_per_block}")
    starts = range(0, n_rows, rows_per_block)
    return tuple(slice(start, min(start + rows_per_block, n_rows)) for start in starts)


def blocks_all_over(blocks: Sequence[Block], most: int) -> tuple[Block, ...]:
    """Return some of the blocks, at least one and at most ``most``, evenly spread over them."""
    count, last = min(max(most, 1), len(blocks)), len(blocks) - 1
    return tuple(blocks[number * last // max(count - 1, 1)] for number in range(count))


def name_of_pass(function: Callable[..., Any]) -> str:
    """Return what a pass is called in progress displays: the block function's name in words."""
    name = getattr(function, "__name__", type(function).__name__)
    return str(name).strip("_").replace("_", " ")
