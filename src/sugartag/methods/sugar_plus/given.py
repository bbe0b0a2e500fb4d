"""What content says about the tags that fitted images were given, and about no others.

The regression judges an image by products with all tags. For the given tags alone far fewer are
needed: the forms z P z~' and z~ P z~' and the predictions of those tags follow from the few sparse
columns that an image has, from its dense ones, and from products that are made once for each
owner, again only at the tags that the owner used. The formulas are those of :mod:`ridge`; only the
order of summation differs.
"""

from dataclasses import dataclass

import numpy as np

from sugartag._typing import FloatArray, Room, SparseRows
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Block, Engine, row_blocks
from sugartag.linalg.sparse_rows import same_places
from sugartag.methods.sugar_plus.at_places import inner_products, stored_at
from sugartag.methods.sugar_plus.cell_by_cell import LEAST_ROOM
from sugartag.methods.sugar_plus.ridge import Ridge
from sugartag.methods.sugar_plus.sums import padded
from sugartag.methods.sugar_plus.turned import SummedRows, Turned

OWNERS_AT_ONCE = 2_048
"""Owners whose sums are multiplied in one step."""


@dataclass(frozen=True, eq=False)
class OwnerProducts:
    """Of each owner, with S the centred sums over the owner's images: what images need of it."""

    unexplained: SparseRows
    """S - S w at each tag that the owner used, float32."""
    at_words: SparseRows
    """S P at the words that the owner used."""
    at_dense: FloatArray
    """S P at the dense columns, float32."""
    quadratic: FloatArray
    """S P S'."""
    at_mean: FloatArray
    """S P m', m being the mean of the sparse columns as they were fitted."""
    at_mean_now: FloatArray
    """S P m', m being the mean of the sparse columns as they are given."""

    @classmethod
    def empty(cls, ridge: Ridge, room: Room) -> "OwnerProducts":
        """Make room for all owners, and at the end for nobody, who has nothing."""
        count = len(ridge.owners) + 1
        tags, words = (padded(part, 1) for part in (ridge.owners.tags, ridge.owners.words))
        scalars = (np.zeros(count) for _ in range(3))
        return cls(
            same_places(room(tags.nnz, np.float32), tags),
            same_places(room(words.nnz, np.float32), words),
            room((count, ridge.evidence.n_dense), np.float32),
            *scalars,
        )

    def take(self, some: "Products") -> None:
        """Take the products of some owners."""
        owners = some.owners
        for matrix, values in (
            (self.unexplained, some.unexplained),
            (self.at_words, some.at_words),
        ):
            matrix.data[matrix.indptr[owners.start] : matrix.indptr[owners.stop]] = values
        self.at_dense[owners] = some.at_dense
        self.quadratic[owners] = some.quadratic
        self.at_mean[owners], self.at_mean_now[owners] = some.at_mean, some.at_mean_now


@dataclass(frozen=True, eq=False)
class Products:
    """The same of some owners, what is at tags and words without their places."""

    owners: Block
    unexplained: FloatArray
    at_words: FloatArray
    at_dense: FloatArray
    quadratic: FloatArray
    at_mean: FloatArray
    at_mean_now: FloatArray


@dataclass(frozen=True, eq=False)
class Multiplied:
    """A ridge, with all ready that judging given tags needs of it."""

    turned: Turned
    owners: OwnerProducts
    """Of all owners, and at the end of nobody, who has nothing."""

    @classmethod
    def of(cls, ridge: Ridge, *, engine: Engine) -> "Multiplied":
        """Make the products of all owners."""
        turned = Turned(ridge)
        blocks = row_blocks(len(ridge.owners) + 1, OWNERS_AT_ONCE)
        start = OwnerProducts.empty(ridge, engine.room)
        return cls(turned, engine.fold(multiply_owners, blocks, start, turned))


def multiply_owners(block: Block, turned: Turned) -> Products:
    """Return the products of some owners."""
    ridge = turned.ridge
    n, n_words = ridge.evidence.n_sparse, len(ridge.evidence.words)
    totals = ridge.owners.at(np.arange(block.start, block.stop))
    images = totals.images.astype(np.float32)
    dense = totals.dense - np.multiply.outer(images, ridge.mean[n:])
    rows = SummedRows(turned, totals.tags, totals.words, dense, images)
    unexplained = rows.unexplained(rows.predicted()[0])
    at_words, at_mean = rows.at_words(), rows.at_mean()
    at_dense = np.asarray(rows.known @ ridge.other_precision[:n, n_words:])
    at_dense += rows.dense @ turned.dense_precision[n_words:]
    at_dense -= np.multiply.outer(images, turned.at_mean[0, n:].astype(np.float32))
    at_tags = unexplained * ridge.own_precision[rows.tags.indices]
    quadratic = rows.added(rows.tags.data * at_tags, at_words)
    quadratic += np.einsum("ij,ij->i", rows.dense, at_dense) - images * at_mean[0]
    at_places = unexplained.astype(np.float32), at_words.astype(np.float32)
    return Products(block, *at_places, at_dense, quadratic, *at_mean)


