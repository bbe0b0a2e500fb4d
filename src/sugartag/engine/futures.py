"""What becomes of a task on a Dask cluster: its result, its error, or what ended it."""

from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

from sugartag.engine.clusters import distributed_package
from sugartag.errors import EngineError

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
        error = future.exception()
    if isinstance(error, distributed_package().KilledWorker):
        raise EngineError(
            f"{error.allowed_failures + 1} workers died one after the other in the same block; "
            "give them more memory, or see their logs"
        ) from error
    if error is not None:
        raise error.with_traceback(future.traceback())
    if future.cancelled():
        raise EngineError(GONE)


def result_of(future: Any) -> Any:
    """Return the result of a task, once it is there."""
    wait_for(future)
    with told_if_gone():
        return future.result()
