"""What each part of sugar-plus is worth on real collections: the same with the part left out.

Nothing is tuned: the parts are left out of the defaults. A run that was killed continues where it
stopped, and what the result file holds already is not run again.

    python benchmarks/bench_ablations.py documerica openclipart mdi div400 --data FOLDER
    python benchmarks/compare.py render
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from comparison.ablations import (
    BY_ITEM,
    FILE,
    FORMAT,
    MEASURES,
    PARTS,
    RANKING,
    SAME_FOR_ALL_SEEDS,
    VERDICTS,
    WHOLE,
)
from comparison.cases import open_case
from comparison.filling import (
    ResultFile,
    command_line,
    default_settings,
    empty_document,
    fill_cases,
    parsed,
    ranked,
)
from comparison.rounds import Case
from comparison.verdicts import Judged
from sugartag.collection.model import Collection
from sugartag.engine import LocalEngine


def main() -> int:
    """Run what the command line asks for; return the exit code."""
    asked = arguments(sys.argv[1:])
    started = partial(empty_document, FORMAT, parts=PARTS, defaults=default_settings())
    return fill_cases(asked, started, measure_case)


def measure_case(file: ResultFile, name: str, asked: argparse.Namespace) -> None:
    """Measure the whole and each part left out, with every seed, saving after each run."""
    found: dict[str, Any] = file.cases.setdefault(name, {RANKING: {}, VERDICTS: {}})
    with open_case(name, asked.data) as case:
        for seed in range(1 if name in SAME_FOR_ALL_SEEDS else asked.seeds):
            rank_parts(file, found[RANKING], case, seed, asked.parts)
            if case.collection is not None and not asked.ranking_only:
                judge_parts(file, found[VERDICTS], case, seed, asked.parts)


def rank_parts(
    file: ResultFile, runs: dict[str, Any], case: Case, seed: int, parts: Sequence[str]
) -> None:
    """Measure how well true or hidden tags are ranked."""
    here = case.start(seed)
    kept = (*MEASURES, BY_ITEM) if case.name in SAME_FOR_ALL_SEEDS else tuple(MEASURES)
    for part in parts:
        file.fill(
            runs.setdefault(part, {}),
            str(seed),
            partial(ranked, here, PARTS[part], seed, kept),
            label=f"{case.name}, {part}, seed {seed}",
        )


def judge_parts(
    file: ResultFile, runs: dict[str, Any], case: Case, seed: int, parts: Sequence[str]
) -> None:
    """Measure how good the verdicts are where tags were hidden and injected."""
    for part in parts:
        file.fill(
            runs.setdefault(part, {}),
            str(seed),
            partial(judged, case.collection, PARTS[part], seed),
            label=f"{case.name}, verdicts {part}, seed {seed}",
        )


def judged(collection: Collection, settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return how good the verdicts of sugar-plus with some settings are."""
    here = Judged.disturbed(collection, seed)
    return here.run(settings, engine=LocalEngine(blas_threads=1), seed=seed)


def arguments(texts: Sequence[str]) -> argparse.Namespace:
    """Return what the words of a command line ask for."""
    parser = command_line(__doc__, FILE, seeds=5)
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--ranking-only", action="store_true", help="judge no verdicts")
    asked = parsed(parser, texts)
    if WHOLE not in asked.parts:
        parser.error(f"--parts must name {WHOLE!r}, which the others are compared with")
    return asked


if __name__ == "__main__":
    sys.exit(main())
