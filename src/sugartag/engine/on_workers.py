"""What a Dask worker runs: a block function on its block, and the sum of a few results."""

import os
import socket
from collections.abc import Sequence
from functools import cached_property, reduce
from operator import add
from typing import Any

from threadpoolctl import threadpool_limits

from sugartag.engine.base import Block
from sugartag.engine.packing import Packer, Unpacker


class Shared:
    """A value that all blocks of a pass need, put together once in each worker process.

    It travels as bytes, from the task that holds it to the workers that ask for it, and the
    scheduler can make it again from the same bytes if the worker that held it is lost.
    """

    def __init__(self, content: bytes) -> None:
        self.content = content

    @cached_property
    def value(self) -> Any:
        """The value, with its files opened here."""
        from distributed.protocol.serialize import deserialize_bytes

        return Unpacker(_this_worker()).unpacked(deserialize_bytes(self.content))

    def __getstate__(self) -> dict[str, bytes]:
        return {"content": self.content}

    def __sizeof__(self) -> int:
        # Twice: the bytes, and what was made of them.
        return object.__sizeof__(self) + 2 * len(self.content)


def content_of(value: Any) -> bytes:
    """Return a value as the bytes that ``Shared`` is made from."""
    from distributed.protocol.serialize import serialize_bytes

    return bytes(serialize_bytes(Packer().packed(value), on_error="raise"))


def run_block(
    block: Block, blas_threads: int, names: Sequence[str], function: Shared, *shared: Shared
) -> Any:
    """Return what the block function gives; the last shared values are those with names."""
    values = [part.value for part in shared]
    n_placed = len(values) - len(names)
    named = dict(zip(names, values[n_placed:], strict=True))
    with threadpool_limits(blas_threads):
        return function.value(block, *values[:n_placed], **named)


def run_blocks(blocks: Sequence[Block], *others: Any) -> Any:
    """Return the sum of what the block function gives, two results in memory at any time."""
    return reduce(add, (run_block(block, *others) for block in blocks))


def add_up(parts: Sequence[Any]) -> Any:
    """Return the sum of some results, added in the order given; one may have been sent here."""
    return reduce(add, (part.value if isinstance(part, Shared) else part for part in parts))


def _this_worker() -> str:
    from distributed import get_worker

    try:
        address = get_worker().address
    except ValueError:  # Not in a task, as when the value is looked at by hand.
        address = f"process {os.getpid()}"
    return f"worker {address} on {socket.gethostname()}"
