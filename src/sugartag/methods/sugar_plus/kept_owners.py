"""Sums over the images of each owner, taken through a ridge once and kept for all their images."""

from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sugartag._typing import BoolArray, FloatArray, IntArray, Room, SparseRows
from sugartag.engine.base import Block, Engine, row_blocks
from sugartag.errors import StorageError
from sugartag.linalg.compiled import read_only
from sugartag.linalg.sparse_rows import row_number_of_entries
from sugartag.methods.sugar_plus.cell_by_cell import Constants
from sugartag.methods.sugar_plus.sums import OwnerTotals

if TYPE_CHECKING:
    from sugartag.methods.sugar_plus.ridge import Ridge

OWNER_CELLS = 1 << 24
"""Owners x tags whose sums are kept in memory, at most."""
SCRATCH_CELLS = 1 << 30
"""Owners x tags whose sums are kept in scratch files, at most."""
OWNERS_AT_ONCE = 512


@dataclass(frozen=True, eq=False)
class Levels:
    """A ridge made ready for products: its weights in parts, and what is constant. Float32."""

    ridge: "Ridge"

    @property
    def share(self) -> FloatArray:
        """Of the images that have each tag."""
        return self.ridge.share

    @property
    def fitted_share(self) -> FloatArray:
        """Of each tag, as far as it is trusted."""
        return self.ridge.fitted_share

    @property
    def _n(self) -> int:
        return self.ridge.evidence.n_sparse

    @property
    def sparse_weights(self) -> FloatArray:
        """Sparse columns x tags."""
        return self.ridge.weights[: self._n]

    @property
    def dense_weights(self) -> FloatArray:
        """Dense columns x tags."""
        return self.ridge.weights[self._n :]

    @property
    def sparse_precision(self) -> FloatArray:
        """P at sparse columns x columns that are no tags."""
        return self.ridge.other_precision[: self._n]

    @property
    def dense_precision(self) -> FloatArray:
        """P at dense columns x columns that are no tags."""
        return self.ridge.other_precision[self._n :]

    @property
    def dense_mean(self) -> FloatArray:
        """Of each dense column."""
        return self.ridge.mean[self._n :]

    @property
    def word_mean(self) -> FloatArray:
        """Of each title word."""
        return self.ridge.mean[len(self.ridge.evidence.predictor) : self._n]

    @cached_property
    def base(self) -> FloatArray:
        """What is predicted of each tag where nothing is known: as given, and as fitted."""
        shares = np.stack([self.share, self.fitted_share])
        found: FloatArray = shares - self._means @ self.sparse_weights
        return found

    @cached_property
    def other_base(self) -> FloatArray:
        """The same of columns that are no tags: z P of a centred row of zeros."""
        found: FloatArray = -(self._means @ self.sparse_precision)
        return found

    @property
    def _means(self) -> FloatArray:
        return np.stack([self.ridge.mean[: self._n], self.ridge.fitted_mean[: self._n]])

    def other_columns(self, words: SparseRows, dense: FloatArray, images: FloatArray) -> FloatArray:
        """Return the columns that are no tags, centred, of rows that sum up so many images."""
        if not words.shape[1]:
            return dense
        return np.hstack([words.toarray() - np.multiply.outer(images, self.word_mean), dense])

    @cached_property
    def constants(self) -> Constants:
        """What goes cell by cell needs of each tag."""
        own, weighed = self.ridge.own_precision, self.weighed_shares[:, 1]
        shares = self.share, self.fitted_share
        return Constants.of(self.sparse_weights, self.base, own, weighed, *shares)

    @cached_property
    def weighed_shares(self) -> FloatArray:
        """Tags x 2: their shares, as given and as fitted, times P[t, t]."""
        shares = np.stack([self.share, self.fitted_share], axis=1)
        return shares * self.ridge.own_precision[:, None]


@dataclass(frozen=True, eq=False)
class OwnerLevels:
    """Sums S over the images of some owners, centred and taken through a ridge."""

    beyond: FloatArray
    """Owners x tags: S w - S, what is predicted beyond what is there. Times -P[t, t] it is S P.
    Float32."""
    others: FloatArray
    """S P at columns that are no tags, float32."""
    numbers: FloatArray
    """Owners x 3, float64, for they grow with the square of the images: what is beyond, times the
    weighed shares, as given and as fitted; and S P S'."""

    def __len__(self) -> int:
        return len(self.beyond)

    @classmethod
    def empty(cls, ridge: "Ridge", count: int, room: Room) -> "OwnerLevels":
        """Make room for some owners."""
        n_tags, n_others = ridge.evidence.n_tags, ridge.other_precision.shape[1]
        return cls(
            np.asarray(room((count, n_tags), np.float32)),
            np.asarray(room((count, n_others), np.float32)),
            np.zeros((count, 3)),
        )

    @classmethod
    def of(cls, levels: Levels, totals: OwnerTotals) -> "OwnerLevels":
        """Take sums through a ridge."""
        ridge = levels.ridge
        words = totals.words.astype(np.float32)
        known = ridge.evidence.known(totals.tags.astype(np.float32), words)
        images = totals.images.astype(np.float32)
        dense = totals.dense - np.multiply.outer(images, levels.dense_mean)
        beyond = np.asarray(known @ levels.sparse_weights)
        beyond += dense @ levels.dense_weights
        beyond += np.multiply.outer(images, levels.base[1])
        tags = totals.tags
        row, column = row_number_of_entries(tags), tags.indices
        beyond[row, column] -= tags.data
        others = np.asarray(known @ levels.sparse_precision)
        others += dense @ levels.dense_precision
        others += np.multiply.outer(images, levels.other_base[1])
        at_shares = beyond.astype(np.float64) @ levels.weighed_shares.astype(np.float64)
        columns = levels.other_columns(words, dense, images)
        terms = tags.data * ridge.own_precision[column] * beyond[row, column]
        squared = np.einsum("ij,ij->i", others, columns, dtype=np.float64)
        squared += images * at_shares[:, 1]
        squared -= np.bincount(row, terms, minlength=len(images))
        return cls(beyond, others, np.column_stack([at_shares, squared]))

    def take(self, block: Block, some: "OwnerLevels") -> None:
        """Take the levels of some owners."""
        for field in fields(self):
            getattr(self, field.name)[block] = getattr(some, field.name)


