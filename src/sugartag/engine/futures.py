"""What becomes of a task on a Dask cluster: its result, its error, or what ended it."""

import logging
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

from sugartag.engine.clusters import distributed_package
from sugartag.errors import EngineError

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_LINES = 10.0
SILENT_SECONDS = 8.0
"""A worker that is well tells its scheduler of itself more often."""
GONE = "the Dask scheduler has gone, or dropped the work; start it again and repeat the command"


@contextmanager
def told_if_gone() -> Iterator[None]:
    """Say in one line that the scheduler has gone, wherever in talking to it that shows."""
    distributed = distributed_package()
    gone = (CancelledError, OSError, distributed.client.ClosedClientError)
    try:
        yield
    except gone as error:
        raise EngineError(GONE) from error


def wait_for(future: Any) -> None:
    """Wait for a task; raise what its block function raised, or say what ended it."""
    # Unlike the result, which is the only other thing to wait for, it stays with its worker.
    with told_if_gone():
        error = _exception_of(future)
    if isinstance(error, distributed_package().KilledWorker):
        raise EngineError(
            f"{error.allowed_failures + 1} workers died one after the other in the same block; "
            "give them more memory, or see their logs"
        ) from error
    if error is not None:
        raise error.with_traceback(future.traceback())
    if future.cancelled():
        raise EngineError(GONE)


def _exception_of(future: Any) -> Any:
    """Return what a task raised, or None; say each ten seconds which workers do not answer."""
    while True:
        try:
            return future.exception(timeout=SECONDS_BETWEEN_LINES)
        except TimeoutError:
            if future.client.status != "running" or future.status in {"lost", "cancelled"}:
                raise EngineError(GONE) from None
            for address, seconds in silent_workers(future.client).items():
                logger.warning(
                    "waiting for the worker %s, which has not answered for %.0f s", address, seconds
                )


def silent_workers(client: Any) -> dict[str, float]:
    """Return the workers that are silent towards their scheduler, and for how long."""
    now = time.time()
    workers = client.scheduler_info(n_workers=-1)["workers"]
    silent = {address: now - worker["last_seen"] for address, worker in workers.items()}
    return {address: seconds for address, seconds in silent.items() if seconds > SILENT_SECONDS}


def result_of(future: Any) -> Any:
    """Return the result of a task, once it is there."""
    wait_for(future)
    with told_if_gone():
        return future.result()
