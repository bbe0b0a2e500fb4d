"""From evidence to the probability that tags belong, compiled: an image at a time.

The formulas are those of :mod:`belief`, for every tag of every image. An image's numbers stay in
the processor's cache while they are gone through several times, each time by a loop that is simple
enough to be compiled to vectors.
"""

from typing import NamedTuple

import numpy as np

from sugartag._typing import FloatArray, IntArray
from sugartag.linalg.compiled import compiled, fit_together, read_only
from sugartag.linalg.entries import Entries
from sugartag.methods.sugar_plus.belief import Belief

ONE = np.float32(1)


class Curve(NamedTuple):
    """What evidence means: see :class:`belief.Belief`. Float32, but for the steps."""

    low: np.float32
    per_step: np.float32
    steps: FloatArray
    """Where each step of the curve begins and by how much it rises: two numbers in single precision
    in the place of one in double precision, so that both are looked up at once."""
    recall: np.float32
    slips: FloatArray
    wrong: FloatArray
    """The share of unexplained uses that are wrong."""

    @classmethod
    def of(cls, belief: Belief, n_tags: int) -> "Curve":
        """Return the curve of a belief about so many tags."""
        by_tag = belief.slips.rate, belief.slips.wrong
        fit_together(all(len(part) == n_tags for part in by_tag) and len(belief.belongs) > 1)
        low, per_step, recall = map(np.float32, (belief.low, 1.0 / belief.step, belief.recall))
        begin = belief.belongs.astype(np.float32)
        steps = np.column_stack([begin[:-1], np.diff(begin)]).ravel().view(np.float64)
        slips, wrong = (read_only(part.astype(np.float32, copy=False)) for part in by_tag)
        return cls(low, per_step, read_only(steps), recall, slips, wrong)


@compiled
def believe(curve: Curve, said: FloatArray, given: Entries) -> None:
    """Turn what is said about images x tags, in place, into the probability that tags belong.

    ``given`` are the tags given, and how probably a habit stamps each on.
    """
    n_tags = len(curve.slips)
    prior = np.empty(n_tags, np.float32)
    step, found = np.empty(n_tags, np.int32), np.empty(n_tags, np.float64)
    for image in range(len(said)):
        evidence = said[image]
        _look_up(curve, evidence, step, found, prior)
        for tag in range(n_tags):
            missed = prior[tag] * (ONE - curve.recall)
            evidence[tag] = missed / ((ONE - prior[tag]) * (ONE - curve.slips[tag]) + missed)
        for entry in range(given.start[image], given.start[image + 1]):
            tag, habit = given.column[entry], given.value[entry]
            right = prior[tag] * (curve.recall + habit * (ONE - curve.recall))
            unexplained = curve.slips[tag] + habit * (ONE - curve.slips[tag])
            unexplained *= ONE - prior[tag]
            evidence[tag] = ONE - curve.wrong[tag] * (unexplained / (right + unexplained))


@compiled
def _look_up(
    curve: Curve, evidence: FloatArray, step: IntArray, found: FloatArray, prior: FloatArray
) -> None:
    """Write how probably each tag belongs by the evidence: where that is between two steps."""
    last = np.float32(len(curve.steps) - 0.001)
    for tag in range(len(prior)):
        prior[tag] = min(max((evidence[tag] - curve.low) * curve.per_step, np.float32(0)), last)
        step[tag] = np.int32(prior[tag])
    for tag in range(len(prior)):
        found[tag] = curve.steps[step[tag]]
    pair = found.view(np.float32)
    for tag in range(len(prior)):
        prior[tag] = pair[2 * tag] + (prior[tag] - np.float32(step[tag])) * pair[2 * tag + 1]
