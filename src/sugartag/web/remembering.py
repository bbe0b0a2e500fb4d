"""Counts that no decision changes, remembered for a while: a run's proposals stay as they are."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar, cast

Value = TypeVar("Value")
SECONDS = 60.0
"""An image that gets its first tag leaves those without tags only then."""
MOST = 1000


class Remembered:
    """The latest answers to questions, by question."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._answers: OrderedDict[Hashable, tuple[float, object]] = OrderedDict()

    def get(self, question: Hashable, ask: Callable[[], Value]) -> Value:
        """Return the answer to a question, asked anew if it is too old."""
        with self._lock:
            known = self._answers.get(question)
            if known is not None and self._clock() - known[0] < SECONDS:
                return cast("Value", known[1])
        answer = ask()
        with self._lock:
            self._answers[question] = (self._clock(), answer)
            self._answers.move_to_end(question)
            while len(self._answers) > MOST:
                self._answers.popitem(last=False)
        return answer
