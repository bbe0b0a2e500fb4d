"""The exact solver against the paper's 450 multiplicative updates, on one planted problem.

20,000 images, 2,000 tags, 200 x 60 anchors unless told otherwise. Everything is timed in one run,
one after the other; the claim is the ratio, of wall time and of processor time: the second does
not care what else the machine was doing.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from sugartag.collection.synthetic import World
from sugartag.completion import (
    complete_exactly,
    complete_multiplicatively,
    complete_nonnegatively,
    positive_start,
)
from sugartag.engine import LocalEngine
from sugartag.evaluation.cost import Meter, machine
from sugartag.methods.sugar_tc import SugarTC, build_graph, build_problem


def main() -> None:
    """Run the comparison and write its result."""
    asked = _arguments()
    world = World(
        n_images=asked.images,
        n_tags=asked.tags,
        n_owners=max(1, asked.images // 10),
        n_groups=200,
        n_topics=40,
        n_features=128,
    )
    method = SugarTC(
        image_clusters=asked.anchor_images // 10,
        user_clusters=asked.anchor_users // 10,
        units_per_cluster=10,
        anchor_reading="image",
    )
    engine, rng = LocalEngine(), np.random.default_rng(asked.seed)
    with Meter() as setup:
        collection = world.generate(asked.seed)
        graph = build_graph(method, collection, engine=engine, rng=rng)
        problem, prior = build_problem(method, collection, graph, engine=engine)
    print(f"problem {problem.shape}, set up in {setup.seconds:.1f} s", flush=True)

    before = time.process_time()
    with Meter() as exactly:
        exact = complete_exactly(problem)
    exact_cpu = time.process_time() - before
    print(f"exact: {exactly.seconds:.1f} s, {exact.iterations} steps", flush=True)
    start = positive_start(prior, problem.shape, rng=rng, dtype=np.float64)
    before = time.process_time()
    with Meter() as updating:
        updates = complete_multiplicatively(
            problem, start, max_iterations=asked.updates, tolerance=-1.0
        )
    updates_cpu = time.process_time() - before
    print(f"{updates.iterations} updates: {updating.seconds:.1f} s", flush=True)
    with Meter() as bounding:
        bounded = complete_nonnegatively(problem, max_iterations=320, gap_tolerance=1e-4)
    print(f"nonnegative: {bounding.seconds:.1f} s, gap {bounded.gap:.2g}", flush=True)

    result: dict[str, Any] = {
        "benchmark": "solvers",
        "machine": machine(),
        "date": time.strftime("%Y-%m-%d"),
        "seed": asked.seed,
        "images": collection.n_images,
        "shape": list(problem.shape),
        "setup_seconds": setup.seconds,
        "exact": {
            "seconds": exactly.seconds,
            "cpu_seconds": exact_cpu,
            "steps": exact.iterations,
            "relative_residual": exact.residual,
            "objective": exact.objectives[-1],
            "peak_rss_mb": exactly.peak_rss_mb,
        },
        "multiplicative": {
            "seconds": updating.seconds,
            "cpu_seconds": updates_cpu,
            "updates": updates.iterations,
            "objective": updates.objectives[-1],
            "largest_rise": float(np.max(np.diff(updates.objectives) / updates.objectives[:-1])),
            "peak_rss_mb": updating.peak_rss_mb,
        },
        "nonnegative": {
            "seconds": bounding.seconds,
            "steps": bounded.iterations,
            "objective": bounded.objectives[-1],
            "relative_gap": bounded.gap,
        },
        "exact_over_multiplicative": exactly.seconds / updating.seconds,
        "exact_over_multiplicative_cpu": exact_cpu / updates_cpu,
    }
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"exact / updates = 1/{1 / result['exact_over_multiplicative']:.0f}: {asked.out}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/solvers.json"))
    parser.add_argument("--images", type=int, default=20_000)
    parser.add_argument("--tags", type=int, default=2_000)
    parser.add_argument("--anchor-images", type=int, default=200)
    parser.add_argument("--anchor-users", type=int, default=60)
    parser.add_argument("--updates", type=int, default=450)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
