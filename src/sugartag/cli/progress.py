"""Progress of long passes: bars on a terminal, plain lines in a log."""

import sys
import time
from types import TracebackType
from typing import Any, Self

SECONDS_BETWEEN_LINES = 10.0
SECONDS_BEFORE_BAR = 0.5


class ProgressDisplay:
    """Shows how far each pass has come; give its instance to an engine as ``progress``."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._what = ""
        self._started = 0.0
        self._last_line = 0.0
        self._done_before = 0

    def __call__(self, what: str, done: int, total: int) -> None:
        """Take note that ``done`` of ``total`` rows of the pass called ``what`` are done."""
        if what != self._what or (self._bar is not None and done < self._bar.n):
            self._begin(what, done)
        if sys.stderr.isatty():
            self._show_bar(done, total)
        else:
            self._show_line(done, total)
        if done >= total:
            self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def _begin(self, what: str, done: int) -> None:
        self._end()
        self._what, self._done_before = what, done
        self._started = self._last_line = time.monotonic()

    def _show_bar(self, done: int, total: int) -> None:
        from tqdm import tqdm

        if self._bar is None:
            if done >= total and time.monotonic() - self._started < SECONDS_BEFORE_BAR:
                return
            self._bar = tqdm(
                total=total, desc=self._what, unit="", leave=False, unit_scale=True, file=sys.stderr
            )
        self._bar.update(done - self._bar.n)

    def _show_line(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            print(self._line(done, total, now), file=sys.stderr, flush=True)

    def _line(self, done: int, total: int, now: float) -> str:
        """Return how far it is, how fast it goes since it began, and how long it will take."""
        line = f"{self._what}: {done:,} of {total:,}"
        if done <= self._done_before or now <= self._started:
            return line
        rate = (done - self._done_before) / (now - self._started)
        shown = f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"
        return f"{line}, {shown} a second, {(total - done) / rate:,.0f} s left"

    def _end(self) -> None:
        if self._bar is not None:
            self._bar.close()
        self._bar = None
        self._what = ""
