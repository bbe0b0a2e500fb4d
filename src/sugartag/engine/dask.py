"""The engine of many machines: the same block functions, run by the workers of a Dask cluster."""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Concatenate, Self

from sugartag.engine.base import (
    Block,
    BlockEngine,
    Progress,
    Result,
    Shared,
    Sum,
    SumSoFar,
    Takes,
    name_of_pass,
)
from sugartag.engine.clusters import (
    SECONDS_TO_CONNECT,
    Tls,
    client_of,
    client_of_own,
    large_messages,
    processes_here,
)
from sugartag.engine.futures import result_of, told_if_gone
from sugartag.engine.on_workers import Shared as SharedValue
from sugartag.engine.on_workers import add_up, content_of, run_block, run_blocks
from sugartag.engine.passes import Steps, SumOnWorkers, Task, rows_in
from sugartag.errors import EngineError, SettingsError

FAN_IN = 8
"""Results added in one task: of blocks to that of a group, and of groups to that of a span."""
TASKS_PER_THREAD = 2
"""Tasks that are sent ahead for each thread of the workers."""
GROUPS_PER_THREAD = 4
"""From this many on a group of blocks is one task; of fewer, some threads would have none."""
BEFORE_BLOCKS = 1
"""The priority, in Dask's terms, of what is to be done before blocks that were sent earlier."""
MAX_SHARED_BYTES = 1 << 30
"""Of one shared value, besides what lies in mapped files: it passes through the scheduler."""


