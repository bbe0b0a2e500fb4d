"""How far ``sugartag estimate`` is off, on sizes that its constants were not fitted to.

Estimates and measures fits of planted collections, and writes both to
benchmarks/results/estimate.json and the table of docs/estimate.md. ``--methods`` measures some
methods and keeps the runs of the others; ``--refit`` measures nothing and estimates again.
"""

import argparse
import json
import re
import time
from pathlib import Path
from typing import Any

from calibrate_costs import FAST, VARIANTS, Run
from measured_fit import measured
from sugartag.costs import Rates, Size
from sugartag.costs.calibration import WITHIN, entry_of
from sugartag.costs.estimate import Plan
from sugartag.costs.limits import in_bytes, in_seconds
from sugartag.evaluation.cost import machine
from sugartag.methods.registry import make_method, method_names, missing_package

LARGE = (
    {"n_images": 12_000, "n_tags": 1_500, "n_owners": 1_500, "n_features": 256},
    {"n_images": 60_000, "n_tags": 1_200, "n_owners": 5_000, "n_features": 192},
)
MIDDLE = LARGE[:1]
SMALL = ({"n_images": 3_000, "n_tags": 800, "n_owners": 400, "n_features": 256},)
"""Worlds for sugar-tc, and for other methods that take long."""
MEASURES = {
    "seconds": "fit_seconds",
    "suggest_seconds": "suggest_seconds",
    "bytes": "peak_bytes",
    "model_bytes": "model_bytes",
}
ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "estimate.json"
PAGE = ROOT / "docs" / "estimate.md"
TABLE = re.compile(r"(<!-- begin: benchmarks/bench_estimate.py -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    """Estimate, fit, compare, and write the result file and the page."""
    asked = _arguments()
    before = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    document = {"machine": machine(), "date": time.strftime("%Y-%m-%d")}
    if asked.refit:
        document = {key: before[key] for key in document}
    installed = [name for name in method_names() if missing_package(name) is None]
    every = list(dict.fromkeys([*installed, *VARIANTS]))
    chosen = [] if asked.refit else asked.methods or every
    runs = {entry: own for entry, own in before.get("runs", {}).items() if entry not in chosen}
    for entry in chosen:
        name, settings = VARIANTS.get(entry, (entry, {}))
        worlds = LARGE if name in FAST else MIDDLE if name == "sugar-tc" else SMALL
        runs[entry] = [measured(name, settings, world) for world in worlds]
        print(entry, [compared(run) for run in runs[entry]], flush=True)
        kept = {known: runs[known] for known in every if known in runs}
        RESULTS.write_text(json.dumps(document | {"runs": kept}, indent=1) + "\n", encoding="utf-8")
    page = refreshed(PAGE.read_text(encoding="utf-8"), json.loads(RESULTS.read_text("utf-8")))
    PAGE.write_text(page, encoding="utf-8")
    print(f"written: {PAGE}")


def estimated(run: Run) -> dict[str, float]:
    """Return the estimate for a run: one thread, at the speed measured then."""
    rates = Rates(cores=1, product=run["rates"]["product"])
    method = make_method(run["method"], run["settings"])
    plan = Plan.of(method, Size(**run["size"]), rates=rates)
    return {
        "seconds": plan.seconds,
        "suggest_seconds": plan.suggest_seconds,
        "bytes": plan.memory(run["rows_at_once"]),
        "model_bytes": plan.model_bytes,
    }


def compared(run: Run) -> dict[str, float]:
    """Return by what factor each estimate is off, in either direction."""
    made = estimated(run)
    ratios = {key: made[key] / run[measured_as] for key, measured_as in MEASURES.items()}
    return {key: round(max(ratio, 1.0 / ratio), 2) for key, ratio in ratios.items()}


def refreshed(text: str, document: dict[str, Any]) -> str:
    """Return the page with the table of a result file."""
    return TABLE.sub(lambda found: f"{found[1]}\n{table(document)}\n\n{found[2]}", text)


def table(document: dict[str, Any]) -> str:
    """Return what was measured, and by what factor the estimate is off."""
    lines = [
        "| method | images | tags | fit | off by | suggest | off by | memory | off by | model "
        "| off by |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    runs = [run for own in document["runs"].values() for run in own]
    for run in runs:
        off, size = compared(run), run["size"]
        cells = [entry_of(run["method"], run["settings"])]
        cells += [f"{size['images']:,}", f"{size['tags']:,}"]
        for key, measured_as in MEASURES.items():
            words = in_seconds if "seconds" in key else in_bytes
            cells += [words(run[measured_as]), f"{off[key]:.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    worst = {key: max(compared(run)[key] for run in runs) for key in MEASURES}
    lines += [
        "",
        f"The largest factor is {worst['seconds']:.2f} for the time of a fit, "
        f"{worst['suggest_seconds']:.2f} for that of suggestions, {worst['bytes']:.2f} for memory "
        f"and {worst['model_bytes']:.2f} for the model; the claim is {WITHIN:g}. Processor time of "
        f"one thread on {document['machine']['cpu']}, {document['date']}.",
    ]
    return "\n".join(lines)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--refit", action="store_true", help="Measure nothing; estimate again.")
    parser.add_argument("--methods", nargs="*", help="Only these; the runs of others stay.")
    return parser.parse_args()


if __name__ == "__main__":
    main()
