"""Are verdicts right, and do chances come true? On planted worlds and on OpenClipart.

Fits each method as a user would and judges its verdicts at the default thresholds: by the planted
truth, and by tags hidden from OpenClipart and wrong ones added to it.

    python benchmarks/bench_verdicts.py --seeds 5
    python benchmarks/compare.py render
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from comparison.cases import DIM, WORLDS, larger_world, planted_world
from comparison.jobs import DIGITS, plain_values, write_json
from comparison.verdicts import (
    FILE,
    FORMAT,
    HIDDEN_SHARE,
    INJECTED_RATE,
    LARGER,
    TITLES,
    JudgedRound,
    summarised_runs,
)
from sugartag.changes import Thresholds
from sugartag.cli.choosing import chosen_names
from sugartag.demo import import_shipped
from sugartag.engine import LocalEngine
from sugartag.errors import SugartagError
from sugartag.evaluation.cost import machine
from sugartag.fitting import DEFAULT_METHOD
from sugartag.judging import CANDIDATES

RESULTS = Path(__file__).resolve().parent / "results"
SHIPPED = "openclipart"
SMALL = {name: planted_world(settings) for name, settings in WORLDS.items()}
PLANTED = (
    SMALL
    | {name + LARGER: larger_world(world) for name, world in SMALL.items()}
    | {"planted-dim" + LARGER: larger_world(planted_world(DIM))}
)
NAMES = tuple(name for name in TITLES if name == SHIPPED or name in PLANTED)
"""In the order of the page."""


@dataclass(frozen=True)
class JudgedCase:
    """A collection to judge verdicts on."""

    name: str
    start: Callable[[int], JudgedRound]
    """The round of a seed."""


def main() -> int:
    """Run what the command line asks for; return the exit code."""
    asked = arguments(sys.argv[1:])
    try:
        methods = chosen_names(asked.methods)
        with tempfile.TemporaryDirectory(prefix="sugartag-verdicts-") as scratch:
            cases = [made_case(name, Path(scratch)) for name in asked.cases]
            document = verdict_document(cases, methods, seeds=range(asked.seeds))
        write_json(asked.out, plain_values(document, digits=DIGITS))
    except SugartagError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"written: {asked.out}")
    return 0


def made_case(name: str, scratch: Path) -> JudgedCase:
    """Return the case of this name; the shipped collection is imported into the folder."""
    if name in PLANTED:
        return JudgedCase(name, lambda seed: JudgedRound.planted(PLANTED[name], seed))
    collection = import_shipped(scratch)
    return JudgedCase(name, lambda seed: JudgedRound.disturbed(collection, seed))


def verdict_document(
    cases: Sequence[JudgedCase], methods: Sequence[str], *, seeds: Sequence[int]
) -> dict[str, Any]:
    """Return the result file: every run, and their means."""
    return {
        "format": FORMAT,
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "thresholds": asdict(Thresholds()),
        "candidates": CANDIDATES,
        "hidden_share": HIDDEN_SHARE,
        "injected_rate": INJECTED_RATE,
        "seeds": list(seeds),
        "cases": {case.name: {"methods": case_entry(case, methods, seeds)} for case in cases},
    }


def case_entry(case: JudgedCase, methods: Sequence[str], seeds: Sequence[int]) -> dict[str, Any]:
    """Judge every method with every seed on one case."""
    runs: dict[str, dict[str, Any]] = {name: {} for name in methods}
    for seed in seeds:
        here = case.start(seed)
        for name in methods:
            began = time.perf_counter()
            found = here.run(name, engine=LocalEngine(blas_threads=1), seed=seed)
            runs[name][str(seed)] = found | {"seconds": time.perf_counter() - began}
            print(f"{case.name}, {name}, seed {seed}: {in_a_line(found)}", flush=True)
    return {
        name: {"summary": summarised_runs(list(found.values())), "runs": found}
        for name, found in runs.items()
    }


def in_a_line(run: dict[str, Any]) -> str:
    """Return the measures of a run for people to read."""
    return (
        f"add {run['add_precision']:.3f} / {run['add_recall']:.3f}, "
        f"remove {run['remove_precision']:.3f} / {run['remove_recall']:.3f}, "
        f"ECE {run['ece']:.3f} (added {run['ece_added']:.3f}, given {run['ece_given']:.3f})"
    )


def arguments(texts: Sequence[str]) -> argparse.Namespace:
    """Return what the words of a command line ask for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", default=DEFAULT_METHOD, help="names with commas between")
    parser.add_argument("--seeds", type=int, default=5, help="how many, from 0")
    parser.add_argument("--cases", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--out", type=Path, default=RESULTS / FILE, help="the result file")
    asked = parser.parse_args(texts)
    if asked.seeds < 1:
        parser.error("--seeds is at least 1")
    return asked


if __name__ == "__main__":
    sys.exit(main())
