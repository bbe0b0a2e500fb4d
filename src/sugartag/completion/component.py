"""The system of one tag component, ``s X A Y + R_I A + A R_U = B``, in bases that nearly part it.

One of the two modes is the *strong* one: the one whose regulariser R weighs more. It takes the
basis W of unit vectors, not orthogonal, in which its gram and its R are diagonal at once, w and h;
the other, the weak one, takes the orthonormal eigenvectors V of its gram, with eigenvalues y. With
the strong mode first, ``A = W Â Vᵀ`` and the system is

    (h_p + s w_p y_j) Â_pj + (G Â K)_pj = B̂_pj        G = WᵀW,  K = Vᵀ R_weak V,  B̂ = Wᵀ B V

Conjugate gradients solve it, preconditioned by its diagonal. Only what the weak regulariser mixes
is left to them, so a few steps are enough, and a step is two matrix products.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from sugartag._typing import FloatArray
from sugartag.completion.problem import CompletionProblem

MAX_STEPS = 500
TOLERANCES = {np.dtype(np.float64): 1e-8, np.dtype(np.float32): 1e-5}
"""Relative residual at which a component is done, by precision."""
DRIFT = 0.1
"""Of the residual aimed at, what the one kept by the steps may differ from the true one."""
PROBES = 8
"""Directions along which the two are compared."""
TIGHTER = 0.1
"""How much more is asked of the turned residual, each time the true one is not yet small enough."""


@dataclass(frozen=True, eq=False)
class ComponentSolution:
    """Some components solved, in the bases: components x strong x weak directions."""

    turned: FloatArray
    """Â."""
    explained: float
    """⟨A, B⟩ + ⟨A, B - MA⟩: by so much Θ(A) is below Θ(0)."""
    squared_residual: float
    """‖MA - B‖²."""
    steps: int
    converged: bool


@dataclass(frozen=True, eq=False)
class ComponentSystem:
    """The bases and the matrices of the system, which all components share."""

    strong_is_image: bool
    strong_basis: FloatArray
    """W."""
    strong_dual: FloatArray
    """W⁻ᵀ, which turns a residual back."""
    strong_weights: FloatArray
    """w."""
    strong_rough: FloatArray
    """h."""
    overlaps: FloatArray
    """G, with a diagonal of 1."""
    weak_basis: FloatArray
    """V."""
    weak_weights: FloatArray
    """y."""
    weak_rough: FloatArray
    """K."""
    probes: FloatArray
    """Weak directions x :data:`PROBES`, random signs."""
    tolerance: float

    @classmethod
    def of(cls, problem: CompletionProblem) -> "ComponentSystem":
        """Find the bases of a problem, in the precision of its target."""
        kind, weights = problem.target.dtype, problem.penalties
        image_rough = weights.image_smoothness * problem.images.roughness
        user_rough = weights.user_smoothness * problem.users.roughness
        by_image = (problem.images.gram, image_rough)
        by_user = (problem.users.gram, user_rough)
        strong_is_image = bool(_mean_weight(image_rough) >= _mean_weight(user_rough))
        strong, weak = (by_image, by_user) if strong_is_image else (by_user, by_image)
        return cls(
            strong_is_image=strong_is_image,
            tolerance=TOLERANCES[kind],
            **_strong_parts(*strong, problem.diagonal_weight, kind),
            **_weak_parts(*weak, kind),
        )

    def turned(self, tensor: FloatArray) -> FloatArray:
        """Return ``Wᵀ B V`` of components x images x users."""
        return self.strong_basis.T @ (self._strong_first(tensor) @ self.weak_basis)

    def turned_back(self, turned: FloatArray) -> FloatArray:
        """Return ``W Â Vᵀ`` as components x images x users."""
        return self._strong_first(self.strong_basis @ (turned @ self.weak_basis.T))

    def sums_of(self, turned: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``W Â Vᵀ`` summed over users and summed over images, without making it."""
        over_weak = (turned @ self.weak_basis.sum(axis=0)) @ self.strong_basis.T
        over_strong = (self.strong_basis.sum(axis=0) @ turned) @ self.weak_basis.T
        return (over_weak, over_strong) if self.strong_is_image else (over_strong, over_weak)

    def solve(self, target: FloatArray, strengths: FloatArray) -> ComponentSolution:
        """Solve some components, components x images x users, each of its own strength s."""
        goal = self.tolerance * _norms(target)
        turned_target = self.turned(target)
        turned_goal = self.tolerance * _norms(turned_target)
        leading = self.strong_weights[:, None] * self.weak_weights * strengths[:, None, None]
        leading += self.strong_rough[:, None]
        inverse = 1.0 / (leading + np.diag(self.weak_rough))
        solution, residual = self._start(turned_target, leading, inverse)
        steps, last = 0, np.full_like(goal, np.inf)
        while True:
            steps += self._improve(solution, residual, leading, inverse, turned_goal, steps)
            if self._drifted(solution, residual, turned_target, leading, turned_goal):
                np.subtract(turned_target, self._applied(solution, leading), out=residual)
            size = _norms(self.strong_dual @ residual)
            reached = size <= goal
            # Where precision is the limit, the residual no longer falls and never will.
            stuck = ~(size < 0.5 * last)
            if (reached | stuck).all() or steps >= MAX_STEPS:
                break
            turned_goal, last = turned_goal * TIGHTER, size
        return ComponentSolution(
            turned=solution,
            explained=float((_dots(solution, turned_target) + _dots(solution, residual)).sum()),
            squared_residual=float((size**2).sum()),
            steps=steps,
            converged=bool(reached.all()),
        )

    def _start(
        self, target: FloatArray, leading: FloatArray, inverse: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return where the steps begin, 0 or the answer if none are needed, and its residual."""
        if self.weak_rough.any():
            return np.zeros_like(target), target.copy()
        solution = target * inverse
        return solution, target - leading * solution

    def _improve(
        self,
        solution: FloatArray,
        residual: FloatArray,
        leading: FloatArray,
        inverse: FloatArray,
        goal: FloatArray,
        before: int,
    ) -> int:
        """Take conjugate-gradient steps, in place, and return how many."""
        kind, steps = solution.dtype, 0
        scaled = residual * inverse
        direction, energy = scaled.copy(), _dots(residual, scaled)
        while before + steps < MAX_STEPS and (_norms(residual) > goal).any():
            steps += 1
            image = self._applied(direction, leading)
            length = _ratio(energy, _dots(direction, image)).astype(kind)
            image *= length
            residual -= image
            np.multiply(direction, length, out=image)
            solution += image
            np.multiply(residual, inverse, out=scaled)
            energy, previous = _dots(residual, scaled), energy
            direction *= _ratio(energy, previous).astype(kind)
            direction += scaled
        return steps

    def _drifted(
        self,
        solution: FloatArray,
        residual: FloatArray,
        target: FloatArray,
        leading: FloatArray,
        goal: FloatArray,
    ) -> bool:
        """Tell whether the residual that the steps kept is no longer that of the solution.

        Compared along a few directions of random signs, of which the mean square difference is
        the square of the whole one, at a fiftieth of what making the residual anew costs.
        """
        along = self.probes
        found = (target - residual - leading * solution) @ along
        found -= self.overlaps @ (solution @ (self.weak_rough @ along))
        off = _norms(found) / np.sqrt(along.shape[1])
        return bool(not (off <= DRIFT * goal).all())

    def _applied(self, turned: FloatArray, leading: FloatArray) -> FloatArray:
        found: FloatArray = self.overlaps @ (turned @ self.weak_rough)
        found += leading * turned
        return found

    def _strong_first(self, tensor: FloatArray) -> FloatArray:
        """Swap images and users if users are the strong mode; its own inverse."""
        return tensor if self.strong_is_image else tensor.swapaxes(1, 2)


def _strong_parts(
    gram: FloatArray, rough: FloatArray, diagonal_weight: float, kind: np.dtype[Any]
) -> dict[str, FloatArray]:
    whole = rough + diagonal_weight * np.eye(len(gram))
    weights, basis = linalg.eigh(gram, whole)
    # Vectors of unit length, not of unit roughness: turned residuals are then about as long.
    lengths = np.linalg.norm(basis, axis=0)
    basis /= lengths
    inverse_rough = lengths**2
    return {
        "strong_basis": basis.astype(kind),
        "strong_dual": ((whole @ basis) * inverse_rough).astype(kind),
        "strong_weights": (np.maximum(weights, 0.0) / inverse_rough).astype(kind),
        "strong_rough": (1.0 / inverse_rough).astype(kind),
        "overlaps": (basis.T @ basis).astype(kind),
    }


def _weak_parts(gram: FloatArray, rough: FloatArray, kind: np.dtype[Any]) -> dict[str, FloatArray]:
    weights, basis = np.linalg.eigh(gram)
    return {
        "weak_basis": basis.astype(kind),
        "weak_weights": np.maximum(weights, 0.0).astype(kind),
        "weak_rough": (basis.T @ rough @ basis).astype(kind),
        "probes": _signs(len(gram)).astype(kind),
    }


def _signs(count: int) -> FloatArray:
    """Return random signs, the same ones for every problem of this size."""
    signs: FloatArray = np.random.default_rng(count).choice([-1.0, 1.0], size=(count, PROBES))
    return signs


def _mean_weight(rough: FloatArray) -> float:
    return float(np.trace(rough)) / len(rough)


def _dots(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the inner product of each component, in float64 but for the sum of a row."""
    rows: FloatArray = np.einsum("tij,tij->ti", left, right)
    sums: FloatArray = rows.sum(axis=1, dtype=np.float64)
    return sums[:, None, None]


def _norms(tensor: FloatArray) -> FloatArray:
    norms: FloatArray = np.sqrt(_dots(tensor, tensor))
    return norms


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """Divide, giving 0 where a component has already converged to nothing."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
