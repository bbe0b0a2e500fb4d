"""The minimiser over non-negative tensors, to a certified gap."""

from collections.abc import Callable

import numpy as np

from sugartag._typing import FloatArray
from sugartag.completion.exact import ExactSolver, lower_bound_gap
from sugartag.completion.multiplicative import SMALLEST_ENTRY, UpdateTerms, update
from sugartag.completion.problem import Completion, CompletionProblem

FIRST_CHECK = 10
START_FLOOR = 0.1
"""The start's smallest entries, as a share of its mean size: a step never leaves zero."""


def complete_nonnegatively(
    problem: CompletionProblem,
    *,
    max_iterations: int,
    gap_tolerance: float,
    after_update: Callable[[], None] = lambda: None,
) -> Completion:
    """Minimise over non-negative tensors until the gap is below ``gap_tolerance``, relative.

    Another road than the paper's: from the positive part of the exact minimiser, by gradient
    steps in the diagonal metric that keeps them positive, with Nesterov's extrapolation,
    restarted when the objective rises. The gap is a proof and not an estimate (see
    :func:`lower_bound_gap`); it costs an exact solve, so it is taken at 10, 20, 40, ... steps.
    """
    solver = ExactSolver.of(problem)
    terms = UpdateTerms.of(problem, problem.target.dtype)
    tensor = _start(solver)
    ahead, momentum = tensor.copy(), 1.0
    room = np.empty_like(tensor)
    objectives = [problem.objective(tensor)]
    lowest, gap, check = np.inf, np.inf, FIRST_CHECK
    iterations = 0
    while iterations < max_iterations and gap > gap_tolerance:
        iterations += 1
        moved = ahead.copy()
        before = update(problem, terms, moved, room)
        after_update()
        if before > lowest and momentum > 1.0:  # extrapolated too far: start again from here
            ahead, momentum, lowest = tensor.copy(), 1.0, np.inf
        else:
            following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
            ahead = _extrapolated(moved, tensor, (momentum - 1.0) / following)
            tensor, momentum, lowest = moved, following, before
        if iterations == min(check, max_iterations):
            check *= 2
            objective, gap = _certified(problem, solver, tensor)
            objectives.append(objective)
    return Completion(
        tensor=tensor,
        objectives=tuple(objectives),
        iterations=iterations,
        converged=gap <= gap_tolerance,
        residual=float("nan"),
        gap=gap,
    )


def _start(solver: ExactSolver) -> FloatArray:
    exact = solver.problem.target.copy()
    solver.solve_in_place(exact)
    smallest = START_FLOOR * float(np.abs(exact).mean()) or 1.0
    return np.maximum(exact, smallest, out=exact)


def _extrapolated(new: FloatArray, old: FloatArray, by: float) -> FloatArray:
    ahead = new - old
    ahead *= by
    ahead += new
    return np.maximum(ahead, SMALLEST_ENTRY, out=ahead)


def _certified(
    problem: CompletionProblem, solver: ExactSolver, tensor: FloatArray
) -> tuple[float, float]:
    """Return the objective, and how far above the minimum it may be, relative to the minimum."""
    applied = problem.operator(tensor)
    objective = problem.objective_of(tensor, applied)
    applied -= problem.target
    gap = lower_bound_gap(solver, tensor, applied)
    return objective, gap / max(abs(objective - gap), 1e-300)
