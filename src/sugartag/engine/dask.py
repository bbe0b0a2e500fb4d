"""The engine of many machines: the same block functions, run by the workers of a Dask cluster."""

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, ClassVar, Concatenate, Self

import numpy.typing as npt

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
from sugartag.engine.clusters import (
    SECONDS_TO_CONNECT,
    client_of,
    client_of_own,
    large_messages,
    processes_here,
)
from sugartag.engine.futures import result_of, told_if_gone, wait_for
from sugartag.engine.on_workers import Shared as SharedValue
from sugartag.engine.on_workers import add_up, content_of, run_block
from sugartag.engine.room import room_in
from sugartag.errors import EngineError, SettingsError

FAN_IN = 8
"""Results added in one task: a sum of n blocks is a tree of log8 n levels."""
BLOCKS_PER_THREAD = 2
"""Blocks that are sent ahead for each thread of the workers."""
MAX_SHARED_BYTES = 1 << 30
"""Of one shared value, besides what lies in mapped files: it passes through the scheduler."""


@dataclass(frozen=True, eq=False)
class DaskEngine:
    """Runs blocks on the workers of a Dask cluster; leave it with ``with``, or close it.

    A block whose worker dies is run again on another, and so is whatever that worker held.
    """

    client: Any
    """The connected ``distributed.Client``."""
    blas_threads: int = 1
    """BLAS threads of a worker while it runs a block."""
    progress: Progress | None = None
    """Told how many rows of the pass are done: after each block, or each few blocks of a sum."""
    blocks_per_sum: ClassVar[int] = FAN_IN
    """Blocks are added so many at a time, by a worker."""
    _opened: ExitStack = field(default_factory=ExitStack, repr=False)
    _held: dict[str, Any] = field(default_factory=dict, repr=False)
    """The shared values of the last pass, by key: the next one often needs them again."""

    def __post_init__(self) -> None:
        if self.blas_threads < 1:
            raise SettingsError(f"blas_threads must be at least 1, not {self.blas_threads}")

    @classmethod
    def connected(
        cls,
        address: str,
        *,
        timeout: float = SECONDS_TO_CONNECT,
        blas_threads: int | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Connect to the scheduler at an address and wait for a first worker, each so long."""
        with ExitStack() as opened:
            client = opened.enter_context(client_of(address, timeout))
            return cls(client, blas_threads or 1, progress, opened.pop_all())

    @classmethod
    def local_cluster(
        cls,
        n_workers: int | None = None,
        *,
        retries: int = 3,
        blas_threads: int | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Start worker processes on this machine, one a core if not said, and connect to them.

        A block is given up when it has lost ``retries`` workers and loses one more.
        """
        n_workers = (os.cpu_count() or 1) if n_workers is None else n_workers
        if n_workers < 1:
            raise SettingsError(f"workers must be at least 1, not {n_workers}")
        with ExitStack() as opened:
            cluster = opened.enter_context(processes_here(n_workers, retries))
            client = opened.enter_context(client_of_own(cluster))
            return cls(client, blas_threads or 1, progress, opened.pop_all())

    def close(self) -> None:
        """Leave the cluster, and end it if it was started here."""
        self._held.clear()
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def threads(self) -> int:
        """How many threads work in the calling process, between passes, may use."""
        return os.cpu_count() or 1

    def room(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return zeros for what grows with the collection, in the memory of this process."""
        return room_in(None, shape, dtype)

    def map(
        self,
        function: Callable[Concatenate[Block, Shared], Result],
        blocks: Sequence[Block],
        *shared: Shared.args,
        **named: Shared.kwargs,
    ) -> Iterator[Result]:
        """Yield ``function(block, ...)`` for each block, in order, a few ahead at most."""
        if not blocks:
            return
        submit = self._submitter(function, shared, named)
        steps = _Steps(self, name_of_pass(function), blocks)
        tasks = ((submit(block), block.stop - block.start) for block in blocks)
        for future in steps.in_order(tasks, ahead=self._blocks_ahead()):
            yield result_of(future)

    def sum(
        self,
        function: Callable[Concatenate[Block, Shared], Sum],
        blocks: Sequence[Block],
        *shared: Shared.args,
        **named: Shared.kwargs,
    ) -> Sum:
        """Return the sum of ``function(block, ...)``: a tree that only the blocks decide."""
        if not blocks:
            raise ValueError("there is nothing to sum: no blocks")
        tree = _Tree(self._added)
        for future in self._groups(function, blocks, shared, named):
            tree.take(future)
        result: Sum = result_of(tree.root())
        return result

    def sums(
        self,
        function: Callable[Concatenate[Block, Shared], Sum],
        blocks: Sequence[Block],
        *shared: Shared.args,
        **named: Shared.kwargs,
    ) -> Iterator[Sum]:
        """Yield the sum of each few blocks, in order; those of a ``sum`` before it adds them."""
        if blocks:
            yield from map(result_of, self._groups(function, blocks, shared, named))

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
        """Do nothing: what workers do has no effect on this process."""
        return nullcontext()

    def _groups(
        self,
        function: Callable[..., Any],
        blocks: Sequence[Block],
        shared: Sequence[Any],
        named: Mapping[str, Any],
    ) -> Iterator[Any]:
        """Yield the task that holds the sum of each few blocks, once it is done."""
        submit = self._submitter(function, shared, named)
        steps = _Steps(self, name_of_pass(function), blocks)

        def tasks() -> Iterator[tuple[Any, int]]:
            for start in range(0, len(blocks), FAN_IN):
                group = blocks[start : start + FAN_IN]
                rows = sum(block.stop - block.start for block in group)
                yield self._added([submit(block) for block in group]), rows

        return steps.in_order(tasks(), ahead=1 + self._blocks_ahead() // FAN_IN)

    def _added(self, futures: Sequence[Any]) -> Any:
        if len(futures) == 1:
            return futures[0]
        with told_if_gone():
            return self.client.submit(add_up, list(futures), pure=False)

    def _blocks_ahead(self) -> int:
        with told_if_gone():
            threads: Mapping[str, int] = self.client.nthreads()
        return BLOCKS_PER_THREAD * max(1, sum(threads.values()))

    def _submitter(
        self,
        function: Callable[..., Any],
        shared: Sequence[Any],
        named: Mapping[str, Any],
    ) -> Callable[[Block], Any]:
        """Send what all blocks need, and return what sends a block."""
        values = [self._sent(value) for value in (function, *shared, *named.values())]
        self._held.clear()
        self._held.update({future.key: future for future in values})
        names = tuple(named)

        def submit(block: Block) -> Any:
            with told_if_gone():
                return self.client.submit(
                    run_block, block, self.blas_threads, names, *values, pure=False
                )

        return submit

    def _sent(self, value: Any) -> Any:
        """Return the task that holds a shared value, the one there is if it is unchanged."""
        content = content_of(value)
        if len(content) > MAX_SHARED_BYTES:
            raise EngineError(
                f"a value of {len(content) / 1e9:.1f} GB that all blocks need is too large to "
                "send; open the collection and the model from folders that the workers see too"
            )
        key = f"shared-{hashlib.sha256(content).hexdigest()}"
        if key in self._held:
            return self._held[key]
        with told_if_gone(), large_messages(2 * MAX_SHARED_BYTES):
            return self.client.submit(SharedValue, content, key=key)


@dataclass(frozen=True)
class _Steps:
    """Waits for the tasks of one pass in their order, and tells how far it has come."""

    engine: DaskEngine
    name: str
    blocks: Sequence[Block]

    def in_order(self, tasks: Iterator[tuple[Any, int]], *, ahead: int) -> Iterator[Any]:
        """Yield each task once it is done; those after it, ``ahead`` at most, run meanwhile."""
        total, done = sum(block.stop - block.start for block in self.blocks), 0
        waiting: deque[tuple[Any, int]] = deque()
        try:
            while True:
                while len(waiting) <= ahead and (task := next(tasks, None)) is not None:
                    waiting.append(task)
                if not waiting:
                    return
                future, rows = waiting.popleft()
                wait_for(future)
                done += rows
                if self.engine.progress is not None:
                    self.engine.progress(self.name, done, total)
                yield future
        finally:
            # What nobody holds any more, the scheduler drops before it begins.
            waiting.clear()


@dataclass(frozen=True)
class _Tree:
    """Adds futures up level by level, so that few partial sums exist at any time."""

    added: Callable[[Sequence[Any]], Any]
    _levels: list[list[Any]] = field(default_factory=list)

    def take(self, future: Any) -> None:
        """Take the next partial sum, and add up every level that is full."""
        for level in self._levels:
            level.append(future)
            if len(level) < FAN_IN:
                return
            future = self.added(level)
            level.clear()
        self._levels.append([future])

    def root(self) -> Any:
        """Return the sum of all that was taken, the earliest first."""
        rest = [future for level in reversed(self._levels) for future in level]
        while len(rest) > 1:
            groups = range(0, len(rest), FAN_IN)
            rest = [self.added(rest[start : start + FAN_IN]) for start in groups]
        return rest[0]
