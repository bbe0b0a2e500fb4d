"""One fit in a process of its own: seconds and peak memory by stage, as ``costs`` names them.

The functions that make up a fit are timed from outside, each without those that it calls. Memory is
anonymous memory, which leaves out the pages of the mapped collection and of scratch files.
"""

import argparse
import functools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from sugartag.evaluation.cost import anonymous_bytes

SECONDS_BETWEEN_SAMPLES = 0.005
STAGES = {
    "sugar-plus": {
        "sugartag.methods.sugar_plus.method": {
            "gather_evidence": "evidence",
            "choose": "choosing",
            "add_up": "adding up",
            "find_look_alikes": "look-alikes",
            "learn_manners": "judging",
            "SugarPlus.solved": "solving",
            "SugarPlus._looked_at": "seeing",
            "SugarPlus._subjects": "seeing",
            "with_sight": "seeing",
            "SugarPlus.fit": "learning",
        }
    },
    "sugar-tc": {
        "sugartag.methods.sugar_tc": {
            "build_graph": "anchors",
            "build_problem": "projecting",
            "complete": "completing",
            "SugarTC.fit": "completing",
        }
    },
}
"""Which function is which stage; of other methods, ``fit`` is the only one."""
OF_ALL = {
    "sugartag.fitting": {
        "calibrate": "calibrating",
        "learn_thresholds": "thresholds",
        "run_id": "naming",
    }
}


class Watch:
    """Knows what stage runs, and notes how long and in what memory."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self.seconds: dict[str, float] = defaultdict(float)
        self.peaks: dict[str, float] = defaultdict(float)
        self.iterations: list[int] = []
        self._stages = ["else"]
        self._since = clock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what happens in the context for a stage, and no longer for the one around it."""
        self._switch(lambda: self._stages.append(name))
        try:
            yield
        finally:
            self._switch(self._stages.pop)

    def wrapped(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Return the function, counted for a stage."""

        @functools.wraps(function)
        def call(*values: Any, **named: Any) -> Any:
            with self.stage(name):
                found = function(*values, **named)
            if hasattr(found, "iterations"):
                self.iterations.append(int(found.iterations))
            return found

        return call

    def _switch(self, change: Callable[[], object]) -> None:
        now = self._clock()
        self.seconds[self._stages[-1]] += now - self._since
        self._since = now
        change()

    def _sample(self) -> None:
        while not self._over.wait(SECONDS_BETWEEN_SAMPLES):
            name = self._stages[-1]
            self.peaks[name] = max(self.peaks[name], anonymous_bytes())


def measured(
    method: str,
    settings: dict[str, Any],
    world: dict[str, Any],
    *,
    suggest: bool = True,
    by_processor: bool = False,
) -> dict[str, Any]:
    """Plant a world, fit it in another process, and return what that took.

    By processor time it has one thread, so that a busy machine can measure it, too.
    """
    from sugartag.collection.synthetic import medium

    planted = replace(medium(), n_topics=16, **world)
    with tempfile.TemporaryDirectory(prefix="sugartag-costs-") as folder:
        planted.write(Path(folder) / "world", 0)
        asked = {
            "method": method,
            "settings": settings,
            "folder": folder,
            "suggest": suggest,
            "by_processor": by_processor,
        }
        command = [sys.executable, __file__, "--run", json.dumps(asked)]
        threads = {"OPENBLAS_NUM_THREADS": "1"} if by_processor else {}
        done = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **threads}
        )
    found: dict[str, Any] = json.loads(done.stdout)
    return {"method": method, "settings": settings, "world": world, **found}


def _run(asked: dict[str, Any]) -> dict[str, Any]:
    # Loaded before the memory of nothing is measured.
    import_module("sklearn.cluster")
    import_module("sklearn.isotonic")

    from sugartag.changes.propose import Thresholds, propose
    from sugartag.collection import open_collection
    from sugartag.costs import measure_rates, size_of
    from sugartag.engine import LocalEngine
    from sugartag.engine.heap import use_one_heap
    from sugartag.fitting import fit_model
    from sugartag.methods.registry import make_method
    from sugartag.model_folder import save_model

    use_one_heap()
    folder = Path(asked["folder"])
    files = sorted(folder.rglob("features.npy"))
    clock = time.process_time if asked["by_processor"] else time.perf_counter
    cores = 1 if asked["by_processor"] else os.cpu_count() or 1
    rates = replace(measure_rates(files[0], clock=clock), cores=cores)
    method = make_method(asked["method"], asked["settings"])
    # As the fit command does: what grows with the collection goes to files.
    engine = LocalEngine(workers=cores, scratch=folder)
    before = anonymous_bytes()
    with Watch(clock) as watch:
        _watch_stages(watch, asked["method"])
        began = clock()
        with watch.stage("opening"):
            collection = open_collection(folder / "world")
        model = fit_model(method, collection, engine=engine, seed=0)
        with watch.stage("saving"):
            save_model(model, folder / "model")
        whole = clock() - began
        peak = max(watch.peaks.values())
        if asked["suggest"]:
            with watch.stage("suggesting"):
                for _ in propose(model, collection, engine=engine, thresholds=Thresholds()):
                    pass
    stages = {name: seconds for name, seconds in watch.seconds.items() if name != "else"}
    return {
        "rates": rates.as_json(),
        "size": asdict(size_of(collection)),
        "before_bytes": before,
        "fit_seconds": whole,
        "fit_peak_bytes": peak,
        "model_bytes": sum(path.stat().st_size for path in (folder / "model").rglob("*.*")),
        "stage_seconds": stages,
        "stage_bytes": dict(watch.peaks),
        "iterations": watch.iterations,
    }


def _watch_stages(watch: Watch, method: str) -> None:
    from sugartag.methods.registry import METHODS

    for module_name, functions in (OF_ALL | STAGES.get(method, {})).items():
        module = import_module(module_name)
        for path, stage in functions.items():
            *owner, name = path.split(".")
            holder = getattr(module, owner[0]) if owner else module
            setattr(holder, name, watch.wrapped(getattr(holder, name), stage))
    if method not in STAGES:
        kind = METHODS[method]
        kind.fit = watch.wrapped(kind.fit, "fitting")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", required=True, help="What to fit, as JSON.")
    print(json.dumps(_run(json.loads(parser.parse_args().run))))
