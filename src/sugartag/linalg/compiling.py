"""Who wants to know that a loop is being compiled: that takes a moment, once on a machine."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Listener = Callable[[bool], None]
"""Called with true when compiling begins, and with false when it has ended."""

_LISTENERS: list[Listener] = []


@contextmanager
def compiling_reported(listener: Listener) -> Iterator[None]:
    """Call the listener whenever a loop is compiled within the block."""
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def report_compiling(begins: bool) -> None:
    """Pass on that compiling begins, or has ended."""
    for listener in tuple(_LISTENERS):
        listener(begins)
