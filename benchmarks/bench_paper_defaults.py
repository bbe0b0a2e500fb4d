"""Settings of sugar-tc chosen on three real collections, and what they give on the fourth.

One setting is varied at a time around its default. A run that was killed continues where it
stopped, and what the result file holds already is not run again.

    python benchmarks/bench_paper_defaults.py documerica openclipart mdi div400 --data FOLDER
"""

import argparse
import logging
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from comparison.cases import open_case
from comparison.filling import (
    RESULTS,
    ResultFile,
    command_line,
    empty_document,
    fill_cases,
    parsed,
)
from comparison.jobs import read_json
from comparison.paper_defaults import FILE, FORMAT, MEASURES, in_words, variants, with_tables
from comparison.parts import measured, smaller_round
from sugartag.methods.sugar_tc import SugarTC

PAGE = Path(__file__).resolve().parents[1] / "docs" / "methods" / "sugar-tc.md"
KEPT = (*MEASURES, "fit_seconds", "score_seconds")


def main() -> int:
    """Run what the command line asks for; return the exit code."""
    logging.basicConfig(level=logging.WARNING)
    parser = command_line(__doc__, FILE, seeds=1)
    parser.add_argument("--images", type=int, default=4000, help="about so many of a collection")
    parser.add_argument("--only", nargs="+", choices=list(variants()), default=list(variants()))
    asked = parsed(parser, sys.argv[1:])
    started = partial(empty_document, FORMAT, images=asked.images, defaults=asdict(SugarTC()))
    code = fill_cases(asked, started, measure_case)
    if code == 0 and asked.out == RESULTS / FILE:
        write_page()
    return code


def write_page() -> None:
    """Write the tables of the result file into the page of sugar-tc."""
    document = read_json(RESULTS / FILE)
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_tables(page, document), encoding="utf-8")
    print("\n".join(in_words(document)))


def measure_case(file: ResultFile, name: str, asked: argparse.Namespace) -> None:
    """Measure every variant with every seed, saving after each run."""
    runs: dict[str, Any] = file.cases.setdefault(name, {})
    with open_case(name, asked.data) as case:
        here = smaller_round(case, asked.images)
        for variant in asked.only:
            for seed in range(asked.seeds):
                file.fill(
                    runs.setdefault(variant, {}),
                    str(seed),
                    partial(measured, here, SugarTC.name, variants()[variant], KEPT, seed),
                    label=f"{name}, {variant}, seed {seed}",
                )


if __name__ == "__main__":
    sys.exit(main())
