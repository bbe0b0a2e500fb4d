"""From evidence to belief: how probable it is that a tag belongs, given or not.

People give a tag that belongs with a certain probability, their recall r, and one that does not
with the probability e: by slip, or because they stamp it on everything. If x is the probability
that a tag is given as far as the content of the image says, then x = r b + e (1 - b), where b is
the probability that it belongs. Solved for b, and then by Bayes' rule: a tag that was given belongs
with the odds b r : (1 - b) e, one that was not with b (1 - r) : (1 - b) (1 - e).

All of it is learned without a truth, on images judged by the others: how x follows from the
evidence, r from how often the surest tags are given, and e for each tag from how often it is given
where the content says nothing for it.
"""

from dataclasses import dataclass

import numpy as np

from sugartag._typing import BoolArray, FloatArray
from sugartag.assignment.calibration import MonotoneMap

BINS = 4_000
SUREST = 0.98
"""The quantile of given tags from which on evidence is taken for overwhelming."""
USUAL_RECALL, RECALL_CELLS = 0.7, 20.0
"""What the recall is taken for where little is known, and how many tags that counts for."""
RECALLS = (0.5, 0.95)
"""Between these the recall is looked for."""
POOLED_USES = 10.0
"""Uses of an average tag that each tag's own share of slips is averaged with."""
LEAST = 1e-5
"""No probability is below this, nor above one less it."""
FEWEST_USES = 100
"""Given tags of owners with several images that are enough to learn from."""
TIE_BREAK = 1e-5
"""What the evidence itself adds where the learned probability is level."""


@dataclass(frozen=True, eq=False)
class Evidences:
    """What is said about images x tags, the image itself left out."""

    content: FloatArray
    """By the ridge: beyond the tag's share."""
    always: FloatArray
    """By all other images of the owner."""
    alike: FloatArray
    """By those that look alike."""
    told: BoolArray
    """Images whose owner has others; both kinds say nothing about the rest."""

    def at(self, chosen: BoolArray) -> "Evidences":
        """Return what is said about some of the images."""
        return Evidences(
            self.content[chosen], self.always[chosen], self.alike[chosen], self.told[chosen]
        )

    def of_content(self) -> "Evidences":
        """Return the same as if no owner had other images."""
        nothing = np.zeros_like(self.content)
        return Evidences(self.content, nothing, nothing, np.zeros_like(self.told))


@dataclass(frozen=True)
class Weights:
    """How much each kind of evidence counts."""

    content: float
    always: float
    alike: float

    @property
    def alike_share(self) -> float:
        """How far look-alikes of the owner are believed, 0 to 1.

        If an owner's tags come back on images that do not look alike as much as on those that
        do, they are stamps, and say nothing about what an image shows.
        """
        always, alike = max(self.always, 0.0), max(self.alike, 0.0)
        return max(0.0, 1.0 - always / alike) if alike > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Belief:
    """Turns evidence into the probability that a tag belongs."""

    content_weight: float
    alike_weight: float
    """For what look-alikes say about the image."""
    always_stamp: float
    alike_stamp: float
    """For what the owner's images say about the owner's stamps."""
    share: FloatArray
    given: MonotoneMap
    """The probability that a tag is given, by the evidence."""
    recall: float
    slips: FloatArray
    """How often each tag is given where it does not belong."""

    def probability(self, evidences: Evidences, given: BoolArray) -> FloatArray:
        """Return images x tags: the probability that the tag belongs."""
        raw = self.evidence(evidences)
        chance = self.given(raw).astype(np.float64)
        chance += TIE_BREAK * (1.0 + np.tanh(raw))
        stamp = self.always_stamp * evidences.always + self.alike_stamp * evidences.alike
        slip = np.clip(self.slips + np.maximum(stamp, 0.0), LEAST, 0.9)
        # Level ends would make ties: the odds keep rising slowly beyond both.
        above = np.maximum(chance - self.slips, 0.1 * chance)
        below = np.maximum(self.recall - chance, 0.02 * self.recall * np.exp(-chance))
        odds = above / below
        odds *= np.where(given, self.recall / slip, (1.0 - self.recall) / (1.0 - slip))
        found: FloatArray = odds / (1.0 + odds)
        return found

    def evidence(self, evidences: Evidences) -> FloatArray:
        """Return what speaks for each tag, as a share of images: not bounded to 0 and 1."""
        found = self.content_weight * evidences.content + self.alike_weight * evidences.alike
        found += self.share
        return found


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What evidence means where the owner's other images are known, and where they are not."""

    with_history: Belief
    alone: Belief

    @classmethod
    def learned(cls, evidences: Evidences, given: BoolArray, share: FloatArray) -> "Beliefs":
        """Learn from images whose given tags are known."""
        alone = learned_belief(evidences.of_content(), given, share)
        told = evidences.told
        if np.count_nonzero(given[told]) < FEWEST_USES:
            return cls(alone, alone)
        return cls(learned_belief(evidences.at(told), given[told], share), alone)

    def probability(self, evidences: Evidences, given: BoolArray) -> FloatArray:
        """Return images x tags: the probability that the tag belongs."""
        found = np.empty_like(evidences.content)
        for belief, chosen in ((self.with_history, evidences.told), (self.alone, ~evidences.told)):
            found[chosen] = belief.probability(evidences.at(chosen), given[chosen])
        return found


