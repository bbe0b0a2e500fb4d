"""Where a probability becomes a verdict: for each tag, so that verdicts are mostly right.

A threshold is the most generous one beyond which the probabilities have the mean aimed at: if they
are calibrated, that is the share of right verdicts. Tags of which little is seen keep to what all
tags together need, and rare tags get no verdict. Where next to nothing of a collection would be
added, nothing is: the few highest probabilities are those that err most.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sugartag._rules import Shape, Within
from sugartag._typing import BoolArray, FloatArray, IntArray

AIM = 0.85
"""The mean probability of being right that verdicts aim at, for 80 % and more to be right."""
LEAST_ADDED = 0.001
"""Additions for each given tag that there must be, or nothing is added."""
FEWEST_USES = 5
"""Tags with fewer uses get no verdict."""
POOLED = 20.0
"""Verdicts of all tags that a tag's own are averaged with."""
LEAST, MOST = 0.5, 0.98
"""No tag is added below the least probability, and none needs more than the most."""
DIGITS = 4
"""Digits of the probabilities in a change set, and of the thresholds."""
NEVER_ADDED, NEVER_DOUBTED = 2.0, -1.0


@dataclass(frozen=True, eq=False)
class TagThresholds:
    """The probability from which each tag is added, and below which it is doubted."""

    add: Annotated[FloatArray, Shape("tags"), Within(NEVER_DOUBTED, NEVER_ADDED)]
    doubt: Annotated[FloatArray, Shape("tags"), Within(NEVER_DOUBTED, NEVER_ADDED)]

    @classmethod
    def learned(
        cls,
        added: tuple[IntArray, FloatArray],
        given: tuple[IntArray, FloatArray],
        uses: IntArray,
    ) -> "TagThresholds":
        """Learn from tags and probabilities: of what could be added, and of what was given.

        ``uses`` says how many images have each tag.
        """
        rare = uses < FEWEST_USES
        add = np.where(rare, NEVER_ADDED, _generous(*added, len(uses)))
        if np.count_nonzero(added[1] >= add[added[0]]) < LEAST_ADDED * len(given[0]):
            add = np.full(len(uses), NEVER_ADDED)
        doubt = 1.0 - _generous(given[0], 1.0 - given[1], len(uses))
        return cls(np.round(add, DIGITS), np.round(np.where(rare, NEVER_DOUBTED, doubt), DIGITS))

    @classmethod
    def same(cls, add: float, doubt: float, n_tags: int) -> "TagThresholds":
        """Return the same thresholds for all tags."""
        return cls(np.full(n_tags, add), np.full(n_tags, doubt))


def _generous(tag: IntArray, probability: FloatArray, n_tags: int) -> FloatArray:
    """Return for each tag the lowest probability from which on the mean is the one aimed at."""
    everybody = _lowest(np.zeros(len(tag), dtype=np.int64), probability, 1)[0]
    own = _lowest(tag, probability, n_tags)
    seen = np.bincount(tag[probability >= LEAST], minlength=n_tags)
    found: FloatArray = (seen * own + POOLED * everybody) / (seen + POOLED)
    return np.clip(found, LEAST, MOST)


def _lowest(tag: IntArray, probability: FloatArray, n_tags: int) -> FloatArray:
    order = np.lexsort((-probability, tag))
    tag, probability = tag[order], probability[order].astype(np.float64)
    start = np.searchsorted(tag, np.arange(n_tags + 1))
    summed = np.concatenate([[0.0], np.cumsum(probability)])
    place = np.arange(len(tag)) - start[tag]
    mean = (summed[1:] - summed[start[tag]]) / (place + 1)
    enough: BoolArray = mean >= AIM
    found = np.full(n_tags, MOST)
    # Probabilities fall within a tag, so the last one that is enough is the lowest.
    found[tag[enough]] = probability[enough]
    return found
