"""What each part of sugar-plus is worth: the same measurement with the part left out.

Nothing is tuned: the parts are left out of the defaults. A run that was killed continues where it
stopped, and what the result file holds already is not run again.

    python benchmarks/bench_ablations.py openclipart mdi --seeds 5 --data FOLDER
    python benchmarks/compare.py render
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from comparison.ablations import FILE, FORMAT, MEASURES, PARTS, WHOLE
from comparison.cases import CASE_NAMES, open_case
from comparison.filling import ResultFile, command_line, empty_document, fill_cases, parsed
from comparison.jobs import DIGITS
from comparison.rounds import Round
from sugartag.engine import LocalEngine
from sugartag.methods.registry import make_method

METHOD = "sugar-plus"


def main() -> int:
    """Run what the command line asks for; return the exit code."""
    asked = arguments(sys.argv[1:])
    return fill_cases(asked, partial(empty_document, FORMAT, parts=PARTS), measure_case)


def measure_case(file: ResultFile, name: str, asked: argparse.Namespace) -> None:
    """Measure the whole and each part left out, with every seed, saving after each run."""
    runs: dict[str, dict[str, Any]] = file.cases.setdefault(name, {})
    with open_case(name, asked.data) as case:
        for seed in range(asked.seeds):
            here = case.start(seed)
            for part in asked.parts:
                file.fill(
                    runs.setdefault(part, {}),
                    str(seed),
                    partial(measured, here, PARTS[part], seed),
                    told=f"{name}, {part}, seed {seed}",
                )


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
    parser = command_line(__doc__, FILE)
    parser.add_argument("cases", nargs="+", choices=CASE_NAMES, metavar="CASE")
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--data", type=Path, help="the folder that holds those of real cases")
    asked = parsed(parser, texts)
    if WHOLE not in asked.parts:
        parser.error(f"--parts must name {WHOLE!r}, which the others are compared with")
    return asked


if __name__ == "__main__":
    sys.exit(main())
