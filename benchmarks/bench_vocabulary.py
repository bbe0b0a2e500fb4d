"""What it costs to bound the tags that predict others, for large vocabularies.

sugar-plus with all tags as predictors, with half of them, a quarter and an eighth: how well it
finds tags, how long it fits and in what memory. Each fit is a process of its own with one BLAS
thread. A run that was killed continues where it stopped, and what the result file holds already is
not run again.

    python benchmarks/bench_vocabulary.py --seeds 5 --data FOLDER
    python benchmarks/compare.py render
"""

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from compare import ONE_THREAD
from comparison.cases import open_case, planted_case
from comparison.extra_sections import LARGE_CASE, MEASURES, OURS, VOCABULARY
from comparison.filling import (
    ResultFile,
    command_line,
    empty_document,
    failed,
    fill_cases,
    parsed,
)
from comparison.jobs import DIGITS, plain_values, rng_of
from comparison.rounds import Case, TaskRound
from sugartag.collection.model import Collection
from sugartag.collection.subset import tag_counts
from sugartag.collection.synthetic import World
from sugartag.engine import LocalEngine
from sugartag.engine.base import Engine
from sugartag.errors import EngineError, SugartagError
from sugartag.evaluation.cost import Meter
from sugartag.evaluation.protocol import truth_task
from sugartag.methods.sugar_plus.evidence import MIN_USES
from sugartag.methods.sugar_plus.fitted import FittedSugarPlus
from sugartag.methods.sugar_plus.method import SugarPlus

FORMAT = "sugartag-vocabulary/1"
SHARES = ("1", "1/2", "1/4", "1/8")
"""Of the tags that can predict; the first is what the others are compared with."""
CASES = ("openclipart", "planted-noisy", LARGE_CASE)
LARGE = replace(
    World(**planted_case("planted-noisy").settings),
    n_images=20_000,
    n_tags=8_000,
    n_owners=2_000,
    n_groups=400,
    n_topics=40,
    n_features=128,
    n_concepts=2_000,
)
"""As noisy as the small one, with so many tags that the bound matters."""
LARGE_SEEDS = 1


@dataclass(frozen=True)
class Job:
    """One fit."""

    case: str
    seed: int
    share: str


@dataclass(frozen=True, eq=False)
class Weighed:
    """sugar-plus, noting what its fit took; a new one for each fit."""

    name: ClassVar[str] = OURS
    summary: ClassVar[str] = SugarPlus.summary
    fitted_type: ClassVar[type[FittedSugarPlus]] = FittedSugarPlus

    method: SugarPlus
    noted: dict[str, float]

    def fit(
        self, collection: Collection, *, engine: Engine, rng: np.random.Generator
    ) -> FittedSugarPlus:
        """Fit, and note processor time, memory beyond what there was before, and the size."""
        with Meter() as meter:
            fitted = self.method.fit(collection, engine=engine, rng=rng)
        evidence = fitted.evidence
        self.noted["fit_cpu_seconds"] = meter.cpu_seconds
        self.noted["fit_mb"] = meter.peak_rss_mb - meter.before_rss_mb
        self.noted["predictors"] = len(evidence.predictor)
        self.noted["anchors"] = len(evidence.anchors)
        self.noted["inputs"] = evidence.n_sparse + evidence.n_dense
        return fitted


def main() -> int:
    """Run what the command line asks for; return the exit code."""
    asked = arguments(sys.argv[1:])
    if asked.job is not None:
        return print_job(Job(asked.job[0], int(asked.job[1]), asked.job[2]), asked.data)
    return fill_cases(asked, started, measure_case)


def print_job(job: Job, data: Path | None) -> int:
    """Run one fit in this process and print what it found; return the exit code."""
    try:
        with vocabulary_case(job.case, data) as case:
            print(json.dumps(plain_values(measured(case, job), digits=DIGITS)))
    except SugartagError as error:
        return failed(error)
    return 0


def started() -> dict[str, Any]:
    """Return a result file without results."""
    with threadpool_limits(1):
        return empty_document(FORMAT)


@contextmanager
def vocabulary_case(name: str, data: Path | None) -> Iterator[Case]:
    """Yield a case of the comparison, or the one with many tags."""
    if name != LARGE_CASE:
        with open_case(name, data) as case:
            yield case
        return
    yield Case(
        name=name,
        description="A made-up collection with many tags.",
        protocol="Methods see the tags as given; measured is the truth.",
        start=lambda seed: TaskRound(truth_task(LARGE.generate(seed)), author_aware=False),
    )


def measure_case(file: ResultFile, name: str, asked: argparse.Namespace) -> None:
    """Measure every share of the tags with every seed, saving after each run."""
    case: dict[str, Any] = file.cases.setdefault(name, {"data": {}, "runs": {}})

    def run(job: Job) -> dict[str, Any]:
        found = in_process(job, asked.data)
        case["data"] = found.pop("data")
        return found

    for seed in range(min(asked.seeds, LARGE_SEEDS) if name == LARGE_CASE else asked.seeds):
        for share in SHARES:
            file.fill(
                case["runs"].setdefault(share, {}),
                str(seed),
                partial(run, Job(name, seed, share)),
                told=f"{name}, seed {seed}, {share} of the tags",
            )


def in_process(job: Job, data: Path | None) -> dict[str, Any]:
    """Run one fit in a process of its own and return what it found."""
    words = [job.case, str(job.seed), job.share]
    command = [sys.executable, str(Path(__file__).resolve()), "--job", *words]
    command += [] if data is None else ["--data", str(data)]
    done = subprocess.run(
        command, check=False, stdout=subprocess.PIPE, text=True, env=os.environ | ONE_THREAD
    )
    if done.returncode:
        raise EngineError(f"{' '.join(words)} ended with code {done.returncode}; see above")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measured(case: Case, job: Job) -> dict[str, Any]:
    """Fit and measure, with the random numbers of `sugartag evaluate`."""
    here = case.start(job.seed)
    # Scoring a second time, as if owners were strangers, is not asked for.
    here = replace(here, author_aware=False) if isinstance(here, TaskRound) else here
    usable = np.count_nonzero(tag_counts(here.given) >= MIN_USES)
    most = math.ceil(Fraction(job.share) * int(usable))
    method = SugarPlus(max_predictors=most)
    noted: dict[str, float] = {}
    engine, rng = LocalEngine(blas_threads=1), rng_of(OURS, job.seed)
    found = here.measure(Weighed(method, noted), engine=engine, rng=rng, replicates=0)
    kept = {name: found[name] for name in (*MEASURES, "fit_seconds", "score_seconds")}
    return kept | noted | {"peak_mb": found["peak_rss_mb"], "data": here.counts()}


def arguments(texts: Sequence[str]) -> argparse.Namespace:
    """Return what the words of a command line ask for."""
    parser = command_line(__doc__, VOCABULARY, seeds="how many; the large case has one")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--data", type=Path, help="the folder that holds openclipart")
    parser.add_argument("--job", nargs=3, help=argparse.SUPPRESS)
    return parsed(parser, texts)


if __name__ == "__main__":
    sys.exit(main())
