"""sugar-tc with the paper's own settings to the end of its 450 updates, beside the defaults.

With all links and a dense affinity of tags an update takes seconds, so this is measured on parts
of the collections, and on the tags that are used ten times or more. A run that was killed
continues where it stopped.

    python benchmarks/bench_presets.py documerica openclipart mdi --data FOLDER
"""

import argparse
import logging
import sys
from collections.abc import Mapping
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
from comparison.paper import CONTENDERS, MEASURES
from comparison.parts import measured, smaller_round
from comparison.presets import FILE, FORMAT, with_table

PAGE = Path(__file__).resolve().parents[1] / "docs" / "methods" / "sugar-tc.md"
KEPT = (*MEASURES, "fit_seconds", "score_seconds")
MIN_USES = 10
SINGLE: Mapping[str, Any] = {"precision": "float32"}
"""Of both presets, for the sake of time."""


def main() -> int:
    """Run what the command line asks for; return the exit code."""
    logging.basicConfig(level=logging.INFO)
    parser = command_line(__doc__, FILE, seeds=1)
    parser.add_argument("--images", type=int, default=1500, help="about so many of a collection")
    parser.add_argument("--only", nargs="+", choices=list(CONTENDERS), default=list(CONTENDERS))
    asked = parsed(parser, sys.argv[1:])
    code = fill_cases(asked, partial(empty_document, FORMAT), measure_case)
    if code == 0 and asked.out == RESULTS / FILE:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(with_table(page, read_json(RESULTS / FILE)), encoding="utf-8")
    return code


def measure_case(file: ResultFile, name: str, asked: argparse.Namespace) -> None:
    """Measure the presets and the peers on a part of one collection, saving after each run."""
    with open_case(name, asked.data) as case:
        here = smaller_round(case, asked.images, MIN_USES)
        found = file.cases.setdefault(name, {"counts": here.counts(), "runs": {}})
        for label in asked.only:
            method, settings = CONTENDERS[label]
            if "preset" in settings:
                settings = {**settings, **SINGLE}
            run = partial(measured, here, method, settings, KEPT)
            file.fill(found["runs"], label, run, label=f"{name}, {label}")


if __name__ == "__main__":
    sys.exit(main())
