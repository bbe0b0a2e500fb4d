"""The paper's multiplicative update (eq. 12.1), and the positive start it needs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sugartag._typing import FloatArray, SparseRows
from sugartag.completion.problem import Completion, CompletionProblem
from sugartag.linalg.modes import inner
from sugartag.linalg.threads import run_parts

SMALLEST_ENTRY = 1e-12
"""Entries are held above this: smaller ones turn into denormals, which halve the speed."""
SMALLEST_DIVISOR = 1e-30


def disturbed_start(
    prior: SparseRows,
    shape: tuple[int, ...],
    *,
    rng: np.random.Generator,
    dtype: type,
    size: float = 1e-2,
    signed: bool = False,
) -> FloatArray:
    """Return A₀ + E: the anchors' own tags, disturbed by at most ``size``.

    A ``signed`` E has mean zero, as the paper's. A multiplicative update never changes a sign, so
    the negative entries of such a start stay for ever and the objective may rise. Otherwise E is
    above zero everywhere. It never leaves zero either: without E nothing would be completed.
    """
    start: FloatArray = np.empty(shape, dtype=dtype)
    # A tag at a time: the numbers come in the same order, without a tensor of doubles.
    for tag, part in enumerate(start):
        drawn = 1.0 - rng.random(part.shape)
        disturbed = size * (2.0 * drawn - 1.0 if signed else drawn)
        disturbed += prior[[tag]].toarray().reshape(part.shape)
        part[...] = disturbed
    return start


def complete_multiplicatively(
    problem: CompletionProblem,
    start: FloatArray,
    *,
    max_iterations: int,
    tolerance: float,
    consume: bool = False,
    after_update: Callable[[], None] = lambda: None,
) -> Completion:
    """Minimise over non-negative tensors by the paper's update; the objective never rises.

    Stops when the objective changes by less than ``tolerance``, relative to itself. With
    ``consume`` the start's array becomes the tensor; otherwise a copy of it does. A start with
    negative entries is updated too, as the paper's would be: they stay negative, nothing is held
    above zero, and the objective may rise.
    """
    if start.shape != problem.shape:
        raise ValueError(f"the start has shape {start.shape} and must have {problem.shape}")
    smallest = SMALLEST_ENTRY if start.min() > 0 else None
    terms = UpdateTerms.of(problem, start.dtype)
    tensor = start if consume else start.copy()
    applied = np.empty_like(start)
    objectives: list[float] = []
    converged = False
    while len(objectives) < max_iterations and not converged:
        objectives.append(update(problem, terms, tensor, applied, smallest))
        after_update()
        converged = len(objectives) > 1 and (
            abs(objectives[-2] - objectives[-1]) <= tolerance * abs(objectives[-2])
        )
    iterations = len(objectives)
    objectives.append(problem.objective_of(tensor, problem.operator(tensor, applied)))
    return Completion(
        tensor=tensor,
        objectives=tuple(objectives),
        iterations=iterations,
        converged=converged,
        residual=float("nan"),
        gap=float("nan"),
    )


@dataclass(frozen=True, eq=False)
class UpdateTerms:
    """The matrices of the update, with their weights, in the tensor's precision."""

    image_gram: FloatArray
    user_gram: FloatArray
    image_down: FloatArray
    user_down: FloatArray
    image_up: FloatArray
    user_up: FloatArray

    @classmethod
    def of(cls, problem: CompletionProblem, kind: np.dtype[Any]) -> "UpdateTerms":
        """Take the matrices of a problem."""
        images, users, weights = problem.images, problem.users, problem.penalties
        ridge = problem.diagonal_weight * np.eye(len(images.gram))
        return cls(
            image_gram=images.gram.astype(kind),
            user_gram=users.gram.astype(kind),
            image_down=(weights.image_smoothness * images.degree + ridge).astype(kind),
            user_down=(weights.user_smoothness * users.degree).astype(kind),
            image_up=(weights.image_smoothness * images.smoothed).astype(kind),
            user_up=(weights.user_smoothness * users.smoothed).astype(kind),
        )


def update(
    problem: CompletionProblem,
    terms: UpdateTerms,
    tensor: FloatArray,
    applied: FloatArray,
    smallest: float | None = SMALLEST_ENTRY,
) -> float:
    """Update a tensor in place by eq. 12.1, and return the objective it had before.

    ``applied`` is room for A ×₁ TᵀT. The objective comes for free from the update's own terms.
    Entries of a positive tensor are held above ``smallest``; None is for one with negative entries.
    """
    problem.tags_applied_twice(tensor, out=applied)

    def update_slab(slab: slice) -> float:
        part, target = tensor[slab], problem.target[slab]
        down = terms.image_gram @ (applied[slab] @ terms.user_gram)
        down += terms.image_down @ part
        down += part @ terms.user_down
        up = terms.image_up @ part
        up += part @ terms.user_up
        objective = inner(part, down - up) - 2.0 * inner(part, target)
        up += target
        if smallest is None:
            down[np.abs(down) < SMALLEST_DIVISOR] = SMALLEST_DIVISOR
        else:
            np.maximum(down, SMALLEST_DIVISOR, out=down)
        up /= down
        part *= up
        if smallest is not None:
            np.maximum(part, smallest, out=part)
        return objective

    return problem.constant + sum(run_parts(update_slab, problem.slabs(), problem.threads))
