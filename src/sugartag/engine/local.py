"""The engine of one machine: this process, its BLAS threads, optionally several workers."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, Generic

from threadpoolctl import threadpool_limits

from sugartag.engine.base import (
    Block,
    BlockEngine,
    Progress,
    Result,
    Shared,
    Sum,
    Takes,
    name_of_pass,
)
from sugartag.errors import SettingsError


@dataclass(frozen=True)
class LocalEngine(BlockEngine):
    """Runs blocks in this process.

    BLAS has one thread in a block, however many workers there are: products divided among threads
    are rounded differently, and the same fit would give other numbers.
    """

    workers: int = 1
    """Threads that work on blocks at the same time; with more than one, BLAS has one thread."""
    blas_threads: int | None = None
    """BLAS threads of a single worker, one if None; others may change the last digits."""
    progress: Progress | None = None
    """Called after each block with how many rows of the pass are done."""
    scratch: Path | None = None
    """The folder for files that large arrays are mapped to; None keeps them in memory."""

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise SettingsError(f"workers must be at least 1, not {self.workers}")
        if self.blas_threads is not None and self.blas_threads < 1:
            raise SettingsError(f"blas_threads must be at least 1, not {self.blas_threads}")

    @property
    def shares_memory(self) -> bool:
        """Whether the workers see what is in the memory of the calling process."""
        return True

    @property
    def threads(self) -> int:
        """How many threads work in the calling process, between passes, may use."""
        return max(self.workers, self.blas_threads or os.cpu_count() or 1)

    def map(
        self,
        function: Callable[Concatenate[Block, Shared], Result],
        blocks: Sequence[Block],
        *shared: Shared.args,
        **named: Shared.kwargs,
    ) -> Iterator[Result]:
        """Yield ``function(block, ...)`` for each block, in order, a few ahead at most."""
        total = sum(block.stop - block.start for block in blocks)
        done = 0
        if self.progress is not None and blocks:
            self.progress(name_of_pass(function), 0, total)

        def call(block: Block) -> Result:
            return function(block, *shared, **named)

        with self.while_taken():
            for block, result in zip(blocks, self._in_order(call, blocks), strict=True):
                done += block.stop - block.start
                if self.progress is not None:
                    self.progress(name_of_pass(function), done, total)
                yield result

    def sums_so_far(
        self,
        function: Callable[Concatenate[Block, Shared], Sum],
        blocks: Sequence[Block],
        start: Sum | None,
        *shared: Shared.args,
        **named: Shared.kwargs,
    ) -> Iterator["_SumHere[Sum]"]:
        """Yield the sum so far after each block, added to what it is to start with."""
        total = start
        for number, result in enumerate(self.map(function, blocks, *shared, **named), 1):
            total = result if total is None else total + result
            # Or it would stay until the next is there, and both may be large.
            del result
            yield _SumHere(number, total)

    def pieces(
        self,
        function: Callable[Concatenate[Block, Shared], Any],
        blocks: Sequence[Block],
        total: Takes[Any],
        *shared: Shared.args,
        **named: Shared.kwargs,
    ) -> Iterator[tuple[int, Any]]:
        """Yield what a total is to take: the result of each block."""
        return ((1, result) for result in self.map(function, blocks, *shared, **named))

    def while_taken(self) -> AbstractContextManager[Any]:
        """Hold BLAS to as many threads as it has in a pass, for whoever takes the results too."""
        limits: AbstractContextManager[Any] = threadpool_limits(
            1 if self.workers > 1 else self.blas_threads or 1
        )
        return limits

    def _in_order(
        self, call: Callable[[Block], Result], blocks: Sequence[Block]
    ) -> Iterator[Result]:
        if self.workers == 1:
            yield from map(call, blocks)
            return
        waiting: deque[Future[Result]] = deque()
        with ThreadPoolExecutor(self.workers) as pool:
            try:
                for block in blocks:
                    waiting.append(pool.submit(call, block))
                    if len(waiting) > self.workers:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()


@dataclass(frozen=True)
class _SumHere(Generic[Sum]):
    """A sum in this process."""

    blocks: int
    total: Sum

    def value(self) -> Sum:
        """Return it."""
        return self.total


def on_all_cores(progress: Progress | None = None) -> LocalEngine:
    """Return the engine of this machine with a worker for each of its cores."""
    return LocalEngine(workers=os.cpu_count() or 1, progress=progress)
