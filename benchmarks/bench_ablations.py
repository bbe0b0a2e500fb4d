"""What each part of sugar-plus is worth: the same measurement with the part left out.

Nothing is tuned: the parts are left out of the defaults. A run that was killed continues where it
stopped, and what the result file holds already is not run again.

    python benchmarks/bench_ablations.py openclipart planted-noisy --seeds 5
    python benchmarks/compare.py render
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from comparison.ablations import FILE, FORMAT, MEASURES, PARTS, WHOLE
from comparison.cases import CASE_NAMES, Round, open_case
from comparison.jobs import DIGITS, plain_values, read_json, write_json
from sugartag.engine import LocalEngine
from sugartag.errors import SugartagError
from sugartag.evaluation.cost import machine
from sugartag.methods.registry import make_method

RESULTS = Path(__file__).resolve().parent / "results"
METHOD = "sugar-plus"


def main() -> int:
    """Run what the command line asks for; return the exit code."""
    asked = arguments(sys.argv[1:])
    try:
        document = read_json(asked.out) if asked.out.exists() and not asked.again else started()
        for name in asked.cases:
            measure_case(document, name, asked)
    except SugartagError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"written: {asked.out}")
    return 0


def started() -> dict[str, Any]:
    """Return a result file without results."""
    return {
        "format": FORMAT,
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "parts": PARTS,
        "cases": {},
    }


def measure_case(document: dict[str, Any], name: str, asked: argparse.Namespace) -> None:
    """Measure the whole and each part left out, with every seed, saving after each run."""
    runs: dict[str, dict[str, Any]] = document["cases"].setdefault(name, {})
    with open_case(name, asked.data) as case:
        for seed in range(asked.seeds):
            here = case.start(seed)
            for part in asked.parts:
                found = runs.setdefault(part, {})
                if str(seed) in found:
                    continue
                found[str(seed)] = measured(here, PARTS[part], seed)
                write_json(asked.out, plain_values(document, digits=DIGITS))
                print(f"{name}, {part}, seed {seed}: {found[str(seed)]}", flush=True)


def measured(here: Round, settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return the metrics of sugar-plus with some settings."""
    found = here.measure(
        make_method(METHOD, settings),
        engine=LocalEngine(blas_threads=1),
        rng=np.random.default_rng(seed),
        replicates=0,
    )
    return {name: round(found[name], DIGITS) for name in MEASURES if found.get(name) is not None}


def arguments(texts: Sequence[str]) -> argparse.Namespace:
    """Return what the words of a command line ask for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="+", choices=CASE_NAMES, metavar="CASE")
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--seeds", type=int, default=5, help="how many, from 0")
    parser.add_argument("--data", type=Path, help="the folder that holds openclipart and div400")
    parser.add_argument("--out", type=Path, default=RESULTS / FILE, help="the result file")
    parser.add_argument("--again", action="store_true", help="forget what the file holds")
    asked = parser.parse_args(texts)
    if asked.seeds < 1:
        parser.error("--seeds is at least 1")
    if WHOLE not in asked.parts:
        parser.error(f"--parts must name {WHOLE!r}, which the others are compared with")
    return asked


if __name__ == "__main__":
    sys.exit(main())
