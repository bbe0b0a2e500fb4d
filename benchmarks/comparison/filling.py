"""Result files that are filled run by run: their command line, their opening, their loop.

A run that was killed continues where it stopped, and what the file holds already is not run again.
"""

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from comparison.cases import CASE_NAMES
from comparison.jobs import DIGITS, plain_values, read_json, write_json
from comparison.rounds import Round
from sugartag.engine import LocalEngine
from sugartag.errors import StorageError, SugartagError
from sugartag.evaluation.cost import machine
from sugartag.methods.registry import make_method
from sugartag.pipeline.fitting import DEFAULT_METHOD

RESULTS = Path(__file__).resolve().parents[1] / "results"
CHANGING = ("date", "machine", "cases")
"""What may differ between a result file and the run that continues it."""


@dataclass(frozen=True)
class ResultFile:
    """A file of results, and what it holds."""

    path: Path
    document: dict[str, Any]

    @classmethod
    def opened(cls, path: Path, started: Mapping[str, Any], *, again: bool) -> "ResultFile":
        """Take up the file of an earlier run; refuse one that was made with other facts."""
        if again or not path.exists():
            return cls(path, dict(started))
        document = read_json(path)
        expected = plain_values(started)
        differing = [
            key for key in expected if key not in CHANGING and document.get(key) != expected[key]
        ]
        if differing:
            raise StorageError(
                f"{path} was made with other {differing[0]}; pass --again to start it anew, "
                "or name another --out"
            )
        return cls(path, document)

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
        label: str,
    ) -> None:
        """Run what is not there yet, save it in its place and say what was found."""
        if key in found:
            return
        began = time.perf_counter()
        found[key] = plain_values(run(), digits=DIGITS)
        write_json(self.path, self.document)
        shown = {name: value for name, value in found[key].items() if not isinstance(value, list)}
        print(f"{label}: {shown} in {time.perf_counter() - began:.0f} s", flush=True)


def empty_document(format_name: str, **facts: Any) -> dict[str, Any]:
    """Return what a result file holds that has no results yet."""
    return {
        "format": format_name,
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        **facts,
        "cases": {},
    }


def default_settings() -> dict[str, Any]:
    """Return the settings of the default method, which results depend on."""
    return asdict(cast("Any", make_method(DEFAULT_METHOD)))


def ranked(
    here: Round, settings: Mapping[str, Any], seed: int, kept: Sequence[str]
) -> dict[str, Any]:
    """Return metrics of the default method with some settings."""
    found = here.measure(
        make_method(DEFAULT_METHOD, settings),
        engine=LocalEngine(blas_threads=1),
        rng=np.random.default_rng(seed),
        replicates=0,
    )
    return {name: found[name] for name in kept if found.get(name) is not None}


def fill_cases(
    asked: argparse.Namespace,
    started: Callable[[], dict[str, Any]],
    measure_case: Callable[[ResultFile, str, argparse.Namespace], None],
) -> int:
    """Measure the cases that the command line asks for; return the exit code."""
    try:
        file = ResultFile.opened(asked.out, started(), again=asked.again)
        for name in asked.cases:
            measure_case(file, name, asked)
    except SugartagError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"written: {asked.out}")
    return 0


def command_line(
    description: str | None, result: str, *, seeds: int, cases: Sequence[str] = CASE_NAMES
) -> argparse.ArgumentParser:
    """Return a parser with the options that all of these share; ``result`` is a file name."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="+", choices=cases, metavar="CASE")
    parser.add_argument("--data", type=Path, help="the folder that holds the collections")
    parser.add_argument("--seeds", type=int, default=seeds, help="how many, from 0")
    parser.add_argument("--out", type=Path, default=RESULTS / result, help="the result file")
    parser.add_argument("--again", action="store_true", help="forget what the file holds")
    return parser


def parsed(parser: argparse.ArgumentParser, texts: Sequence[str]) -> argparse.Namespace:
    """Return what the words of a command line ask for; there is a seed at least."""
    asked = parser.parse_args(texts)
    if asked.seeds < 1:
        parser.error("--seeds is at least 1")
    return asked
