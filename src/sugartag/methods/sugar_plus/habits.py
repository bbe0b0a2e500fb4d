"""Habits: tags that an owner puts on many images whatever they show.

For each owner and tag there either is a habit, of one of a few rates h, or there is none. With x
the probability that the tag would be given to an image anyhow, a habit makes that x + h - x h. How
common habits of each rate are is learned from all owners and tags (expectation-maximisation), and
what an owner's other images say about each of the owner's tags is then Bayes' rule.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, IntArray, Room, SparseRows
from sugartag.collection.model import Rows
from sugartag.engine.base import row_blocks
from sugartag.linalg.sparse_rows import GrowingRows, row_number_of_entries
from sugartag.methods.sugar_plus.belief import Belief
from sugartag.methods.sugar_plus.by_owner import IMAGES_AT_ONCE, ByOwner

RATES = np.array([0.15, 0.3, 0.5, 0.7, 0.9])
LOG_MISS = np.log1p(-RATES)
CHANCES = (1e-4, 0.99)
"""No tag is taken to be less or more probable than this without a habit."""
FIRST_WEIGHT = 0.002
WEIGHTS = (1e-6, 0.2)
ROUNDS = 30
PAIRS_AT_ONCE = 1 << 16
"""Pairs of owner and tag that are worked on in one step."""
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

    @classmethod
    def learned(
        cls, chance: SparseRows, owner: IntArray, n_owners: int, room: Room = np.zeros
    ) -> "Habits":
        """Learn from the chance with which each given tag of each image would be given anyhow.

        ``room`` makes arrays that may be as long as there are given tags.
        """
        n_tags = chance.shape[1]
        uses = GrowingRows(n_tags, n_owners, chance.nnz, np.float64, room)
        gain = room((chance.nnz, len(RATES)), np.float64)
        images = np.zeros(n_owners)
        for owners, some in ByOwner.of(owner, n_owners).chunks():
            part = cls.unknown(owners.stop - owners.start, n_tags)
            part = part.with_images(chance[some], owner[some] - owners.start)
            gain[uses.filled : uses.filled + part.uses.nnz] = part.gain
            uses.take(part.uses)
            images[owners] = part.images
        found = cls(np.zeros(len(RATES)), uses.rows(), gain[: uses.filled], images)
        return replace(found, weight=_weights(found.uses, found.gain, found.images))

    @classmethod
    def unknown(cls, n_owners: int, n_tags: int) -> "Habits":
        """Return what is known before any image is."""
        weight, gain = np.full(len(RATES), FIRST_WEIGHT), np.zeros((0, len(RATES)))
        return cls(weight, sparse.csr_array((n_owners, n_tags)), gain, np.zeros(n_owners))

    def with_images(self, chance: SparseRows, owner: IntArray, *, sign: int = 1) -> "Habits":
        """Count more images; with the sign -1, take images away that were counted."""
        n_owners, n_tags = self.uses.shape
        image = row_number_of_entries(chance)
        told = owner[image] < n_owners
        key = [
            row_number_of_entries(self.uses) * n_tags + self.uses.indices,
            owner[image][told].astype(np.int64) * n_tags + chance.indices[told],
        ]
        pairs, place = np.unique(np.concatenate(key), return_inverse=True)
        gains = np.concatenate([self.gain, sign * _gains(chance.data[told])])
        summed = [np.bincount(place, g, minlength=len(pairs)) for g in gains.T]
        count = np.bincount(
            place, np.concatenate([self.uses.data, np.full(len(key[1]), float(sign))])
        )
        kept = count > 0
        row = pairs[kept] // n_tags
        indptr = np.searchsorted(row, np.arange(n_owners + 1))
        parts = count[kept], pairs[kept] % n_tags, indptr
        more = np.bincount(owner, minlength=n_owners + 1)[:n_owners]
        return Habits(
            self.weight,
            sparse.csr_array(parts, shape=(n_owners, n_tags)),
            np.stack(summed, axis=1)[kept].astype(np.float64),
            self.images + sign * more,
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
        used = (own > 0) & (seen > 0)
        gain = self.gain[pair]
        gain[used] -= _gains(own[used])
        others = self.uses.data[pair] - used
        # What was counted with an earlier regression is not quite what the present one takes off.
        gain = np.clip(gain, others[:, None] * GAINS[0], others[:, None] * GAINS[1])
        missed = self.images[owner] - seen - others
        return self._stamp(gain + missed[:, None] * LOG_MISS)

    @cached_property
    def on_fitted(self) -> FloatArray:
        """How probably each pair's tag is stamped on a fitted image that does not have it."""
        return self._on_images(1.0)

    @cached_property
    def on_new(self) -> FloatArray:
        """How probably each pair's tag is stamped on an image that is not counted."""
        return self._on_images(0.0)

    def _on_images(self, seen: float) -> FloatArray:
        found = np.empty(self.uses.nnz, dtype=np.float32)
        owner = row_number_of_entries(self.uses).astype(np.int32)
        for part in row_blocks(len(found), PAIRS_AT_ONCE):
            pair = np.arange(part.start, part.stop)
            nothing, counted = np.zeros(len(pair)), np.full(len(pair), seen)
            found[part] = self.stamps_at(owner[part], pair, nothing, counted)
        return found

    def stamps_on(self, chance: SparseRows, owner: IntArray, room: Room = np.zeros) -> FloatArray:
        """Return the same for every given tag of the images that this was learned from; float32."""
        found = room(chance.nnz, np.float32)
        for block in row_blocks(chance.shape[0], IMAGES_AT_ONCE):
            place = slice(chance.indptr[block.start], chance.indptr[block.stop])
            found[place] = self._stamps_on(chance[block.start : block.stop], owner[block])
        return found

    def _stamps_on(self, chance: SparseRows, owner: IntArray) -> FloatArray:
        image = row_number_of_entries(chance)
        whose = owner[image].astype(np.int64)
        seen = np.ones(len(image))
        found = self.stamps_unused(whose, seen)
        told = whose < len(self.images)
        pair = _places(self.uses, whose[told], chance.indices[told])
        found[told] = self.stamps_at(whose[told], pair, chance.data[told], seen[told])
        return found

    def stamps_unused(self, owner: IntArray, seen: FloatArray) -> FloatArray:
        """Return the same for tags that the owner never used; owners may be unknown."""
        n = len(self.images)
        others = np.zeros(len(owner))
        told = np.flatnonzero(owner < n)
        others[told] = self.images[owner[told]] - seen[told]
        return self._stamp(others[:, None] * LOG_MISS)

    def _stamp(self, log_odds: FloatArray) -> FloatArray:
        odds = self.weight * np.exp(_bounded(log_odds))
        found: FloatArray = odds @ RATES / (1.0 - self.weight.sum() + odds.sum(axis=1))
        return found


