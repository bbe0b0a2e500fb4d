"""From evidence to belief: how probable it is that a tag belongs, given or not.

People give a tag that belongs with a certain probability, their recall r, and one that does not by
slip, with the probability s. A habit makes them give it with probability h in any case. If b is
the probability that the tag belongs as far as the evidence says, a tag that was given belongs with
the odds b (r + h - r h) : (1 - b) (s + h - s h). One that was not given was not by habit either,
whether it belongs or not: its odds are b (1 - r) : (1 - b) (1 - s). A given tag that nothing
explains need not be wrong: how many such uses of a tag are is told in :mod:`slips`.

All of it is learned without a truth, on images judged by the others: the slips of each tag from
how often it is given where nothing speaks for it, and r from where the share that is given levels
off, in :mod:`rise`. The curve that tells it is b where the evidence is strong. Below, b is a rising
function of the evidence: where a share y of the tags is given, of which a share s are slips,
b = (y - s) / (r - s).
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sugartag._typing import BoolArray, FloatArray
from sugartag.methods.sugar_plus.evidence_steps import cells_in_steps
from sugartag.methods.sugar_plus.rise import CAUTION, Rise, told_rise
from sugartag.methods.sugar_plus.slips import LEAST, Slips

BINS = 200
"""Steps of evidence, with equally many given tags in each."""
POINTS = 1 << 14
"""Places at which the learned function is written down."""
EVIDENCES = (-0.5, 2.0)
"""Between these it is, at least: a tag's share among all images is from 0 to 1."""
UNTOLD_RECALL = 0.7
"""What the recall is taken for where it cannot be told: a standard deviation above the usual."""
SUREST_BELIEF, MOST_RECALL = 0.99, 0.99
RISE = 1e-5
"""What the evidence adds, from end to end, where the learned function is level."""


@dataclass(frozen=True, eq=False)
class Belief:
    """Turns evidence into the probability that a tag belongs."""

    low: float
    step: float
    """The function is written down at low, low + step, low + 2 step, ..."""
    belongs: FloatArray
    """The probability that a tag belongs, by the evidence alone; float32."""
    recall: float
    slips: Slips
    spread: float = 0.0
    """Standard deviation with which the recall is told."""

    def prior(self, evidence: FloatArray) -> FloatArray:
        """Return the probability that tags belong as far as the evidence says."""
        place = evidence - np.float32(self.low)
        place *= np.float32(1.0 / self.step)
        last = np.float32(len(self.belongs) - 1.001)
        # To look for what is outside takes less time than to put everything inside.
        if place.size and not (place.min() >= 0 and place.max() <= last):
            np.clip(place, 0.0, last, out=place)
        index = place.astype(np.intp)
        place -= np.floor(place)
        place *= self._rises.take(index)
        place += self.belongs.take(index)
        return place

    @cached_property
    def _rises(self) -> FloatArray:
        return np.diff(self.belongs)

    def chance(self, evidence: FloatArray, slips: FloatArray) -> FloatArray:
        """Return the probability that a tag is given, habits aside."""
        found: FloatArray = slips + (self.recall - slips) * self.prior(evidence)
        return found

    def not_given(self, evidence: FloatArray, slips: FloatArray) -> FloatArray:
        """Return the probability that tags belong that were not given."""
        prior = self.prior(evidence)
        against = 1.0 - prior
        against *= 1.0 - slips
        prior *= np.float32(1.0 - self.recall)
        against += prior
        prior /= against
        return prior

    def if_recall_is_higher(self, chance: FloatArray) -> FloatArray:
        """Return chances of tags not given if the recall is a standard deviation above its mean.

        As many are given, so fewer belong, and of those that do fewer are left out. Slips aside.
        """
        higher = min(self.recall + (1.0 - CAUTION) * self.spread, MOST_RECALL)
        odds = chance / (1.0 - chance)
        belongs = odds / (odds + 1.0 - self.recall) * (self.recall / higher)
        left_out = belongs * (1.0 - higher)
        found: FloatArray = left_out / (left_out + 1.0 - belongs)
        return found

    def given(self, evidence: FloatArray, slips: Slips, habit: FloatArray) -> FloatArray:
        """Return the probability that tags belong that were given, perhaps by habit."""
        prior, recall = self.prior(evidence), np.float32(self.recall)
        right = prior * (recall + habit * (1.0 - recall))
        unexplained = (1.0 - prior) * (slips.rate + habit * (1.0 - slips.rate))
        found: FloatArray = 1.0 - slips.wrong * (unexplained / (right + unexplained))
        return found


def learned_belief(
    evidence: FloatArray,
    given: BoolArray,
    honest: FloatArray,
    slips: Slips,
    recall: float | None = None,
    *,
    rise: Rise | None = None,
    threads: int = 1,
) -> Belief:
    """Learn what evidence means from images whose given tags are known.

    ``honest`` is, for each tag given, the probability that it was not given by habit; ``recall``
    people's recall, if it is known, and ``rise`` the whole curve, if that is.
    """
    if rise is None:
        rise = told_rise(evidence, given, honest, slips.rate, recall, threads=threads)
    spread = 0.0 if rise is None else rise.spread
    if recall is None:
        recall = UNTOLD_RECALL if rise is None else rise.recall
    slips = replace(slips, rate=np.minimum(slips.rate, np.float32(0.5 * recall)))
    points, level = belief_curve(evidence, given, honest, slips.rate, recall, threads=threads)
    low = min(EVIDENCES[0], float(evidence.min(initial=0.0)))
    high = max(EVIDENCES[1], float(evidence.max(initial=0.0)))
    places = np.linspace(low, high, POINTS)
    belongs = np.interp(places, points, level)
    if rise is not None:
        strong = places >= rise.start
        belongs[strong] = rise.at(places[strong])
        np.maximum.accumulate(belongs, out=belongs)
    np.clip(belongs, LEAST, SUREST_BELIEF, out=belongs)
    belongs += np.linspace(0.0, RISE, POINTS)
    step = (high - low) / (POINTS - 1)
    return Belief(low, step, belongs.astype(np.float32), recall, slips, spread)


def belief_curve(
    evidence: FloatArray,
    given: BoolArray,
    honest: FloatArray,
    slips: FloatArray,
    recall: float,
    *,
    threads: int = 1,
) -> tuple[FloatArray, FloatArray]:
    """Return points of the rising function b = (y - s) / (r - s) of the evidence."""
    from scipy.optimize import isotonic_regression

    if not given.any():
        return np.zeros(1), np.full(1, LEAST)
    edges = np.unique(np.quantile(evidence[given], np.linspace(0, 1, BINS)))
    summed = cells_in_steps(edges, evidence, given, honest, slips, threads=threads)
    count, *sums = summed[:, summed[0] > 0]
    y, s, middle = sums / count
    wanted = (y - s) / np.maximum(recall - s, 0.05)
    level = np.clip(isotonic_regression(wanted, weights=count).x, 0.0, 1.0)
    # A level stretch is what could not be told apart; its middle stands for it.
    stretch = np.concatenate([[0], np.cumsum(np.diff(level) > 0)])
    return np.bincount(stretch, count * middle) / np.bincount(stretch, count), np.unique(level)
