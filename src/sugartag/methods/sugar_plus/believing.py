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
from sugartag.linalg.sparse_rows import same_places
from sugartag.methods.sugar_plus.belief import Belief
from sugartag.methods.sugar_plus.manners import Stamps
from sugartag.methods.sugar_plus.sums import padded

ONE = np.float32(1)
MOST_SLIPS = np.float32(0.95)
"""The most that slips and habits together can make of the probability that a tag is given."""


class Curve(NamedTuple):
    """What evidence means: see :class:`belief.Belief`. Float32, but for the steps."""

    low: np.float32
    per_step: np.float32
    steps: FloatArray
    """Where each step of the curve begins and by how much it rises: two numbers in single precision
    in the place of one in double precision, so that both are looked up at once."""
    recall: np.float32
    slips: FloatArray

    @classmethod
    def of(cls, belief: Belief, n_tags: int) -> "Curve":
        """Return the curve of a belief about so many tags."""
        fit_together(len(belief.slips) == n_tags and len(belief.belongs) > 1)
        low, per_step, recall = map(np.float32, (belief.low, 1.0 / belief.step, belief.recall))
        begin = belief.belongs.astype(np.float32)
        steps = np.column_stack([begin[:-1], np.diff(begin)]).ravel().view(np.float64)
        slips = belief.slips.astype(np.float32, copy=False)
        return cls(low, per_step, read_only(steps), recall, read_only(slips))


class Stamped(NamedTuple):
    """How probably a habit stamps tags on images: see :class:`manners.Stamps`. Float32."""

    unused: FloatArray
    seen: FloatArray
    owner: IntArray
    """Of each image, int64; one past the last if nobody knows."""
    used: Entries
    """Owners and, last, nobody x the tags they used: on images that were fitted."""
    on_new: FloatArray
    """The same on images that were not."""
    given: FloatArray

    @classmethod
    def of(cls, stamps: Stamps) -> "Stamped":
        """Return the stamps on some images."""
        habits, seen = stamps.habits, stamps.seen.astype(np.float32)
        on_fitted = habits.on_fitted
        on_new = on_fitted if seen.all() else habits.on_new
        uses = padded(same_places(on_fitted, habits.uses), 1)
        owner = np.minimum(stamps.owner, habits.uses.shape[0]).astype(np.int64)
        used = Entries.of(uses, stamps.tags.shape[1])
        return cls(stamps.unused, seen, owner, used, read_only(on_new), stamps.given)


@compiled
def believe(curve: Curve, said: FloatArray, stamped: Stamped, given: Entries) -> None:
    """Turn what is said about images x tags, in place, into the probability that tags belong."""
    n_tags = len(curve.slips)
    prior, slips = np.empty(n_tags, np.float32), np.empty(n_tags, np.float32)
    step, found = np.empty(n_tags, np.int32), np.empty(n_tags, np.float64)
    for image in range(len(said)):
        evidence, used, owner = said[image], stamped.used, stamped.owner[image]
        _look_up(curve, evidence, step, found, prior)
        for tag in range(n_tags):
            slips[tag] = stamped.unused[image]
        chance = used.value if stamped.seen[image] > 0 else stamped.on_new
        for entry in range(used.start[owner], used.start[owner + 1]):
            slips[used.column[entry]] = chance[entry]
        for entry in range(given.start[image], given.start[image + 1]):
            slips[given.column[entry]] = stamped.given[entry]
        for tag in range(n_tags):
            slips[tag] = min(slips[tag] + curve.slips[tag], MOST_SLIPS)
        for tag in range(n_tags):
            missed = prior[tag] * (ONE - curve.recall)
            evidence[tag] = missed / ((ONE - prior[tag]) * (ONE - slips[tag]) + missed)
        for entry in range(given.start[image], given.start[image + 1]):
            tag = given.column[entry]
            right = prior[tag] * curve.recall
            evidence[tag] = right / (right + (ONE - prior[tag]) * slips[tag])


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
