"""Logistic regressions of many chances on the same rows, all with the same penalty.

What costs most, the products of rows with weights, is done for many regressions at once. Each has
conjugate gradients of its own (Polak and Ribière), begun again whenever they would not descend,
and looks for the lowest point along its direction by itself: for a rare thing the second
derivatives at the start say nothing about those at the end, and a Newton step goes far too far.
"""

import numpy as np

from sugartag._typing import FloatArray
from sugartag.engine.base import row_blocks
from sugartag.linalg.compiled import compiled, read_only
from sugartag.linalg.threads import run_parts

COLUMNS_AT_ONCE = 256
"""Regressions worked on together: with fewer, products take longer."""
LEAST_SHARE = 1e-5
"""A chance that is hardly ever above 0 begins with this share."""
FARTHEST = 4.0
"""Times the first guess of how far to go along a direction, at most."""
TINY = np.float64(1e-30)


def logistic_weights(
    rows: FloatArray,
    chances: FloatArray,
    penalty: float,
    steps: int,
    *,
    known: FloatArray | None = None,
    threads: int = 1,
) -> FloatArray:
    """Return inputs x columns: the weights after so many steps, float32.

    ``rows`` are images x inputs, the last of which is 1 and bears no penalty; ``chances`` are
    images x columns, from 0 to 1. ``known`` are log odds that are known without the inputs: what
    weights say is added to them.
    """
    rows = np.ascontiguousarray(rows, dtype=np.float32)
    size = np.einsum("ij,ij->j", rows, rows, dtype=np.float64).astype(np.float32)
    penalties = np.append(np.full(rows.shape[1] - 1, penalty), 0.0).astype(np.float32)
    found = np.empty((rows.shape[1], chances.shape[1]), dtype=np.float32)

    def solve(columns: slice) -> None:
        wanted = np.ascontiguousarray(chances[:, columns], dtype=np.float32)
        start, margin = _start(rows, wanted, None if known is None else known[:, columns])
        problem = rows, wanted, size[:, None], penalties[:, None]
        found[:, columns] = _solved(*problem, start, margin, steps)

    run_parts(solve, row_blocks(chances.shape[1], COLUMNS_AT_ONCE), threads)
    return found


def _start(
    rows: FloatArray, wanted: FloatArray, known: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return the weights to begin with and what they say: all that is known, or else shares."""
    weights = np.zeros((rows.shape[1], wanted.shape[1]), dtype=np.float32)
    if known is not None:
        return weights, known.astype(np.float32)
    share = np.clip(wanted.mean(axis=0, dtype=np.float64), LEAST_SHARE, 1.0 - LEAST_SHARE)
    weights[-1] = np.log(share) - np.log1p(-share)
    return weights, rows @ weights


def _solved(
    rows: FloatArray,
    wanted: FloatArray,
    size: FloatArray,
    penalty: FloatArray,
    weights: FloatArray,
    margin: FloatArray,
    steps: int,
) -> FloatArray:
    """Return weights after so many steps from those given, which say ``margin``; both change."""
    wanted, energy = read_only(wanted), np.ones(wanted.shape[1])
    direction, gradient = np.zeros_like(weights), np.zeros_like(weights)
    for _ in range(steps):
        chance = chances_at(margin.copy())
        before, previous = gradient, energy
        gradient = rows.T @ (chance - wanted) + penalty * weights
        slope = np.maximum(mean_slopes(read_only(chance)), TINY).astype(np.float32)
        scaled = gradient / (size * slope + penalty)
        energy = np.einsum("ij,ij->j", gradient, scaled, dtype=np.float64)
        change = energy - np.einsum("ij,ij->j", before, scaled, dtype=np.float64)
        kept = np.maximum(change / np.maximum(previous, TINY), 0.0).astype(np.float32)
        direction = kept * direction - scaled
        moved = rows @ direction
        length = _lengths(margin, moved, chance, wanted, weights, direction, penalty)
        weights += length * direction
        moved *= length
        margin += moved
    return weights


def _lengths(
    margin: FloatArray,
    moved: FloatArray,
    chance: FloatArray,
    wanted: FloatArray,
    weights: FloatArray,
    direction: FloatArray,
    penalty: FloatArray,
) -> FloatArray:
    """Return how far to go along each direction: about to where the loss is lowest.

    The slope of the loss rises along a direction. A Newton step that falls short is followed by
    another, one that goes too far by where a straight line between the slopes is 0.
    """
    pull = np.einsum("ij,ij->j", penalty * weights, direction, dtype=np.float64)
    stiff = np.einsum("ij,ij->j", penalty * direction, direction, dtype=np.float64)
    along = wanted, read_only(moved)
    first, bend = slopes_along(read_only(chance), *along)
    start = first + pull
    downhill = start < 0
    guess = np.where(downhill, -start / np.maximum(bend + stiff, TINY), 0.0)
    there = chances_at(margin + guess.astype(np.float32) * moved)
    first, bend = slopes_along(read_only(there), *along)
    slope = first + pull + guess * stiff
    between = guess * start / np.minimum(start - slope, -TINY)
    beyond = np.minimum(guess - slope / np.maximum(bend + stiff, TINY), FARTHEST * guess)
    found = np.where(downhill, np.where(slope > 0, between, beyond), 0.0)
    return found.astype(np.float32)


def chances_at(margin: FloatArray) -> FloatArray:
    """Turn margins, in place, into chances: NumPy's exponentials go many numbers at a time."""
    with np.errstate(over="ignore"):
        np.negative(margin, out=margin)
        np.exp(margin, out=margin)
    margin += np.float32(1)
    return np.reciprocal(margin, out=margin)


@compiled
def mean_slopes(chance: FloatArray) -> FloatArray:
    """Return of each column the mean of p (1 - p)."""
    found = np.zeros(chance.shape[1])
    for row in range(chance.shape[0]):
        for column in range(chance.shape[1]):
            found[column] += chance[row, column] * (np.float32(1) - chance[row, column])
    return found / max(len(chance), 1)


@compiled
def slopes_along(
    chance: FloatArray, wanted: FloatArray, moved: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the first and second derivative of each column's loss along its direction."""
    first, second = np.zeros(chance.shape[1]), np.zeros(chance.shape[1])
    for row in range(chance.shape[0]):
        for column in range(chance.shape[1]):
            here, move = chance[row, column], moved[row, column]
            first[column] += (here - wanted[row, column]) * move
            second[column] += here * (np.float32(1) - here) * move * move
    return first, second
