"""Linear classifiers of many concepts at once: logistic regression and ridge classification.

Both learn from the same inputs with the same penalty for every concept, so that what costs most,
the products of inputs with each other or with weights, is done for all concepts in one go. They
minimise what scikit-learn's ``LogisticRegression`` and ``RidgeClassifier`` minimise.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.special import expit

from sugartag._typing import BoolArray, FloatArray

PRECISION = np.float32
"""Of logistic regression: its rankings are the same in double precision, in twice the time."""
NEWTON_STEPS = 30
INNER_STEPS = 40
"""Conjugate gradients in one Newton step, at most."""
INNER_ACCURACY = 0.1
"""Of a Newton step: the residual that is left, relative to the gradient."""
ACCURACY = 1e-5
"""A concept is done when another step would lower its loss by less, for each image."""
HALVINGS = 12


@dataclass(frozen=True, eq=False)
class Axes:
    """Inputs in the directions in which they vary independently, and a last one of all ones.

    A penalty of the squared length of the weights is the same there, and so are the predictions;
    but the second derivatives of the loss are nearly diagonal.
    """

    mean: FloatArray
    turn: FloatArray
    """Inputs x directions."""
    size: FloatArray
    """Sum of squares in each direction; of the ones, the number of images."""

    @classmethod
    def of(cls, inputs: FloatArray) -> "Axes":
        """Return the directions of some images x inputs."""
        mean = inputs.mean(axis=0)
        size, turn = linalg.eigh((inputs - mean).T @ (inputs - mean))
        return cls(mean, turn, np.append(np.maximum(size, 0.0), float(len(inputs))))

    def turned(self, inputs: FloatArray) -> FloatArray:
        """Return images x directions, the ones last."""
        return np.hstack([(inputs - self.mean) @ self.turn, np.ones((len(inputs), 1))])

    def penalised(self, penalty: float) -> FloatArray:
        """Return the penalty in each direction: none for the intercept."""
        return np.append(np.full(len(self.size) - 1, penalty), 0.0)


def ridge_scores(
    inputs: FloatArray, labels: BoolArray, others: FloatArray, penalties: Sequence[float]
) -> list[FloatArray]:
    """Return what ridge regression of +1 and -1 says of other images, for each penalty."""
    axes = Axes.of(inputs)
    turned, wanted = axes.turned(others), np.where(labels, 1.0, -1.0)
    cross = axes.turned(inputs).T @ wanted
    found: list[FloatArray] = []
    for penalty in penalties:
        divisor = axes.size + axes.penalised(penalty)
        # A direction without any variance has no cross product either.
        weights = cross / np.maximum(divisor, np.finfo(np.float64).tiny)[:, None]
        found.append(turned @ weights)
    return found


def logistic_scores(
    inputs: FloatArray, labels: BoolArray, others: FloatArray, penalties: Sequence[float]
) -> list[FloatArray]:
    """Return the probabilities of other images by logistic regression, for each penalty.

    A penalty is one divided by scikit-learn's C. Solved from the largest to the smallest, each from
    the one before. A concept that all images have, or none, keeps its share.
    """
    axes = Axes.of(inputs)
    turned, rows = axes.turned(others), axes.turned(inputs).astype(PRECISION)
    share = labels.mean(axis=0)
    mixed = np.flatnonzero((share > 0) & (share < 1))
    start = np.zeros((rows.shape[1], len(mixed)), dtype=PRECISION)
    start[-1] = np.log(share[mixed]) - np.log1p(-share[mixed])
    found: dict[float, FloatArray] = {}
    for penalty in sorted(set(penalties), reverse=True):
        start = newton(rows, labels[:, mixed], axes, penalty, start)
        found[penalty] = np.tile(share, (len(others), 1))
        found[penalty][:, mixed] = expit(turned @ start)
    return [found[penalty] for penalty in penalties]


def newton(
    rows: FloatArray, labels: BoolArray, axes: Axes, penalty: float, start: FloatArray
) -> FloatArray:
    """Return the weights, directions x concepts, that minimise the penalised logistic loss.

    Everything is computed in the precision of the rows.
    """
    weights = start.copy()
    size = axes.size[:, None].astype(rows.dtype)
    penalised = axes.penalised(penalty)[:, None].astype(rows.dtype)
    left = np.arange(labels.shape[1])
    for _ in range(NEWTON_STEPS):
        here, wanted = weights[:, left], labels[:, left].astype(rows.dtype)
        margin = rows @ here
        chance = expit(margin)
        gradient = rows.T @ (chance - wanted) + penalised * here
        slope = chance * (1.0 - chance)
        step = newton_step(rows, slope, gradient, size, penalised)
        gain = -np.einsum("ij,ij->j", gradient, step)
        weights[:, left] = here + step * _lengths(
            margin, rows @ step, wanted, here, step, penalised
        )
        left = left[gain > 2.0 * ACCURACY * len(rows)]
        if not len(left):
            break
    return weights


def newton_step(
    rows: FloatArray,
    slope: FloatArray,
    gradient: FloatArray,
    size: FloatArray,
    penalised: FloatArray,
) -> FloatArray:
    """Return each concept's step to where its gradient would end, by conjugate gradients.

    They start from a diagonal: the second derivatives if all images had the same slope.
    """
    scale = np.maximum(size * slope.mean(axis=0) + penalised, np.finfo(slope.dtype).tiny)
    step, residual = np.zeros_like(gradient), -gradient
    direction = residual / scale
    agreement = np.einsum("ij,ij->j", residual, direction)
    enough = INNER_ACCURACY**2 * agreement
    for _ in range(INNER_STEPS):
        curved = rows.T @ (slope * (rows @ direction)) + penalised * direction
        bend = np.einsum("ij,ij->j", direction, curved)
        going = (agreement > enough) & (bend > 0)
        if not going.any():
            break
        pace = np.where(going, agreement / np.where(going, bend, 1), 0)
        step += pace * direction
        residual -= pace * curved
        eased = residual / scale
        before, agreement = agreement, np.einsum("ij,ij->j", residual, eased)
        kept = np.where(going, agreement / np.where(going, before, 1), 0)
        direction = eased + kept * direction
    return step


def _lengths(
    margin: FloatArray,
    change: FloatArray,
    wanted: FloatArray,
    weights: FloatArray,
    step: FloatArray,
    penalised: FloatArray,
) -> FloatArray:
    """Return how much of its step each concept can go without its loss rising; 0 if nothing."""

    def loss(length: FloatArray) -> FloatArray:
        moved = margin + length * change
        size = np.square(weights + length * step) * penalised
        each = np.logaddexp(moved.dtype.type(0), moved) - wanted * moved
        found: FloatArray = each.sum(axis=0, dtype=np.float64)
        found += 0.5 * size.sum(axis=0, dtype=np.float64)
        return found

    length = np.ones(margin.shape[1], dtype=margin.dtype)
    before = loss(np.zeros_like(length))
    for _ in range(HALVINGS):
        rising = loss(length) > before
        if not rising.any():
            return length
        length = np.where(rising, length / 2, length)
    return np.where(loss(length) > before, 0, length)
