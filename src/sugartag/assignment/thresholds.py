"""Where a chance becomes a verdict: for each tag, so that what is said is mostly right.

A threshold is the most generous one beyond which the chances have the mean aimed at: if chances
are right, that is the share of right verdicts. Tags of which little is seen keep to what all tags
together need, and of those that hardly anybody uses nothing is said. Where next to nothing of a
collection would be added, nothing is: the few chances that are highest are those that err most.
"""

from dataclasses import dataclass

import numpy as np

from sugartag._typing import BoolArray, FloatArray, IntArray

AIM, CAUTIOUS_AIM = 0.85, 0.83
"""The mean chance of being right that verdicts aim at, for 80 % and more to be right; of chances
that are told cautiously less is enough."""
LEAST_ADDED = 0.001
"""Additions for each given tag that there must be, or nothing is added."""
FEWEST_USES = 5
"""Of tags with fewer uses nothing is said."""
POOLED = 20.0
"""Verdicts of all tags that a tag's own are averaged with."""
LEAST, MOST = 0.5, 0.98
"""No tag is added below the least chance, and none needs more than the most."""
DIGITS = 4
"""Chances are told to so many digits, and thresholds kept to as many."""
NEVER_ADDED, NEVER_DOUBTED = 2.0, -1.0


@dataclass(frozen=True, eq=False)
class TagThresholds:
    """From which chance on each tag is added, and below which it is doubted."""

    add: FloatArray
    doubt: FloatArray

    @classmethod
    def learned(
        cls,
        added: tuple[IntArray, FloatArray],
        given: tuple[IntArray, FloatArray],
        uses: IntArray,
        cautious: FloatArray | None = None,
    ) -> "TagThresholds":
        """Learn from tags and chances: of what could be added, and of what was given.

        ``uses`` says how many images have each tag; ``cautious`` what the chances of additions
        are at least, where that is known: these have the mean that is aimed at then.
        """
        rare = uses < FEWEST_USES
        aim = added[1], AIM
        if cautious is not None:
            aim = cautious, CAUTIOUS_AIM
        add = np.where(rare, NEVER_ADDED, _generous(*added, len(uses), *aim))
        if np.count_nonzero(added[1] >= add[added[0]]) < LEAST_ADDED * len(given[0]):
            add = np.full(len(uses), NEVER_ADDED)
        wrong = 1.0 - given[1]
        doubt = 1.0 - _generous(given[0], wrong, len(uses), wrong, AIM)
        return cls(np.round(add, DIGITS), np.round(np.where(rare, NEVER_DOUBTED, doubt), DIGITS))

    @classmethod
    def same(cls, add: float, doubt: float, n_tags: int) -> "TagThresholds":
        """Return the same thresholds for all tags."""
        return cls(np.full(n_tags, add), np.full(n_tags, doubt))


def _generous(
    tag: IntArray, chance: FloatArray, n_tags: int, worth: FloatArray, aim: float
) -> FloatArray:
    """Return for each tag the lowest chance from which on the mean worth is the one aimed at.

    The worth of a verdict rises with its chance.
    """
    everybody = _lowest(np.zeros(len(tag), dtype=np.int64), chance, 1, worth, aim)[0]
    own = _lowest(tag, chance, n_tags, worth, aim)
    seen = np.bincount(tag[chance >= LEAST], minlength=n_tags)
    found: FloatArray = (seen * own + POOLED * everybody) / (seen + POOLED)
    return np.clip(found, LEAST, MOST)


def _lowest(
    tag: IntArray, chance: FloatArray, n_tags: int, worth: FloatArray, aim: float
) -> FloatArray:
    order = np.lexsort((-chance, tag))
    tag, chance, worth = tag[order], chance[order], worth[order].astype(np.float64)
    start = np.searchsorted(tag, np.arange(n_tags + 1))
    summed = np.concatenate([[0.0], np.cumsum(worth)])
    place = np.arange(len(tag)) - start[tag]
    mean = (summed[1:] - summed[start[tag]]) / (place + 1)
    enough: BoolArray = mean >= aim
    found = np.full(n_tags, MOST)
    # Chances fall within a tag, so the last one that is enough is the lowest.
    found[tag[enough]] = chance[enough]
    return found
