"""Runs a benchmark step by step, keeps what it found, and skips what is there already."""

import os
import shutil
import sys
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeAlias

from performance.apart import run_apart
from performance.planted import Planted
from performance.record import DONE, Record
from sugartag.collection.synthetic import World

Entry: TypeAlias = dict[str, Any]
Entries: TypeAlias = Mapping[str, Entry]
Tell: TypeAlias = Callable[[str, Entry | None, bool], None]
"""Hears of each step: None as it begins, then what it found, and whether it was there already."""


@dataclass(frozen=True)
class Step:
    """One thing to measure, in a process of its own."""

    key: str
    """What its entry is called in the result file."""
    kind: str
    """What the process does; see :mod:`performance.work`."""
    planted: Planted
    asks: Mapping[str, Any] = field(default_factory=dict)
    """All else that the result depends on, as JSON keeps it."""
    cap: float | None = None
    """Seconds after which the process is ended."""

    def as_asked(self) -> Entry:
        """Return what an entry must have asked to be this step's."""
        return {"kind": self.kind, **self.asks, "planted": self.planted.as_json()}


COMPILED = "sugar-plus"
"""The method with loops that are compiled when a machine runs them for the first time."""
COMPILING = "compiling"
"""The step that compiles them, which is no result."""


def compiling(workers: int, *, half: bool = False) -> Step:
    """Return a step that fits a few images: what is compiled is then there for all that follow."""
    asks = {"method": COMPILED, "workers": workers, "seed": 0}
    return Step(COMPILING, "method", Planted(World(n_images=600), 0, half), asks)


Steps: TypeAlias = Generator[Step, Entry, None]
"""Yields steps and is sent what each found, for later steps may depend on it."""


class Bench(Protocol):
    """A benchmark: a frozen bag of settings that says what to measure, and what follows."""

    name: ClassVar[str]
    summary: ClassVar[str]

    def steps(self) -> Steps:
        """Yield what to measure, in order."""
        ...

    def derived(self, entries: Entries) -> dict[str, Any]:
        """Return what follows from the entries there are: ratios, extrapolations, checks."""
        ...


@dataclass(frozen=True)
class Place:
    """Where synthetic collections are written."""

    work: Path
    keep: bool
    """Whether collections stay when they are no longer needed."""

    def left(self, planted: Planted) -> None:
        """Remove a collection that is no longer needed, unless collections are kept."""
        if not self.keep:
            shutil.rmtree(planted.folder_in(self.work), ignore_errors=True)

    def over(self) -> None:
        """Remove all collections, those of a killed run too, unless collections are kept."""
        if self.keep or not self.work.is_dir():
            return
        for folder in [*self.work.glob("planted-*"), *self.work.glob(".planted-*")]:
            shutil.rmtree(folder)
        if not any(self.work.iterdir()):
            self.work.rmdir()


def run_bench(bench: Bench, record: Record, place: Place, tell: Tell) -> None:
    """Measure everything that is not in the record yet; it is written after every step."""
    steps = bench.steps()
    last: Planted | None = None
    step = next(steps, None)
    while step is not None:
        found = record.found(step.key, step.as_asked(), step.cap)
        if found is None:
            if last is not None and last != step.planted:
                place.left(last)
            last = step.planted
            found = _measured(step, place, tell)
            record.keep(step.key, found, bench.derived)
        else:
            tell(step.key, found, True)
        step = _after(steps, found)
    record.finish(bench.derived)
    place.over()


def _after(steps: Steps, found: Entry) -> Step | None:
    try:
        return steps.send(found)
    except StopIteration:
        return None


def failures(record: Record) -> dict[str, str]:
    """Return why steps failed that should not have."""
    return {
        key: str(entry.get("reason", "it ended without a word"))
        for key, entry in record.entries.items()
        if entry["status"] not in DONE
    }


def cores() -> int:
    """Return how many cores this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _measured(step: Step, place: Place, tell: Tell) -> Entry:
    tell(step.key, None, False)
    folder = step.planted.written(place.work)
    task = {"kind": step.kind, "asks": dict(step.asks), "folder": str(folder)}
    found = {"asks": step.as_asked(), "cap": step.cap, **run_apart(task, cap=step.cap)}
    tell(step.key, found, False)
    return found
