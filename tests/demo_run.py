"""One run of the demo, shared by all tests that look at what it makes."""

import atexit
import functools
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sugartag.demo import DRAWINGS, run_demo
from sugartag.engine import LocalEngine

SEED = 0


@dataclass(frozen=True)
class DemoRun:
    """What a run made and said."""

    folder: Path
    page: Path
    said: tuple[str, ...]


@functools.cache
def demo_run() -> DemoRun:
    """Run the demo once; its folder is there until Python ends."""
    place = tempfile.TemporaryDirectory(prefix="sugartag-demo-")
    atexit.register(place.cleanup)
    folder = Path(place.name) / "demo out"
    said: list[str] = []
    page = run_demo(DRAWINGS, folder, engine=LocalEngine(), seed=SEED, say=said.append)
    return DemoRun(folder, page, tuple(said))
