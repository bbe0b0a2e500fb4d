"""What a billion images and 200,000 tags need: measure this machine, compute, write the page.

    python benchmarks/billion_page.py --measure
    python benchmarks/billion_page.py

The first writes benchmarks/results/billion.json, with the rates of this machine and what
``sugartag estimate`` makes of them; the second docs/performance-billion.md, from that file alone.
"""

import argparse
import json
import time
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from sugartag.costs.advice import in_seconds
from sugartag.costs.calibration import shipped_calibration
from sugartag.costs.estimate import USUAL_ROWS, estimate_fit
from sugartag.costs.limits import in_bytes
from sugartag.costs.rates import Rates, measure_rates
from sugartag.costs.size import imagined_size
from sugartag.costs.sugar_plus_room import Room
from sugartag.costs.sugar_plus_shape import Shape, held_of_rows, sampled_cells
from sugartag.engine.dask import FAN_IN, MAX_SHARED_BYTES
from sugartag.evaluation.cost import machine
from sugartag.methods.sugar_plus import SugarPlus

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "billion.json"
PAGE = ROOT / "docs" / "performance-billion.md"
TEXT = Path(__file__).resolve().parent / "billion_page.txt"
IMAGES, TAGS, WORKERS = 1_000_000_000, 200_000, (64, 1_024)
MEASUREMENTS = 5
PREDICTORS = (1_000, 4_000, 16_000)


def main() -> None:
    """Measure if so asked, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", action="store_true", help="Measure this machine anew.")
    if parser.parse_args().measure:
        document = {"machine": machine(), "date": time.strftime("%Y-%m-%d")}
        document |= computed(best_rates())
        RESULTS.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        print(f"written: {RESULTS}")
    PAGE.write_text(page(json.loads(RESULTS.read_text(encoding="utf-8"))), encoding="utf-8")
    print(f"written: {PAGE}")


def computed(rates: Rates) -> dict[str, Any]:
    """Return the rates of a machine, and what follows from them."""
    calibration = shipped_calibration()
    size = imagined_size(IMAGES, TAGS)
    estimates = {
        f"{predictors} predictors, {workers} workers": estimate_fit(
            SugarPlus(max_predictors=predictors),
            size,
            rates,
            calibration,
            workers=workers,
            apart=True,
        ).as_json()
        for predictors in PREDICTORS
        for workers in WORKERS
    }
    return {
        "rates": rates.as_json(),
        "estimates": estimates,
        "parts": parts(SugarPlus()),
    }


def best_rates() -> Rates:
    """Return the best of each rate in some measurements: what others do counts for less."""
    measured = [measure_rates() for _ in range(MEASUREMENTS)]
    best = {f.name: max(getattr(one, f.name) for one in measured) for f in fields(Rates)}
    return Rates(**best)


def parts(method: SugarPlus) -> dict[str, float]:
    """Return the bytes of what a fit of this size consists of."""
    size = imagined_size(IMAGES, TAGS)
    shape = Shape.of(method, size, USUAL_ROWS)
    room = Room.of(method, size, shape)
    made = {
        "features_float32": size.images * size.features * 4.0,
        "features_float16": size.images * size.features * 2.0,
        "collection_float32": size.disk,
        "collection_float16": replace(size, feature_bytes=2).disk,
        "tags_of_images": size.given * 4.0 + size.images * 8.0,
        "gram": 8.0 * shape.M**2,
        "cross": 8.0 * shape.M * shape.R,
        "full_gram": 8.0 * (shape.T + shape.D) ** 2,
        "weights": 4.0 * shape.M * shape.T,
        "mixed_of_a_block": shape.mixed,
        "mixed_of_a_pass": shape.mixed * shape.blocks / FAN_IN,
        "grown_for_images": (room.given + room.trusted + room.thought + room.look_alikes).whole,
        "grown_for_owners": (room.totals + room.habits).whole,
        "held_for_rows": held_of_rows(size, shape) + 20.0 * size.owner_tags,
        "sent_at_most": float(MAX_SHARED_BYTES),
        "added_by_workers": float(FAN_IN),
        "images_a_step": shape.step,
        "sampled_cells": sampled_cells(shape),
        "columns": shape.M,
        "predictors": shape.P,
        "anchors": shape.A,
        "tastes": shape.S,
        "owners": float(size.owners),
    }
    return {key: float(f"{value:.4g}") for key, value in made.items()}


def page(document: dict[str, Any]) -> str:
    """Return the page: the text, with all numbers from the document."""
    rates, found = document["rates"], document["parts"]
    values = {key: in_bytes(value) for key, value in found.items()}
    counts = ("columns", "predictors", "anchors", "tastes", "owners", "images_a_step")
    counts += ("sampled_cells", "added_by_workers")
    values |= {key: f"{found[key]:,.0f}" for key in counts}
    main_one = document["estimates"][f"{PREDICTORS[1]} predictors, {WORKERS[0]} workers"]
    judging = next(s for s in main_one["stages"] if s["name"] == "judging")
    adding = next(s for s in main_one["stages"] if s["name"] == "adding up")
    values |= {
        "cpu": document["machine"]["cpu"],
        "date": document["date"],
        "product_one": f"{rates['product32_one'] / 1e9:.0f}",
        "solve": f"{rates['solve64_all'] / 1e9:.0f}",
        "sparse": f"{rates['sparse_one'] / 1e9:.2g}",
        "copied": in_bytes(rates["copied"]),
        "hashed": in_bytes(rates["hashed"]),
        "passes": str(main_one["passes"]),
        "workers": str(main_one["workers"]),
        "reading_a_pass": in_seconds(
            found["collection_float16"] / rates["hashed"] / main_one["workers"]
        ),
        "adding_share": f"{100 * adding['seconds'] / main_one['seconds']:.0f} %",
        "adding_time": in_seconds(adding["seconds"]),
        "adding_serial": in_seconds(adding["serial_seconds"]),
        "scratch": in_bytes(main_one["scratch_bytes"]),
        "sent_to_judge": in_bytes(judging["worker_bytes"]),
        "adding_network": in_bytes(adding["sent_bytes"]),
        "table": _table(document["estimates"]),
        "stages": _stages(main_one),
    }
    return TEXT.read_text(encoding="utf-8").format(**values)


def _table(estimates: dict[str, Any]) -> str:
    lines = [
        "| predictors | workers | fit | of it serial | network | leader | a worker | model |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for key, one in estimates.items():
        predictors = int(key.split()[0])
        lines.append(
            f"| {predictors:,} | {one['workers']:,} | {in_seconds(one['seconds'])} | "
            f"{in_seconds(one['serial_seconds'])} | {in_bytes(one['sent_bytes'])} | "
            f"{in_bytes(one['bytes'])} | {in_bytes(one['worker_bytes'])} | "
            f"{in_bytes(one['model_bytes'])} |"
        )
    return "\n".join(lines)


def _stages(one: dict[str, Any]) -> str:
    lines = [
        "| stage | time | passes | network | leader | a worker |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {stage['name']} | {in_seconds(stage['seconds'])} | {stage['passes']} | "
        f"{in_bytes(stage['sent_bytes'])} | {in_bytes(stage['bytes'])} | "
        f"{in_bytes(stage['worker_bytes'])} |"
        for stage in one["stages"]
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
