"""Independent parts of one computation on several threads, each with a single BLAS thread.

Many products of a few hundred rows are what BLAS threads are worst at: they spend their time
waiting for each other, the more so the busier the machine. One thread a part has no such waits.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

Result = TypeVar("Result")


def run_parts(
    function: Callable[[slice], Result], parts: Sequence[slice], threads: int
) -> list[Result]:
    """Return ``function(part)`` for each part, in order."""
    with _blas().limit(limits=1):
        if threads == 1 or len(parts) == 1:
            return [function(part) for part in parts]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(function, parts))


@cache
def _blas() -> ThreadpoolController:
    """Return the handle of the BLAS libraries, looked up once: that takes milliseconds."""
    return ThreadpoolController()
