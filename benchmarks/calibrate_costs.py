"""How much more the stages of a fit take than their formulas say: the constants of ``costs``.

Fits planted collections of a few sizes, each in a process of its own, and writes by what the
seconds, the memory and the disk of each stage have to be multiplied. Methods without formulas get
a power law through three sizes.
"""

import argparse
import json
import math
import statistics
import time
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from measured_fit import measured
from sugartag.costs.calibration import Calibration, Iterations
from sugartag.costs.estimate import estimate_fit
from sugartag.costs.families import Job, is_counted
from sugartag.costs.rates import Rates
from sugartag.costs.size import Size
from sugartag.evaluation.cost import machine
from sugartag.methods.registry import make_method, method_names, missing_package

WORLDS = (
    {"n_images": 7_000, "n_tags": 700, "n_owners": 700, "n_features": 128},
    {"n_images": 16_000, "n_tags": 1_500, "n_owners": 1_600, "n_features": 256},
    {"n_images": 40_000, "n_tags": 1_000, "n_owners": 4_000, "n_features": 128},
)
SMALL_WORLDS = (
    {"n_images": 2_000, "n_tags": 400, "n_owners": 200, "n_features": 64},
    {"n_images": 6_500, "n_tags": 600, "n_owners": 650, "n_features": 128},
)
ROUGH_WORLDS = (
    {"n_images": 4_000, "n_tags": 500, "n_owners": 400, "n_features": 128},
    {"n_images": 10_000, "n_tags": 500, "n_owners": 1_000, "n_features": 128},
    {"n_images": 4_000, "n_tags": 1_250, "n_owners": 400, "n_features": 128},
)
SMALL_ROUGH = tuple(world | {"n_images": world["n_images"] // 4} for world in ROUGH_WORLDS)
COUNTED = ("sugar-plus", "sugar-tc", "tag-vote", "linear-probe", "tag-prior")
"""One method of each family of formulas."""
SLOWER, LARGER = (0.1, 20.0), (0.25, 2.5)
"""Factors are looked for between these: what lies beyond is not the stage's own."""
TOO_SHORT, TOO_SMALL = 0.03, 20e6
"""Seconds and bytes of a stage, on average, below which it tells nothing."""
NEW_PEAK = 1.1
"""A stage's memory is its own where it is so many times that of all stages before."""
POWERS = (0.5, 1.5)
"""Powers are looked for between these: three sizes cannot tell more."""


def main() -> None:
    """Measure, keep what was measured, and write the constants that follow from all of it."""
    asked = _arguments()
    runs = _read(asked.runs)
    worlds, rough_worlds = (SMALL_WORLDS, SMALL_ROUGH) if asked.small else (WORLDS, ROUGH_WORLDS)
    for name in _chosen(asked):
        counted = name in COUNTED
        runs[name] = [
            _told(measured(name, {}, world, suggest=counted, by_processor=asked.small))
            for world in (worlds if counted else rough_worlds)
        ]
        asked.runs.write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")
    measured_on = {"machine": machine(), "date": time.strftime("%Y-%m-%d")}
    if asked.refit and asked.out.exists():
        # Whoever makes constants anew has not measured them.
        before = json.loads(asked.out.read_text(encoding="utf-8"))
        measured_on = {key: before[key] for key in measured_on}
    made = measured_on | constants(runs)
    asked.out.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    print(f"{sum(map(len, runs.values()))} fits: {asked.out}")


def _chosen(asked: argparse.Namespace) -> list[str]:
    if asked.refit:
        return []
    able = [name for name in method_names() if missing_package(name) is None]
    wanted = asked.methods or able
    return [n for n in wanted if n in COUNTED or not is_counted(make_method(n))]


def _read(file: Path) -> dict[str, list[dict[str, Any]]]:
    if not file.exists():
        return {}
    runs: dict[str, list[dict[str, Any]]] = json.loads(file.read_text(encoding="utf-8"))
    return runs


def constants(runs: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Return all that the shipped file has, from what was measured."""
    # Runs of a method may be older than those of another, of code that loaded less.
    bases = {
        name: statistics.median(run["before_bytes"] for run in own) for name, own in runs.items()
    }
    seconds: dict[str, Any] = {}
    memory: dict[str, Any] = {}
    disk, iterations, rough = {}, {}, {}
    for name, own in runs.items():
        print(name)
        base = bases[name]
        if not is_counted(make_method(name)):
            rough[name] = power_law(own, base)
            continue
        if all(run["iterations"] for run in own):
            iterations[name] = steps_by_images(own)
        seconds[name], found = factors(own, base)
        more = whole_memory(own, Calibration(base, seconds, {name: found}, iterations=iterations))
        memory[name] = {stage: _short(factor * more) for stage, factor in found.items()}
        on_disk = sum(run["model_bytes"] for run in own)
        disk[name] = _short(on_disk / sum(_job(run).disk() for run in own))
    return {
        "base_bytes": max(bases.values()),
        "rates": next(iter(runs.values()))[0]["rates"],
        "seconds": seconds,
        "bytes": memory,
        "disk": disk,
        "iterations": {name: asdict(found) for name, found in iterations.items()},
        "rough": rough,
    }


def factors(runs: list[dict[str, Any]], base: float) -> tuple[dict[str, float], dict[str, float]]:
    """Return by what the seconds and the bytes of each stage are to be multiplied.

    The sums over all runs are compared, so that the largest collections count most.
    """
    slower: dict[str, list[tuple[float, float]]] = {}
    larger: dict[str, list[tuple[float, float]]] = {}
    for run in runs:
        job, rates = _job(run), Rates(**run["rates"])
        highest = base
        for stage in (*job.fit_stages(), job.suggest_stage()):
            seconds, peak = (run[key].get(stage.name) for key in ("stage_seconds", "stage_bytes"))
            counted = stage.held + rates.cores * (stage.block + stage.answer + stage.band)
            if seconds:
                fixed = stage.fixed / rates.calls
                pair = max(seconds - fixed, 0.0), stage.seconds(rates, rates.cores)
                slower.setdefault(stage.name, []).append(pair)
            # Below an earlier peak, memory may be what an earlier stage has left behind: it is the
            # most that the stage can have taken.
            if peak and counted:
                own = max(peak - base - stage.loaded, 0.0)
                if counted > own or peak - base > NEW_PEAK * (highest - base):
                    larger.setdefault(stage.name, []).append((own, counted))
            highest = max(highest, peak or 0.0)
    for name, pairs in slower.items():
        told = [" ".join(f"{m / c:.2f}" for m, c in some) for some in (pairs, larger.get(name, []))]
        print(f"  {name:12} {pairs[-1][0]:6.2f} s; time {told[0]}; memory {told[1]}")
    return _ratios(slower, SLOWER, TOO_SHORT), _ratios(larger, LARGER, TOO_SMALL)


def _ratios(
    by_stage: dict[str, list[tuple[float, float]]], between: tuple[float, float], least: float
) -> dict[str, float]:
    """Return what was measured over what was counted; 1 where too little was measured."""
    made = {}
    for name, pairs in by_stage.items():
        took, counted = (sum(values) for values in zip(*pairs, strict=True))
        told = took >= least * len(pairs) and counted > 0
        made[name] = _short(min(max(took / counted, between[0]), between[1])) if told else 1.0
    return made


def whole_memory(runs: list[dict[str, Any]], calibration: Calibration) -> float:
    """Return by what the memory of all stages is to be multiplied so that the peaks are right.

    Memory that one stage gives back is not always given back to the system, and counts for the
    next one.
    """
    peaks = counted = 0.0
    for run in runs:
        rates = Rates(**run["rates"])
        job = _job(run)
        made = estimate_fit(job.method, job.size, rates, calibration)
        peaks += run["fit_peak_bytes"] - calibration.base_bytes
        counted += made.bytes - calibration.base_bytes
        print(
            f"  peak {run['fit_peak_bytes'] / 1e6:.0f} MB, estimated {made.bytes / 1e6:.0f} MB; "
            f"{run['fit_seconds']:.1f} s, estimated {made.seconds:.1f} s"
        )
    return peaks / counted


def power_law(runs: list[dict[str, Any]], base: float) -> dict[str, float]:
    """Return a power law through runs of three sizes: the first, more images, more tags."""
    first, images, tags = runs
    more_images = images["size"]["images"] / first["size"]["images"]
    more_tags = tags["size"]["tags"] / first["size"]["tags"]

    def power(other: dict[str, Any], key: str, less: float, more: float) -> float:
        ratio = max(other[key] - less, 1.0) / max(first[key] - less, 1.0)
        return _short(min(max(math.log(ratio) / math.log(more), POWERS[0]), POWERS[1]))

    return {
        "images": first["size"]["images"],
        "tags": first["size"]["tags"],
        "seconds": _short(first["fit_seconds"]),
        "seconds_by_images": power(images, "fit_seconds", 0.0, more_images),
        "seconds_by_tags": power(tags, "fit_seconds", 0.0, more_tags),
        "bytes": _short(max(first["fit_peak_bytes"] - base, 1e6)),
        "bytes_by_images": power(images, "fit_peak_bytes", base, more_images),
        "bytes_by_tags": power(tags, "fit_peak_bytes", base, more_tags),
        "disk": float(first["model_bytes"]),
    }


def steps_by_images(runs: list[dict[str, Any]]) -> Iterations:
    """Return a power law through the steps that an iterative solver took: the line of logarithms.

    The more images, the sooner it is done: their mean is smoother.
    """
    images = [math.log(run["size"]["images"]) for run in runs]
    steps = [math.log(statistics.mean(run["iterations"])) for run in runs]
    slope = statistics.linear_regression(images, steps).slope if len(runs) > 1 else 0.0
    middle = (math.exp(statistics.mean(values)) for values in (images, steps))
    return Iterations(*map(_short, middle), _short(min(max(slope, -POWERS[1]), POWERS[1])))


def _job(run: dict[str, Any]) -> Job:
    size = Size(**{f.name: run["size"][f.name] for f in fields(Size)})
    own = {run["method"]: steps_by_images([run])} if run["iterations"] else {}
    calibration = Calibration(iterations=own)
    return Job(make_method(run["method"], run["settings"]), size, 8_192, calibration)


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _told(run: dict[str, Any]) -> dict[str, Any]:
    print(
        f"{run['method']} {run['world']}: {run['fit_seconds']:.1f} s, "
        f"{run['fit_peak_bytes'] / 1e6:.0f} MB",
        flush=True,
    )
    return run


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    root = Path(__file__).resolve().parents[1]
    shipped = root / "src" / "sugartag" / "costs" / "calibration.json"
    parser.add_argument("--out", type=Path, default=shipped)
    kept = root / "benchmarks" / "results" / "cost-runs.json"
    parser.add_argument("--runs", type=Path, default=kept, help="What was measured.")
    parser.add_argument("--refit", action="store_true", help="Measure nothing.")
    parser.add_argument("--methods", nargs="*", help="Only these; the others stay as they are.")
    parser.add_argument("--small", action="store_true", help="Smaller worlds, by processor time.")
    return parser.parse_args()


if __name__ == "__main__":
    main()
