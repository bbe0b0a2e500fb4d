"""Tag components that do not mix, solved a slab at a time."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sugartag._typing import FloatArray
from sugartag.completion.component import ComponentSystem
from sugartag.completion.problem import CompletionProblem
from sugartag.linalg.threads import run_parts

Keep = Callable[[slice, FloatArray], None]
"""Is given a slab and its answer in the bases of the system."""


@dataclass(frozen=True)
class Solved:
    """How some components were solved."""

    explained: float
    """⟨A, B⟩ + ⟨A, B - MA⟩, which is ⟨B, M⁻¹B⟩ but for the residual's square."""
    squared_residual: float
    """``‖MA - B‖²``, measured anew in the turned bases when the steps had ended."""
    steps: int
    """The most conjugate-gradient steps any component took."""
    converged: bool


def solve_slabs(
    problem: CompletionProblem,
    system: ComponentSystem,
    components: FloatArray,
    strengths: FloatArray,
    keep: Keep,
) -> Solved:
    """Solve components x images x users, each of its strength, and hand over each slab's answer."""
    kind = components.dtype

    def solve(slab: slice) -> tuple[float, float, int, bool]:
        found = system.solve(components[slab], strengths[slab].astype(kind))
        keep(slab, found.turned)
        return found.explained, found.squared_residual, found.steps, found.converged

    slabs = run_parts(solve, problem.slabs(len(components)), problem.threads)
    if not slabs:
        return Solved(0.0, 0.0, 0, True)
    explained, squared_residual, steps, converged = zip(*slabs, strict=True)
    return Solved(sum(explained), sum(squared_residual), max(steps), all(converged))


@dataclass(frozen=True, eq=False)
class SlabSums:
    """Room for the sums of components over users and over images."""

    by_image: FloatArray
    """Components x anchor images."""
    by_user: FloatArray
    """Components x anchor users."""

    @classmethod
    def of(cls, components: FloatArray) -> "SlabSums":
        """Make room for the sums of some components."""
        n, n_images, n_users = components.shape
        return cls(np.empty((n, n_images)), np.empty((n, n_users)))

    def keeping(self, system: ComponentSystem) -> Keep:
        """Return what keeps the sums of each slab's answer."""

        def keep(slab: slice, turned: FloatArray) -> None:
            self.by_image[slab], self.by_user[slab] = system.sums_of(turned)

        return keep
