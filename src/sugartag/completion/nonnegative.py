"""The minimiser over non-negative tensors, by accelerated projection, with a certified gap."""

import numpy as np

from sugartag._typing import FloatArray
from sugartag.completion.exact import ExactSolver, lower_bound_gap
from sugartag.completion.problem import Completion, CompletionProblem
from sugartag.linalg.modes import inner

STEPS_PER_CHECK = 20


def complete_nonnegatively(
    problem: CompletionProblem,
    *,
    max_iterations: int,
    gap_tolerance: float,
) -> Completion:
    """Minimise over non-negative tensors until the gap is below ``gap_tolerance``, relative.

    A second road to what the multiplicative update seeks: projected gradients with Nesterov's
    extrapolation, restarted when it overshoots, from the exact minimiser's positive part. The
    gap is a proof and not an estimate: see :func:`lower_bound_gap`.
    """
    solver = ExactSolver.of(problem)
    step = 1.0 / largest_eigenvalue_bound(solver)
    tensor = np.maximum(solver.solve(problem.target)[0], 0.0)
    ahead, momentum = tensor.copy(), 1.0
    applied = problem.operator(tensor)
    objectives = [problem.objective_of(tensor, applied)]
    gap = np.inf
    iterations = 0
    while iterations < max_iterations:
        iterations += 1
        slope = problem.operator(ahead)
        slope -= problem.target
        moved = np.maximum(ahead - step * slope, 0.0)
        if inner(slope, moved - tensor) > 0:  # uphill: forget the momentum
            ahead, momentum = tensor.copy(), 1.0
            continue
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        ahead = moved + ((momentum - 1.0) / following) * (moved - tensor)
        tensor, momentum = moved, following
        if iterations % STEPS_PER_CHECK == 0:
            objective, gap = _certified(problem, solver, tensor)
            objectives.append(objective)
            if gap <= gap_tolerance:
                break
    if not np.isfinite(gap) or iterations % STEPS_PER_CHECK:
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


def largest_eigenvalue_bound(solver: ExactSolver) -> float:
    """Return a number that no eigenvalue of M exceeds."""
    leading = solver.tag_weights.max() * solver.image_weights.max() * solver.user_weights.max()
    rough = np.linalg.norm(solver.image_rough, 2) + np.linalg.norm(solver.user_rough, 2)
    return float(leading + rough)


def _certified(
    problem: CompletionProblem, solver: ExactSolver, tensor: FloatArray
) -> tuple[float, float]:
    applied = problem.operator(tensor)
    objective = problem.objective_of(tensor, applied)
    applied -= problem.target
    gap = lower_bound_gap(solver, tensor, applied)
    return objective, gap / max(abs(objective - gap), 1e-300)
