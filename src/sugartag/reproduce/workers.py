"""Processes that do jobs, and the loop that keeps them busy."""

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

from threadpoolctl import threadpool_limits

from sugartag.errors import CapacityError
from sugartag.reproduce.cache import Cache, Job
from sugartag.reproduce.data import Data
from sugartag.reproduce.jobs import Workplace, run_job
from sugartag.reproduce.plans import Chain, Found, Steps

SECONDS_BETWEEN_LOOKS = 2.0
Tell: TypeAlias = Callable[[str, int, bool], None]
"""Hears what is done, of how many jobs, and whether it was there already."""


@dataclass(frozen=True)
class Assignment:
    """What every process works on."""

    data: Data
    pictures: Path
    cache: Cache


class Workers(AbstractContextManager["Workers"]):
    """A pool of processes; each writes its results itself, so that none is lost with us."""

    def __init__(self, assignment: Assignment, processes: int, *, fresh: bool = False) -> None:
        self.assignment = assignment
        # Not forked: a copy of threads and BLAS in mid-work is a copy of their locks.
        self._pool = ProcessPoolExecutor(
            processes,
            mp_context=get_context("spawn"),
            initializer=_begin,
            initargs=(os.getpid(),),
            max_tasks_per_child=1 if fresh else None,
        )
        self.processes = processes

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        running = [] if error is None else list((self._pool._processes or {}).values())
        self._pool.shutdown(wait=error is None, cancel_futures=True)
        for process in running:
            process.terminate()

    def submit(self, job: Job) -> "Future[Found]":
        """Hand a job to a process that is free."""
        return self._pool.submit(work, job, self.assignment)


def run_chains(chains: Iterable[Chain], workers: Workers, tell: Tell) -> dict[str, Found]:
    """Run all chains, as many jobs at once as there are processes; return results by key."""
    cache = workers.assignment.cache
    waiting = deque(chains)
    running: dict[Future[Found], tuple[Chain, Steps, Job]] = {}
    results: dict[str, Found] = {}
    left = {chain.key: chain.n_jobs for chain in waiting}

    def done_with(chain: Chain, job: Job, was_there: bool) -> None:
        left[chain.key] -= 1
        tell(job.label, 1, was_there)

    def advance(chain: Chain, steps: Steps, sent: Found | None) -> None:
        """Go on with a chain until it needs a job done that is not done yet."""
        try:
            job = next(steps) if sent is None else steps.send(sent)
            while (found := cache.found(job)) is not None:
                done_with(chain, job, was_there=True)
                job = steps.send(found)
        except StopIteration as ended:
            results[chain.key] = ended.value
            if left[chain.key]:
                tell(chain.key, left[chain.key], True)
            return
        running[workers.submit(job)] = (chain, steps, job)

    while waiting or running:
        while waiting and len(running) < workers.processes:
            chain = waiting.popleft()
            advance(chain, chain.start(), None)
        done, _ = wait(running, return_when=FIRST_COMPLETED) if running else (set(), set())
        for future in done:
            chain, steps, job = running.pop(future)
            found = _result(future, job)
            done_with(chain, job, was_there=False)
            advance(chain, steps, found)
    return results


def work(job: Job, assignment: Assignment) -> Found:
    """Do a job and keep its result; runs in a worker."""
    place = _workplace(assignment.data.folder, assignment.data.digest, assignment)
    return assignment.cache.keep(job, run_job(job, place))


_places: dict[tuple[Path, str], Workplace] = {}


def _workplace(folder: Path, digest: str, assignment: Assignment) -> Workplace:
    """Return the opened data; a process opens them once."""
    if (folder, digest) not in _places:
        _places[folder, digest] = Workplace.of(assignment.data, assignment.pictures)
    return _places[folder, digest]


def _result(future: "Future[Found]", job: Job) -> Found:
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise CapacityError(
            f"a process ended while it worked on {job.label}, probably for lack of memory; "
            "start again to continue, with --processes 1"
        ) from error


def _begin(parent: int) -> None:
    """Set up a worker: one BLAS thread, no word on Ctrl-C, and no life without its parent."""
    _one_thread()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


@cache
def _one_thread() -> threadpool_limits:
    """Hold BLAS to one thread, from now on: workers are as many as there are cores."""
    return threadpool_limits(1)


def _end_with(parent: int) -> None:
    # A killed parent cannot say goodbye; whoever is left would work on, for nobody.
    while os.getppid() == parent:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    os._exit(1)
