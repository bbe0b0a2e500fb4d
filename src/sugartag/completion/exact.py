"""The unconstrained minimiser of the completion problem.

In the eigenbasis of T the tags part: every component t is a system of its own, as large as images
x users only. :mod:`sugartag.completion.component` solves it. All is done in the place of the
right-hand side, so that one tensor and a few slabs are the memory it needs; where only the sums of
A over images and over users are wanted, A itself is never turned back.
"""

from dataclasses import dataclass

import numpy as np

from sugartag._typing import FloatArray
from sugartag.completion.component import ComponentSystem
from sugartag.completion.problem import AnchorSums, Completion, CompletionProblem
from sugartag.completion.slabs import Keep, SlabSums, Solved, solve_slabs
from sugartag.completion.tag_basis import TagBasis
from sugartag.completion.truncated import TruncatedSolver
from sugartag.linalg.modes import inner


def complete_exactly(
    problem: CompletionProblem,
    *,
    consume: bool = False,
    sums_only: bool = False,
    tag_components: int | None = None,
) -> Completion:
    """Return the tensor with the lowest objective of all; entries may be negative.

    With ``consume`` the answer is made in the place of the problem's target, which the problem
    gives away (see :meth:`CompletionProblem.give_target`); otherwise in a copy. With ``sums_only``
    the completion has the tensor's sums but no tensor, for half the time. With fewer
    ``tag_components`` than tags the basis of the tags is truncated
    (:mod:`sugartag.completion.truncated`), and ``gap`` bounds what that costs.
    """
    tensor = problem.give_target() if consume else problem.target.copy()
    if tag_components is not None and tag_components < len(tensor):
        return _truncated(problem, tensor, tag_components, sums_only=sums_only)
    squared_length = inner(tensor, tensor)
    solver, sums = ExactSolver.of(problem), None
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
        residual=float(np.sqrt(solved.squared_residual / max(squared_length, 1e-300))),
        gap=float("nan"),
    )


def _truncated(
    problem: CompletionProblem, tensor: FloatArray, tag_components: int, *, sums_only: bool
) -> Completion:
    solver, sums = TruncatedSolver.of(problem, tag_components), None
    if sums_only:
        sums, solved = solver.sums_in_place(tensor)
    else:
        solved = solver.solve_in_place(tensor)
    lowest = problem.constant - solved.most_explained
    return Completion(
        tensor=None if sums_only else tensor,
        sums=sums,
        objectives=(problem.constant - solved.explained,),
        iterations=solved.steps,
        converged=solved.converged,
        residual=float("nan"),
        gap=solved.gap / lowest if lowest > 0 else float("inf"),
    )


@dataclass(frozen=True, eq=False)
class ExactSolver:
    """Solves ``MA = B`` for any right-hand side, after one factorisation of the parts."""

    problem: CompletionProblem
    tags: TagBasis
    system: ComponentSystem

    @classmethod
    def of(cls, problem: CompletionProblem) -> "ExactSolver":
        """Find the bases in which the problem is nearly diagonal."""
        return cls(problem, problem.tag_basis, ComponentSystem.of(problem))

    def solve_in_place(self, tensor: FloatArray) -> Solved:
        """Turn B into A."""

        def keep(slab: slice, turned: FloatArray) -> None:
            tensor[slab] = self.system.turned_back(turned)

        solved = self._solve(tensor, keep)
        self.tags.turn_back(tensor, threads=self.problem.threads)
        return solved

    def sums_in_place(self, tensor: FloatArray) -> tuple[AnchorSums, Solved]:
        """Return the sums of A; B is spent."""
        sums = SlabSums.of(tensor)
        solved = self._solve(tensor, sums.keeping(self.system))
        for each in (sums.by_image, sums.by_user):
            self.tags.turn_back(each, threads=self.problem.threads)
        return AnchorSums(sums.by_image.T, sums.by_user.T), solved

    def explain_in_place(self, tensor: FloatArray) -> Solved:
        """Return ⟨B, M⁻¹B⟩ only; B is spent."""

        def forget(slab: slice, turned: FloatArray) -> None:
            del slab, turned

        return self._solve(tensor, forget)

    def _solve(self, tensor: FloatArray, keep: Keep) -> Solved:
        """Turn the tags of B, and hand over the solution of each slab of components."""
        self.tags.turn(tensor, threads=self.problem.threads)
        return solve_slabs(self.problem, self.system, tensor, self.tags.values**2, keep)


def lower_bound_gap(solver: ExactSolver, tensor: FloatArray, half_gradient: FloatArray) -> float:
    """Return how far Θ(A) can be above its minimum over non-negative tensors.

    With ``g = MA - B`` and A ≥ 0 the Lagrangian dual at multipliers ``max(g, 0)`` gives
    ``Θ(A) - Θ* ≤ 2⟨A, g⁺⟩ + ⟨g⁻, M⁻¹ g⁻⟩``: one exact solve certifies the answer. The gradient is
    spent on it.
    """
    slack = inner(tensor, np.maximum(half_gradient, 0.0))
    negative = np.minimum(half_gradient, 0.0, out=half_gradient)
    return 2.0 * slack + solver.explain_in_place(negative).explained
