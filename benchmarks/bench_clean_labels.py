"""sugar-plus, which sees no label, against linear classifiers that learn from clean ones.

On planted worlds, of which the truth is known: logistic regression and ridge classification learn
from the truth of four fifths of the images, from features and all given tags, and score the last
fifth. A run that was killed continues where it stopped, and what the result file holds already is
not run again.

    python benchmarks/bench_clean_labels.py --seeds 5
    python benchmarks/compare.py render
"""

import argparse
import sys
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from comparison.cases import WORLDS, TaskRound, planted_case
from comparison.clean_labels import FEATURE_SCALES, KINDS, N_FOLDS, Labelled, cross_validated
from comparison.extra_sections import CLEAN_LABELS, FOLDINGS, MEASURES, OURS, labels_summary
from comparison.jobs import DIGITS, plain_values, read_json, write_json
from sugartag.collection.synthetic import World
from sugartag.engine import LocalEngine
from sugartag.errors import SugartagError
from sugartag.evaluation.cost import machine
from sugartag.evaluation.protocol import truth_task
from sugartag.methods.base import Method
from sugartag.methods.registry import make_method

RESULTS = Path(__file__).resolve().parent / "results"
FORMAT = "sugartag-clean-labels/1"


def main() -> int:
    """Run what the command line asks for; return the exit code."""
    asked = arguments(sys.argv[1:])
    try:
        with threadpool_limits(1):
            document = read_json(asked.out) if asked.out.exists() and not asked.again else started()
            for name in asked.cases:
                measure_case(document, name, planted_round(name), asked)
    except SugartagError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"written: {asked.out}")
    return 0


def started() -> dict[str, Any]:
    """Return a result file without results."""
    return {
        "format": FORMAT,
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "folds": N_FOLDS,
        "feature_scales": FEATURE_SCALES,
        "penalties": {name: kind.penalties for name, kind in KINDS.items()},
        "cases": {},
    }


def planted_round(name: str) -> Callable[[int], TaskRound]:
    """Return what makes the world of each seed."""
    world = World(**planted_case(name).settings)
    return lambda seed: TaskRound(truth_task(world.generate(seed)), author_aware=False)


def measure_case(
    document: dict[str, Any],
    name: str,
    start: Callable[[int], TaskRound],
    asked: argparse.Namespace,
) -> None:
    """Measure what is not measured yet on one case, saving after each classifier."""
    case = document["cases"].setdefault(name, {"data": start(0).counts(), "runs": {}})

    def save() -> None:
        case["summary"] = labels_summary(case["runs"])
        write_json(asked.out, plain_values(document, digits=DIGITS))

    for seed in range(asked.seeds):
        run = case["runs"].setdefault(str(seed), {})
        here = start(seed)
        if OURS not in run:
            run[OURS] = measured(here, make_method(OURS), seed)
            print(f"{name}, seed {seed}, {OURS}: {in_a_line(run[OURS])}", flush=True)
            save()
        known = Labelled.of(here.task)
        for over in asked.folds:
            for kind in KINDS:
                found = run.setdefault(over, {})
                if kind in found:
                    continue
                found[kind] = classified(here, known, kind, over=over, seed=seed)
                print(f"{name}, seed {seed}, {kind} over {over}: {in_a_line(found[kind])}")
                sys.stdout.flush()
                save()


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
    rng = np.random.default_rng([seed, zlib.crc32(method.name.encode())])
    engine = LocalEngine(blas_threads=1)
    began = time.perf_counter()
    found = here.measure(method, engine=engine, rng=rng, replicates=0)
    return {name: found[name] for name in MEASURES} | {"seconds": time.perf_counter() - began}


def in_a_line(run: Mapping[str, Any]) -> str:
    """Return the measures of a run for people to read."""
    shown = [f"{title} {run[name]:.4f}" for name, title in MEASURES.items()]
    return ", ".join([*shown, f"{run['seconds']:.0f} s"])


def arguments(texts: Sequence[str]) -> argparse.Namespace:
    """Return what the words of a command line ask for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", nargs="+", choices=list(WORLDS), default=list(WORLDS))
    parser.add_argument("--seeds", type=int, default=5, help="how many, from 0")
    parser.add_argument("--folds", nargs="+", choices=list(FOLDINGS), default=list(FOLDINGS))
    parser.add_argument("--out", type=Path, default=RESULTS / CLEAN_LABELS, help="the result file")
    parser.add_argument("--again", action="store_true", help="forget what the file holds")
    asked = parser.parse_args(texts)
    if asked.seeds < 1:
        parser.error("--seeds is at least 1")
    return asked


if __name__ == "__main__":
    sys.exit(main())
