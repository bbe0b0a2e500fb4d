"""Progress of long work: bars on a terminal and in notebooks, plain lines in a log.

Work reports stages, as :mod:`sugartag.engine.base` has them: passes over images, and around them
the stages that methods name. A stage that says nothing for a while is still shown, with the time
it has taken so far.
"""

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from threading import Event, RLock, Thread
from types import TracebackType
from typing import Any, Self

from sugartag.engine.base import Progress
from sugartag.linalg.compiling import compiling_reported

SECONDS_BETWEEN_LINES = 10.0
SECONDS_BEFORE_BAR = 0.5
SECONDS_BETWEEN_TICKS = 1.0
COMPILING = "compiling (first use)"
COUNTED = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}]"
NOT_COUNTED = "{desc}: {elapsed}"


@dataclass
class _Stage:
    """Something that is going on."""

    what: str
    total: int
    began: float
    done: int = 0

    @property
    def is_counted(self) -> bool:
        return self.total > 1

    def in_words(self, now: float) -> str:
        seconds = now - self.began
        if not self.is_counted:
            return f"{self.what}: {duration(seconds)}"
        share = self.done / self.total
        left = f", about {duration(seconds / share - seconds)} left" if share else ""
        return (
            f"{self.what}: {self.done:,} of {self.total:,} ({share:.0%}), {duration(seconds)}{left}"
        )


class ProgressDisplay:
    """Shows how far work has come; give its instance to an engine as ``progress``."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._stages: list[_Stage] = []
        """Stages that were begun and have not ended, the outermost first."""
        self._pass: _Stage | None = None
        """What is reported without having been begun: a pass over blocks."""
        self._bar: Any = None
        self._last_line = time.monotonic()
        self._has_compiled = False
        self._entered = ExitStack()

    def __call__(self, what: str, done: int, total: int) -> None:
        """Take note that ``done`` of ``total`` rows of the pass called ``what`` are done."""
        with self._lock:
            stage = next((one for one in reversed(self._stages) if one.what == what), None)
            if stage is None:
                stage = self._pass_called(what, done, total)
            stage.done, stage.total = done, total
            self._show()
            if stage is self._pass and done >= total:
                self._pass = None

    def begin(self, what: str, total: int) -> None:
        """Take note that a stage begins; what is reported until its end is a part of it."""
        with self._lock:
            self._pass = None
            self._stages.append(_Stage(what, total, time.monotonic()))
            self._show()

    def end(self, what: str) -> None:
        """Take note that the stage has ended."""
        with self._lock:
            self._pass = None
            while any(stage.what == what for stage in self._stages):
                if self._stages.pop().what == what:
                    break
            if not self._stages:
                self._close_bar()

    def tick(self) -> None:
        """Show how things stand, if nothing has for a while."""
        with self._lock:
            self._show()

    def __enter__(self) -> Self:
        stop = Event()
        ticking = Thread(target=self._tick_until, args=(stop,), name="progress", daemon=True)
        self._entered.enter_context(compiling_reported(self._compiling))
        self._entered.callback(ticking.join)
        self._entered.callback(stop.set)
        ticking.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._entered.close()
        with self._lock:
            self._stages, self._pass = [], None
            self._close_bar()

    def _tick_until(self, stop: Event) -> None:
        while not stop.wait(SECONDS_BETWEEN_TICKS):
            self.tick()

    def _pass_called(self, what: str, done: int, total: int) -> _Stage:
        if self._pass is None or self._pass.what != what or done < self._pass.done:
            self._pass = _Stage(what, total, time.monotonic())
        return self._pass

    def _compiling(self, begins: bool) -> None:
        if not begins:
            self.end(COMPILING)
            return
        with self._lock:
            if not self._has_compiled and not shows_bars():
                self._print(f"{COMPILING} ...")
            self._has_compiled = True
            self.begin(COMPILING, 1)

    def _show(self) -> None:
        going_on = [*self._stages, *([self._pass] if self._pass else [])]
        if not going_on:
            return
        if shows_bars():
            self._show_bar(going_on)
        elif time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES:
            self._print(_in_line(going_on))

    def _show_bar(self, going_on: list[_Stage]) -> None:
        """Draw the outermost stage that is counted; the name says where in it the work is."""
        now, main = time.monotonic(), going_on[_main(going_on)]
        total, names = main.total if main.is_counted else None, _names(going_on, now)
        if self._bar is None:
            if now - going_on[0].began < SECONDS_BEFORE_BAR:
                return
            self._bar = _new_bar(total, names)
        bar = self._bar
        bar.set_description_str(names, refresh=False)
        if getattr(bar, "stage", None) is not main:
            bar.stage = main
            bar.bar_format = COUNTED if main.is_counted else NOT_COUNTED
            bar.reset(total=total)
            bar.start_t -= now - main.began
        bar.total, bar.n = total, main.done
        bar.refresh()

    def _close_bar(self) -> None:
        if self._bar is not None:
            self._bar.close()
        self._bar = None

    def _print(self, line: str) -> None:
        self._last_line = time.monotonic()
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


def progress_for(wanted: "bool | Progress | None") -> AbstractContextManager[Progress | None]:
    """Return what shows progress: None for a bar where there is somebody to see it.

    True also writes lines to a log, False shows nothing, and a callable is called itself.
    """
    if wanted is None:
        wanted = shows_bars()
    if isinstance(wanted, bool):
        return ProgressDisplay() if wanted else nullcontext()
    return nullcontext(wanted)


def shows_bars() -> bool:
    """Tell whether somebody is looking: at a terminal, or at a notebook."""
    return bool(sys.stderr.isatty()) or in_notebook()


def in_notebook() -> bool:
    """Tell whether this process is the kernel of a notebook."""
    if "IPython" not in sys.modules:
        return False
    ask: Callable[[], Any] = sys.modules["IPython"].get_ipython
    return type(ask()).__name__ == "ZMQInteractiveShell"


def duration(seconds: float) -> str:
    """Return a time as people read it: 8 s, 2 min 5 s, 1 h 3 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _new_bar(total: int | None, names: str) -> Any:
    # Without its widgets a notebook gets a warning from tqdm.auto; it shows plain bars as well.
    tqdm = import_module("tqdm.auto" if find_spec("ipywidgets") else "tqdm").tqdm
    form = NOT_COUNTED if total is None else COUNTED
    return tqdm(total=total, desc=names, leave=False, bar_format=form, file=sys.stderr)


def _main(going_on: list[_Stage]) -> int:
    """Return which stage to show the count of: the outermost that has one, or the innermost."""
    counted = (place for place, stage in enumerate(going_on) if stage.is_counted)
    return next(counted, len(going_on) - 1)


def _names(going_on: list[_Stage], now: float) -> str:
    """Return the stages by name; with the time since the first began, if that is not counted."""
    first, *inside = going_on
    since = f" ({duration(now - first.began)})" if inside and not first.is_counted else ""
    return " · ".join([f"{first.what}{since}", *(stage.what for stage in inside)])


def _in_line(going_on: list[_Stage]) -> str:
    """Return the stage with a count in words, after those around it and before those in it."""
    now, place = time.monotonic(), _main(going_on)
    before = f"{_names(going_on[: place + 1], now).removesuffix(going_on[place].what)}"
    inside = " · ".join(stage.what for stage in going_on[place + 1 :])
    return f"{before}{going_on[place].in_words(now)}{f' ({inside})' if inside else ''}"
