"""sugar-plus, which sees no label, against linear classifiers that learn from clean ones.

On planted worlds, of which the truth is known: logistic regression and ridge classification learn
from the truth of four fifths of the images, from features and all given tags, and score the last
fifth. A run that was killed continues where it stopped, and what the result file holds already is
not run again.

    python benchmarks/bench_clean_labels.py --seeds 5 --more
    python benchmarks/compare.py render
"""

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from comparison.cases import WORLDS, planted_case
from comparison.clean_labels import (
    FEATURE_SCALES,
    KINDS,
    MORE_IMAGES,
    N_FOLDS,
    Labelled,
    cross_validated,
    found_by_many,
    missing_found,
)
from comparison.extra_sections import (
    CLEAN_LABELS,
    FOLDINGS,
    LABEL_MEASURES,
    MANY,
    OURS,
    RIGHT,
    labels_summary,
)
from comparison.filling import ResultFile, command_line, empty_document, fill_cases, parsed
from comparison.jobs import rng_of
from comparison.rounds import TaskRound
from sugartag.collection.synthetic import World
from sugartag.engine import LocalEngine
from sugartag.evaluation.protocol import truth_task
from sugartag.methods.base import Method
from sugartag.methods.registry import make_method

FORMAT = "sugartag-clean-labels/1"


def main() -> int:
    """Run what the command line asks for; return the exit code."""
    asked = arguments(sys.argv[1:])
    with threadpool_limits(1):
        return fill_cases(asked, started, measure_case)


def started() -> dict[str, Any]:
    """Return a result file without results."""
    return empty_document(
        FORMAT,
        folds=N_FOLDS,
        feature_scales=FEATURE_SCALES,
        penalties={name: kind.penalties for name, kind in KINDS.items()},
    )


def planted_round(name: str) -> Callable[[int], TaskRound]:
    """Return what makes the world of each seed."""
    world = World(**planted_case(name).settings)
    return lambda seed: TaskRound(truth_task(world.generate(seed)), author_aware=False)


def measure_case(file: ResultFile, name: str, asked: argparse.Namespace) -> None:
    """Measure what is not measured yet on one case, saving after each classifier."""
    start = planted_round(name)
    case = file.cases.setdefault(name, {"data": start(0).counts(), "runs": {}})

    def summarise() -> None:
        case["summary"] = labels_summary(case["runs"])

    fill = partial(file.fill, in_words=in_a_line, before_saving=summarise)
    for seed in range(asked.seeds):
        run = case["runs"].setdefault(str(seed), {})
        here, told = start(seed), f"{name}, seed {seed}"
        fill(run, OURS, partial(measured, here, make_method(OURS), seed), told=f"{told}, {OURS}")
        known = Labelled.of(here.task)
        for over in asked.folds:
            found = run.setdefault(over, {})
            for kind in KINDS:
                learned = partial(classified, here, known, kind, over=over, seed=seed)
                fill(found, kind, learned, told=f"{told}, {kind} over {over}")
        if asked.more:
            many = partial(from_many_images, name, seed)
            file.fill(run, MANY, many, told=f"{told}, many images", before_saving=summarise)


def from_many_images(name: str, seed: int) -> dict[str, Any]:
    """Return what a classifier finds that learned from very many images."""
    found = found_by_many(World(**planted_case(name).settings), seed, RIGHT)
    return {"missing": found, "images": MORE_IMAGES}


def classified(
    here: TaskRound, known: Labelled, kind: str, *, over: str, seed: int
) -> dict[str, Any]:
    """Return the metrics of one kind of classifier, and what was chosen for it."""
    began = time.perf_counter()
    scores, chosen = cross_validated(here.task, known, KINDS[kind], over=over, seed=seed)
    return {
        **measured(here, scores, seed),
        "inner_map": chosen.precision,
        "chosen": {"scale": chosen.scale, "penalty": chosen.penalty, "floor": chosen.floor},
        "seconds": time.perf_counter() - began,
    }


def measured(here: TaskRound, method: Method, seed: int) -> dict[str, Any]:
    """Return the metrics of a method, fitted with the random numbers of `sugartag evaluate`."""
    engine, rng = LocalEngine(blas_threads=1), rng_of(method.name, seed)
    began = time.perf_counter()
    found = here.measure(method, engine=engine, rng=rng, replicates=0)
    seconds = time.perf_counter() - began
    fitted = method.fit(here.given, engine=engine, rng=rng_of(method.name, seed))
    scores = np.concatenate([fitted.scores(here.given.rows(b)) for b in here.given.blocks()])
    found["missing"] = missing_found(here.task, scores, RIGHT)
    return {name: found[name] for name in LABEL_MEASURES} | {"seconds": seconds}


def in_a_line(run: Mapping[str, Any]) -> str:
    """Return the measures of a run for people to read."""
    shown = [f"{title} {run[name]:.4f}" for name, title in LABEL_MEASURES.items()]
    return ", ".join([*shown, f"{run['seconds']:.0f} s"])


def arguments(texts: Sequence[str]) -> argparse.Namespace:
    """Return what the words of a command line ask for."""
    parser = command_line(__doc__, CLEAN_LABELS)
    parser.add_argument("--cases", nargs="+", choices=list(WORLDS), default=list(WORLDS))
    parser.add_argument("--folds", nargs="+", choices=list(FOLDINGS), default=list(FOLDINGS))
    parser.add_argument("--more", action="store_true", help="also learn from very many images")
    return parsed(parser, texts)


if __name__ == "__main__":
    sys.exit(main())
