"""The solvers of SUGAR-TC by themselves, on one completion problem."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sugartag._typing import FloatArray, SparseRows
from sugartag.collection.store import open_collection
from sugartag.collection.subset import without_truth
from sugartag.completion import (
    Completion,
    CompletionProblem,
    complete_exactly,
    complete_multiplicatively,
    complete_nonnegatively,
    disturbed_start,
)
from sugartag.completion.multiplicative import UpdateTerms, update
from sugartag.engine import LocalEngine
from sugartag.evaluation.cost import Meter
from sugartag.evaluation.protocol import method_rng
from sugartag.methods.settings import with_settings
from sugartag.methods.sugar_tc import SugarTC
from sugartag.methods.sugar_tc.stages import build_graph, build_problem

WARM_UP = 1
FEWEST_UPDATES = 3
"""That are timed, after the warm-up."""
NONNEGATIVE_STEPS, NONNEGATIVE_GAP = 320, 1e-4

TRUNCATED = "exact, truncated"
Found = dict[str, Any]


def update_work(asks: Mapping[str, Any], folder: Path) -> Found:
    """Set the problem up and time single updates, as many as fit into the seconds allowed.

    Three tensors are held, as in a fit: B, A and A ×₁ TᵀT.
    """
    with Meter() as setup:
        problem, prior, rng = _problem(asks, folder)
        tensor = _start(problem, prior, rng)
        terms, room = UpdateTerms.of(problem, tensor.dtype), np.empty_like(tensor)
    times: list[float] = []
    objectives: list[float] = []
    with Meter() as updating:
        began = time.perf_counter()
        while not _enough(len(times), time.perf_counter() - began, asks):
            started = time.perf_counter()
            # What it had before: one update more than asked tells what the last one gave.
            objectives.append(update(problem, terms, tensor, room))
            times.append(time.perf_counter() - started)
    return {
        "setup_seconds": setup.seconds,
        "update_seconds": times[WARM_UP:],
        "median_update_seconds": float(np.median(times[WARM_UP:])),
        "updates": len(times) - 1,
        "objectives": objectives,
        "objective": objectives[-1],
        "shape": list(problem.shape),
        "seconds": setup.seconds + updating.seconds,
        "cpu_seconds": setup.cpu_seconds + updating.cpu_seconds,
        "before_mb": setup.before_anonymous_mb,
        "peak_rss_mb": max(setup.peak_rss_mb, updating.peak_rss_mb),
        "peak_anonymous_mb": max(setup.peak_anonymous_mb, updating.peak_anonymous_mb),
    }


def solver_work(asks: Mapping[str, Any], folder: Path) -> Found:
    """Set the problem up and solve it once."""
    with Meter() as setup:
        problem, prior, rng = _problem(asks, folder)
    start, measured = None, None
    if asks["solver"] == TRUNCATED:
        # It states what its objective is at most; what it is takes a target that is still there.
        done = complete_exactly(problem, tag_components=asks["tag_components"])
        measured = None if done.tensor is None else problem.objective(done.tensor)
        del done
    if asks["solver"] == "multiplicative":
        start = disturbed_start(prior, problem.shape, rng=rng, dtype=np.float64)
    with Meter() as solving:
        done = _SOLVERS[asks["solver"]](problem, start, asks)
    values = np.array(done.objectives)
    return {
        "setup_seconds": setup.seconds,
        "seconds": solving.seconds,
        "cpu_seconds": solving.cpu_seconds,
        "steps": done.iterations,
        "objective": float(values[-1]) if measured is None else measured,
        "stated_objective": float(values[-1]),
        "largest_rise": float((np.diff(values) / values[:-1]).max()) if len(values) > 1 else None,
        "relative_residual": finite(done.residual),
        "relative_gap": finite(done.gap),
        "shape": list(problem.shape),
        "peak_rss_mb": solving.peak_rss_mb,
        "peak_anonymous_mb": solving.peak_anonymous_mb,
    }


def _problem(
    asks: Mapping[str, Any], folder: Path
) -> tuple[CompletionProblem, SparseRows, np.random.Generator]:
    """Make the problem as a fit of the same seed makes it."""
    collection = without_truth(open_collection(folder, verify=False))
    engine, rng = LocalEngine(workers=asks["workers"]), method_rng(SugarTC.name, asks["seed"])
    settings: SugarTC = with_settings(SugarTC, asks["settings"])
    graph = build_graph(settings, collection, engine=engine, rng=rng)
    problem, prior = build_problem(settings, collection, graph, engine=engine)
    return problem, prior, rng


def _start(problem: CompletionProblem, prior: SparseRows, rng: np.random.Generator) -> FloatArray:
    """Make the start a slab of tags at a time: the same numbers, without double-precision room."""
    tensor, kind = np.empty_like(problem.target), problem.target.dtype.type
    for slab in problem.slabs():
        shape = tensor[slab].shape
        tensor[slab] = disturbed_start(prior[slab.start : slab.stop], shape, rng=rng, dtype=kind)
    return tensor


def _enough(updates: int, seconds: float, asks: Mapping[str, Any]) -> bool:
    if updates < WARM_UP + FEWEST_UPDATES:
        return False
    return bool(seconds >= asks["seconds"] or updates > asks["updates"])


def _exact(
    problem: CompletionProblem, start: FloatArray | None, asks: Mapping[str, Any]
) -> Completion:
    return complete_exactly(problem, consume=True)


def _truncated(
    problem: CompletionProblem, start: FloatArray | None, asks: Mapping[str, Any]
) -> Completion:
    return complete_exactly(problem, consume=True, tag_components=asks["tag_components"])


def _multiplicative(
    problem: CompletionProblem, start: FloatArray | None, asks: Mapping[str, Any]
) -> Completion:
    if start is None:
        raise ValueError("the multiplicative solver needs a start")
    return complete_multiplicatively(problem, start, max_iterations=asks["updates"], tolerance=-1.0)


def _nonnegative(
    problem: CompletionProblem, start: FloatArray | None, asks: Mapping[str, Any]
) -> Completion:
    return complete_nonnegatively(
        problem, max_iterations=NONNEGATIVE_STEPS, gap_tolerance=NONNEGATIVE_GAP
    )


def finite(value: float) -> float | None:
    """Return the number, or None where it is none that JSON has."""
    return value if np.isfinite(value) else None


_SOLVERS: Mapping[
    str, Callable[[CompletionProblem, FloatArray | None, Mapping[str, Any]], Completion]
] = {
    "exact": _exact,
    "multiplicative": _multiplicative,
    "nonnegative": _nonnegative,
    TRUNCATED: _truncated,
}
