"""Slips: uses of a tag for which nothing speaks, and how many of these are wrong.

Slips fall where they may, so half of them lie below the median of the images that do not have the
tag; of the uses that are explained few do. So a tag of n uses, of which a share x is unexplained,
has some n x / 2 below. Which shares tags have is learned from all of them (the likeliest weights of
some shares, by expectation-maximisation), and each tag's own is then Bayes' rule.

A use that nothing explains need not be wrong. Of tags like ``canon`` or ``2007`` images may tell
nothing, and all their uses look like slips; so do some of tags that are seldom used. How many uses
really are wrong shows where most is told: in the tags, of a quarter of all uses, that have the
smallest shares of unexplained ones. Where a tag has a much larger share, the rest of it is taken
for uses that are right though nothing says so.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from sugartag._typing import BoolArray, FloatArray, IntArray

LEAST = 1e-6
SHARES = np.linspace(0.0, 1.0, 26)
"""The shares of unexplained uses that a tag may have."""
ROUNDS = 100
MOST_TAGS = 5_000
"""Tags that the weights of these shares are learned from."""
BEST_TOLD = 0.25
"""Of all uses: those of the tags with the smallest shares of unexplained ones."""
LARGER, FREE = 2.0, 0.005
"""So many times the share of the best told tags may be wrong in any tag, and so much at least."""
POOLED_USES = 10.0
"""Uses of an average tag that each tag's own share of habits is averaged with."""


@dataclass(frozen=True, eq=False)
class Slips:
    """Uses of each tag for which nothing speaks; float32."""

    rate: FloatArray
    """How often a tag is given where it does not belong as far as evidence says."""
    wrong: FloatArray
    """The share of such uses that are wrong: the others belong though nothing says so."""

    def of(self, tags: IntArray) -> "Slips":
        """Return those of some tags."""
        return Slips(self.rate[tags], self.wrong[tags])

    def all_wrong(self) -> "Slips":
        """Return the same, every such use being wrong."""
        return Slips(self.rate, np.ones_like(self.wrong))

    @classmethod
    def learned(
        cls, evidence: FloatArray, given: BoolArray, honest: FloatArray, share: FloatArray
    ) -> "Slips":
        """Learn from all tags of some images.

        ``honest`` is, for each tag given, the probability that it was not given by habit;
        ``share`` the share of all images that have each tag.
        """
        uses, low = uses_and_those_below(evidence, given, honest)
        every = np.count_nonzero(given, axis=0)
        usual = float(uses.sum()) / max(float(every.sum()), 1.0)
        no_habit = (uses + POOLED_USES * usual) / (every + POOLED_USES)
        unexplained = unexplained_shares(uses, low)
        most = max(LARGER * _of_best_told(unexplained, uses), FREE)
        wrong = np.minimum(most / np.maximum(unexplained, LEAST), 1.0)
        rate = np.maximum(unexplained * no_habit * share, LEAST)
        return cls(rate.astype(np.float32), wrong.astype(np.float32))

    def between(self, later: "Slips") -> "Slips":
        """Return what lies between these and those told from evidence in which tags are trusted.

        At first evidence is weak, and right uses look like slips. Later slips look like right
        uses, since a tag that is wrong helps the others of its image to be trusted.
        """
        return Slips(np.sqrt(self.rate * later.rate), self.wrong)


def uses_and_those_below(
    evidence: FloatArray, given: BoolArray, honest: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return how many honest uses each tag has, and how many below the median of other images."""
    without = len(given) - np.count_nonzero(given, axis=0)
    # Sorted, images that do not have a tag come before those that do.
    others = np.where(given, np.float32(np.inf), evidence).T.copy()
    others.sort(axis=1)
    tag = np.arange(len(others))
    middle = 0.5 * (others[tag, (without - 1) // 2] + others[tag, without // 2])
    below = given & (evidence < np.where(without > 0, middle, -np.inf))
    uses, low = (
        np.where(some, honest, 0.0).sum(axis=0, dtype=np.float64) for some in (given, below)
    )
    return uses, low


def unexplained_shares(uses: FloatArray, low: FloatArray) -> FloatArray:
    """Return the share of each tag's uses that nothing explains, from how many lie below."""
    some = slice(None, None, max(1, -(-len(uses) // MOST_TAGS)))
    fits = _fits(uses[some], low[some])
    weight = np.full(len(SHARES), 1.0 / len(SHARES))
    for _ in range(ROUNDS):
        weight = _posterior(fits, weight).sum(axis=0) / max(len(fits), 1)
    found: FloatArray = _posterior(_fits(uses, low), weight) @ SHARES
    return found


def _fits(uses: FloatArray, low: FloatArray) -> FloatArray:
    """Return tags x shares: how likely so many uses below the median are, the best being 1."""
    chance = np.maximum(SHARES / 2.0, LEAST)
    found = xlogy(low[:, None], chance) + xlogy((uses - low)[:, None], 1.0 - chance)
    likely: FloatArray = np.exp(found - found.max(axis=1, keepdims=True))
    return likely


def _posterior(fits: FloatArray, weight: FloatArray) -> FloatArray:
    found = fits * weight
    found /= np.maximum(found.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return found


def _of_best_told(unexplained: FloatArray, uses: FloatArray) -> float:
    """Return the share that is largest among the tags told best, of so many of all uses."""
    order = np.argsort(unexplained, kind="stable")
    summed = np.cumsum(uses[order])
    place = int(np.searchsorted(summed, BEST_TOLD * summed[-1])) if len(summed) else 0
    return float(unexplained[order[min(place, len(order) - 1)]]) if len(order) else 0.0
