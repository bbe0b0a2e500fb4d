"""Do verdicts hold in worlds that nobody chose? In planted worlds drawn at random.

Worlds that the file has are not judged again, so that a long run can go on where it ended.

    python benchmarks/bench_drawn_worlds.py --worlds 40
    python benchmarks/bench_drawn_worlds.py --worlds 20 --images 40000
    python benchmarks/compare.py render
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from comparison.drawn_worlds import FILE, FORMAT, LARGER_FILE, drawn_world, summarised_worlds
from comparison.jobs import DIGITS, plain_values, read_json, write_json
from comparison.verdicts import JudgedRound
from sugartag.engine import LocalEngine
from sugartag.evaluation.cost import machine
from sugartag.fitting import DEFAULT_METHOD

RESULTS = Path(__file__).resolve().parent / "results"


def main() -> int:
    """Judge the worlds that are asked for and not yet in the file; return the exit code."""
    asked = arguments(sys.argv[1:])
    runs: dict[str, Any] = read_json(asked.out)["runs"] if asked.out.exists() else {}
    for number in range(asked.worlds):
        if str(number) not in runs:
            runs[str(number)] = judged(number, asked.images)
            found = runs[str(number)]["counts"]
            print(f"world {number}: {found['rightly_added']} of {found['added']} additions right")
            write_json(asked.out, plain_values(document_of(runs), digits=DIGITS))
    print(f"written: {asked.out}")
    return 0


def judged(number: int, n_images: int | None) -> dict[str, Any]:
    """Fit and judge one world."""
    world, began = drawn_world(number, n_images), time.perf_counter()
    here = JudgedRound.planted(world, number)
    found = here.run(DEFAULT_METHOD, engine=LocalEngine(blas_threads=1), seed=number)
    return found | {"world": asdict(world), "seconds": time.perf_counter() - began}


def document_of(runs: dict[str, Any]) -> dict[str, Any]:
    """Return the result file: every world, and what is true of most."""
    return {
        "format": FORMAT,
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "method": DEFAULT_METHOD,
        "summary": summarised_worlds(list(runs.values())),
        "runs": runs,
    }


def arguments(texts: Sequence[str]) -> argparse.Namespace:
    """Return what the words of a command line ask for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--worlds", type=int, default=40, help="how many, from 0")
    parser.add_argument("--images", type=int, help="of every world; drawn, too, if not given")
    parser.add_argument("--out", type=Path, help="the result file")
    asked = parser.parse_args(texts)
    if asked.worlds < 1:
        parser.error("--worlds is at least 1")
    asked.out = asked.out or RESULTS / (LARGER_FILE if asked.images else FILE)
    return asked


if __name__ == "__main__":
    sys.exit(main())
