"""From evidence to the probability that tags belong, compiled: an image at a time.

The formulas are those of :mod:`belief`, for every tag of every image.
"""

from typing import NamedTuple

import numpy as np

from sugartag._typing import FloatArray
from sugartag.linalg.compiled import compiled
from sugartag.linalg.entries import Entries

MOST_SLIPS = np.float32(0.95)
"""The most that slips and habits together can make of the probability that a tag is given."""


class Curve(NamedTuple):
    """What evidence means: see :class:`belief.Belief`. Float32."""

    low: np.float32
    per_step: np.float32
    belongs: FloatArray
    recall: np.float32
    slips: FloatArray


class Stamped(NamedTuple):
    """How probably a habit stamps tags on images."""

    unused: FloatArray
    """Of each image: any tag that its owner never used; float32."""
    used: Entries
    """Images x tags: those that the owner used."""


@compiled
def believe(curve: Curve, said: FloatArray, stamped: Stamped, given: Entries) -> None:
    """Turn what is said about images x tags, in place, into the probability that tags belong."""
    n_tags, one = len(curve.slips), np.float32(1)
    slips, prior = np.empty(n_tags, np.float32), np.empty(n_tags, np.float32)
    last = np.float32(len(curve.belongs) - 1.001)
    for image in range(len(said)):
        unused, evidence = stamped.unused[image], said[image]
        for tag in range(n_tags):
            slips[tag] = unused + curve.slips[tag]
        for entry in range(stamped.used.start[image], stamped.used.start[image + 1]):
            tag = stamped.used.column[entry]
            slips[tag] = stamped.used.value[entry] + curve.slips[tag]
        for tag in range(n_tags):
            slips[tag] = min(slips[tag], MOST_SLIPS)
            place = min(max((evidence[tag] - curve.low) * curve.per_step, np.float32(0)), last)
            index = np.int32(place)
            level = curve.belongs[index]
            prior[tag] = level + (place - index) * (curve.belongs[index + 1] - level)
        for tag in range(n_tags):
            missed = prior[tag] * (one - curve.recall)
            evidence[tag] = missed / ((one - prior[tag]) * (one - slips[tag]) + missed)
        for entry in range(given.start[image], given.start[image + 1]):
            tag = given.column[entry]
            right = prior[tag] * curve.recall
            evidence[tag] = right / (right + (one - prior[tag]) * slips[tag])