@dataclass(frozen=True, eq=False)
class DaskEngine(BlockEngine):
    """Runs blocks on the workers of a Dask cluster; leave it with ``with``, or close it.

    A block whose worker dies is run again on another, and so is whatever that worker held.
    """

    client: Any
    """The connected ``distributed.Client``."""
    blas_threads: int = 1
    """BLAS threads of a worker while it runs a block."""
    progress: Progress | None = None
    """Called with how many rows are done: after each block, or each few that are added."""
    scratch: Path | None = None
    """The folder for files that large arrays of this process are mapped to; None keeps them in
    its memory."""
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
        scratch: Path | None = None,
        tls: Tls | None = None,
    ) -> Self:
        """Connect to the scheduler at an address and wait for a first worker, each so long."""
        with ExitStack() as opened:
            client = opened.enter_context(client_of(address, timeout, tls))
            return cls(client, blas_threads or 1, progress, scratch, opened.pop_all())

    @classmethod
    def local_cluster(
        cls,
        n_workers: int | None = None,
        *,
        retries: int = 3,
        blas_threads: int | None = None,
        progress: Progress | None = None,
        scratch: Path | None = None,
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
            return cls(client, blas_threads or 1, progress, scratch, opened.pop_all())

    def close(self) -> None:
        """Leave the cluster, and end it if it was started here."""
        self._held.clear()
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def shares_memory(self) -> bool:
        """Whether the workers see what is in the memory of the calling process."""
        return False

    @property
    def threads(self) -> int:
        """How many threads work in the calling process, between passes, may use."""
        return os.cpu_count() or 1

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
        run = self._sender(function, shared, named)
        tasks = (Task(run(run_block, block), (block,)) for block in blocks)
        steps = self._steps(function, blocks)
        for task in steps.in_order(tasks, ahead=self._tasks_ahead):
            yield result_of(task.future)

    def sums_so_far(
        self,
        function: Callable[Concatenate[Block, Shared], Sum],
        blocks: Sequence[Block],
        start: Sum | None,
        *shared: Shared.args,
        **named: Shared.kwargs,
    ) -> Iterator[SumSoFar[Sum]]:
        """Yield the sum so far after each span of blocks; it stays there until it is asked for."""
        total = SumOnWorkers(self._added, self._total_sent)
        total.start_with(start)
        span: list[Task] = []
        for group in self._groups(function, blocks, shared, named):
            span.append(group)
            n_blocks = sum(len(task.blocks) for task in span)
            if len(span) == FAN_IN or total.blocks + n_blocks == len(blocks):
                total.take(self._added([task.future for task in span]), n_blocks)
                span.clear()
                yield total

    def pieces(
        self,
        function: Callable[Concatenate[Block, Shared], Any],
        blocks: Sequence[Block],
        total: Takes[Any],
        *shared: Shared.args,
        **named: Shared.kwargs,
    ) -> Iterator[tuple[int, Any]]:
        """Yield what a total is to take: of each block, or if that will do of each group."""
        if getattr(total, "takes_sums", False):
            for group in self._groups(function, blocks, shared, named):
                yield len(group.blocks), result_of(group.future)
        else:
            for result in self.map(function, blocks, *shared, **named):
                yield 1, result
                del result

    def while_taken(self) -> AbstractContextManager[Any]:
        """Do nothing: what workers do has no effect on this process."""
        return nullcontext()

    def _groups(
        self,
        function: Callable[..., Any],
        blocks: Sequence[Block],
        shared: Sequence[Any],
        named: Mapping[str, Any],
    ) -> Iterator[Task]:
        """Return the tasks that hold the sum of each few blocks, each once it is done.

        The blocks of a group are run one after the other by one worker, which needs to hold no
        more than two results; or each by another if there are few. The sum is the same.
        """
        if not blocks:
            return iter(())
        run = self._sender(function, shared, named)
        groups = [blocks[start : start + FAN_IN] for start in range(0, len(blocks), FAN_IN)]
        steps = self._steps(function, blocks)
        if len(groups) >= GROUPS_PER_THREAD * self._threads_there():
            tasks = (Task(run(run_blocks, group), group) for group in groups)
            return steps.in_order(tasks, ahead=self._tasks_ahead)
        tasks = (
            Task(self._added([run(run_block, block) for block in group]), group) for group in groups
        )
        return steps.in_order(tasks, ahead=lambda: 1 + self._tasks_ahead() // FAN_IN)

    def _steps(self, function: Callable[..., Any], blocks: Sequence[Block]) -> Steps:
        return Steps(name_of_pass(function), rows_in(blocks), self.progress)

    def _added(self, futures: Sequence[Any]) -> Any:
        if len(futures) == 1:
            return futures[0]
        with told_if_gone():
            # Each addition makes room for some of the blocks that wait.
            return self.client.submit(add_up, list(futures), pure=False, priority=BEFORE_BLOCKS)

    def _tasks_ahead(self) -> int:
        return TASKS_PER_THREAD * self._threads_there()

    def _threads_there(self) -> int:
        with told_if_gone():
            threads: Mapping[str, int] = self.client.nthreads()
        return max(1, sum(threads.values()))

    def _sender(
        self,
        function: Callable[..., Any],
        shared: Sequence[Any],
        named: Mapping[str, Any],
    ) -> Callable[[Callable[..., Any], Any], Any]:
        """Send what all blocks need, and return what sends a block, or some, to be run."""
        values = [self._sent(value) for value in (function, *shared, *named.values())]
        self._held.clear()
        self._held.update({future.key: future for future in values})
        names = tuple(named)

        def send(run: Callable[..., Any], what: Any) -> Any:
            with told_if_gone():
                return self.client.submit(run, what, self.blas_threads, names, *values, pure=False)

        return send

    def _sent(self, value: Any) -> Any:
        """Return the task that holds a shared value, the one there is if it is unchanged."""
        content = content_of(value)
        if len(content) > MAX_SHARED_BYTES:
            raise EngineError(
                f"a value of {len(content) / 1e9:.1f} GB that all blocks need is too large to "
                "send; open the collection and the model from folders that the workers see too"
            )
        return self._task_of(content)

    def _total_sent(self, total: Any) -> Any | None:
        content = content_of(total)
        return None if len(content) > MAX_SHARED_BYTES else self._task_of(content)

    def _task_of(self, content: bytes) -> Any:
        key = f"shared-{hashlib.sha256(content).hexdigest()}"
        if key in self._held:
            return self._held[key]
        with told_if_gone(), large_messages(2 * MAX_SHARED_BYTES):
            return self.client.submit(SharedValue, content, key=key, priority=BEFORE_BLOCKS)
