"""Settings of sugar-plus chosen on some real collections, and what they give on another.

One setting is varied at a time around its default. A run that was killed continues where it
stopped, and what the result file holds already is not run again.

    python benchmarks/bench_design.py documerica openclipart mdi div400 --data FOLDER
    python benchmarks/compare.py render
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from comparison.ablations import SAME_FOR_ALL_SEEDS
from comparison.cases import open_case
from comparison.design import DEFAULT, FILE, FORMAT, GRID, MEASURES, variants
from comparison.filling import (
    ResultFile,
    command_line,
    default_settings,
    empty_document,
    fill_cases,
    parsed,
    ranked,
)


def main() -> int:
    """Run what the command line asks for; return the exit code."""
    asked = arguments(sys.argv[1:])
    started = partial(empty_document, FORMAT, defaults=default_settings())
    return fill_cases(asked, started, measure_case)


def measure_case(file: ResultFile, name: str, asked: argparse.Namespace) -> None:
    """Measure every variant with every seed, saving after each run."""
    runs: dict[str, Any] = file.cases.setdefault(name, {})
    with open_case(name, asked.data) as case:
        for seed in range(1 if name in SAME_FOR_ALL_SEEDS else asked.seeds):
            here = case.start(seed)
            for variant, settings in variants(file.document["defaults"]).items():
                if variant != DEFAULT and not asked.settings & set(settings):
                    continue
                file.fill(
                    runs.setdefault(variant, {}),
                    str(seed),
                    partial(ranked, here, settings, seed, tuple(MEASURES)),
                    label=f"{name}, {variant}, seed {seed}",
                )


def arguments(texts: Sequence[str]) -> argparse.Namespace:
    """Return what the words of a command line ask for."""
    parser = command_line(__doc__, FILE, seeds=1)
    parser.add_argument(
        "--settings", nargs="+", choices=list(GRID), default=list(GRID), help="vary only these"
    )
    asked = parsed(parser, texts)
    asked.settings = set(asked.settings)
    return asked


if __name__ == "__main__":
    sys.exit(main())
