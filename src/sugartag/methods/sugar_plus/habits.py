"""Habits: tags that an owner puts on many images whatever they show.

For each owner and tag there either is a habit, of one of a few rates h, or there is none. With x
the probability that the tag would be given to an image anyhow, a habit makes that x + h - x h. How
common habits of each rate are is learned from all owners and tags (expectation-maximisation), and
what an owner's other images say about each of the owner's tags is then Bayes' rule.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, IntArray, Room, SparseRows
from sugartag.engine.base import row_blocks
from sugartag.linalg.compiled import fit_together, read_only
from sugartag.linalg.entries import Entries
from sugartag.linalg.sparse_rows import entries_between, row_number_of_entries
from sugartag.linalg.threads import run_parts
from sugartag.methods.sugar_plus.at_places import stored_at
from sugartag.methods.sugar_plus.by_owner import IMAGES_AT_ONCE, ByOwner
from sugartag.methods.sugar_plus.habit_odds import (
    LOG_MISS,
    RATES,
    Cases,
    Counted,
    Pairs,
    count_images,
    count_pairs,
    shares,
    weigh,
)

FIRST_WEIGHT = 0.002
WEIGHTS = (1e-6, 0.2)
ROUNDS = 30
PAIRS_AT_ONCE = 1 << 13
"""Pairs of owner and tag that are worked on in one step: what is made of them fits a cache."""
MOST_OWNERS = 5_000
"""Owners that the weights of habits are learned from."""
MOST = 50.0
"""Log odds are counted up to here."""


@dataclass(frozen=True, eq=False)
class Habits:
    """Which habits owners may have."""

    weight: FloatArray
    """How common a habit of each rate is among all owners and tags."""
    uses: SparseRows
    """Owners x tags: images of the owner that have the tag."""
    gain: FloatArray
    """For each such pair and rate: the summed log((x + h - x h) / x) of those images."""
    images: FloatArray
    """How many images each owner has."""

    def __post_init__(self) -> None:
        n_owners = self.uses.shape[0]
        fit_together(self.gain.shape == (self.uses.nnz, len(RATES)))
        fit_together(self.images.shape == (n_owners,) and self.weight.shape == RATES.shape)

    @classmethod
    def learned(
        cls,
        chance: SparseRows,
        owner: IntArray,
        n_owners: int,
        room: Room = np.zeros,
        *,
        threads: int = 1,
    ) -> "Habits":
        """Learn from the chance with which each given tag of each image would be given anyhow.

        ``room`` makes arrays that may be as long as there are given tags.
        """
        nothing = cls.unknown(n_owners, chance.shape[1])
        found = nothing.with_images(chance, owner, room=room, threads=threads)
        return replace(found, weight=_weights(found.uses, found.gain, found.images))

    @classmethod
    def unknown(cls, n_owners: int, n_tags: int) -> "Habits":
        """Return what is known before any image is."""
        weight, gain = np.full(len(RATES), FIRST_WEIGHT), np.zeros((0, len(RATES)))
        return cls(weight, sparse.csr_array((n_owners, n_tags)), gain, np.zeros(n_owners))

    def with_images(
        self,
        chance: SparseRows,
        owner: IntArray,
        *,
        sign: int = 1,
        room: Room = np.zeros,
        threads: int = 1,
    ) -> "Habits":
        """Count more images; with the sign -1, take images away that were counted."""
        (n_owners, n_tags), mine = self.uses.shape, ByOwner.of(owner, self.uses.shape[0])
        self.uses.check_format()
        before, start = Pairs.of(self.uses, self.gain), np.zeros(n_owners + 1, np.int64)
        images = Counted(
            read_only(mine.start),
            read_only(mine.image),
            Entries.of(chance, n_tags),
            n_tags,
            float(sign),
        )
        parts = [owners for owners, _ in mine.chunks()]
        run_parts(lambda some: count_pairs(before, images, some, start[1:]), parts, threads)
        np.cumsum(start, out=start)
        count = int(start[-1])
        index = sparse.get_index_dtype(maxval=count)
        tag, uses = room(count, index), room(count, np.float64)
        after = Pairs(start, tag, uses, room((count, len(RATES)), np.float64))
        run_parts(lambda some: count_images(before, images, some, after), parts, threads)
        return Habits(
            self.weight,
            sparse.csr_array((uses, tag, start.astype(index)), shape=self.uses.shape),
            after.gain,
            self.images + sign * np.diff(mine.start),
        )

    @property
    def usual(self) -> np.float32:
        """How probably a habit stamps a tag on an image of which no other of its owner is known."""
        return np.float32(self.weight @ RATES)

    def stamps_at(
        self, owner: IntArray, pair: IntArray, own: FloatArray, seen: FloatArray
    ) -> FloatArray:
        """Return how probably a habit stamps a tag on an image, by the owner's other images.

        Of each case: the owner, the pair of owner and tag, the chance of the image's own use of
        the tag (0 where it has none), and whether the image is among those counted (1 or 0).
        """
        found, images = np.empty(len(pair)), read_only(self.images)
        pairs = Pairs.of(self.uses, self.gain)
        for part in row_blocks(len(pair), PAIRS_AT_ONCE):
            odds = np.empty((len(RATES), part.stop - part.start))
            cases = Cases.of(owner[part], pair[part], own[part], seen[part])
            weigh(cases, pairs, images, odds)
            found[part] = self._stamp(odds)
        return found

    def stamps_on(
        self, chance: SparseRows, owner: IntArray, room: Room = np.zeros, *, threads: int = 1
    ) -> FloatArray:
        """Return the same for every given tag of the images that this was learned from; float32."""
        found = room(chance.nnz, np.float32)

        def fill(block: slice) -> None:
            place = slice(chance.indptr[block.start], chance.indptr[block.stop])
            found[place] = self._stamps_on(chance[block.start : block.stop], owner[block])

        run_parts(fill, row_blocks(chance.shape[0], IMAGES_AT_ONCE), threads)
        return found

    def _stamps_on(self, chance: SparseRows, owner: IntArray) -> FloatArray:
        pair, known = stored_at(self.uses, owner, chance)
        whose = owner[row_number_of_entries(chance)]
        pair, own = pair[known], chance.data[known]
        found = np.empty(chance.nnz)
        found[known] = self.stamps_at(whose[known], pair, own, np.ones(len(pair)))
        found[~known] = self.stamps_unused(whose[~known], np.ones(chance.nnz - len(pair)))
        return found

    def stamps_unused(self, owner: IntArray, seen: FloatArray) -> FloatArray:
        """Return the same for tags that the owner never used; owners may be unknown."""
        n = len(self.images)
        others = np.zeros(len(owner))
        told = np.flatnonzero(owner < n)
        others[told] = self.images[owner[told]] - seen[told]
        return self._stamp(np.multiply.outer(LOG_MISS, others))

    def _stamp(self, log_odds: FloatArray) -> FloatArray:
        """Return how probably a tag is stamped on, from rates x cases: the log odds of a habit."""
        odds = np.exp(_bounded(log_odds))
        every = 1.0 - self.weight.sum() + self.weight @ odds
        found: FloatArray = (self.weight * RATES) @ odds / every
        return found


def _bounded(log_odds: FloatArray) -> FloatArray:
    """Lower all rates of a case alike, so that they stay apart where the highest is beyond MOST."""
    found: FloatArray = log_odds - np.maximum(log_odds.max(axis=0) - MOST, 0.0)
    return found


def _weights(uses: SparseRows, gain: FloatArray, images: FloatArray) -> FloatArray:
    """Return how common habits are, from owners of several images, so many at most."""
    several = np.flatnonzero(images >= 2)
    several = several[:: max(1, -(-len(several) // MOST_OWNERS))]
    case, pair = entries_between(uses.indptr[several], uses.indptr[several + 1])
    missed = images[several[case]] - uses.data[pair]
    used = _bounded(gain[pair].T + np.multiply.outer(LOG_MISS, missed))
    never = np.multiply.outer(LOG_MISS, images[several])
    odds = np.exp(np.concatenate([used, never], axis=1).T, order="C")
    n_never = uses.shape[1] - np.diff(uses.indptr)[several]
    times = np.concatenate([np.ones(len(pair)), n_never])
    total = max(float(len(several)) * uses.shape[1], 1.0)
    weight = np.full(len(RATES), FIRST_WEIGHT)
    for _ in range(ROUNDS):
        weight = np.clip(weight * shares(odds, times, weight) / total, *WEIGHTS)
    return weight
