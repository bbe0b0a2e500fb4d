"""How near the defaults of every method come to its best settings on real collections.

A run that was killed continues where it stopped, and what the result file holds already is not
run again. At the end the page is written anew.

    python benchmarks/bench_defaults.py openclipart documerica --data FOLDER
"""

import argparse
import logging
import sys
from functools import partial
from pathlib import Path
from typing import Any

from comparison.cases import open_case
from comparison.defaults import FILE, FORMAT, MEASURES, all_settings, page, score, search, words_of
from comparison.filling import (
    RESULTS,
    ResultFile,
    command_line,
    empty_document,
    fill_cases,
    parsed,
)
from comparison.jobs import read_json
from comparison.parts import measured, smaller_round
from comparison.rounds import Round
from sugartag.methods.registry import method_names
from sugartag.methods.search_spaces import Point, search_space

PAGE = Path(__file__).resolve().parents[1] / "docs" / "defaults.md"
KEPT = (*MEASURES, "fit_seconds", "score_seconds")
WITHOUT = ("original", "sugar-plus")
"""Methods with nothing to choose."""


def main() -> int:
    """Run what the command line asks for; return the exit code."""
    logging.basicConfig(level=logging.WARNING)
    tried = [name for name in method_names() if name not in WITHOUT]
    parser = command_line(__doc__, FILE, seeds=1)
    parser.add_argument("--methods", nargs="+", choices=tried, default=tried)
    parser.add_argument("--trials", type=int, default=10, help="of each method, besides defaults")
    parser.add_argument("--images", type=int, default=4000, help="about so many of a collection")
    asked = parsed(parser, sys.argv[1:])
    code = fill_cases(asked, partial(empty_document, FORMAT), measure_case)
    if code == 0 and asked.out == RESULTS / FILE:
        write_page()
    return code


def write_page() -> None:
    """Write the page from the result file."""
    document = read_json(RESULTS / FILE)
    names = {name for case in document["cases"].values() for name in case["methods"]}
    PAGE.write_text(page(document, {name: search_space(name) for name in names}), encoding="utf-8")


def measure_case(file: ResultFile, name: str, asked: argparse.Namespace) -> None:
    """Try settings of each method on one collection, saving after each trial."""
    with open_case(name, asked.data) as case:
        here = smaller_round(case, asked.images)
        found = file.cases.setdefault(name, {"counts": here.counts(), "methods": {}})
        for method in asked.methods:
            runs = found["methods"].setdefault(method, {})
            _try_settings(file, here, runs, f"{name}, {method}", method, asked.trials)


def _try_settings(
    file: ResultFile, here: Round, runs: dict[str, Any], label: str, method: str, trials: int
) -> None:
    space = search_space(method)

    def score_at(point: Point) -> float:
        words, settings = words_of(space, point), all_settings(space, point)
        measure = partial(measured, here, method, settings, KEPT)
        file.fill(runs, words, measure, label=f"{label}, {space.settings_at(point)}")
        return score(runs[words])

    search(space, trials, score_at)


if __name__ == "__main__":
    sys.exit(main())
