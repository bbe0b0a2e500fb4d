"""sugar-tc beside the simplest peers, and every method's defaults beside other settings.

A run that was killed continues where it stopped, and what the result file holds already is not
run again. ``--only`` names some of the contenders; ``--draw`` asks for the second part instead,
with so many settings drawn for each method, and ``--photographs`` takes about so many photographs
of documerica for it.

    python benchmarks/bench_paper.py documerica openclipart mdi --data FOLDER
    python benchmarks/bench_paper.py openclipart --draw 10 --data FOLDER
"""

import argparse
import logging
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

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
    photographs_of_some,
    plain,
    trials_of,
    with_tables,
)
from comparison.rounds import Case, Round
from sugartag.engine import LocalEngine
from sugartag.errors import SugartagError
from sugartag.methods.registry import make_method, method_names

PAGE = Path(__file__).resolve().parents[1] / "docs" / "methods" / "sugar-tc.md"
KEPT = (*MEASURES, "fit_seconds", "score_seconds")


def main() -> int:
    """Run what the command line asks for; return the exit code."""
    logging.basicConfig(level=logging.WARNING)
    parser = command_line(__doc__, FILE, seeds=1)
    parser.add_argument("--only", nargs="+", choices=list(CONTENDERS), default=list(CONTENDERS))
    parser.add_argument("--updates", type=int, help="of the printed preset; 450 unless named")
    parser.add_argument("--draw", type=int, help="settings drawn for each method")
    parser.add_argument("--methods", nargs="+", default=None, help="of these methods only")
    parser.add_argument("--photographs", type=int, help="of documerica, about so many")
    asked = parsed(parser, sys.argv[1:])
    code = fill_cases(asked, partial(empty_document, FORMAT, drawn={}), measure_case)
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
        if asked.draw is None:
            _measure_contenders(file, case, asked)
        else:
            _measure_defaults(file, case, asked)


def _measure_contenders(file: ResultFile, case: Case, asked: argparse.Namespace) -> None:
    runs: dict[str, Any] = file.cases.setdefault(case.name, {})
    for seed in range(asked.seeds):
        here = plain(case.start(seed))
        for label in asked.only:
            method, settings = CONTENDERS[label]
            if asked.updates and settings.get("preset") == "printed":
                settings = {**settings, "max_iterations": asked.updates}
            file.fill(
                runs.setdefault(label, {}),
                str(seed),
                partial(_measured, here, method, settings, seed),
                label=f"{case.name}, {label}, seed {seed}",
            )


def _measure_defaults(file: ResultFile, case: Case, asked: argparse.Namespace) -> None:
    runs = file.document["drawn"].setdefault(case.name, {})
    here = plain(case.start(0))
    if asked.photographs and case.collection is not None:
        here = photographs_of_some(case.collection, asked.photographs)
    for method in asked.methods or method_names():
        for label, settings in {"defaults": {}, **trials_of(method, asked.draw)}.items():
            file.fill(
                runs.setdefault(method, {}),
                label,
                partial(_measured, here, method, settings, 0),
                label=f"{case.name}, {method}, {label}",
            )


def _measured(here: Round, method: str, settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Return the metrics of a method, and the settings that differ from its name's promise."""
    try:
        found = here.measure(
            make_method(method, settings),
            engine=LocalEngine(blas_threads=1),
            rng=np.random.default_rng(seed),
            replicates=0,
        )
    except (SugartagError, MemoryError) as error:
        return {"failed": str(error) or type(error).__name__}
    kept = {name: found[name] for name in KEPT if found.get(name) is not None}
    return kept | {"settings": {key: str(value) for key, value in settings.items()}}


if __name__ == "__main__":
    sys.exit(main())
