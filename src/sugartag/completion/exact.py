"""The unconstrained minimiser of the completion problem.

In the eigenbasis of T the tags part: every component t is a system of its own, as large as images
x users only. :mod:`sugartag.completion.component` solves it. All is done in the place of the
right-hand side, so that one tensor and a few slabs are the memory it needs; where only the sums of
A over images and over users are wanted, A itself is never turned back.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sugartag._typing import FloatArray
from sugartag.completion.component import ComponentSystem
from sugartag.completion.problem import AnchorSums, Completion, CompletionProblem
from sugartag.completion.tag_basis import TagBasis
from sugartag.linalg.modes import inner
from sugartag.linalg.threads import run_parts


def complete_exactly(
    problem: CompletionProblem, *, consume: bool = False, sums_only: bool = False
) -> Completion:
    """Return the tensor with the lowest objective of all; entries may be negative.

    With ``consume`` the answer is made in the place of the problem's target, which the problem
    gives away (see :meth:`CompletionProblem.give_target`); otherwise in a copy. With ``sums_only``
    the completion has the tensor's sums but no tensor, for half the time.
    """
    solver = ExactSolver.of(problem)
    tensor = problem.give_target() if consume else problem.target.copy()
    sums, solved = None, None
    if sums_only:
        sums, solved = solver.sums_in_place(tensor)
    else:
        solved = solver.solve_in_place(tensor)
    return Completion(
        tensor=None if sums_only else tensor,
        sums=sums,
        objectives=(problem.constant - solved.explained,),
        iterations=solved.steps,
        converged=solved.converged,
        residual=solved.residual,
        gap=float("nan"),
    )


@dataclass(frozen=True)
class Solved:
    """How one right-hand side was solved."""

    explained: float
    """⟨A, B⟩ + ⟨A, B - MA⟩, which is ⟨B, M⁻¹B⟩ but for the residual's square."""
    residual: float
    """``‖MA - B‖ / ‖B‖``, measured anew in the turned bases when the steps had ended."""
    steps: int
    """The most conjugate-gradient steps any component took."""
    converged: bool


@dataclass(frozen=True, eq=False)
class ExactSolver:
    """Solves ``MA = B`` for any right-hand side, after one factorisation of the parts."""

    problem: CompletionProblem
    tags: TagBasis
    system: ComponentSystem

    @classmethod
    def of(cls, problem: CompletionProblem) -> "ExactSolver":
        """Find the bases in which the problem is nearly diagonal."""
        tags = TagBasis.of(problem.tag_affinity, problem.target.dtype)
        return cls(problem, tags, ComponentSystem.of(problem))

    def solve_in_place(self, tensor: FloatArray) -> Solved:
        """Turn B into A."""

        def keep(slab: slice, turned: FloatArray) -> None:
            tensor[slab] = self.system.turned_back(turned)

        solved = self._solve(tensor, keep)
        self.tags.turn_back(tensor, threads=self.problem.threads)
        return solved

    def sums_in_place(self, tensor: FloatArray) -> tuple[AnchorSums, Solved]:
        """Return the sums of A; B is spent."""
        n_tags, n_images, n_users = tensor.shape
        by_image, by_user = np.empty((n_tags, n_images)), np.empty((n_tags, n_users))

        def keep(slab: slice, turned: FloatArray) -> None:
            by_image[slab], by_user[slab] = self.system.sums_of(turned)

        solved = self._solve(tensor, keep)
        for sums in (by_image, by_user):
            self.tags.turn_back(sums, threads=self.problem.threads)
        return AnchorSums(by_image.T, by_user.T), solved

    def explain_in_place(self, tensor: FloatArray) -> Solved:
        """Return ⟨B, M⁻¹B⟩ only; B is spent."""

        def forget(slab: slice, turned: FloatArray) -> None:
            del slab, turned

        return self._solve(tensor, forget)

    def _solve(self, tensor: FloatArray, keep: Callable[[slice, FloatArray], None]) -> Solved:
        """Turn the tags of B, and hand over the solution of each slab of components."""
        threads, strengths = self.problem.threads, (self.tags.values**2).astype(tensor.dtype)
        squared_length = inner(tensor, tensor)
        self.tags.turn(tensor, threads=threads)

        def solve_slab(slab: slice) -> tuple[float, float, int, bool]:
            found = self.system.solve(tensor[slab], strengths[slab])
            keep(slab, found.turned)
            return found.explained, found.squared_residual, found.steps, found.converged

        slabs = run_parts(solve_slab, self.problem.slabs(), threads)
        explained, squared_residual, steps, converged = zip(*slabs, strict=True)
        return Solved(
            explained=sum(explained),
            residual=float(np.sqrt(sum(squared_residual) / max(squared_length, 1e-300))),
            steps=max(steps),
            converged=all(converged),
        )


def lower_bound_gap(solver: ExactSolver, tensor: FloatArray, half_gradient: FloatArray) -> float:
    """Return how far Θ(A) can be above its minimum over non-negative tensors.

    With ``g = MA - B`` and A ≥ 0 the Lagrangian dual at multipliers ``max(g, 0)`` gives
    ``Θ(A) - Θ* ≤ 2⟨A, g⁺⟩ + ⟨g⁻, M⁻¹ g⁻⟩``: one exact solve certifies the answer. The gradient is
    spent on it.
    """
    slack = inner(tensor, np.maximum(half_gradient, 0.0))
    negative = np.minimum(half_gradient, 0.0, out=half_gradient)
    return 2.0 * slack + solver.explain_in_place(negative).explained
