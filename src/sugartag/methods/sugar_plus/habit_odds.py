"""What uses of tags say for habits of a few rates: the loops over all of them, compiled."""

from typing import NamedTuple

import numpy as np

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.linalg.compiled import compiled, read_only
from sugartag.linalg.entries import Entries

RATES = np.array([0.15, 0.3, 0.5, 0.7, 0.9])
LOG_MISS = np.log1p(-RATES)
CHANCES = (1e-4, 0.99)
"""No tag is taken to be less or more probable than this without a habit."""
GAINS = np.log(np.multiply.outer(RATES, 1.0 / np.array(CHANCES[::-1])) + (1.0 - RATES)[:, None])
"""Rates x 2: the least and the most that one use of a tag can say for a habit."""


class Pairs(NamedTuple):
    """Pairs of owner and tag, in order."""

    start: IntArray
    """Where those of each owner begin, and the end of the last; int64."""
    tag: IntArray
    uses: FloatArray
    gain: FloatArray

    @classmethod
    def of(cls, uses: SparseRows, gain: FloatArray) -> "Pairs":
        """Return those of owners x tags."""
        parts = uses.indptr.astype(np.int64), uses.indices, uses.data, gain
        return cls(*(read_only(part) for part in parts))


class Cases(NamedTuple):
    """What stamps are asked for."""

    owner: IntArray
    pair: IntArray
    own: FloatArray
    seen: FloatArray

    @classmethod
    def of(cls, owner: IntArray, pair: IntArray, own: FloatArray, seen: FloatArray) -> "Cases":
        """Return cases as numbers of the same size whatever they were."""
        whose, which = (read_only(part.astype(np.int64)) for part in (owner, pair))
        return cls(whose, which, *(read_only(part.astype(np.float64)) for part in (own, seen)))


@compiled
def _gain(once: float, rate: int) -> float:
    """Return log((x + h - x h) / x), from 1 / x."""
    found: float = np.log(RATES[rate] * once + (1.0 - RATES[rate]))
    return found


@compiled
def _once(chance: float) -> float:
    return 1.0 / min(max(chance, CHANCES[0]), CHANCES[1])


class Counted(NamedTuple):
    """Images that are counted, by owner."""

    start: IntArray
    """Those of an owner are ``image[start[owner]]`` and so on."""
    image: IntArray
    chance: Entries
    """Images x tags."""
    n_tags: int
    sign: float
    """-1 takes them away."""


@compiled
def count_pairs(before: Pairs, counted: Counted, owners: slice, found: IntArray) -> None:
    """Fill in how many pairs each of some owners has when its images are counted."""
    chance, uses = counted.chance, np.zeros(counted.n_tags)
    for owner in range(owners.start, owners.stop):
        mine = counted.image[counted.start[owner] : counted.start[owner + 1]]
        pairs = range(before.start[owner], before.start[owner + 1])
        for pair in pairs:
            uses[before.tag[pair]] += before.uses[pair]
        for row in mine:
            for use in range(chance.start[row], chance.start[row + 1]):
                uses[chance.column[use]] += counted.sign
        # Each is counted once, for it is zero after that.
        found[owner] = 0
        for pair in pairs:
            found[owner] += uses[before.tag[pair]] > 0.0
            uses[before.tag[pair]] = 0.0
        for row in mine:
            for use in range(chance.start[row], chance.start[row + 1]):
                found[owner] += uses[chance.column[use]] > 0.0
                uses[chance.column[use]] = 0.0


@compiled
def count_images(before: Pairs, counted: Counted, owners: slice, after: Pairs) -> None:
    """Fill in the pairs that some owners have when their images are counted."""
    n_tags, sign, chance = counted.n_tags, counted.sign, counted.chance
    tags, there = np.empty(n_tags, np.int64), np.zeros(n_tags, np.bool_)
    uses, gain = np.zeros(n_tags), np.zeros((n_tags, len(RATES)))
    for owner in range(owners.start, owners.stop):
        count, filled = 0, after.start[owner]
        for pair in range(before.start[owner], before.start[owner + 1]):
            tag = before.tag[pair]
            if not there[tag]:
                tags[count], there[tag] = tag, True
                count += 1
            uses[tag] += before.uses[pair]
            gain[tag] += before.gain[pair]
        for row in counted.image[counted.start[owner] : counted.start[owner + 1]]:
            for use in range(chance.start[row], chance.start[row + 1]):
                tag = chance.column[use]
                if not there[tag]:
                    tags[count], there[tag] = tag, True
                    count += 1
                uses[tag] += sign
                once = _once(np.float64(chance.value[use]))
                for rate in range(len(RATES)):
                    gain[tag, rate] += sign * _gain(once, rate)
        for tag in np.sort(tags[:count]):
            if uses[tag] > 0.0:
                after.tag[filled], after.uses[filled] = tag, uses[tag]
                after.gain[filled] = gain[tag]
                filled += 1
            there[tag], uses[tag], gain[tag] = False, 0.0, 0.0


@compiled
def weigh(cases: Cases, pairs: Pairs, images: FloatArray, found: FloatArray) -> None:
    """Fill in rates x cases: the log odds of a habit, by the owner's other images."""
    for case in range(len(cases.pair)):
        pair, own, seen = cases.pair[case], cases.own[case], cases.seen[case]
        used = own > 0.0 and seen > 0.0
        others = pairs.uses[pair] - used
        missed, once = images[cases.owner[case]] - seen - others, _once(own)
        for rate in range(len(RATES)):
            gain = pairs.gain[pair, rate]
            if used:
                gain -= _gain(once, rate)
            # What was counted with an earlier regression is not quite what this one takes off.
            gain = min(max(gain, others * GAINS[rate, 0]), others * GAINS[rate, 1])
            found[rate, case] = gain + LOG_MISS[rate] * missed


@compiled
def shares(odds: FloatArray, times: FloatArray, weight: FloatArray) -> FloatArray:
    """Return for each rate the sum over cases of its odds, as a share of those of all rates.

    ``odds`` is cases x rates, each case counts so many times.
    """
    found, none = np.zeros(len(RATES)), 1.0 - weight.sum()
    for case in range(len(odds)):
        every = none
        for rate in range(len(RATES)):
            every += weight[rate] * odds[case, rate]
        share = times[case] / every
        for rate in range(len(RATES)):
            found[rate] += share * odds[case, rate]
    return found
