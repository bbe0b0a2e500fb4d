"""Result files that are filled run by run: their command line, their opening, their loop.

A run that was killed continues where it stopped, and what the file holds already is not run again.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comparison.jobs import DIGITS, plain_values, read_json, write_json
from sugartag.errors import SugartagError
from sugartag.evaluation.cost import machine

RESULTS = Path(__file__).resolve().parents[1] / "results"


@dataclass(frozen=True)
class ResultFile:
    """A file of results, and what it holds."""

    path: Path
    document: dict[str, Any]

    @property
    def cases(self) -> dict[str, Any]:
        """What was found, by case."""
        cases: dict[str, Any] = self.document["cases"]
        return cases

    def fill(
        self,
        found: dict[str, Any],
        key: str,
        run: Callable[[], dict[str, Any]],
        *,
        told: str,
        in_words: Callable[[dict[str, Any]], object] = lambda result: result,
        before_saving: Callable[[], None] = lambda: None,
    ) -> None:
        """Run what is not there yet, save it in its place and say what was found."""
        if key in found:
            return
        found[key] = run()
        before_saving()
        write_json(self.path, plain_values(self.document, digits=DIGITS))
        print(f"{told}: {in_words(found[key])}", flush=True)


def empty_document(format_name: str, **facts: Any) -> dict[str, Any]:
    """Return what a result file holds that has no results yet."""
    return {
        "format": format_name,
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        **facts,
        "cases": {},
    }


def fill_cases(
    asked: argparse.Namespace,
    started: Callable[[], dict[str, Any]],
    measure_case: Callable[[ResultFile, str, argparse.Namespace], None],
) -> int:
    """Measure the cases that the command line asks for; return the exit code."""
    try:
        is_there = asked.out.exists() and not asked.again
        file = ResultFile(asked.out, read_json(asked.out) if is_there else started())
        for name in asked.cases:
            measure_case(file, name, asked)
    except SugartagError as error:
        return failed(error)
    print(f"written: {asked.out}")
    return 0


def failed(error: SugartagError) -> int:
    """Say in one line what a user can mend; return the exit code."""
    print(f"error: {error}", file=sys.stderr)
    return 2


def command_line(
    description: str | None, result: str, *, seeds: str = "how many, from 0"
) -> argparse.ArgumentParser:
    """Return a parser that knows the options which all of these have; ``result`` is a file name."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5, help=seeds)
    parser.add_argument("--out", type=Path, default=RESULTS / result, help="the result file")
    parser.add_argument("--again", action="store_true", help="forget what the file holds")
    return parser


def parsed(parser: argparse.ArgumentParser, texts: Sequence[str]) -> argparse.Namespace:
    """Return what the words of a command line ask for; there is a seed at least."""
    asked = parser.parse_args(texts)
    if asked.seeds < 1:
        parser.error("--seeds is at least 1")
    return asked
