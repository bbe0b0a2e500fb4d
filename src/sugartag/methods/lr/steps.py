"""The convex problem of LR and its accelerated proximal gradient, factored throughout.

With D the tags given, images x tags, the problem is

    min μ |A|_* + τ |E|_1 + 1/2 |D - A - E|² + a/2 tr(A' L_I A) + b/2 tr(A L_T A').

For a given A the best E is known, the soft threshold of D - A by τ. Put in, it leaves a convex
function of A alone, smooth but for the nuclear norm, with the same minimiser; its gradient needs
E only at the point it is taken. A is held as singular parts, E is sparse, and the matrix whose
singular values are thresholded is never formed: it is known by its products with a few columns.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator
from threadpoolctl import threadpool_limits

from sugartag._typing import FloatArray, SparseRows
from sugartag.engine.base import Block, Engine, row_blocks, steps
from sugartag.errors import CapacityError
from sugartag.linalg.proximal import (
    SingularParts,
    largest_singular_parts,
    soft_threshold,
    threshold_largest_singular_values,
)

ROWS_AT_ONCE = 1024
"""Images whose errors are found in one step; with 5,000 tags it takes 40 MB."""
MOST_ERRORS = 200_000_000
"""Errors held at most: 2.4 GB."""
POWER_STEPS = 1
"""Refinements of the subspace a step; it starts from that of the step before."""
DESCENT = 0.7
"""What μ is multiplied by each step, from where A is 0 down to its own value."""


@dataclass(frozen=True, eq=False)
class LowRankProblem:
    """The tags given, how images and tags are linked, and what everything costs."""

    given: SparseRows
    """D: images x tags, float64."""
    image_roughness: SparseRows
    """L_I, symmetric."""
    tag_roughness: SparseRows
    """L_T, symmetric."""
    nuclear_weight: float
    """μ."""
    error_threshold: float
    """τ = μ λ1."""
    image_smoothness: float
    """a = μ λ2."""
    tag_smoothness: float
    """b = μ λ2."""

    @property
    def steepness(self) -> float:
        """The Lipschitz constant of the gradient, from Gershgorin's bound on the Laplacians."""
        rough = self.image_smoothness * _largest_row(self.image_roughness)
        return 1.0 + rough + self.tag_smoothness * _largest_row(self.tag_roughness)


