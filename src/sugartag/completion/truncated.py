"""The completion problem with a truncated basis of the tags, and a bound of what that costs.

T² has squared eigenvalues s. The eigenvectors U of some are kept; the s of all others, which lie
between (1 - δ) s̄ and (1 + δ) s̄, are taken for s̄. What is left of B without U is then a system of
the same strength for every tag, and is solved in the tags as they are:

    A = U M(s)⁻¹ UᵀB + M(s̄)⁻¹ (B - U UᵀB)

Which eigenvectors are kept is what makes δ smallest: the others' s are next to each other.

With e = ⟨B, M(s̄)⁻¹B⟩ of what is left, the objective of A is above the lowest by at most
δ² e / (1 - δ). For let E be the difference of the two operators, -δM̃ ≤ E ≤ δM̃ and
(1 - δ) M̃ ≤ M: the residual B - MA is EA, and ⟨EA, M⁻¹EA⟩ ≤ ⟨EA, M̃⁻¹EA⟩ / (1 - δ)
≤ δ² ⟨A, M̃A⟩ / (1 - δ).
"""

from dataclasses import dataclass

import numpy as np

from sugartag._typing import BoolArray, FloatArray
from sugartag.completion.component import ComponentSystem
from sugartag.completion.problem import AnchorSums, CompletionProblem
from sugartag.completion.slabs import Keep, SlabSums, Solved, solve_slabs
from sugartag.completion.tag_basis import TagBasis
from sugartag.linalg.modes import column_chunks, require_contiguous
from sugartag.linalg.threads import run_parts


@dataclass(frozen=True, eq=False)
class TruncatedBasis:
    """Some eigenvectors of T, and what stands for all others."""

    vectors: FloatArray
    """U: tags x kept ones."""
    strengths: FloatArray
    """s of those kept, float64."""
    rest: float
    """s̄."""
    spread: float
    """δ."""

    @classmethod
    def of(cls, whole: TagBasis, kept: int) -> "TruncatedBasis":
        """Keep this many eigenvectors of T; the others are one at least."""
        strengths = whole.values**2
        chosen, rest, spread = _outside_the_narrowest(strengths, kept)
        return cls(whole.vectors(chosen), strengths[chosen], rest, spread)

    def part(self, tensor: FloatArray, *, threads: int = 1) -> FloatArray:
        """Return ``UᵀB``, and leave ``B - U UᵀB`` in the place of B."""
        require_contiguous(tensor)
        leading = np.empty((len(self.strengths), *tensor.shape[1:]), dtype=tensor.dtype)
        flat, flat_leading = tensor.reshape(len(tensor), -1), leading.reshape(len(leading), -1)

        def take(columns: slice) -> None:
            piece = self.vectors.T @ flat[:, columns]
            flat[:, columns] -= self.vectors @ piece
            flat_leading[:, columns] = piece

        run_parts(take, column_chunks(flat.shape[1]), threads)
        return leading

    def join(self, tensor: FloatArray, leading: FloatArray, *, threads: int = 1) -> None:
        """Add U times the components kept to a tensor, in place."""
        require_contiguous(tensor)
        flat, flat_leading = tensor.reshape(len(tensor), -1), leading.reshape(len(leading), -1)

        def add(columns: slice) -> None:
            flat[:, columns] += self.vectors @ flat_leading[:, columns]

        run_parts(add, column_chunks(flat.shape[1]), threads)


@dataclass(frozen=True)
class Truncated:
    """How the two parts of a right-hand side were solved, and what follows for the whole."""

    kept: Solved
    rest: Solved
    spread: float
    """δ."""

    @property
    def explained(self) -> float:
        """By so much at least the objective of A is below that of 0."""
        return self.kept.explained + (1.0 - self.spread) * self.rest.explained

    @property
    def gap(self) -> float:
        """By so much at most the objective of A is above the lowest; infinite if δ is 1."""
        return self._times(self.spread**2)

    @property
    def most_explained(self) -> float:
        """By so much at most the lowest objective is below that of 0."""
        return self.kept.explained + self._times(1.0)

    @property
    def steps(self) -> int:
        """The most conjugate-gradient steps any component took."""
        return max(self.kept.steps, self.rest.steps)

    @property
    def converged(self) -> bool:
        """Whether all components were solved as exactly as asked."""
        return self.kept.converged and self.rest.converged

    def _times(self, share: float) -> float:
        if self.spread >= 1.0:
            return float("inf")
        return share / (1.0 - self.spread) * self.rest.explained


@dataclass(frozen=True, eq=False)
class TruncatedSolver:
    """Solves ``MA = B`` for any right-hand side, but for what the truncation leaves out."""

    problem: CompletionProblem
    tags: TruncatedBasis
    system: ComponentSystem

    @classmethod
    def of(cls, problem: CompletionProblem, kept: int) -> "TruncatedSolver":
        """Find the bases, keeping this many eigenvectors of the tags."""
        tags = TruncatedBasis.of(problem.tag_basis, kept)
        return cls(problem, tags, ComponentSystem.of(problem))

    def solve_in_place(self, tensor: FloatArray) -> Truncated:
        """Turn B into A."""
        leading = self.tags.part(tensor, threads=self.problem.threads)
        solved = self._solve(leading, tensor, self._in_place(leading), self._in_place(tensor))
        self.tags.join(tensor, leading, threads=self.problem.threads)
        return solved

    def sums_in_place(self, tensor: FloatArray) -> tuple[AnchorSums, Truncated]:
        """Return the sums of A; B is spent."""
        leading = self.tags.part(tensor, threads=self.problem.threads)
        kept, rest = SlabSums.of(leading), SlabSums.of(tensor)
        solved = self._solve(leading, tensor, kept.keeping(self.system), rest.keeping(self.system))
        vectors = self.tags.vectors.astype(np.float64)
        by_image = rest.by_image + vectors @ kept.by_image
        by_user = rest.by_user + vectors @ kept.by_user
        return AnchorSums(by_image.T, by_user.T), solved

    def _solve(
        self, leading: FloatArray, others: FloatArray, keep_leading: Keep, keep_others: Keep
    ) -> Truncated:
        same = np.full(len(others), self.tags.rest)
        return Truncated(
            solve_slabs(self.problem, self.system, leading, self.tags.strengths, keep_leading),
            solve_slabs(self.problem, self.system, others, same, keep_others),
            self.tags.spread,
        )

    def _in_place(self, components: FloatArray) -> Keep:
        def keep(slab: slice, turned: FloatArray) -> None:
            components[slab] = self.system.turned_back(turned)

        return keep


def _outside_the_narrowest(strengths: FloatArray, kept: int) -> tuple[BoolArray, float, float]:
    """Tell which to keep so that the others are most alike; also their middle and spread."""
    order = np.argsort(strengths, kind="stable")
    ordered, left = strengths[order], len(strengths) - kept
    low, high = ordered[: kept + 1], ordered[left - 1 :]
    spread = (high - low) / np.maximum(high + low, np.finfo(np.float64).tiny)
    first = int(spread.argmin())
    chosen = np.ones(len(strengths), dtype=bool)
    chosen[order[first : first + left]] = False
    return chosen, float(0.5 * (high[first] + low[first])), float(spread[first])
