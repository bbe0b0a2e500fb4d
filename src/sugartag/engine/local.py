"""The engine of one machine: this process, its BLAS threads, optionally several workers."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, ClassVar, Concatenate

import numpy.typing as npt
from threadpoolctl import threadpool_limits

from sugartag.engine.base import (
    Block,
    Progress,
    Result,
    Shared,
    Sum,
    Total,
    name_of_pass,
    taken_into,
)
from sugartag.engine.room import room_in
from sugartag.errors import SettingsError


@dataclass(frozen=True)
class LocalEngine:
    """Runs blocks in this process.

    One worker whose BLAS uses every core is the default: on few cores it is as fast as several
    workers of one BLAS thread each, and holds one block in memory instead of several.
    """

    workers: int = 1
    """Threads that work on blocks at the same time; with more than one, BLAS has one thread."""
    blas_threads: int | None = None
    """BLAS threads of the single worker; None leaves the library's own choice."""
    progress: Progress | None = None
    """Told after each block how many rows of the pass are done."""
    scratch: Path | None = None
    """The folder for files that large arrays are mapped to; None keeps them in memory."""
    blocks_per_sum: ClassVar[int] = 1
    """Blocks are added one by one."""

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise SettingsError(f"workers must be at least 1, not {self.workers}")
        if self.blas_threads is not None and self.blas_threads < 1:
            raise SettingsError(f"blas_threads must be at least 1, not {self.blas_threads}")

    @property
    def threads(self) -> int:
        """How many threads work in the calling process, between passes, may use."""
        return max(self.workers, self.blas_threads or os.cpu_count() or 1)

    def room(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return zeros for what grows with the collection: in memory, or mapped to a file."""
        return room_in(self.scratch, shape, dtype)

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

        def call(block: Block) -> Result:
            return function(block, *shared, **named)

        with self.while_taken():
            for block, result in zip(blocks, self._in_order(call, blocks), strict=True):
                done += block.stop - block.start
                if self.progress is not None:
                    self.progress(name_of_pass(function), done, total)
                yield result

    def sum(
        self,
        function: Callable[Concatenate[Block, Shared], Sum],
        blocks: Sequence[Block],
        *shared: Shared.args,
        **named: Shared.kwargs,
    ) -> Sum:
        """Return the sum of ``function(block, ...)`` over the blocks, added in block order."""
        if not blocks:
            raise ValueError("there is nothing to sum: no blocks")
        return reduce(add, self.map(function, blocks, *shared, **named))

    def sums(
        self,
        function: Callable[Concatenate[Block, Shared], Sum],
        blocks: Sequence[Block],
        *shared: Shared.args,
        **named: Shared.kwargs,
    ) -> Iterator[Sum]:
        """Yield what is to be added, in order: the results themselves."""
        return self.map(function, blocks, *shared, **named)

    def fold(
        self,
        function: Callable[Concatenate[Block, Shared], Any],
        blocks: Sequence[Block],
        total: Total,
        *shared: Shared.args,
        **named: Shared.kwargs,
    ) -> Total:
        """Return ``total`` after it took ``function(block, ...)`` of each block, in order."""
        return taken_into(total, self.map(function, blocks, *shared, **named))

    def while_taken(self) -> AbstractContextManager[Any]:
        """Hold BLAS to as many threads as it has in a pass, for whoever takes the results too."""
        limits: AbstractContextManager[Any] = threadpool_limits(
            1 if self.workers > 1 else self.blas_threads
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
