"""Sums over the images of each owner, taken through a ridge once and kept for all their images."""

from contextlib import suppress
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from sugartag._typing import FloatArray, IntArray, Room, SparseRows
from sugartag.engine.base import Block, Engine, row_blocks
from sugartag.errors import StorageError
from sugartag.linalg.compiled import read_only
from sugartag.linalg.entries import Entries
from sugartag.linalg.sparse_rows import row_number_of_entries
from sugartag.linalg.sparse_times_dense import add_products
from sugartag.methods.sugar_plus.cell_by_cell import ITSELF, KEPT, MADE
from sugartag.methods.sugar_plus.levels import Levels
from sugartag.methods.sugar_plus.sums import OwnerTotals, padded

if TYPE_CHECKING:
    from sugartag.methods.sugar_plus.ridge import Ridge

OWNER_CELLS = 1 << 24
"""Owners x tags whose sums are kept in memory, at most."""
SCRATCH_CELLS = 1 << 30
"""Owners x tags whose sums are kept in scratch files, at most."""
FEWEST_IMAGES = 2
"""Images from which on an owner's sums are kept: those of others are asked for once."""
OWNERS_AT_ONCE = 512


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
        if not len(totals):
            return cls.empty(ridge, 0, np.zeros)
        words = totals.words.astype(np.float32)
        known = ridge.evidence.known(totals.tags.astype(np.float32), words)
        images = totals.images.astype(np.float32)
        dense = totals.dense - np.multiply.outer(images, levels.dense_mean)
        sparse = Entries.of(known, ridge.evidence.n_sparse)
        beyond = dense @ levels.dense_weights
        beyond += np.multiply.outer(images, levels.base[1])
        add_products(sparse, read_only(levels.sparse_weights), beyond)
        others = dense @ levels.dense_precision
        others += np.multiply.outer(images, levels.other_base[1])
        add_products(sparse, read_only(levels.sparse_precision), others)
        tags, shares = totals.tags, levels.weighed_shares.astype(np.float64)
        row, column = row_number_of_entries(tags), tags.indices
        beyond[row, column] -= tags.data
        n = ridge.evidence.n_sparse
        at_shares = known @ levels.at_weighed_shares[:n] + dense @ levels.at_weighed_shares[n:]
        at_shares += np.multiply.outer(images, levels.base[1] @ shares) - tags @ shares
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
        kept = _room_for(ridge, int(np.count_nonzero(images >= FEWEST_IMAGES)), engine)
        count = len(kept)
        busiest = np.sort(np.argsort(-images, kind="stable")[:count])
        number = np.full(len(ridge.owners) + 1, count)
        number[busiest] = np.arange(count)
        blocks = row_blocks(count, OWNERS_AT_ONCE)
        parts = engine.map(take_owners_through, blocks, ridge, busiest)
        for block, part in zip(blocks, parts, strict=True):
            kept.take(block, part)
        return cls(number, kept)

    def of_rows(self, ridge: "Ridge", owner: IntArray, seen: FloatArray) -> "OwnersOfRows":
        """Return what is known of the owner of each image, those ``seen`` having been fitted."""
        owners, known = ridge.owners, np.minimum(owner, len(ridge.owners))
        images = np.append(owners.images, 0.0)[known].astype(np.float32)
        place = self.number[known]
        kind = np.where(place < len(self.kept), KEPT, MADE).astype(np.int8)
        kind[(kind == MADE) & (images == 1) & (seen > 0)] = ITSELF
        place[kind == ITSELF] = 0
        new = kind == MADE
        distinct, place[new] = np.unique(known[new], return_inverse=True)
        made = OwnerLevels.of(ridge.levels, owners.at(distinct))
        tags = padded(owners.tags, 1)[known].astype(np.float32)
        return OwnersOfRows(images, tags, self.kept, made, place, kind)


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

    images: FloatArray
    """How many each owner has; float32."""
    tags: SparseRows
    """Images x tags, as far as they are trusted; float32."""
    kept: OwnerLevels
    made: OwnerLevels
    place: IntArray
    """Where the levels of each image's owner are, among those kept or those made now."""
    kind: IntArray
    """Which of both, or neither: then the image is the only one of its owner."""

    @property
    def others(self) -> FloatArray:
        """S P at columns that are no tags."""
        return self._picked(self.kept.others, self.made.others)

    @property
    def numbers(self) -> FloatArray:
        """What is beyond, times the weighed shares, as given and as fitted; and S P S'."""
        return self._picked(self.kept.numbers, self.made.numbers)

    @property
    def beyond(self) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
        """What is predicted of all images of the owner, x tags: where it is kept, and made."""
        return read_only(self.kept.beyond), read_only(self.made.beyond), self.place, self.kind

    def _picked(self, kept: FloatArray, made: FloatArray) -> FloatArray:
        """Return what there is of each image's owner; zeros of an image that is the only one."""
        found = np.zeros((len(self.place), kept.shape[1]), dtype=kept.dtype)
        for kind, levels in ((KEPT, kept), (MADE, made)):
            some = self.kind == kind
            found[some] = levels[self.place[some]]
        return found