@dataclass(frozen=True, eq=False)
class Product:
    """A matrix images x tags of low rank, as ``images @ tags.T``."""

    images: FloatArray
    tags: FloatArray


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The low-rank part found, and how it was found."""

    parts: SingularParts
    """A; left vectors are of images, right vectors of tags."""
    iterations: int
    change: float
    """How much the last step changed A, relatively."""


def minimised(
    problem: LowRankProblem,
    *,
    max_rank: int,
    max_iterations: int,
    tolerance: float,
    engine: Engine,
    rng: np.random.Generator,
) -> Decomposition:
    """Return the minimiser by accelerated proximal gradient, restarted where it overshoots."""
    parts = before = _nothing(problem)
    weight = problem.error_threshold * largest_singular_value(problem.given, rng=rng)
    momentum, change = 1.0, math.inf
    for iteration in steps(engine, "splitting off errors", max_iterations):
        weight = max(DESCENT * weight, problem.nuclear_weight)
        grown = (1.0 + math.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        point = extrapolated(parts, before, (momentum - 1.0) / grown)
        errors = find_errors(point, problem, engine=engine)
        before, parts = (
            parts,
            threshold_largest_singular_values(
                gradient_step(point, errors, problem),
                weight / problem.steepness,
                max_rank=max_rank,
                rng=rng,
                power_steps=POWER_STEPS,
                start=_directions(parts),
            ),
        )
        with threadpool_limits(1):
            overshoots = _turned_back(point, parts, before)
            change = _relative_change(parts, before)
        momentum = 1.0 if overshoots else grown
        if weight == problem.nuclear_weight and change <= tolerance:
            return Decomposition(parts, iteration + 1, change)
    return Decomposition(parts, max_iterations, change)


def extrapolated(parts: SingularParts, before: SingularParts, share: float) -> Product:
    """Return A + share (A - A before)."""
    if share == 0.0:
        return product_of(parts)
    images = [parts.left * ((1.0 + share) * parts.values), before.left * (-share * before.values)]
    return Product(np.hstack(images), np.hstack([parts.right, before.right]))


def product_of(parts: SingularParts) -> Product:
    """Return singular parts as a product."""
    return Product(parts.left * parts.values, parts.right)


def find_errors(point: Product, problem: LowRankProblem, *, engine: Engine) -> SparseRows:
    """Return E, the soft threshold of D - A at a point; raise if it would not be sparse."""
    n_images = problem.given.shape[0]
    blocks = row_blocks(n_images, ROWS_AT_ONCE)
    parts: list[SparseRows] = []
    n_errors = 0
    for part in engine.map(find_block_errors, blocks, point, problem):
        n_errors += part.nnz
        if n_errors > MOST_ERRORS:
            raise CapacityError(
                f"lr has more than {MOST_ERRORS} errors at error_threshold "
                f"{problem.error_threshold:g}; raise error_threshold or nuclear_share"
            )
        parts.append(part)
    return sparse.csr_array(sparse.vstack(parts, format="csr"))


def find_block_errors(block: Block, point: Product, problem: LowRankProblem) -> SparseRows:
    """Return the errors of one block of images."""
    left = problem.given[block].toarray()
    left -= point.images[block] @ point.tags.T
    return sparse.csr_array(soft_threshold(left, problem.error_threshold))


def gradient_step(point: Product, errors: SparseRows, problem: LowRankProblem) -> LinearOperator:
    """Return the point less its gradient over the steepness, by its products with columns."""
    wrong = sparse.csr_array(errors - problem.given)
    wrong_by_tag = wrong.T.tocsr()
    rough_images = problem.image_smoothness * problem.image_roughness
    rough_tags = problem.tag_smoothness * problem.tag_roughness
    size = 1.0 / problem.steepness

    def times(columns: FloatArray) -> FloatArray:
        plain = point.images @ (point.tags.T @ columns)
        slope = plain + wrong @ columns + rough_images @ plain
        slope += point.images @ (point.tags.T @ (rough_tags @ columns))
        made: FloatArray = plain - size * slope
        return made

    def transposed_times(columns: FloatArray) -> FloatArray:
        plain = point.tags @ (point.images.T @ columns)
        slope = plain + wrong_by_tag @ columns + rough_tags @ plain
        slope += point.tags @ (point.images.T @ (rough_images @ columns))
        made: FloatArray = plain - size * slope
        return made

    return LinearOperator(
        shape=problem.given.shape,
        matvec=times,
        rmatvec=transposed_times,
        matmat=times,
        rmatmat=transposed_times,
        dtype=np.float64,
    )


def _largest_row(roughness: SparseRows) -> float:
    sums = np.asarray(abs(roughness).sum(axis=1)).ravel()
    return float(sums.max(initial=0.0))


def largest_singular_value(given: SparseRows, *, rng: np.random.Generator) -> float:
    """Return about the largest singular value of a sparse matrix."""
    by_column = given.T.tocsr()
    operator = LinearOperator(
        shape=given.shape,
        matvec=given.__matmul__,
        rmatvec=by_column.__matmul__,
        matmat=given.__matmul__,
        rmatmat=by_column.__matmul__,
        dtype=np.float64,
    )
    return float(largest_singular_parts(operator, 1, rng=rng).values[0])


def _nothing(problem: LowRankProblem) -> SingularParts:
    n_images, n_tags = problem.given.shape
    return SingularParts(np.empty((n_images, 0)), np.empty(0), np.empty((n_tags, 0)))


def _directions(parts: SingularParts) -> FloatArray | None:
    return parts.right if parts.rank else None


def _inner(left: Product, right: Product) -> float:
    return float(np.vdot(left.images.T @ right.images, left.tags.T @ right.tags))


def _turned_back(point: Product, parts: SingularParts, before: SingularParts) -> bool:
    """Tell whether the step goes against the momentum: <Y - A, A - A before> > 0."""
    new, old = product_of(parts), product_of(before)
    against = _inner(point, new) - _inner(point, old) - _inner(new, new) + _inner(new, old)
    return against > 0


def _relative_change(parts: SingularParts, before: SingularParts) -> float:
    new, old = product_of(parts), product_of(before)
    squared = _inner(new, new) - 2 * _inner(new, old) + _inner(old, old)
    size = float(np.linalg.norm(parts.values))
    return math.sqrt(max(squared, 0.0)) / size if size > 0 else 0.0
