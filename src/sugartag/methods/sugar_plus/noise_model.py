"""The noise model: which given tags are probably wrong.

A wrong tag is given to an image as if drawn blindly, so the rank of its prediction among all images
(the null quantile q) is uniform; a right one ranks high where the evidence predicts the tag at all.
The density of q over given tags is therefore r(q) = pi + (1 - pi) f(q). A right tag that nothing
explains looks just like a wrong one, so pi is read off the tags that the evidence predicts best: it
is the density of their low quantiles. Even there a share :data:`UNEXPLAINED` of right tags has low
quantiles, as in collections without injected noise, and a given tag is wrong with probability
(pi - UNEXPLAINED) / r(q). A tag that is not predicted has r = 1 everywhere and is not doubted.
Where too few tags are predicted well, nearly none of their uses rank low, or looks explain next to
nothing, nothing is doubted at all. Weak evidence means silence.
"""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from sugartag._rules import Shape, Within
from sugartag._typing import BoolArray, FloatArray, IntArray

QUANTILES = 33
EDGES = np.array([0.0, 0.15, 0.3, 0.5, 0.75, 0.9, 1.0])
"""Bins of the null quantile."""
GROUPS = np.array([0.0, 0.8, 0.9, 0.94, 0.96, 0.975, 0.985, 0.993, 1.01])
"""Groups of tags by the median quantile of their uses, which a few wrong ones hardly change."""
LEAST_USES = 5
"""A tag with fewer uses is not judged."""
PREDICTED_WELL, LOW = 5, 2
"""pi is read off the groups from this one on, a median of 0.975 or more, and this many low bins."""
LEAST_EXPECTED = 500.0
"""Uses that these bins would have if tags were given blindly, for their density to count."""
MOST_WRONG, LEAST_WRONG = 0.3, 0.05
"""pi is held below the first; where it is below the second, no tag is called wrong."""
UNEXPLAINED = 0.045
"""The density of low quantiles among well predicted tags of real collections as they are given, at
most: 0.01 to 0.04 on those measured."""
USUALLY_WRONG = 0.05
"""The share of wrong tags assumed where the evidence cannot say."""
LEAST_EXPLAINED = 0.01
"""Where looks explain less of the given tags than this, no tag is called wrong: a tag that does not
go with the other tags of an image may still be what the picture shows."""


@dataclass(frozen=True, eq=False)
class NoiseModel:
    """The null distribution of each tag's prediction, and the density of given tags on it."""

    quantiles: Annotated[FloatArray, Shape("tags", QUANTILES)]
    """Tags x points: the prediction's quantiles over all images."""
    median: Annotated[FloatArray, Shape("tags")]
    """The median null quantile of each tag's uses."""
    uses: Annotated[FloatArray, Shape("tags"), Within(0)]
    """How many uses that were."""
    wrong: Annotated[FloatArray, Shape(len(GROUPS) - 1, len(EDGES) - 1), Within(0, 1)]
    """Groups x bins: the probability that a use is wrong."""
    wrong_share: Annotated[float, Within(0, 1)]
    """pi."""

    @classmethod
    def fit(
        cls, quantiles: FloatArray, tag: IntArray, predicted: FloatArray, *, looks: float
    ) -> "NoiseModel":
        """Learn from leave-one-out predictions of given tags; ``looks`` is what looks explain."""
        n_tags = len(quantiles)
        q = null_quantile(quantiles, tag, predicted)
        median, uses = medians(q, tag, n_tags)
        judged = uses[tag] >= LEAST_USES
        count = np.zeros((len(GROUPS) - 1, len(EDGES) - 1))
        np.add.at(count, (_group(median[tag[judged]]), _bin(q[judged])), 1.0)
        count *= looks >= LEAST_EXPLAINED
        share, wrong = wrong_probabilities(count)
        return cls(
            quantiles.astype(np.float32),
            median.astype(np.float32),
            uses.astype(np.float32),
            wrong.astype(np.float32),
            share,
        )

    def probability_wrong(self, tag: IntArray, predicted: FloatArray) -> FloatArray:
        """Return the probability that each given tag is wrong."""
        q = null_quantile(self.quantiles, tag, predicted)
        found: FloatArray = self.wrong[_group(self.median[tag]), _bin(q)]
        return np.where(self.uses[tag] >= LEAST_USES, found, USUALLY_WRONG)

    def judges(self, tag: IntArray) -> BoolArray:
        """Tell whether a use of each tag could be called wrong."""
        can = self.wrong.max(axis=1)[_group(self.median[tag])] > 0.5
        found: BoolArray = can & (self.uses[tag] >= LEAST_USES)
        return found

    def widened(self, n_tags: int) -> "NoiseModel":
        """Return the model beside tags of which nothing is known."""
        more = n_tags - len(self.uses)
        return replace(
            self,
            quantiles=np.pad(self.quantiles, ((0, more), (0, 0))),
            median=np.pad(self.median, (0, more)),
            uses=np.pad(self.uses, (0, more)),
        )


