"""The unconstrained minimiser of the completion problem.

In the eigenbasis of T the tags part: every component t is a system of its own,
``s_t X A Y + R_I A + A R_U = B_t`` (R_I and R_U with their weights, α+β within R_I), as large as
images x users only. It is solved by conjugate gradients in the eigenbases of X and Y. The
preconditioner leaves out nothing but what R_U mixes between users: for each user direction j it
solves ``(s_t y_j X + R_I + r_j) a = b`` exactly, in bases that make X and ``R_I + r_j`` diagonal
at once. A few steps are then enough, and the preconditioner may work in single precision.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from sugartag._typing import FloatArray
from sugartag.completion.problem import Completion, CompletionProblem
from sugartag.linalg.modes import apply_to_tags, inner
from sugartag.linalg.threads import run_parts

SLICE_TOLERANCE = 1e-8
"""Relative residual at which one tag component is done."""
MAX_STEPS = 500
BIN_RATIO = 2.0
"""User directions whose shifts r_j differ by no more than this share a basis."""


def complete_exactly(problem: CompletionProblem) -> Completion:
    """Return the tensor with the lowest objective of all; entries may be negative."""
    solver = ExactSolver.of(problem)
    tensor, steps = solver.solve(problem.target)
    applied = problem.operator(tensor)
    objective = problem.objective_of(tensor, applied)
    applied -= problem.target
    residual = float(np.linalg.norm(applied)) / max(float(np.linalg.norm(problem.target)), 1e-300)
    return Completion(
        tensor=tensor,
        objectives=(objective,),
        iterations=steps,
        converged=steps < MAX_STEPS,
        residual=residual,
        gap=float("nan"),
    )


@dataclass(frozen=True, eq=False)
class _SharedBasis:
    """A basis W of images with WᵀXW diagonal and Wᵀ(R_I + r)W the identity, in float32."""

    users: slice
    """The user directions it serves."""
    basis: FloatArray
    weights: FloatArray
    """The diagonal of WᵀXW."""


@dataclass(frozen=True, eq=False)
class ExactSolver:
    """Solves ``MA = B`` for any right-hand side, after one factorisation of the parts."""

    problem: CompletionProblem
    tag_basis: FloatArray
    tag_weights: FloatArray
    """s: the eigenvalues of TᵀT."""
    image_basis: FloatArray
    image_weights: FloatArray
    """The eigenvalues of X."""
    user_basis: FloatArray
    """The eigenvectors of Y, by rising r_j."""
    user_weights: FloatArray
    """y: the eigenvalues of Y in that order."""
    image_rough: FloatArray
    """λ₁ R_I + (α+β) in the image basis."""
    user_rough: FloatArray
    """λ₂ R_U in the user basis."""
    shared_bases: tuple[_SharedBasis, ...]

    @classmethod
    def of(cls, problem: CompletionProblem) -> "ExactSolver":
        """Find the bases in which the problem is nearly diagonal."""
        weights = problem.penalties
        tag_values, tag_basis = np.linalg.eigh(problem.tag_affinity.toarray())
        image_values, image_basis = np.linalg.eigh(problem.images.gram)
        user_values, user_basis = np.linalg.eigh(problem.users.gram)
        image_rough = weights.image_smoothness * _rotated(problem.images.roughness, image_basis)
        image_rough += problem.diagonal_weight * np.eye(len(image_values))
        user_rough = weights.user_smoothness * _rotated(problem.users.roughness, user_basis)
        by_shift = np.argsort(np.diag(user_rough), kind="stable")
        image_values = np.maximum(image_values, 0.0)
        shifts = np.maximum(np.diag(user_rough)[by_shift], 0.0)
        kind = problem.target.dtype
        return cls(
            problem=problem,
            tag_basis=tag_basis.astype(kind),
            tag_weights=(tag_values**2).astype(kind),
            image_basis=image_basis.astype(kind),
            image_weights=image_values.astype(kind),
            user_basis=user_basis[:, by_shift].astype(kind),
            user_weights=np.maximum(user_values[by_shift], 0.0).astype(kind),
            image_rough=image_rough.astype(kind),
            user_rough=user_rough[np.ix_(by_shift, by_shift)].astype(kind),
            shared_bases=_shared_bases(image_values, image_rough, shifts, problem.diagonal_weight),
        )

    def solve(self, target: FloatArray) -> tuple[FloatArray, int]:
        """Return A, and the most conjugate-gradient steps any component took."""
        tensor, threads = np.empty_like(target), self.problem.threads
        into_basis = np.ascontiguousarray(self.tag_basis.T)
        apply_to_tags((into_basis,), target, tensor, threads=threads)

        def solve_slab(slab: slice) -> int:
            # Images first: every product with a matrix is then one large GEMM.
            rotated = self._by_image(self.image_basis.T, tensor[slab].transpose(1, 0, 2))
            solved, steps = self._conjugate_gradients(
                rotated @ self.user_basis, self.tag_weights[slab]
            )
            back = self._by_image(self.image_basis, solved) @ self.user_basis.T
            tensor[slab] = back.transpose(1, 0, 2)
            return steps

        steps = run_parts(solve_slab, self.problem.slabs(), threads)
        apply_to_tags((self.tag_basis,), tensor, tensor, threads=threads)
        return tensor, max(steps)

    def _conjugate_gradients(
        self, target: FloatArray, tag_weights: FloatArray
    ) -> tuple[FloatArray, int]:
        """Solve some components at once; each has its own step lengths.

        Arrays are images x tag components x users, in the rotated bases.
        """
        strength = tag_weights[:, None] * self.user_weights
        leading = self.image_weights[:, None, None] * strength
        goal = SLICE_TOLERANCE * _norms(target)
        solution = self._preconditioned(target, strength)
        residual = target - self._applied(solution, leading)
        scaled = self._preconditioned(residual, strength)
        direction = scaled.copy()
        energy = _dots(residual, scaled)
        steps = 0
        while steps < MAX_STEPS and (_norms(residual) > goal).any():
            steps += 1
            image = self._applied(direction, leading)
            length = _ratio(energy, _dots(direction, image))
            solution += length * direction
            image *= length
            residual -= image
            scaled = self._preconditioned(residual, strength)
            energy, previous = _dots(residual, scaled), energy
            direction *= _ratio(energy, previous)
            direction += scaled
        return solution, steps

    def _applied(self, tensor: FloatArray, leading: FloatArray) -> FloatArray:
        found = self._by_image(self.image_rough, tensor)
        found += tensor @ self.user_rough
        found += leading * tensor
        return found

    def _preconditioned(self, tensor: FloatArray, strength: FloatArray) -> FloatArray:
        """Solve the system without what R_U mixes between user directions."""
        found = np.empty_like(tensor)
        weak = strength.astype(np.float32)
        for shared in self.shared_bases:
            part = tensor[:, :, shared.users].astype(np.float32)
            part = self._by_image(shared.basis.T, part)
            part /= 1.0 + shared.weights[:, None, None] * weak[:, shared.users]
            found[:, :, shared.users] = self._by_image(shared.basis, part)
        return found

    @staticmethod
    def _by_image(matrix: FloatArray, tensor: FloatArray) -> FloatArray:
        """Multiply the image mode, here the first one, by a matrix."""
        return (matrix @ tensor.reshape(len(tensor), -1)).reshape(tensor.shape)


def _shared_bases(
    image_weights: FloatArray, image_rough: FloatArray, shifts: FloatArray, smallest: float
) -> tuple[_SharedBasis, ...]:
    """Make one basis for each run of user directions with about the same shift."""
    level = np.floor(np.log(1.0 + shifts / smallest) / np.log(BIN_RATIO))
    starts = np.flatnonzero(np.diff(level, prepend=-1.0))
    bases = []
    for start, stop in zip(starts, [*starts[1:], len(shifts)], strict=True):
        shifted = image_rough + np.median(shifts[start:stop]) * np.eye(len(image_rough))
        weights, basis = linalg.eigh(np.diag(image_weights), shifted)
        bases.append(
            _SharedBasis(
                slice(int(start), int(stop)),
                basis.astype(np.float32),
                np.maximum(weights, 0.0).astype(np.float32),
            )
        )
    return tuple(bases)


def _rotated(matrix: FloatArray, basis: FloatArray) -> FloatArray:
    return basis.T @ matrix @ basis


def _dots(left: FloatArray, right: FloatArray) -> FloatArray:
    dots: FloatArray = np.einsum("itj,itj->t", left, right, dtype=np.float64)
    return dots[:, None]


def _norms(tensor: FloatArray) -> FloatArray:
    norms: FloatArray = np.sqrt(_dots(tensor, tensor))
    return norms


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """Divide, giving 0 where a component has already converged to nothing."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def lower_bound_gap(solver: ExactSolver, tensor: FloatArray, half_gradient: FloatArray) -> float:
    """Return how far Θ(A) can be above its minimum over non-negative tensors.

    With ``g = MA - B`` and A ≥ 0 the Lagrangian dual at multipliers ``max(g, 0)`` gives
    ``Θ(A) - Θ* ≤ 2⟨A, g⁺⟩ + ⟨g⁻, M⁻¹ g⁻⟩``: one exact solve certifies the answer.
    """
    positive = np.maximum(half_gradient, 0.0)
    negative = positive - half_gradient
    correction, _ = solver.solve(negative)
    return 2.0 * inner(tensor, positive) + inner(negative, correction)
