"""How the memory of a fit grows with the collection: planted worlds of two sizes.

Each fit runs in a process of its own on a collection folder that is mapped, not read. What counts
is anonymous memory, which leaves out the pages of the mapped collection itself.
"""

import argparse
import dataclasses
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from sugartag.collection import open_collection
from sugartag.collection.synthetic import World
from sugartag.engine import LocalEngine
from sugartag.evaluation.cost import machine
from sugartag.methods.registry import make_method


def main() -> None:
    """Fit both sizes and write how much more memory the larger took."""
    asked = _arguments()
    if asked.fit is not None:
        print(json.dumps(_measured(asked.fit)))
        return
    sizes = [_one_size(images) for images in asked.images]
    growth = sizes[-1]["peak_mb"] / sizes[0]["peak_mb"] - 1.0
    result = {
        "benchmark": "memory",
        "machine": machine(),
        "date": time.strftime("%Y-%m-%d"),
        "method": "sugar-tc",
        "settings": dataclasses.asdict(make_method("sugar-tc", SETTINGS)),
        "sizes": sizes,
        "growth": growth,
    }
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"{asked.images[0]:,} to {asked.images[-1]:,} images: {growth:+.1%}: {asked.out}")


SETTINGS = {
    "image_clusters": 20,
    "user_clusters": 6,
    "units_per_cluster": 10,
    "anchor_reading": "image",
}


def _one_size(images: int) -> dict[str, float]:
    world = World(
        n_images=images,
        n_tags=1_000,
        n_owners=images // 10,
        n_groups=200,
        n_topics=40,
        n_features=128,
    )
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "world"
        world.write(target, 0)
        command = [sys.executable, __file__, "--fit", str(target)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    measured: dict[str, float] = json.loads(done.stdout)
    print(f"{images:,} images: {measured}", flush=True)
    return {"images": images, **measured}


def _measured(folder: Path) -> dict[str, float]:
    """Fit one collection and return the peak of anonymous memory, and what it was before."""
    method = make_method("sugar-tc", SETTINGS)
    collection = open_collection(folder)
    before = _anonymous_mb()
    peak, done = [before], threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            peak[0] = max(peak[0], _anonymous_mb())

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = time.perf_counter()
    method.fit(collection, engine=LocalEngine(), rng=np.random.default_rng(0))
    seconds = time.perf_counter() - began
    done.set()
    watcher.join()
    return {"before_mb": before, "peak_mb": peak[0], "fit_seconds": seconds}


def _anonymous_mb() -> float:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    raise OSError("this system does not tell anonymous memory in /proc/self/status")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/memory.json"))
    parser.add_argument("--images", type=int, nargs="+", default=[25_000, 100_000])
    parser.add_argument("--fit", type=Path, default=None, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