def judge_fitted_tags(
    block: Block, collection: Collection, multiplied: Multiplied, trusted: SparseRows
) -> FloatArray:
    """Return what content says about the given tags of a block, in the order they are stored.

    The images are those fitted; ``trusted`` has their tags, as far as they were believed.
    """
    rows = collection.rows(block)
    return _Images(multiplied, rows, trusted[block.start : block.stop]).excess()


class _Images:
    """Fitted images on their way to what is said about their given tags."""

    def __init__(self, multiplied: Multiplied, rows: Rows, believed: SparseRows) -> None:
        self.owners, turned = multiplied.owners, multiplied.turned
        self.turned, self.ridge = turned, turned.ridge
        self.owner = np.minimum(rows.owner, len(self.ridge.owners))
        self.given = rows.tags
        evidence, one = self.ridge.evidence, np.ones(len(rows), dtype=np.float32)
        dense = evidence.dense(rows)
        dense -= self.ridge.mean[evidence.n_sparse :]
        self.fitted = SummedRows(turned, believed, evidence.words_of(rows), dense, one)

    def excess(self) -> FloatArray:
        """Return what is said about each given tag, the image itself left out."""
        ridge, row, tag = self.ridge, self.fitted.row, self.given.indices
        own = ridge.own_precision[tag]
        fitted, now = self.fitted.predicted(self.given)
        unfitted = self.fitted.unexplained(fitted)
        theirs = self._theirs(self.owners.unexplained, self.given)
        images = np.append(ridge.owners.images, 0.0)[self.owner]
        b = ridge.owner_variance
        c = np.where(images > 0, b / (1.0 + b * images), 0.0)
        left = unfitted - c[row] * theirs
        both, mixed = self._forms(c, unfitted * own, theirs * own)
        raw_left = (self.given.data - ridge.share[tag] - now) * own
        room = np.maximum(left**2 * own + (1.0 - c - both)[row], LEAST_ROOM)
        found: FloatArray = now - (mixed[row] - raw_left * left) * left / room
        return found.astype(np.float32)

    def _forms(
        self, c: FloatArray, at_tags: FloatArray, theirs: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return z~ P z~' and z P z~' of each image, z being as fitted, and as given.

        ``at_tags`` is z P at the given tags, ``theirs`` S P, S being the owner's sums.
        """
        fitted, owners, owner = self.fitted, self.owners, self.owner
        at_words, at_mean = fitted.at_words(), fitted.at_mean()
        dense = self._at_dense()
        theirs_words = self._theirs(owners.at_words, fitted.words)
        theirs_dense = inner_products(fitted.dense, owners.at_dense, owner)
        forms, means = [], (owners.at_mean, owners.at_mean_now)
        for number, tags in enumerate((fitted.tags.data, self.given.data)):
            mine = fitted.added(tags * at_tags, at_words) + dense - at_mean[number]
            other = fitted.added(tags * theirs, theirs_words) + theirs_dense
            forms.append((mine, other - means[number][owner]))
        (mine, other), (mine_now, other_now) = forms
        both = mine - 2.0 * c * other + c**2 * owners.quadratic[owner]
        return both, mine_now - c * other_now

    def _at_dense(self) -> FloatArray:
        """Return d P z' of each image, d being its dense columns, z all of them as fitted.

        What d P is at tags is known from what d adds to their predictions.
        """
        fitted = self.fitted
        own = self.ridge.own_precision[fitted.tags.indices]
        at_tags = fitted.tags.data * fitted.dense_at_tags * -own
        found = fitted.added(at_tags, fitted.dense_at_words)
        found += self.turned.dense_form(fitted.dense)
        found -= fitted.dense_at_mean[0]
        return found

    def _theirs(self, products: SparseRows, places: SparseRows) -> FloatArray:
        """Return what the owner of each image has at its places."""
        place, there = stored_at(products, self.owner, places)
        found = np.zeros(len(place), dtype=np.float32)
        found[there] = products.data[place[there]]
        return found
