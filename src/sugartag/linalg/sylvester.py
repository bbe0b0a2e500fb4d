"""Sylvester equations A Z + Z B = R of symmetric matrices, dense or with a sparse graph.

Both matrices are positive semi-definite and at least one of them is definite, so there is one
solution. In the eigenbases of A and B the equation falls apart into one division an entry; with a
sparse A, in the eigenbasis of B, into one positive definite system a column.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from sugartag._typing import FloatArray, SparseRows

DENSE_LIMIT = 3_000
"""Largest graph whose eigenvectors are worth computing."""
SOLVE_TOLERANCE = 1e-10
"""Residual at which a column is solved, relative to its right-hand side."""
SMALL_COLUMN = 1e-6
"""A column shorter than this share of the longest is solved to the precision of that share."""
MAX_STEPS = 1_000
"""Conjugate-gradient steps at most."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The eigenvalues and eigenvectors of a symmetric matrix."""

    values: FloatArray
    vectors: FloatArray
    """One eigenvector a column."""

    @classmethod
    def of(cls, matrix: FloatArray | SparseRows) -> "Spectrum":
        """Decompose a symmetric positive semi-definite matrix; rounding below 0 is cut off."""
        dense = np.asarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())
        values, vectors = linalg.eigh(dense.astype(np.float64))
        return cls(np.maximum(values, 0.0), vectors)


def solve_sylvester(left: Spectrum, right: Spectrum, target: FloatArray) -> FloatArray:
    """Return Z of A Z + Z B = R, given A and B decomposed.

    No eigenvalue of A may add up to 0 with one of B.
    """
    turned = left.vectors.T @ target @ right.vectors
    turned /= left.values[:, None] + right.values[None, :]
    solution: FloatArray = left.vectors @ turned @ right.vectors.T
    return solution


@dataclass(frozen=True, eq=False)
class GraphSylvester:
    """Solves g L F + F B = R for one graph L and many B: what a smooth factor update asks for."""

    graph: SparseRows
    """L: symmetric, positive semi-definite, rows x rows."""
    spectrum: Spectrum | None
    """L decomposed, or None where it is too large: then conjugate gradients are used."""

    @classmethod
    def of(cls, graph: SparseRows, *, dense_limit: int = DENSE_LIMIT) -> "GraphSylvester":
        """Prepare a graph; decompose it if it has at most ``dense_limit`` rows."""
        is_small = graph.shape[0] <= dense_limit
        return cls(graph, Spectrum.of(graph) if is_small else None)

    def solve(
        self,
        strength: float,
        gram: FloatArray,
        target: FloatArray,
        *,
        start: FloatArray | None = None,
    ) -> FloatArray:
        """Return F of ``strength * L F + F gram = target``; ``gram`` is positive definite.

        ``start`` is a guess, used where the solution is iterated.
        """
        right = Spectrum.of(gram)
        if self.spectrum is None:
            return solve_by_gradients(self.graph, strength, right, target, start=start)
        left = Spectrum(strength * self.spectrum.values, self.spectrum.vectors)
        return solve_sylvester(left, right, target)


def solve_by_gradients(
    graph: SparseRows,
    strength: float,
    right: Spectrum,
    target: FloatArray,
    *,
    start: FloatArray | None = None,
    tolerance: float = SOLVE_TOLERANCE,
    max_steps: int = MAX_STEPS,
) -> FloatArray:
    """Return F of ``strength * L F + F B = target`` by conjugate gradients, B decomposed.

    All columns, turned into the eigenbasis of B, take their steps together, each with its own
    step length; one that is solved stands still. The diagonal is the preconditioner.
    """
    shift = right.values[None, :]
    goal = target @ right.vectors
    found = np.zeros_like(goal) if start is None else start @ right.vectors
    inverse = 1.0 / (strength * graph.diagonal()[:, None] + shift)
    residual = goal - _applied(graph, strength, shift, found)
    size = np.sqrt(_column_sums(goal, goal))
    # A column that is 0 but for rounding is solved when it is so beside the largest.
    limit = tolerance * np.maximum(size, SMALL_COLUMN * size.max(initial=0.0))
    scaled = inverse * residual
    direction = scaled.copy()
    energy = _column_sums(residual, scaled)
    for _ in range(max_steps):
        active = (np.sqrt(_column_sums(residual, residual)) > limit) & (energy > 0)
        if not active.any():
            break
        image = _applied(graph, strength, shift, direction)
        curvature = _column_sums(direction, image)
        step = np.where(active, energy, 0.0) / np.where(active, curvature, 1.0)
        found += step * direction
        residual -= step * image
        scaled = inverse * residual
        renewed = _column_sums(residual, scaled)
        direction = scaled + renewed / np.where(active, energy, 1.0) * active * direction
        energy = renewed
    solution: FloatArray = found @ right.vectors.T
    return solution


def _applied(graph: SparseRows, strength: float, shift: FloatArray, factor: FloatArray) -> Any:
    return strength * (graph @ factor) + shift * factor


def _column_sums(left: FloatArray, right: FloatArray) -> FloatArray:
    sums: FloatArray = np.einsum("ij,ij->j", left, right)
    return sums