def medians(q: FloatArray, tag: IntArray, n_tags: int) -> tuple[FloatArray, FloatArray]:
    """Return the upper median of the values of each tag, 0 where there are none, and how many."""
    order = np.lexsort((q, tag))
    uses = np.bincount(tag, minlength=n_tags)
    start = np.cumsum(uses) - uses
    found = np.zeros(n_tags)
    used = uses > 0
    found[used] = q[order][(start + uses // 2)[used]]
    return found, uses.astype(np.float64)


def wrong_probabilities(count: FloatArray) -> tuple[float, FloatArray]:
    """Return pi, and the probability of being wrong by group and bin, from the uses in them."""
    expected = count.sum(axis=1, keepdims=True) * np.diff(EDGES)
    low = (slice(PREDICTED_WELL, None), slice(0, LOW))
    if expected[low].sum() < LEAST_EXPECTED:
        return USUALLY_WRONG, np.full(count.shape, USUALLY_WRONG)
    share = float(min(count[low].sum() / expected[low].sum(), MOST_WRONG))
    if share < LEAST_WRONG:
        return share, np.full(count.shape, USUALLY_WRONG)
    # The upper end of what the density may be: small counts call nothing wrong.
    upper = (count + 1.0 + np.sqrt(count + 1.0)) / np.maximum(expected, 1e-9)
    found = np.where(expected > 0, (share - UNEXPLAINED) / np.maximum(upper, share), USUALLY_WRONG)
    # The higher the prediction ranks, the less probably it is wrong.
    return share, np.minimum.accumulate(found, axis=1)


def null_quantile(quantiles: FloatArray, tag: IntArray, predicted: FloatArray) -> FloatArray:
    """Return the share of images whose prediction of the tag is lower, ties counted half."""
    found = np.empty(len(tag))
    for part in range(0, len(tag), 100_000):
        use = slice(part, part + 100_000)
        points, value = quantiles[tag[use]], predicted[use, None]
        below = (points < value).sum(axis=1)
        equal = (points == value).sum(axis=1)
        rows = np.arange(len(points))
        low, high = np.clip(below - 1, 0, None), np.clip(below, None, QUANTILES - 1)
        gap = points[rows, high] - points[rows, low]
        step = (value[:, 0] - points[rows, low]) / np.where(gap > 0, gap, 1.0)
        between = np.clip(below - 1 + np.clip(step, 0.0, 1.0), 0.0, QUANTILES - 1)
        at_tie = below + equal / 2.0 - 0.5
        found[use] = np.where(equal > 0, at_tie, between) / (QUANTILES - 1)
    return np.clip(found, 0.0, 1.0)


def _group(median: FloatArray) -> IntArray:
    found: IntArray = np.clip(np.searchsorted(GROUPS, median, side="right") - 1, 0, len(GROUPS) - 2)
    return found


def _bin(q: FloatArray) -> IntArray:
    found: IntArray = np.clip(np.searchsorted(EDGES, q, side="right") - 1, 0, len(EDGES) - 2)
    return found
