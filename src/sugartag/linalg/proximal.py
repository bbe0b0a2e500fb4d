"""Proximal steps: soft thresholds of entries and of singular values.

Singular values are thresholded on a whole matrix, or on one that is only known by what it does to
a few columns: then a randomised subspace is refined, with one BLAS thread and double precision,
so that the same generator gives the same numbers on any machine load.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from threadpoolctl import threadpool_limits

from sugartag._typing import FloatArray, SparseRows

SMALLEST_SHARE = 1e-9
"""Singular values below this share of the largest are 0 but for rounding."""


def singular_start(
    matrix: SparseRows, rank: int, *, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return rows x r and columns x r whose product is the best of that rank, r at most ``rank``.

    Each has the square roots of the singular values. Directions that the matrix does not have
    are left out: their vectors would be made of rounding. One column stays in any case.
    """
    parts = largest_singular_parts(aslinearoperator(matrix), min(rank, *matrix.shape), rng=rng)
    kept = max(1, int(np.count_nonzero(parts.values > SMALLEST_SHARE * parts.values[0])))
    root = np.sqrt(parts.values[:kept])
    return parts.left[:, :kept] * root, parts.right[:, :kept] * root


OVERSAMPLING = 10
"""Columns of the random subspace beyond the singular values wanted."""


@dataclass(frozen=True, eq=False)
class SingularParts:
    """A matrix as ``left * values @ right.T``; values descend."""

    left: FloatArray
    """Rows x rank, orthonormal columns."""
    values: FloatArray
    right: FloatArray
    """Columns x rank, orthonormal columns."""

    @property
    def rank(self) -> int:
        """How many singular values there are."""
        return len(self.values)

    def matrix(self) -> FloatArray:
        """Return the whole matrix; for small ones."""
        made: FloatArray = (self.left * self.values) @ self.right.T
        return made

    def shrunk(self, threshold: float) -> "SingularParts":
        """Return the parts with every value lowered by the threshold, those left at 0 dropped."""
        kept = int(np.count_nonzero(self.values > threshold))
        return SingularParts(
            self.left[:, :kept], self.values[:kept] - threshold, self.right[:, :kept]
        )


def soft_threshold(values: FloatArray, threshold: float) -> FloatArray:
    """Move every value towards 0 by the threshold, and no further than 0."""
    shrunk: FloatArray = np.sign(values) * np.maximum(np.abs(values) - threshold, 0.0)
    return shrunk


def singular_parts(matrix: FloatArray) -> SingularParts:
    """Return all singular values and vectors of a matrix held in memory."""
    with threadpool_limits(1):
        left, values, right = np.linalg.svd(matrix.astype(np.float64), full_matrices=False)
    return _signed(left, values, right.T)


def largest_singular_parts(
    operator: LinearOperator,
    rank: int,
    *,
    rng: np.random.Generator,
    power_steps: int = 2,
    start: FloatArray | None = None,
) -> SingularParts:
    """Return about the ``rank`` largest singular values and vectors of an operator.

    ``start``, columns x any, holds directions to begin with, such as the right vectors of a
    matrix nearby: they make a step or none enough. Each power step is two products with a block
    of rank + 10 columns; a matrix of lower rank than that is found exactly.
    """
    width = min(rank + OVERSAMPLING, *operator.shape)
    with threadpool_limits(1):
        known = np.empty((operator.shape[1], 0)) if start is None else start[:, :width]
        drawn = rng.standard_normal((operator.shape[1], width - known.shape[1]))
        basis = _orthonormal(operator.matmat(np.hstack([known, drawn])))
        for _ in range(power_steps):
            basis = _orthonormal(operator.rmatmat(basis))
            basis = _orthonormal(operator.matmat(basis))
        inner, values, right = np.linalg.svd(operator.rmatmat(basis).T, full_matrices=False)
        left = basis @ inner
    kept = min(rank, width)
    return _signed(left[:, :kept], values[:kept], right[:kept].T)


def threshold_singular_values(matrix: FloatArray, threshold: float) -> SingularParts:
    """Return the proximal step of ``threshold`` times the nuclear norm at a matrix."""
    return singular_parts(matrix).shrunk(threshold)


def threshold_largest_singular_values(
    operator: LinearOperator,
    threshold: float,
    *,
    max_rank: int,
    rng: np.random.Generator,
    power_steps: int = 2,
    start: FloatArray | None = None,
) -> SingularParts:
    """Return the same step for an operator, cut off at a rank.

    As many singular values are looked for as ``start`` has directions, and a few more; if all
    found exceed the threshold, twice as many, up to ``max_rank``. The step is exact, up to how
    well the subspace was found, where no more than ``max_rank`` values exceed the threshold.
    """
    most = min(max_rank, *operator.shape)
    rank = min(most, OVERSAMPLING + (0 if start is None else start.shape[1]))
    while True:
        found = largest_singular_parts(
            operator, rank, rng=rng, power_steps=power_steps, start=start
        )
        if rank == most or found.values[-1] <= threshold:
            return found.shrunk(threshold)
        rank, start = min(2 * rank, most), found.right


def _orthonormal(columns: FloatArray) -> FloatArray:
    basis: FloatArray = np.linalg.qr(columns)[0]
    return basis


def _signed(left: FloatArray, values: FloatArray, right: FloatArray) -> SingularParts:
    """Settle signs: the largest entry of each left vector is positive."""
    place = np.abs(left).argmax(axis=0)
    sign = np.where(left[place, np.arange(left.shape[1])] < 0, -1.0, 1.0)
    return SingularParts(left * sign, values, right * sign)
