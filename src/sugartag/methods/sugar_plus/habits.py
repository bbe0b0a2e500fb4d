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
from sugartag.linalg.sparse_rows import GrowingRows, entries_between, row_number_of_entries
from sugartag.methods.sugar_plus.at_places import stored_at
from sugartag.methods.sugar_plus.belief import Belief
from sugartag.methods.sugar_plus.by_owner import IMAGES_AT_ONCE, ByOwner

RATES = np.array([0.15, 0.3, 0.5, 0.7, 0.9])
LOG_MISS = np.log1p(-RATES)
CHANCES = (1e-4, 0.99)
"""No tag is taken to be less or more probable than this without a habit."""
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
        whose = owner[row_number_of_entries(chance)]
        told = whose < n_owners
        row = np.concatenate([row_number_of_entries(self.uses), whose[told]])
        tag = np.concatenate([self.uses.indices, chance.indices[told]])
        first, place = _pairs(row, tag, (n_owners, n_tags))
        gains = np.concatenate([self.gain.T, sign * _gains(chance.data[told])], axis=1)
        uses = np.concatenate([self.uses.data, np.full(gains.shape[1] - len(self.gain), sign)])
        count, *summed = (np.bincount(place, some, minlength=len(first)) for some in (uses, *gains))
        kept = np.flatnonzero(count > 0)
        indptr = np.searchsorted(row[first[kept]], np.arange(n_owners + 1))
        parts = count[kept], tag[first[kept]], indptr
        more = np.bincount(owner, minlength=n_owners + 1)[:n_owners]
        return Habits(
            self.weight,
            sparse.csr_array(parts, shape=(n_owners, n_tags)),
            np.stack([gain[kept] for gain in summed], axis=1),
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
        found = np.empty(len(pair))
        for part in row_blocks(len(pair), PAIRS_AT_ONCE):
            used = (own[part] > 0) & (seen[part] > 0)
            gain = np.ascontiguousarray(self.gain[pair[part]].T)
            gain[:, used] -= _gains(own[part][used])
            others = self.uses.data[pair[part]] - used
            # What was counted with an earlier regression is not quite what this one takes off.
            np.clip(gain, *(np.multiply.outer(most, others) for most in GAINS.T), out=gain)
            missed = self.images[owner[part]] - seen[part] - others
            found[part] = self._stamp(gain + np.multiply.outer(LOG_MISS, missed))
        return found

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


@dataclass(frozen=True, eq=False)
class Manners:
    """How people tag, as far as content alone can tell."""

    plain: Belief
    """With every use of a tag taken for honest: what habits are held against."""
    habits: Habits
    alone: Belief
    """Of content alone, habits set aside."""

    def stamps(self, rows: Rows, at_given: FloatArray, seen: FloatArray) -> "Stamps":
        """Return how probably a habit stamps each tag on.

        ``at_given`` is what content says about the given tags of the images, in the order they are
        stored; ``seen`` is 1 for images that were fitted.
        """
        habits, uses = self.habits, self.habits.uses
        unused = habits.stamps_unused(rows.owner, seen).astype(np.float32)
        owner = np.minimum(rows.owner, uses.shape[0])
        ends = np.append(uses.indptr, uses.nnz)
        row, pair = entries_between(ends[owner], ends[owner + 1])
        start = np.concatenate([[0], np.cumsum(ends[owner + 1] - ends[owner])])
        tag = uses.indices[pair]
        chance = habits.on_fitted[pair] if seen.all() else habits.on_new[pair]
        if seen.any() and not seen.all():
            chance = np.where(seen[row] > 0, habits.on_fitted[pair], chance)
        # An image that was counted is not to be held against itself.
        image = row_number_of_entries(rows.tags)
        place = _found(row, tag, image, rows.tags.indices, uses.shape[1])
        known = (place >= 0) & (seen[image] > 0)
        place, image, given = place[known], image[known], rows.tags.indices[known]
        own = self.plain.chance(at_given[known], self.plain.slips[given])
        chance[place] = habits.stamps_at(rows.owner[image], pair[place], own, seen[image])
        shape = len(rows), uses.shape[1]
        return Stamps(unused, sparse.csr_array((chance, tag, start), shape=shape))

    def usual_stamps(self, n_images: int) -> "Stamps":
        """Return the same for images whose owners nobody knows."""
        unused = np.full(n_images, self.habits.usual, dtype=np.float32)
        return Stamps(unused, sparse.csr_array((n_images, self.habits.uses.shape[1])))


@dataclass(frozen=True, eq=False)
class Stamps:
    """How probably a habit stamps tags on images. Float32."""

    unused: FloatArray
    """Of each image: any tag that its owner never used."""
    used: SparseRows
    """Images x tags: those that the owner used."""

    def toarray(self) -> FloatArray:
        """Return images x tags."""
        found = np.repeat(self.unused[:, None], self.used.shape[1], axis=1)
        found[row_number_of_entries(self.used), self.used.indices] = self.used.data
        return found


def _found(
    row: IntArray, column: IntArray, of_row: IntArray, of_column: IntArray, n_columns: int
) -> IntArray:
    """Return which of some ascending places each of others is, -1 where it is none of them."""
    if not len(row):
        return np.full(len(of_row), -1)
    keys, wanted = row * np.int64(n_columns) + column, of_row * np.int64(n_columns) + of_column
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, place, -1)


