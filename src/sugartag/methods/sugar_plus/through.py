"""Images on their way through a ridge: what it says of them, the images themselves left out.

The products are made for many images at once, which is what matrix products are good at. All else
goes cell by cell and is done for some dozens of images at a time, whose numbers stay in the
processor's cache. Sums over an owner's images come ready from :mod:`kept_owners`.

Of tags only what was given is stored. What is predicted is a tag's level, its share included, and
centring then concerns the few tags that are there: of all others it is known beforehand.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.collection.model import Rows
from sugartag.linalg.sparse_rows import alternating, row_number_of_entries

if TYPE_CHECKING:
    from sugartag.methods.sugar_plus.ridge import Ridge

LEAST_ROOM = np.float32(0.05)
"""What 1 - leverage is counted as, at least: below, an image says nearly all about itself."""
INTEREST_SHRINKAGE = 2.0
"""Images of nobody's interest that an owner's others are averaged with."""
CELLS_IN_CACHE = 1 << 18
"""Images x tags that are worked on in one go."""


def slabs(n_rows: int, n_tags: int) -> Iterator[slice]:
    """Cut images into slabs whose cells fit a processor's cache."""
    size = max(1, CELLS_IN_CACHE // max(n_tags, 1))
    return (slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))


@dataclass(frozen=True, eq=False)
class Cells:
    """Stored entries of a sparse matrix, row by row: no two are in the same place."""

    row: IntArray
    column: IntArray
    value: FloatArray
    start: IntArray
    """Where the entries of each row begin, and the end of the last."""

    @classmethod
    def of(cls, matrix: SparseRows) -> "Cells":
        """Return the entries of a matrix, values as float32."""
        value = matrix.data.astype(np.float32)
        return cls(row_number_of_entries(matrix), matrix.indices, value, matrix.indptr)

    def in_rows(self, part: slice) -> slice:
        """Return where the entries of some rows are."""
        return slice(self.start[part.start], self.start[part.stop])

    def of_rows(self, part: slice) -> "Cells":
        """Return the entries of some rows, numbered from the first of these on."""
        some = self.in_rows(part)
        row = self.row[some] - part.start
        return Cells(row, self.column[some], self.value[some], self.start[part.start :])

    def add_to(self, total: FloatArray, scale: FloatArray | None = None) -> None:
        """Add the entries; with a scale for each row, so many times."""
        value = self.value if scale is None else self.value * scale[self.row]
        total[self.row, self.column] += value

    def take_off(self, total: FloatArray) -> None:
        """Subtract the entries."""
        total[self.row, self.column] -= self.value

    def pick(self, matrix: FloatArray) -> FloatArray:
        """Return what a matrix has in these places."""
        return matrix[self.row, self.column]

    def products(self, matrix: FloatArray, weight: FloatArray) -> FloatArray:
        """Return of each row the sum of entry times matrix times the weight of the column."""
        terms = self.pick(matrix) * self.value * weight[self.column]
        return np.bincount(self.row, terms, minlength=len(matrix)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Said:
    """What is said about images x tags. Float32."""

    excess: FloatArray
    """Of each image, its share not yet taken off."""
    interest: FloatArray
    """Of the owner's other images, but for what follows from the tag's share alone."""
    rest: FloatArray
    """How many times the tag's share, as far as it is trusted, is to be added to that."""


class Through:
    """Some images on their way through a ridge.

    With z the centred columns of an image, z w what they predict of its tags and S the sums over
    its owner's images: what is predicted beyond what is there, z w - z, times -P[t, t] is z P at
    the tag, and likewise S P.
    """

    def __init__(self, ridge: "Ridge", rows: Rows, trusted: SparseRows) -> None:
        self.ridge, self.n_images = ridge, len(rows)
        evidence, levels = ridge.evidence, ridge.levels
        self.seen = (rows.position < ridge.n_images).astype(np.float32)
        believed = trusted[np.minimum(rows.position, trusted.shape[0] - 1)].astype(np.float32)
        words = evidence.words_of(rows).astype(np.float32)
        dense = evidence.dense(rows) - levels.dense_mean
        # As given and as fitted in turn: what a tag says is then fetched once for both.
        given = rows.tags.astype(np.float32)
        known = alternating(evidence.known(given, words), evidence.known(believed, words))
        self._known, self._by_dense = known, dense @ levels.dense_weights
        others = np.asarray(known @ levels.sparse_precision).reshape(len(rows), 2, -1)
        others += (dense @ levels.dense_precision)[:, None]
        others += levels.other_base
        self._given, self._believed = Cells.of(given), Cells.of(believed)
        self._owners = ridge.kept_owners.of_rows(ridge, rows.owner)
        b, images = np.float32(ridge.owner_variance), self._owners.images
        self._c = np.where(images > 0, b / (1 + b * images), np.float32(0))
        columns = levels.other_columns(words, dense, np.ones(len(rows), dtype=np.float32))
        self._both, self._mixed = self._at_other_columns(columns, others)

    def slabs(self) -> Iterator[slice]:
        """Cut the images into slabs."""
        return slabs(self.n_images, self.ridge.evidence.n_tags)

    def content(self, part: slice) -> tuple[FloatArray, FloatArray]:
        """Return what is said about some images and their owners' other ones, beyond the shares."""
        said = self.said(part)
        excess, interest = said.excess, said.interest
        excess -= self.ridge.share
        interest += np.multiply.outer(said.rest, self.ridge.fitted_share)
        return excess, interest

    def said(self, part: slice, interest: float = 1.0) -> "Said":
        """Return the same, but for the shares; of the owners' other images, so many times."""
        now, fitted = self._beyond(part)
        theirs = self._owners.beyond(part)
        if self.seen[part].any():
            # What is there is taken off by now and put back at last.
            pull = self._pull(part, now, fitted, theirs)
            now -= pull
        self._given.of_rows(part).add_to(now)
        scale = self._interest_scale(part, interest)
        return Said(now, self._interest(part, scale, fitted, theirs), self._rest(part, scale))

    def _beyond(self, part: slice) -> tuple[FloatArray, FloatArray]:
        """Return what is predicted beyond what is there, as given and as fitted."""
        levels = self.ridge.levels
        known = self._known[2 * part.start : 2 * part.stop]
        found = np.asarray(known @ levels.sparse_weights).reshape(-1, 2, len(self.ridge.share))
        found += self._by_dense[part][:, None]
        found += levels.base
        now, fitted = found[:, 0], found[:, 1]
        self._given.of_rows(part).take_off(now)
        self._believed.of_rows(part).take_off(fitted)
        return now, fitted

    def _interest_scale(self, part: slice, times: float) -> FloatArray:
        """Return what each other image of the owner counts for."""
        images, seen = self._owners.images[part], self.seen[part]
        others = np.maximum(images - seen, 0.0) + INTEREST_SHRINKAGE
        return np.where(images > 0, times / others, 0.0).astype(np.float32)

    def _interest(
        self, part: slice, scale: FloatArray, fitted: FloatArray, theirs: FloatArray
    ) -> FloatArray:
        """Return the mean of what is said about the owner's other images; uses up ``theirs``."""
        seen = self.seen[part]
        theirs -= fitted if seen.all() else fitted * seen[:, None]
        theirs *= scale[:, None]
        self._tags_of_owners.of_rows(part).add_to(theirs, scale)
        self._believed.of_rows(part).add_to(theirs, -scale * seen)
        return theirs

    def _rest(self, part: slice, scale: FloatArray) -> FloatArray:
        """Return how many times each tag's share is to be added to the interest."""
        return scale * (self.seen[part] - self._owners.images[part])

    @cached_property
    def _tags_of_owners(self) -> Cells:
        return Cells.of(self._owners.tags)

    def _pull(
        self, part: slice, now: FloatArray, fitted: FloatArray, theirs: FloatArray
    ) -> FloatArray:
        """Return how much of each prediction an image owes to its own tags, having been fitted."""
        c, own = self._c[part], self.ridge.own_precision
        both, mixed = self._products(part, now, fitted, theirs)
        left = theirs * c[:, None]
        left -= fitted
        pull = left * left
        pull *= own
        room = pull + (1.0 - c - both)[:, None]
        if room.min() < LEAST_ROOM:
            np.maximum(room, LEAST_ROOM, out=room)
        pull *= now
        left *= mixed[:, None]
        pull += left
        pull /= room
        if not self.seen[part].all():
            pull *= self.seen[part][:, None]
        return pull

    def _products(
        self, part: slice, now: FloatArray, fitted: FloatArray, theirs: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return z~ P z~' and z P z~' of some images, z~ being z - c S."""
        c, own = self._c[part], self.ridge.own_precision
        shares = self.ridge.levels.weighed_shares
        given, believed = self._given.of_rows(part), self._believed.of_rows(part)
        at_shares, squared = self._numbers[part, :2], self._numbers[part, 2]
        itself = fitted @ shares[:, 1] - believed.products(fitted, own)
        with_sums = at_shares[:, 1] - believed.products(theirs, own)
        both = self._both[part] + itself - 2 * c * with_sums + c * c * squared
        now_itself = now @ shares[:, 1] - believed.products(now, own)
        now_with_sums = at_shares[:, 0] - given.products(theirs, own)
        mixed = self._mixed[part] + now_itself - c * now_with_sums
        return both.astype(np.float32), mixed.astype(np.float32)

    @cached_property
    def _numbers(self) -> FloatArray:
        return self._owners.numbers

    def _at_other_columns(
        self, columns: FloatArray, others: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return z~ P z~' and z P z~' as far as they are made at columns that are no tags."""
        theirs = np.einsum("ij,ij->i", self._owners.others, columns)
        now, fitted = (np.einsum("ij,ij->i", others[:, number], columns) for number in range(2))
        # S P S' is among the owner's numbers as a whole.
        return fitted - 2 * self._c * theirs, now - self._c * theirs