def learned_belief(evidences: Evidences, given: BoolArray, share: FloatArray) -> Belief:
    """Learn what evidence means from images whose given tags are known."""
    weights = fitted_weights(evidences, given - share)
    believed = weights.alike_share
    content_weight = weights.content if weights.content > 0 else 1.0
    alike = max(weights.alike, 0.0)
    raw = content_weight * evidences.content + believed * alike * evidences.alike + share
    curve = rising_share(raw, given)
    recall = estimated_recall(raw, given)
    return Belief(
        content_weight=content_weight,
        alike_weight=believed * alike,
        always_stamp=max(weights.always, 0.0),
        alike_stamp=(1.0 - believed) * alike,
        share=share,
        given=curve,
        recall=recall,
        slips=np.minimum(slip_shares(raw, given) * share, 0.5 * recall),
    )


def fitted_weights(evidences: Evidences, excess: FloatArray) -> Weights:
    """Return the weights with which the kinds of evidence predict what was given best."""
    kinds = [evidences.content, evidences.always, evidences.alike]
    gram = np.array([[np.vdot(a, b) for b in kinds] for a in kinds])
    wanted = np.array([np.vdot(kind, excess) for kind in kinds])
    gram[np.diag_indices(3)] += 1e-9 * max(float(np.trace(gram)), 1e-9)
    found = np.linalg.solve(gram, wanted)
    return Weights(*map(float, found))


def rising_share(scores: FloatArray, given: BoolArray) -> MonotoneMap:
    """Return the rising function nearest the share of given tags at each score."""
    from sklearn.isotonic import IsotonicRegression

    if not given.any():
        return MonotoneMap(np.zeros(1), np.zeros(1))
    # Fine bins where the given tags are, which is where the function rises.
    edges = np.unique(np.quantile(scores[given], np.linspace(0, 1, BINS // 4)))
    place = np.searchsorted(edges, scores.ravel())
    count = np.bincount(place, minlength=len(edges) + 1).astype(np.float64)
    right = np.bincount(place[given.ravel()], minlength=len(edges) + 1)
    total = np.bincount(place, scores.ravel(), minlength=len(edges) + 1)
    filled = count > 0
    middle = total[filled] / count[filled]
    model = IsotonicRegression(y_min=0.0, y_max=1.0)
    model.fit(middle, right[filled] / count[filled], sample_weight=count[filled])
    level = model.predict(middle)
    return MonotoneMap(middle, np.asarray(level))


def estimated_recall(scores: FloatArray, given: BoolArray) -> float:
    """Return how often tags are given for which the evidence is overwhelming."""
    if not given.any():
        return USUAL_RECALL
    sure = scores >= np.quantile(scores[given], SUREST)
    found = (given[sure].sum() + USUAL_RECALL * RECALL_CELLS) / (sure.sum() + RECALL_CELLS)
    return float(min(max(found, RECALLS[0]), RECALLS[1]))


def slip_shares(scores: FloatArray, given: BoolArray) -> FloatArray:
    """Return which share of each tag's uses looks like chance.

    Slips fall where they may, so half of them lie below the median of the images that do not have
    the tag; of the uses that are right few do.
    """
    n_tags = scores.shape[1]
    uses = given.sum(axis=0).astype(np.float64)
    low = np.zeros(n_tags)
    for tag in np.flatnonzero(uses):
        has = given[:, tag]
        middle = np.median(scores[~has, tag]) if not has.all() else -np.inf
        low[tag] = np.count_nonzero(scores[has, tag] < middle)
    pooled = 2.0 * low.sum() / max(float(uses.sum()), 1.0)
    found: FloatArray = (2.0 * low + POOLED_USES * pooled) / (uses + POOLED_USES)
    return np.minimum(found, 1.0)
