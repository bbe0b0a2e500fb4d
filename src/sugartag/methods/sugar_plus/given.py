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
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, Engine, row_blocks
from sugartag.linalg.compiled import read_only
from sugartag.linalg.entries import Entries
from sugartag.linalg.sparse_rows import same_places
from sugartag.methods.sugar_plus.given_loops import OwnerParts, judge_rows, multiply_rows
from sugartag.methods.sugar_plus.ridge import Ridge
from sugartag.methods.sugar_plus.sums import padded
from sugartag.methods.sugar_plus.turned import Turned, through

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
    forms: FloatArray
    """Three x owners: S P S', and S P m', m being the mean of the sparse columns as they were
    fitted, and as they are given."""

    @classmethod
    def empty(cls, ridge: Ridge, room: Room) -> "OwnerProducts":
        """Make room for all owners, and at the end for nobody, who has nothing."""
        count = len(ridge.owners) + 1
        tags, words = (padded(part, 1) for part in (ridge.owners.tags, ridge.owners.words))
        return cls(
            same_places(room(tags.nnz, np.float32), tags),
            same_places(room(words.nnz, np.float32), words),
            room((count, ridge.evidence.n_dense), np.float32),
            np.zeros((3, count)),
        )

    def take(self, some: "Products") -> None:
        """Take the products of some owners."""
        owners = some.owners
        for matrix, values in (
            (self.unexplained, some.unexplained),
            (self.at_words, some.at_words),
        ):
            matrix.data[matrix.indptr[owners.start] : matrix.indptr[owners.stop]] = values
        self.at_dense[owners], self.forms[:, owners] = some.at_dense, some.forms

    def parts(self, ridge: Ridge) -> OwnerParts:
        """Return what compiled loops need of it."""
        images, b = np.append(ridge.owners.images, 0.0), ridge.owner_variance
        return OwnerParts(
            read_only(np.where(images > 0, b / (1.0 + b * images), 0.0)),
            Entries.of(self.unexplained, self.unexplained.shape[1]),
            Entries.of(self.at_words, self.at_words.shape[1]),
            read_only(self.at_dense),
            read_only(self.forms),
        )


@dataclass(frozen=True, eq=False)
class Products:
    """The same of some owners, what is at tags and words without their places."""

    owners: Block
    unexplained: FloatArray
    at_words: FloatArray
    at_dense: FloatArray
    forms: FloatArray


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
        blocks = row_blocks(len(ridge.owners), OWNERS_AT_ONCE)
        start = OwnerProducts.empty(ridge, engine.room)
        return cls(turned, engine.fold(multiply_owners, blocks, start, turned))


def multiply_owners(block: Block, turned: Turned) -> Products:
    """Return the products of some owners."""
    ridge, evidence = turned.ridge, turned.ridge.evidence
    totals = ridge.owners.between(block)
    dense = totals.dense - np.multiply.outer(
        totals.images.astype(np.float32), ridge.mean[evidence.n_sparse :]
    )
    rows = through(ridge, totals.tags, totals.words, dense)
    at_dense = dense @ ridge.other_precision[evidence.n_sparse :, len(evidence.words) :]
    at_tags, at_words = (
        np.empty(part.nnz, dtype=np.float32) for part in (totals.tags, totals.words)
    )
    forms = np.empty((3, len(totals)))
    images = read_only(totals.images.astype(np.float64, copy=False))
    multiply_rows(turned.parts, rows, images, at_dense, at_tags, at_words, forms)
    return Products(block, at_tags, at_words, at_dense, forms)


def judge_fitted_tags(
    block: Block, collection: Collection, multiplied: Multiplied, trusted: SparseRows
) -> FloatArray:
    """Return what content says about the given tags of a block, in the order they are stored.

    The images are those fitted; ``trusted`` has their tags, as far as they were believed.
    """
    rows, turned = collection.rows(block), multiplied.turned
    ridge, evidence = turned.ridge, turned.ridge.evidence
    dense = evidence.dense(rows) - ridge.mean[evidence.n_sparse :]
    believed = trusted[block.start : block.stop]
    known = through(ridge, believed, evidence.words_of(rows), dense, rows.tags)
    owner = read_only(np.minimum(rows.owner, len(ridge.owners)).astype(np.int64))
    given, found = read_only(rows.tags.data), np.empty(believed.nnz, dtype=np.float32)
    parts, owners = turned.parts, multiplied.owners.parts(ridge)
    judge_rows(parts, owners, known, owner, given, turned.dense_form.at(dense), found)
    return found
