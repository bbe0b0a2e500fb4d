"""Passes over a cluster: tasks waited for in their order, and what they add up to."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sugartag.engine.base import Block, Progress
from sugartag.engine.futures import result_of, wait_for


class Task(NamedTuple):
    """A task of a pass, and the blocks that its result is of."""

    future: Any
    blocks: Sequence[Block]


def rows_in(blocks: Sequence[Block]) -> int:
    """Return how many rows some blocks have."""
    return sum(block.stop - block.start for block in blocks)


@dataclass(frozen=True)
class Steps:
    """Waits for the tasks of one pass in their order, and tells how far it has come."""

    name: str
    total: int
    """Rows of all blocks."""
    progress: Progress | None

    def in_order(self, tasks: Iterator[Task], *, ahead: Callable[[], int]) -> Iterator[Task]:
        """Yield each task once it is done; those after it run meanwhile, ``ahead`` at most.

        How many that is, is asked for each task: workers come and go.
        """
        done = 0
        if self.progress is not None and self.total:
            self.progress(self.name, 0, self.total)
        waiting: deque[Task] = deque()
        try:
            while True:
                most = 1 + ahead()
                while len(waiting) < most and (next_one := next(tasks, None)) is not None:
                    waiting.append(next_one)
                if not waiting:
                    return
                task = waiting.popleft()
                wait_for(task.future)
                done += rows_in(task.blocks)
                if self.progress is not None:
                    self.progress(self.name, done, self.total)
                yield task
        finally:
            # What nobody holds any more, the scheduler drops before it begins.
            waiting.clear()


@dataclass
class SumOnWorkers:
    """The sum of the tasks taken so far, held by a worker.

    A worker that is lost takes its sums with it, and they are made again from what they were made
    of. So what was asked for is sent back with the next task: from then on the workers make it
    again from that, and the scheduler forgets all tasks before.
    """

    added: Callable[[Sequence[Any]], Any]
    """Makes a task that adds the results of some."""
    sent: Callable[[Any], Any | None]
    """Makes a task that holds a value; None if that is too large."""
    blocks: int = 0
    """How many blocks of the pass it is of."""
    _future: Any = field(default=None, repr=False)
    _here: Any = field(default=None, repr=False)
    """The sum, if it is in this process."""
    _stays: bool = field(default=False, repr=False)
    """It is too large to be sent, and what is taken is added here."""

    def start_with(self, value: Any) -> None:
        """Begin with a sum of blocks before the first."""
        self._here = value

    def take(self, future: Any, n_blocks: int) -> None:
        """Add the result of a task, and wait until that is done."""
        self._leave_here()
        if self._stays:
            self._here = self._here + result_of(future)
        elif self._future is None:
            self._future = future
        else:
            self._future = self.added([self._future, future])
            # Or sums to be added would pile up where this is slow.
            wait_for(self._future)
        self.blocks += n_blocks

    def value(self) -> Any:
        """Return the sum."""
        if self._here is None:
            self._here = result_of(self._future)
        return self._here

    def _leave_here(self) -> None:
        if self._here is None or self._stays:
            return
        self._future = self.sent(self._here)
        self._stays = self._future is None
        if not self._stays:
            self._here = None
