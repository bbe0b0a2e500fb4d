"""How long sugar-plus takes for 100,000 images of 512 features and 2,000 tags, and in what memory.

A planted collection is written to a folder and mapped from there; a process of its own fits it and
scores every image. Memory is what the process holds at most beyond what it held with the collection
open; pages of the mapped collection that it read count, too.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sugartag._typing import FloatArray
from sugartag.collection import open_collection
from sugartag.collection.model import Collection
from sugartag.collection.subset import without_truth
from sugartag.collection.synthetic import medium
from sugartag.engine import LocalEngine
from sugartag.engine.base import Block
from sugartag.evaluation.cost import Meter, machine, resident_bytes
from sugartag.methods.base import Fitted
from sugartag.methods.registry import make_method

METHOD = "sugar-plus"
ROWS_PER_BLOCK = 2_048


def main() -> None:
    """Make the collection, measure in another process, and write the result file."""
    asked = _arguments()
    if asked.fit is not None:
        print(json.dumps(_measured(asked.fit, asked.workers)))
        return
    world = replace(
        medium(), n_images=asked.images, n_owners=asked.images // 10, n_groups=2_000, n_features=512
    )
    with tempfile.TemporaryDirectory(prefix="sugartag-large-") as folder:
        target = Path(folder) / "world"
        world.write(target, 0)
        command = [sys.executable, __file__, "--fit", str(target), "--workers", str(asked.workers)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    result = {
        "benchmark": "sugar-plus",
        "machine": machine(),
        "date": time.strftime("%Y-%m-%d"),
        "images": world.n_images,
        "tags": world.n_tags,
        "owners": world.n_owners,
        "features": world.n_features,
        "workers": asked.workers,
        **found,
    }
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"{world.n_images:,} images: {found}: {asked.out}")


def _measured(folder: Path, workers: int) -> dict[str, float]:
    """Fit one collection, score every image, and return what that took."""
    collection = without_truth(open_collection(folder, verify=False))
    engine = LocalEngine(workers=workers)
    before = resident_bytes() / 1e6
    with Meter() as fit:
        fitted = make_method(METHOD).fit(collection, engine=engine, rng=np.random.default_rng(0))
    with Meter() as score:
        blocks = collection.blocks(ROWS_PER_BLOCK)
        total = sum(engine.map(sum_of_scores, blocks, collection, fitted), np.zeros(1))
    return {
        "fit_seconds": round(fit.seconds, 2),
        "score_seconds": round(score.seconds, 2),
        "seconds": round(fit.seconds + score.seconds, 2),
        "peak_mb_beyond": round(max(fit.peak_rss_mb, score.peak_rss_mb) - before),
        "mean_tags": round(float(total[0]) / collection.n_images, 4),
    }


def sum_of_scores(block: Block, collection: Collection, fitted: Fitted) -> FloatArray:
    """Score the images of a block; all that is kept is the sum."""
    return np.array([fitted.scores(collection.rows(block)).sum(dtype=np.float64)])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    default = Path(__file__).resolve().parent / "results" / "sugar-plus-100000.json"
    parser.add_argument("--out", type=Path, default=default)
    parser.add_argument("--images", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--fit", type=Path, default=None, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
