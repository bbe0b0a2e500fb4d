"""The same completion as one convex problem: nuclear norm, logistic loss, the matrix as a whole.

Fixed-point continuation: a gradient step on the loss, a soft threshold of the singular values,
the last row set back to 1; the weight of the nuclear norm falls by a quarter step after step down
to its final value. The matrix is dense, so this is for small collections.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from sugartag._typing import FloatArray
from sugartag.errors import CapacityError
from sugartag.linalg.proximal import singular_parts, threshold_singular_values
from sugartag.methods.nmc.factors import Factors, Weights

LARGEST_PROBLEM = 20_000_000
"""Cells of the matrix at most: above, a singular value decomposition takes minutes a step."""
CONTINUATION = 0.25
"""What the weight of the nuclear norm is multiplied by from one stage to the next."""
SPREAD = 4.0
"""How far apart the targets of given and absent tags are, 2 and -2."""
SMALLEST_SHARE = 1e-9
"""Singular values below this share of the largest are rounding."""


@dataclass(frozen=True, eq=False)
class ConvexProblem:
    """What is observed of Z = [map; tags; ones], one column an image."""

    mapped: FloatArray
    """Landmarks x images."""
    sign: FloatArray
    """Tags x images: 1 where the tag was given, -1 where it was not."""
    weight: FloatArray
    """Tags x images: how much each sign weighs; their sum is |O_Y|."""
    tag_weight: float
    """lambda: what the tags count beside the features."""

    @property
    def step(self) -> float:
        """tau: a step length at which the gradient step cannot overshoot."""
        return float(min(3.8 * self.weight.sum() / self.tag_weight, self.mapped.size))

    def gradient(self, completed: FloatArray) -> FloatArray:
        """Return the gradient of the loss; 0 in the row of ones."""
        n_mapped = len(self.mapped)
        found = np.zeros_like(completed)
        found[:n_mapped] = (completed[:n_mapped] - self.mapped) / self.mapped.size
        margin = self.sign * completed[n_mapped:-1]
        share = self.tag_weight / self.weight.sum()
        found[n_mapped:-1] = -share * self.weight * self.sign * expit(-margin)
        return found

    def objective(self, completed: FloatArray, nuclear_weight: float) -> float:
        """Return the loss plus the nuclear norm's part."""
        n_mapped = len(self.mapped)
        off = completed[:n_mapped] - self.mapped
        margin = self.sign * completed[n_mapped:-1]
        logs = float(np.sum(self.weight * np.logaddexp(0.0, -margin)))
        norm = float(np.linalg.svd(completed, compute_uv=False).sum())
        loss = 0.5 * float(np.vdot(off, off)) / self.mapped.size
        return loss + self.tag_weight * logs / float(self.weight.sum()) + nuclear_weight * norm


def check_size(n_landmarks: int, n_tags: int, n_images: int) -> None:
    """Raise if the matrix is too large to be completed as a whole."""
    cells = (n_landmarks + n_tags + 1) * n_images
    if cells > LARGEST_PROBLEM:
        raise CapacityError(
            f"nmc setting solver is convex, which needs a matrix of {cells:,} numbers, more than "
            f"{LARGEST_PROBLEM:,}; choose solver=factored"
        )


@dataclass(frozen=True, eq=False)
class Completed:
    """The completed matrix and the weight of the nuclear norm it was completed with."""

    matrix: FloatArray
    nuclear_weight: float


def complete_convex(
    problem: ConvexProblem,
    *,
    nuclear_weight: float,
    max_iterations: int,
    tolerance: float,
) -> Completed:
    """Complete the matrix by fixed-point continuation.

    ``nuclear_weight`` is relative: a weight of 1 is where the completed matrix would be empty,
    the largest singular value of the gradient at 0. Each stage of the continuation ends at
    ``max_iterations`` steps or when a step changes the matrix by less than ``tolerance``.
    """
    shape = (len(problem.mapped) + len(problem.sign) + 1, problem.mapped.shape[1])
    completed: FloatArray = np.zeros(shape)
    first = float(singular_parts(problem.gradient(completed)).values[0])
    completed[-1] = 1.0
    stage, last = CONTINUATION * first, nuclear_weight * first
    while True:
        stage = max(stage, last)
        completed = _stage(problem, completed, stage, max_iterations, tolerance)
        if stage <= last:
            return Completed(completed, last)
        stage *= CONTINUATION


def _stage(
    problem: ConvexProblem,
    completed: FloatArray,
    nuclear_weight: float,
    max_iterations: int,
    tolerance: float,
) -> FloatArray:
    """Repeat gradient step and threshold with one weight of the nuclear norm."""
    for _ in range(max_iterations):
        moved = completed - problem.step * problem.gradient(completed)
        following = threshold_singular_values(moved, problem.step * nuclear_weight).matrix()
        following[-1] = 1.0
        change = float(np.linalg.norm(following - completed))
        completed = following
        if change <= tolerance * max(1.0, float(np.linalg.norm(completed))):
            break
    return completed


@dataclass(frozen=True, eq=False)
class LatentSpace:
    """A completed matrix as factors, in which new images can be solved for by a ridge."""

    factors: Factors
    images: FloatArray
    """Images x rank."""
    map_centre: FloatArray
    """The mean of the completed map: what remains is explained by the factors."""
    weights: Weights


def latent_space(problem: ConvexProblem, completed: Completed) -> LatentSpace:
    """Return the factors of the completed matrix, its tags moved from -2..2 to 0..1.

    The logistic loss is bounded by -m/2 + m^2/8: least squares towards 2 for a given tag and -2
    for an absent one, with weight 1/4. That bound is what new images are solved with.
    """
    n_mapped, mean = len(problem.mapped), completed.matrix[:-1].mean(axis=1)
    parts = singular_parts(completed.matrix[:-1] - mean[:, None])
    parts = parts.shrunk(SMALLEST_SHARE * float(parts.values[0]))
    root = np.sqrt(parts.values)
    both, given_weight = parts.left * root, 4.0 * problem.tag_weight / float(problem.weight.sum())
    return LatentSpace(
        factors=Factors(
            both[:n_mapped], both[n_mapped:] / SPREAD, (mean[n_mapped:] + SPREAD / 2) / SPREAD
        ),
        images=parts.right * root,
        map_centre=mean[:n_mapped],
        weights=Weights(
            feature=1.0 / (problem.mapped.size * given_weight),
            absence=1.0,
            ridge=completed.nuclear_weight / given_weight,
        ),
    )


def as_shares(predicted: FloatArray) -> FloatArray:
    """Return the probabilities that belong to tags predicted in the latent space."""
    return np.asarray(expit(SPREAD * predicted - SPREAD / 2))