def _gains(chance: FloatArray) -> FloatArray:
    """Return rates x uses of tags: log((x + h - x h) / x)."""
    x = np.clip(chance.astype(np.float64), *CHANCES)
    found: FloatArray = np.log(np.multiply.outer(RATES, 1.0 / x) + (1.0 - RATES)[:, None])
    return found


GAINS = _gains(np.array(CHANCES[::-1]))
"""Rates x 2: the least and the most that one use of a tag can say for a habit."""


def _bounded(log_odds: FloatArray) -> FloatArray:
    """Lower all rates of a case alike, so that they stay apart where the highest is beyond MOST."""
    found: FloatArray = log_odds - np.maximum(log_odds.max(axis=0) - MOST, 0.0)
    return found


def _pairs(row: IntArray, tag: IntArray, shape: tuple[int, int]) -> tuple[IntArray, IntArray]:
    """Return a case of each pair of row and tag that there is, in order, and each case's pair."""
    order = _sorted(tag, shape[1])
    order = order[_sorted(row[order], shape[0])]
    is_new = np.ones(len(order), dtype=np.bool_)
    is_new[1:] = (np.diff(row[order]) != 0) | (np.diff(tag[order]) != 0)
    pair = np.empty(len(order), dtype=np.int64)
    pair[order] = np.cumsum(is_new) - 1
    return order[is_new], pair


def _sorted(number: IntArray, size: int) -> IntArray:
    """Return the stable order of numbers below a size, by counting: faster than comparing."""
    n = len(number)
    cases = sparse.csr_array((np.ones(n, np.bool_), number, np.arange(n + 1)), shape=(n, size))
    found: IntArray = cases.tocsc().indices
    return found


def _weights(uses: SparseRows, gain: FloatArray, images: FloatArray) -> FloatArray:
    """Return how common habits are, from owners of several images, so many at most."""
    several = np.flatnonzero(images >= 2)
    several = several[:: max(1, -(-len(several) // MOST_OWNERS))]
    case, pair = entries_between(uses.indptr[several], uses.indptr[several + 1])
    missed = images[several[case]] - uses.data[pair]
    used = np.exp(_bounded(gain[pair].T + np.multiply.outer(LOG_MISS, missed)))
    never = np.exp(np.multiply.outer(LOG_MISS, images[several]))
    n_never = uses.shape[1] - np.diff(uses.indptr)[several]
    total = max(float(len(several)) * uses.shape[1], 1.0)
    weight = np.full(len(RATES), FIRST_WEIGHT)
    for _ in range(ROUNDS):
        no_habit = 1.0 - weight.sum()
        # Sums as long as these may come out otherwise in BLAS with more threads.
        shares = np.einsum("rc,c->r", used, 1.0 / (no_habit + weight @ used))
        shares += np.einsum("rc,c->r", never, n_never / (no_habit + weight @ never))
        weight = np.clip(weight * shares / total, *WEIGHTS)
    return weight
