"""One fit in a process of its own: processor time, peak memory, and disk.

One thread does the work, so that the figures hold on a busy machine. Memory is anonymous memory,
which leaves out pages of mapped files: those of the collection and of scratch files.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from sugartag.engine import LocalEngine
from sugartag.engine.room import SMALL
from sugartag.evaluation.cost import anonymous_bytes

SECONDS_BETWEEN_SAMPLES = 0.005
WARM_UP = {"n_images": 400, "n_tags": 200, "n_owners": 40, "n_features": 16, "n_topics": 8}
"""Fitted before anything is measured: loads packages and compiles what is compiled."""


@dataclass
class Meter:
    """What a fit has used so far."""

    pass_seconds: float = 0.0
    """Spent on blocks of images: what several workers share."""
    scratch: int = 0
    """Bytes of scratch files now."""
    most_scratch: int = 0

    def add_scratch(self, n_bytes: int) -> None:
        """Take note of a scratch file that is there, or with a negative size no longer is."""
        self.scratch += n_bytes
        self.most_scratch = max(self.most_scratch, self.scratch)


@dataclass(frozen=True)
class MeteredEngine(LocalEngine):
    """Counts the time spent on blocks, and the bytes of scratch files."""

    meter: Meter = field(default_factory=Meter)

    def map(self, function: Any, blocks: Any, *shared: Any, **named: Any) -> Any:
        """Run the blocks and count their time."""

        def timed(*values: Any, **more: Any) -> Any:
            began = time.process_time()
            try:
                return function(*values, **more)
            finally:
                self.meter.pass_seconds += time.process_time() - began

        return super().map(timed, blocks, *shared, **named)

    def room(self, shape: Any, dtype: Any) -> Any:
        """Return zeros, counted for as long as they are in a file."""
        made = super().room(shape, dtype)
        if made.nbytes >= SMALL:
            self.meter.add_scratch(made.nbytes)
            weakref.finalize(made, self.meter.add_scratch, -made.nbytes)
        return made


class PeakMemory:
    """Samples the anonymous memory of this process for as long as its context lasts."""

    def __init__(self) -> None:
        self.bytes = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> "PeakMemory":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._over.wait(SECONDS_BETWEEN_SAMPLES):
            self.bytes = max(self.bytes, anonymous_bytes())


def measured(
    method: str,
    settings: dict[str, Any],
    world: dict[str, int],
    *,
    rows_at_once: int = 8_192,
    suggest: bool = True,
) -> dict[str, Any]:
    """Plant a world, fit it in another process, and return what that took."""
    from sugartag.collection.synthetic import medium

    asked = {"method": method, "settings": settings, "rows_at_once": rows_at_once}
    with tempfile.TemporaryDirectory(prefix="sugartag-costs-") as folder:
        for name, shape in (("world", {"n_topics": 16, **world}), ("warm-up", WARM_UP)):
            replace(medium(), **shape).write(Path(folder) / name, 0)
        command = [sys.executable, __file__, "--folder", folder]
        command += ["--run", json.dumps(asked | {"suggest": suggest})]
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
        done = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **threads}
        )
    found: dict[str, Any] = json.loads(done.stdout)
    return asked | {"world": world} | found


def _run(asked: dict[str, Any], folder: Path) -> dict[str, Any]:
    from sugartag.costs import measure_rates
    from sugartag.engine.heap import use_one_heap

    use_one_heap()
    _fit(asked, folder, "warm-up")
    rates = measure_rates(clock=time.process_time).as_json()
    return {"rates": rates} | _fit(asked, folder, "world")


def _fit(asked: dict[str, Any], folder: Path, world: str) -> dict[str, Any]:
    from sugartag.collection import open_collection
    from sugartag.costs import size_of
    from sugartag.methods.registry import make_method
    from sugartag.pipeline.fitting import fit_model
    from sugartag.pipeline.model import save_model
    from sugartag.pipeline.propose import Thresholds, propose

    method, out = make_method(asked["method"], asked["settings"]), folder / f"{world}.model"
    # As the fit command does: what grows with the collection goes to files.
    engine = MeteredEngine(blas_threads=1, scratch=folder)
    before, began = anonymous_bytes(), time.process_time()
    with PeakMemory() as peak:
        collection = replace(open_collection(folder / world), rows_at_once=asked["rows_at_once"])
        model = fit_model(method, collection, engine=engine, seed=0)
        save_model(model, out)
    found = {
        "size": asdict(size_of(collection)),
        "base_bytes": before,
        "peak_bytes": max(peak.bytes, anonymous_bytes()),
        "fit_seconds": time.process_time() - began,
        "pass_seconds": engine.meter.pass_seconds,
        "scratch_bytes": engine.meter.most_scratch,
        "model_bytes": sum(file.stat().st_size for file in out.rglob("*") if file.is_file()),
    }
    if asked["suggest"]:
        began = time.process_time()
        for _ in propose(model, collection, engine=engine, thresholds=Thresholds()):
            pass
        found["suggest_seconds"] = time.process_time() - began
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", required=True, help="What to fit, as JSON.")
    parser.add_argument(
        "--folder", required=True, type=Path, help="With the synthetic collections."
    )
    given = parser.parse_args()
    print(json.dumps(_run(json.loads(given.run), given.folder)))