@dataclass(frozen=True, eq=False)
class Manners:
    """How people tag, as far as content alone can tell."""

    plain: Belief
    """With every use of a tag taken for honest: what habits are held against."""
    habits: Habits
    alone: Belief
    """Of content alone, habits set aside."""

    def stamps(self, rows: Rows, content: FloatArray, seen: FloatArray) -> FloatArray:
        """Return images x tags, float32: how probably a habit stamps each tag on.

        ``content`` is what content says about each tag, ``seen`` 1 for images that were fitted.
        """
        unused = self.habits.stamps_unused(rows.owner, seen)
        found = np.repeat(unused.astype(np.float32)[:, None], content.shape[1], axis=1)
        uses = self.habits.uses
        known = np.flatnonzero(rows.owner < uses.shape[0])
        counts = uses.indptr[rows.owner[known] + 1] - uses.indptr[rows.owner[known]]
        row = np.repeat(known, counts)
        within = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        pair = uses.indptr[rows.owner[row]] + within
        own = np.zeros(content.shape, dtype=np.float32)
        given = row_number_of_entries(rows.tags), rows.tags.indices
        own[given] = self.plain.chance(content[given], self.plain.slips[given[1]])
        cell = row, uses.indices[pair]
        stamp = np.where(seen[row] > 0, self.habits.on_fitted[pair], self.habits.on_new[pair])
        used = np.flatnonzero((own[cell] > 0) & (seen[row] > 0))
        own_use = own[row[used], cell[1][used]]
        stamp[used] = self.habits.stamps_at(
            rows.owner[row[used]], pair[used], own_use, seen[row[used]]
        )
        found[cell] = stamp
        return found


def _gains(chance: FloatArray) -> FloatArray:
    x = np.clip(chance.astype(np.float64), *CHANCES)[:, None]
    found: FloatArray = np.log((x + RATES - x * RATES) / x)
    return found


GAINS = _gains(np.array(CHANCES[::-1]))
"""The least and the most that one use of a tag can say for a habit of each rate."""


def _bounded(log_odds: FloatArray) -> FloatArray:
    """Lower all rates of a case alike, so that they stay apart where the highest is beyond MOST."""
    found: FloatArray = log_odds - np.maximum(log_odds.max(axis=1, keepdims=True) - MOST, 0.0)
    return found


def _places(matrix: SparseRows, row: IntArray, column: IntArray) -> IntArray:
    """Return where each of some stored entries is stored; columns ascend within rows."""
    chosen, number = np.unique(row, return_inverse=True)
    some = matrix[chosen]
    keys = row_number_of_entries(some) * matrix.shape[1] + some.indices
    found = np.searchsorted(keys, number * matrix.shape[1] + column)
    return found - some.indptr[number] + matrix.indptr[row]


def _weights(uses: SparseRows, gain: FloatArray, images: FloatArray) -> FloatArray:
    """Return how common habits are, from owners of several images, so many at most."""
    several = np.flatnonzero(images >= 2)
    several = several[:: max(1, -(-len(several) // MOST_OWNERS))]
    counts = np.diff(uses.indptr)[several]
    owner = np.repeat(several, counts)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    pair = uses.indptr[owner] + within
    missed = images[owner] - uses.data[pair]
    used = np.exp(_bounded(gain[pair] + missed[:, None] * LOG_MISS))
    never = np.exp(np.multiply.outer(images[several], LOG_MISS))
    n_never = uses.shape[1] - counts
    total = max(float(len(several)) * uses.shape[1], 1.0)
    weight = np.full(len(RATES), FIRST_WEIGHT)
    for _ in range(ROUNDS):
        parts = [weight * odds for odds in (used, never)]
        part = [odds / (1.0 - weight.sum() + odds.sum(axis=1))[:, None] for odds in parts]
        weight = np.clip((part[0].sum(axis=0) + n_never @ part[1]) / total, *WEIGHTS)
    return weight
