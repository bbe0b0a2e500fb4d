"""Are verdicts right, and is the posterior calibrated? On real collections, with the defaults.

Wrong tags injected into collections of several sizes, with real features, with noise in their place
and without any; additions by an independent truth; tags both hidden and injected; and images that
lost all their tags. A run that
was killed continues where it stopped, and what the result file holds already is not run again.

    python benchmarks/bench_verdicts.py documerica openclipart mdi --data FOLDER
    python benchmarks/compare.py render
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from comparison.cases import open_case
from comparison.filling import (
    ResultFile,
    command_line,
    default_settings,
    empty_document,
    fill_cases,
    parsed,
)
from comparison.rounds import percent
from comparison.verdict_section import (
    ALL,
    DISTURBED,
    DOUBTS,
    FILE,
    FORMAT,
    TRUTH,
    UNTAGGED,
    condition,
)
from comparison.verdicts import (
    FEATURES,
    HIDDEN_SHARES,
    INJECTED_RATE,
    PRECISION,
    UNTAGGED_SHARE,
    Judged,
)
from sugartag.collection.model import Collection
from sugartag.engine import LocalEngine
from sugartag.errors import SettingsError

SIZES: dict[str, int | None] = {"300": 300, "1,000": 1_000, "5,000": 5_000, ALL: None}
EXPERIMENTS = {
    "documerica": (TRUTH, DISTURBED, UNTAGGED, DOUBTS),
    "openclipart": (DISTURBED, UNTAGGED),
    "mdi": (DISTURBED, UNTAGGED, DOUBTS),
}
"""What each collection is good for."""

Start = Callable[[], Judged]


def main() -> int:
    """Run what the command line asks for; return the exit code."""
    asked = arguments(sys.argv[1:])
    started = partial(
        empty_document,
        FORMAT,
        defaults=default_settings(),
        untagged_share=UNTAGGED_SHARE,
        injected_rate=INJECTED_RATE,
        precision=PRECISION,
    )
    return fill_cases(asked, started, measure_case)


def measure_case(file: ResultFile, name: str, asked: argparse.Namespace) -> None:
    """Judge every condition with every seed, saving after each run."""
    found: dict[str, Any] = file.cases.setdefault(name, {})
    with open_case(name, asked.data) as case:
        if case.collection is None:
            raise SettingsError(f"verdicts on {name} cannot be judged; leave it out")
        for experiment in EXPERIMENTS[name]:
            if experiment not in asked.experiments:
                continue
            for seed in range(asked.seeds):
                for label, start in conditions(experiment, case.collection, seed):
                    runs = found.setdefault(experiment, {}).setdefault(label, {})
                    file.fill(
                        runs,
                        str(seed),
                        partial(measured, start, seed, hindsight=experiment != DOUBTS),
                        label=f"{name}, {experiment}, {label}, seed {seed}",
                    )


def conditions(experiment: str, collection: Collection, seed: int) -> Iterator[tuple[str, Start]]:
    """Yield the name of each condition of an experiment, and what makes its collection."""
    if experiment == TRUTH:
        yield ALL, partial(Judged.by_truth, collection, seed)
    elif experiment == DISTURBED:
        for share in HIDDEN_SHARES:
            yield percent(share), partial(Judged.disturbed, collection, seed, share)
    elif experiment == UNTAGGED:
        yield ALL, partial(Judged.untagged, collection, seed)
    else:
        for features in FEATURES:
            for size, images in SIZES.items():
                make = partial(Judged.injected, collection, seed, images=images, features=features)
                yield condition(features, size), make


def measured(start: Start, seed: int, *, hindsight: bool) -> dict[str, Any]:
    """Return how good the verdicts of the defaults are."""
    return start().run({}, engine=LocalEngine(blas_threads=1), seed=seed, hindsight=hindsight)


def arguments(texts: Sequence[str]) -> argparse.Namespace:
    """Return what the words of a command line ask for."""
    parser = command_line(__doc__, FILE, seeds=3, cases=tuple(EXPERIMENTS))
    every = (TRUTH, DISTURBED, UNTAGGED, DOUBTS)
    parser.add_argument("--experiments", nargs="+", choices=every, default=list(every))
    return parsed(parser, texts)


if __name__ == "__main__":
    sys.exit(main())
