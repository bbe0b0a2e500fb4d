"""The constants of ``sugartag estimate``: measures fits and writes costs/calibration.json.

    python benchmarks/calibrate_costs.py --methods sugar-plus
    python benchmarks/calibrate_costs.py --refit

The first measures some methods, each on planted collections of a few sizes and in a process of its
own, and replaces their runs in benchmarks/results/cost-runs.json; without ``--methods``, those of
all. Both then fit the constants to all runs of that file: power laws of processor time by least
squares of logarithms, and factors of the parts of memory and disk by least squares of relative
errors.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.optimize import lsq_linear

from measured_fit import measured
from sugartag.collection.model import BLOCK_ROWS
from sugartag.costs.calibration import FEATURES, IMAGES, OTHER, OTHER_WITHIN, RATE, TAGS
from sugartag.costs.formulas import COUNTED, Parts, disk_parts, held_parts, thread_parts
from sugartag.costs.size import Size
from sugartag.evaluation.cost import machine
from sugartag.methods.registry import make_method, method_names, missing_package

Run = dict[str, Any]

FAST = ("sugar-plus", "tag-vote", "tag-vote-own", "linear-probe", "tag-prior", "original")
FAST += ("implicit-als",)
SMALLEST = {**dict.fromkeys(FAST, (8_000, 800)), "sugar-tc": (8_000, 400)}
"""Images and tags of the smallest collection that a method is measured on; ..."""
SMALLEST_USUAL = (1_000, 400)
"""... of other methods, which take long."""
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "sugar-tc": ("sugar-tc", {"preset": "repaired"}),
    "sugar-tc exact": ("sugar-tc", {}),
}
"""Settings that change the costs so much that they are measured apart."""
USUAL_POWERS = {"images": 1.0, "tags": 0.5, "features": 0.25}
"""What a power is where the runs do not show it: the size did not vary."""
POWERS = {"images": (0.25, 2.0), "tags": (0.25, 2.0), "features": (0.0, 2.0)}
"""Powers are kept within these."""
LEAST_FACTOR = 0.05
"""Factors are kept above this: every part counts for something; ..."""
LEAST_OF = dict.fromkeys(("cross", "gram", "tensor"), 0.5)
"""... those of arrays that outgrow all others in larger collections, for at least this."""


def worlds(images: int, tags: int) -> list[tuple[dict[str, int], int]]:
    """Return a size, the same with more images, tags or features, and one with smaller blocks."""
    first = {"n_images": images, "n_tags": tags, "n_owners": images // 10, "n_features": 128}
    larger = first | {"n_images": 5 * images, "n_owners": images // 2}
    between = first | {"n_images": 2 * images, "n_owners": images // 5}
    others = (between, larger, first | {"n_tags": 4 * tags}, first | {"n_features": 512})
    return [(world, BLOCK_ROWS) for world in (first, *others)] + [(larger, 512)]


def measure(entry: str) -> list[Run]:
    """Measure all worlds of one entry."""
    name, settings = VARIANTS.get(entry, (entry, {}))
    runs = []
    for world, rows in worlds(*SMALLEST.get(name, SMALLEST_USUAL)):
        run = measured(name, settings, world, rows_at_once=rows)
        runs.append(run)
        print(
            f"{entry} {world}: {run['fit_seconds']:.1f} s, {run['peak_bytes'] / 1e6:.0f} MB",
            flush=True,
        )
    return runs


def constants(runs: list[Run]) -> dict[str, Any]:
    """Return the entry of one method in the calibration file."""
    usual = [run for run in runs if run["rows_at_once"] == BLOCK_ROWS]
    # A lower rate of the same machine was measured while it was busy.
    rate = max(run["rates"]["product"] for run in runs)
    base = statistics.median(run["base_bytes"] for run in runs)
    peaks = [run["peak_bytes"] for run in runs]
    return {
        "fit": power_law(usual, "fit_seconds", rate),
        "suggest": power_law(usual, "suggest_seconds", rate),
        "pass_share": _short(
            min(1.0, _total(usual, "pass_seconds") / _total(usual, "fit_seconds"))
        ),
        "base_bytes": base,
        "memory": factors([memory_parts(run) for run in runs], peaks, base),
        "disk": factors([_of(run, disk_parts) for run in runs], [r["model_bytes"] for r in runs]),
        "scratch_bytes": _short(
            _total(runs, "scratch_bytes") / sum(run["size"]["images"] for run in runs)
        ),
    }


def power_law(runs: list[Run], key: str, rate: float) -> dict[str, float]:
    """Return the seconds at the reference size and speed, and the powers of each dimension."""
    units = {"images": IMAGES, "tags": TAGS, "features": FEATURES}
    sizes = np.log([[run["size"][name] / unit for name, unit in units.items()] for run in runs])
    seconds = np.log([max(run[key], 1e-3) * rate / RATE for run in runs])
    usual = np.array(list(USUAL_POWERS.values()))
    # The smallest change of the usual powers that fits best: none where a size did not vary.
    rest = seconds - sizes @ usual
    change = np.linalg.lstsq(sizes - sizes.mean(axis=0), rest - rest.mean(), rcond=1e-6)[0]
    powers = np.clip(usual + change, *np.array(list(POWERS.values())).T)
    first = float(np.exp((seconds - sizes @ powers).mean()))
    return {"seconds": _short(first), **dict(zip(units, map(_short, powers), strict=True))}


def factors(parts: list[Parts], measured: list[float], base: float = 0.0) -> dict[str, float]:
    """Return by what each part is multiplied so that the sums are nearest to what was measured."""
    matrix = np.array([list(each.values()) for each in parts])
    total = np.array(measured)
    least = [LEAST_OF.get(name, LEAST_FACTOR) for name in parts[0]]
    bounds = least, np.full(len(least), np.inf)
    found = lsq_linear(matrix / total[:, None], (total - base) / total, bounds=bounds).x
    return dict(zip(parts[0], map(_short, found), strict=True))


def memory_parts(run: Run) -> Parts:
    """Return the parts of memory of one run, which had one thread, that a factor is fitted to."""
    rows = run["rows_at_once"]
    parts = _of(run, held_parts) | _of(run, lambda method, size: thread_parts(method, size, rows))
    return {name: n_bytes for name, n_bytes in parts.items() if name not in COUNTED}


def _of(run: Run, formula: Callable[[Any, Size], Parts]) -> Parts:
    unknown = run["method"] == OTHER
    method = SimpleNamespace(name=OTHER) if unknown else make_method(run["method"], run["settings"])
    return formula(method, Size(**run["size"]))


def calibration(runs: dict[str, list[Run]]) -> dict[str, Any]:
    """Return the constants of all methods, and those of methods that were not measured."""
    pooled = [run | {"method": OTHER} for own in runs.values() for run in own]
    made = {entry: constants(own) for entry, own in runs.items()}
    return made | {OTHER: constants(pooled) | {"within": OTHER_WITHIN}}


def _total(runs: list[Run], key: str) -> float:
    return float(sum(run[key] for run in runs))


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def main() -> None:
    """Measure what is asked for, and write the constants that follow from all runs."""
    asked = _arguments()
    runs = json.loads(asked.runs.read_text(encoding="utf-8")) if asked.runs.exists() else {}
    installed = [n for n in method_names() if missing_package(n) is None]
    chosen = list(dict.fromkeys([*installed, *VARIANTS]))
    for entry in () if asked.refit else asked.methods or chosen:
        runs[entry] = measure(entry)
        asked.runs.write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")
    known = {"machine": machine(), "date": time.strftime("%Y-%m-%d")}
    if asked.refit and asked.out.exists():
        before = json.loads(asked.out.read_text(encoding="utf-8"))
        known = {key: before[key] for key in known}
    text = json.dumps(known | {"methods": calibration(runs)}, indent=1)
    asked.out.write_text(text + "\n", encoding="utf-8")
    print(f"{sum(map(len, runs.values()))} runs: {asked.out}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    root = Path(__file__).resolve().parents[1]
    shipped = root / "src" / "sugartag" / "costs" / "calibration.json"
    kept = root / "benchmarks" / "results" / "cost-runs.json"
    parser.add_argument("--out", type=Path, default=shipped)
    parser.add_argument("--runs", type=Path, default=kept, help="What was measured.")
    parser.add_argument("--refit", action="store_true", help="Measure nothing.")
    parser.add_argument("--methods", nargs="*", help="Only these; the runs of others stay.")
    return parser.parse_args()


if __name__ == "__main__":
    main()
