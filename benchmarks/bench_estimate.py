"""How far ``sugartag estimate`` is off: time, memory and disk of fits that it was not made from.

Plants collections of sizes that the calibration did not see, estimates a fit of each, fits it in a
process of its own, and writes both beside each other; also into docs/estimate.md, which ``--page``
alone does from the result file. ``--refit`` estimates anew what was measured, when constants or
formulas have changed.
"""

import argparse
import json
import re
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

from measured_fit import measured
from sugartag.costs import Rates, Size, estimate_fit
from sugartag.costs.advice import in_seconds
from sugartag.costs.calibration import shipped_calibration
from sugartag.costs.estimate import COUNTED_WITHIN, ITERATED_WITHIN
from sugartag.costs.limits import in_bytes
from sugartag.evaluation.cost import machine
from sugartag.methods.registry import make_method

WORLDS = (
    {"n_images": 10_000, "n_tags": 1_000, "n_owners": 1_000, "n_features": 256},
    {"n_images": 25_000, "n_tags": 2_000, "n_owners": 2_500, "n_features": 128},
    {"n_images": 80_000, "n_tags": 1_200, "n_owners": 8_000, "n_features": 192},
)
SMALL_WORLDS = ({"n_images": 4_000, "n_tags": 500, "n_owners": 400, "n_features": 96},)
METHODS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("sugar-plus", {}),
    ("sugar-tc", {}),
    ("sugar-tc", {"solver": "exact", "scoring": "reconstruction"}),
    ("tag-vote", {}),
)
MEASURES = {"seconds": "fit_seconds", "bytes": "fit_peak_bytes", "model_bytes": "model_bytes"}


ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "estimate.json"
PAGE = ROOT / "docs" / "estimate.md"
TABLE = re.compile(r"(<!-- begin: benchmarks/bench_estimate.py -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    """Estimate, fit, compare, and write the result file."""
    asked = _arguments()
    if asked.page:
        write_page(asked.out)
        return
    if asked.refit:
        document = json.loads(asked.out.read_text(encoding="utf-8"))
        runs = [
            told(run["took"]) | {key: run[key] for key in ("cpu",) if key in run}
            for run in document["runs"]
        ]
        asked.out.write_text(in_json(document | found_in(runs)), encoding="utf-8")
        if asked.out == RESULTS:
            write_page(asked.out)
        return
    chosen = [pair for pair in METHODS if not asked.methods or pair[0] in asked.methods]
    worlds = SMALL_WORLDS if asked.small else WORLDS
    others, runs = kept_runs(asked.out, {name for name, _ in chosen}), []
    for world in worlds:
        for name, settings in chosen:
            took = measured(name, settings, world, suggest=False, by_processor=asked.small)
            runs.append(told(took) | {"cpu": machine()["cpu"]})
            every = sorted([*runs, *others], key=lambda run: run["world"]["n_images"])
            write(every, asked.out, by_processor=asked.small)
    if asked.out == RESULTS:
        write_page(asked.out)


def kept_runs(file: Path, anew: set[str]) -> list[dict[str, Any]]:
    """Return the runs of a result file that are of other methods, with the machine they ran on."""
    if not file.exists():
        return []
    document = json.loads(file.read_text(encoding="utf-8"))
    before = {"cpu": document["machine"]["cpu"]}
    return [before | run for run in document["runs"] if run["method"] not in anew]


def write(runs: list[dict[str, Any]], file: Path, *, by_processor: bool) -> None:
    """Write the result file: what there is so far, so that a killed run is not lost."""
    result = {
        "benchmark": "estimate",
        "machine": machine(),
        "date": time.strftime("%Y-%m-%d"),
        "claimed_within": COUNTED_WITHIN,
        "by_processor_time": by_processor,
        **found_in(runs),
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(in_json(result), encoding="utf-8")
    print(f"off by a factor of {result['worst']} at most: {file}", flush=True)


def found_in(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the part of a result file that follows from its runs."""
    worst = {key: max(run[key]["off_by"] for run in runs) for key in MEASURES}
    return {"worst": worst, "runs": runs}


def in_json(document: dict[str, Any]) -> str:
    """Return a result file as text."""
    return json.dumps(document, indent=1) + "\n"


def told(took: dict[str, Any]) -> dict[str, Any]:
    """Return what a fit took, what was estimated, and by what factor that is off."""
    size = Size(**{field.name: took["size"][field.name] for field in fields(Size)})
    method = make_method(took["method"], took["settings"])
    made = estimate_fit(method, size, Rates(**took["rates"]), shipped_calibration())
    found: dict[str, Any] = {key: took[key] for key in ("method", "settings", "world")}
    for key, of_run in MEASURES.items():
        estimated, real = float(getattr(made, key)), float(took[of_run])
        found[key] = {
            "estimated": float(f"{estimated:.4g}"),
            "measured": float(f"{real:.4g}"),
            "off_by": round(max(estimated / real, real / estimated), 3),
        }
    found["stages"] = {
        stage.name: {
            "estimated": round(stage.seconds, 3),
            "measured": round(took["stage_seconds"].get(stage.name, 0.0), 3),
        }
        for stage in made.stages
    }
    found["took"] = took
    print(f"{took['method']} {took['settings']} {took['world']}: {[found[k] for k in MEASURES]}")
    return found


def write_page(results: Path) -> None:
    """Put the numbers of a result file into the page."""
    document = json.loads(results.read_text(encoding="utf-8"))
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), document), encoding="utf-8")
    print(f"written: {PAGE}")


def refreshed(text: str, document: dict[str, Any]) -> str:
    """Return the page with the table of a result file."""
    return TABLE.sub(lambda found: f"{found[1]}\n{table(document)}\n\n{found[2]}", text)


def table(document: dict[str, Any]) -> str:
    """Return what was estimated and measured, and on what."""
    lines = [
        "| method | images | tags | time | off by | memory | off by | model | off by |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for run in document["runs"]:
        world = run["world"]
        name = " ".join([run["method"], *(f"{k}={v}" for k, v in run["settings"].items())])
        cells = [name, f"{world['n_images']:,}", f"{world['n_tags']:,}"]
        for key in MEASURES:
            told = in_seconds if key == "seconds" else in_bytes
            cells += [told(run[key]["measured"]), f"{run[key]['off_by']:.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    worst, computer = document["worst"], document["machine"]
    made_on: dict[str, list[str]] = {}
    for run in document["runs"]:
        names = made_on.setdefault(run.get("cpu", computer["cpu"]), [])
        names += [run["method"]] if run["method"] not in names else []
    machines = " and ".join(
        cpu if len(made_on) == 1 else f"{cpu} ({', '.join(names)})"
        for cpu, names in made_on.items()
    )
    lines += [
        "",
        f"At worst, time is off by a factor of {worst['seconds']:.2f}, memory by "
        f"{worst['bytes']:.2f} and disk by {worst['model_bytes']:.2f}; {COUNTED_WITHIN:g} is what "
        f"is claimed, and {ITERATED_WITHIN:g} for the time of solvers that "
        f"iterate. Measured on {machines}, {computer['cores']} cores, {document['date']}"
        + (", one thread, in processor time." if document["by_processor_time"] else "."),
    ]
    return "\n".join(lines)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--page", action="store_true", help="Measure nothing; write the page.")
    parser.add_argument("--refit", action="store_true", help="Measure nothing; estimate anew.")
    parser.add_argument("--methods", nargs="*")
    parser.add_argument("--small", action="store_true", help="A small world, by processor time.")
    return parser.parse_args()


if __name__ == "__main__":
    main()