@dataclass(frozen=True, eq=False)
class KeptOwners:
    """What is kept of the owners with most images, and where each owner's is."""

    number: IntArray
    """The row of each owner and, last, of nobody; as many as there are rows where there is none."""
    kept: OwnerLevels

    @classmethod
    def none(cls, ridge: "Ridge") -> "KeptOwners":
        """Keep nobody's."""
        nothing = np.zeros(len(ridge.owners) + 1, dtype=np.int64)
        return cls(nothing, OwnerLevels.empty(ridge, 0, np.zeros))

    @classmethod
    def of(cls, ridge: "Ridge", *, engine: Engine) -> "KeptOwners":
        """Keep those of the owners with most images."""
        images = ridge.owners.images
        kept = _room_for(ridge, int(np.count_nonzero(images)), engine)
        count = len(kept)
        busiest = np.sort(np.argsort(-images, kind="stable")[:count])
        number = np.full(len(ridge.owners) + 1, count)
        number[busiest] = np.arange(count)
        blocks = row_blocks(count, OWNERS_AT_ONCE)
        parts = engine.map(take_owners_through, blocks, ridge, busiest)
        for block, part in zip(blocks, parts, strict=True):
            kept.take(block, part)
        return cls(number, kept)

    def of_rows(self, ridge: "Ridge", owner: IntArray) -> "OwnersOfRows":
        """Return what is known of the owner of each image."""
        distinct, spot = np.unique(np.minimum(owner, len(ridge.owners)), return_inverse=True)
        totals = ridge.owners.at(distinct)
        place = self.number[distinct]
        new = place == len(self.kept)
        made = OwnerLevels.of(ridge.levels, totals.at(np.flatnonzero(new)))
        place[new] = np.arange(len(made))
        return OwnersOfRows(totals, spot, self.kept, made, place[spot], new[spot])


def _room_for(ridge: "Ridge", wanted: int, engine: Engine) -> OwnerLevels:
    """Make room for as many owners as may be kept: in scratch files, or else for few in memory."""
    n_tags = max(ridge.evidence.n_tags, 1)
    in_scratch, in_memory = (min(wanted, cells // n_tags) for cells in (SCRATCH_CELLS, OWNER_CELLS))
    if engine.scratch is not None:
        with suppress(StorageError):
            return OwnerLevels.empty(ridge, in_scratch, engine.room)
    return OwnerLevels.empty(ridge, in_memory, np.zeros)


def take_owners_through(block: Block, ridge: "Ridge", owners: IntArray) -> OwnerLevels:
    """Take the sums of some owners, which ascend, through a ridge."""
    return OwnerLevels.of(ridge.levels, ridge.owners.at(owners[block]))


@dataclass(frozen=True, eq=False)
class OwnersOfRows:
    """Sums over the images of the owner of each image; nobody's are nothing."""

    totals: OwnerTotals
    """Of the owners there are, each once."""
    spot: IntArray
    """Which of these each image is of."""
    kept: OwnerLevels
    made: OwnerLevels
    place: IntArray
    """Where the levels of each image's owner are, among those kept or those made now."""
    new: BoolArray
    """Whether they were made now."""

    @cached_property
    def images(self) -> FloatArray:
        """How many each owner has."""
        return self.totals.images.astype(np.float32)[self.spot]

    @property
    def tags(self) -> SparseRows:
        """Images x tags, as far as they are trusted; float32."""
        found: SparseRows = self.totals.tags.astype(np.float32)[self.spot]
        return found

    @property
    def others(self) -> FloatArray:
        """S P at columns that are no tags."""
        return _picked(self.kept.others, self.made.others, self.place, self.new)

    @property
    def numbers(self) -> FloatArray:
        """What is beyond, times the weighed shares, as given and as fitted; and S P S'."""
        return _picked(self.kept.numbers, self.made.numbers, self.place, self.new)

    @property
    def beyond(self) -> tuple[FloatArray, FloatArray, IntArray, BoolArray]:
        """What is predicted of all images of the owner, x tags: where it is kept, and made."""
        return read_only(self.kept.beyond), read_only(self.made.beyond), self.place, self.new


def _picked(kept: FloatArray, made: FloatArray, place: IntArray, new: BoolArray) -> FloatArray:
    found = np.empty((len(place), kept.shape[1]), dtype=kept.dtype)
    found[~new], found[new] = kept[place[~new]], made[place[new]]
    return found
