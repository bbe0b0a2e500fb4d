"""Images on their way through a ridge: what it says of them, the images themselves left out.

The products are made for many images at once, which is what matrix products are good at. All else
goes cell by cell, in :mod:`cell_by_cell`. Sums over an owner's images come ready from
:mod:`kept_owners`.

Of tags only what was given is stored. What is predicted is a tag's level, its share included, and
centring then concerns the few tags that are there: of all others it is known beforehand.
"""

from typing import TYPE_CHECKING

import numpy as np

from sugartag._typing import FloatArray, SparseRows
from sugartag.collection.model import Rows
from sugartag.linalg.entries import Entries
from sugartag.methods.sugar_plus.cell_by_cell import ITSELF, Asked, Images, Owners, say

if TYPE_CHECKING:
    from sugartag.methods.sugar_plus.look_alikes import Alike
    from sugartag.methods.sugar_plus.ridge import Ridge

INTEREST_SHRINKAGE = 2.0
"""Images of nobody's interest that an owner's others are averaged with."""


class Through:
    """Some images on their way through a ridge.

    With z the centred columns of an image, z w what they predict of its tags and S the sums over
    its owner's images: what is predicted beyond what is there, z w - z, times -P[t, t] is z P at
    the tag, and likewise S P.

    Having been fitted, an image owes its own tags a part of each prediction, which is taken off.
    """

    def __init__(self, ridge: "Ridge", rows: Rows, trusted: SparseRows) -> None:
        self.ridge, self.n_images = ridge, len(rows)
        evidence, levels = ridge.evidence, ridge.levels
        self.seen = (rows.position < ridge.n_images).astype(np.float32)
        believed = trusted[np.minimum(rows.position, trusted.shape[0] - 1)].astype(np.float32)
        words = evidence.words_of(rows).astype(np.float32)
        self._dense = dense = evidence.dense(rows) - levels.dense_mean
        given = rows.tags.astype(np.float32)
        known = evidence.known(given, words), evidence.known(believed, words)
        self._owners = ridge.kept_owners.of_rows(ridge, rows.owner, self.seen)
        columns = levels.other_columns(words, dense, np.ones(len(rows), dtype=np.float32))
        now, fitted = levels.at_others(known, words, dense, columns)
        n_sparse, n_tags = evidence.n_sparse, evidence.n_tags
        self._images = Images(
            Entries.of(known[0], n_sparse),
            Entries.of(known[1], n_sparse),
            Entries.of(given, n_tags),
            Entries.of(believed, n_tags),
            self._numbers(columns, now, fitted),
        )

    def content(self) -> tuple[FloatArray, FloatArray]:
        """Return what is said about the images and their owners' other ones, beyond the shares."""
        scale = self._interest_scale(1.0)
        minus_one = np.full(self.n_images, -1, dtype=np.float32)
        nothing = Entries.none(self.n_images)
        asked = Asked(scale, self._rest(scale), minus_one, nothing, nothing)
        shape = self.n_images, self.ridge.evidence.n_tags
        excess, interest = np.empty(shape, np.float32), np.empty(shape, np.float32)
        self._say(asked, excess, interest)
        return excess, interest

    def with_others(
        self, alike: "Alike", interest: float, tags: SparseRows, out: FloatArray
    ) -> FloatArray:
        """Write what all evidence says: the content, look-alikes, and so many times the interest.

        Returns what the content alone says about some tags, in the order they are stored.
        """
        scale = self._interest_scale(interest)
        sparse = (Entries.of(matrix, out.shape[1]) for matrix in (alike.votes, tags))
        asked = Asked(scale, self._rest(scale), alike.rest - 1, *sparse)
        return self._say(asked, out, np.empty((0, out.shape[1]), np.float32))

    def _say(self, asked: Asked, excess: FloatArray, interest: FloatArray) -> FloatArray:
        n_tags = self.ridge.evidence.n_tags
        at_asked = np.empty(len(asked.tags.column), np.float32)
        owners = Owners(*self._owners.beyond, Entries.of(self._owners.tags, n_tags))
        np.matmul(self._dense, self.ridge.levels.dense_weights, out=excess)
        say(self.ridge.levels.constants, self._images, owners, asked, excess, interest, at_asked)
        return at_asked

    def _interest_scale(self, times: float) -> FloatArray:
        """Return what each other image of the owner counts for."""
        images = self._owners.images
        others = np.maximum(images - self.seen, 0.0) + INTEREST_SHRINKAGE
        return np.where(images > 0, times / others, 0.0).astype(np.float32)

    def _rest(self, scale: FloatArray) -> FloatArray:
        """Return how many times each tag's share is to be added to the interest."""
        return scale * (self.seen - self._owners.images)

    def _numbers(self, columns: FloatArray, now: FloatArray, fitted: FloatArray) -> FloatArray:
        """Return the numbers of each image, z P at columns that are no tags being given."""
        images, b = self._owners.images, self.ridge.owner_variance
        c = np.where(images > 0, b / (1 + b * images), 0.0)
        numbers, is_alone = self._owners.numbers, self._owners.kind == ITSELF
        theirs = np.einsum("ij,ij->i", self._owners.others, columns)
        theirs = np.where(is_alone, fitted, theirs)
        # S P S' is among the owner's numbers as a whole.
        both, mixed = fitted - 2 * c * theirs, now - c * theirs
        at_shares, squared = numbers[:, :2], np.where(is_alone, fitted, numbers[:, 2])
        return np.column_stack([self.seen, c, both, mixed, squared, at_shares])
