"""sugar-tc beside the simplest peers on whole collections.

A run that was killed continues where it stopped, and what the result file holds already is not
run again. ``--only`` names some of the contenders.

    python benchmarks/bench_paper.py documerica openclipart mdi --data FOLDER
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
from comparison.paper import (
    CONTENDERS,
    FILE,
    FORMAT,
    MEASURES,
    PRINTED,
    plain,
    with_tables,
)
from comparison.parts import measured
from comparison.rounds import Case, Round

PAGE = Path(__file__).resolve().parents[1] / "docs" / "methods" / "sugar-tc.md"
WHOLE = [label for label in CONTENDERS if label != PRINTED]
"""What is affordable on whole collections; bench_presets.py runs the other on parts."""
KEPT = (*MEASURES, "fit_seconds", "score_seconds")


def main() -> int:
    """Run what the command line asks for; return the exit code."""
    logging.basicConfig(level=logging.WARNING)
    parser = command_line(__doc__, FILE, seeds=1)
    parser.add_argument("--only", nargs="+", choices=list(CONTENDERS), default=WHOLE)
    asked = parsed(parser, sys.argv[1:])
    code = fill_cases(asked, partial(empty_document, FORMAT), measure_case)
    if code == 0 and asked.out == RESULTS / FILE:
        write_page()
    return code


def write_page() -> None:
    """Write the tables of the result file into the page of sugar-tc."""
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_tables(page, read_json(RESULTS / FILE)), encoding="utf-8")


def measure_case(file: ResultFile, name: str, asked: argparse.Namespace) -> None:
    """Measure what is asked for of one case, saving after each run."""
    with open_case(name, asked.data) as case:
        _measure_contenders(file, case, asked)


def _measure_contenders(file: ResultFile, case: Case, asked: argparse.Namespace) -> None:
    runs: dict[str, Any] = file.cases.setdefault(case.name, {})
    for seed in range(asked.seeds):
        here = plain(case.start(seed))
        for label in asked.only:
            method, settings = CONTENDERS[label]
            file.fill(
                runs.setdefault(label, {}),
                str(seed),
                partial(_measured, here, method, settings, seed),
                label=f"{case.name}, {label}, seed {seed}",
            )


def _measured(here: Round, method: str, settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Return the metrics of a method, and its settings besides the defaults."""
    found = measured(here, method, settings, KEPT, seed)
    return found | {"settings": {key: str(value) for key, value in settings.items()}}


if __name__ == "__main__":
    sys.exit(main())
