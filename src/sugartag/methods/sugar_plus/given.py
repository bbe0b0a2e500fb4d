"""What content says about the tags that fitted images were given, and about no others.

The regression judges an image by products with all tags. For the given tags alone far fewer are
needed: the forms z P z~' and z~ P z~' and the predictions of those tags follow from the few sparse
columns that an image has, from its dense ones, and from products that are made once for each
owner. The formulas are those of :mod:`ridge`; only the order of summation differs.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sugartag._typing import FloatArray, IntArray, Room, SparseRows
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Block, Engine, row_blocks
from sugartag.linalg.sparse_rows import row_number_of_entries, same_places, values_at
from sugartag.methods.sugar_plus.ridge import LEAST_ROOM, OWNERS_AT_ONCE, Ridge
from sugartag.methods.sugar_plus.sums import padded

PAIRS_AT_ONCE = 1 << 13
"""Columns of images whose products with the dense columns are made in one step."""


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

    ridge: Ridge
    owners: OwnerProducts
    """Of all owners, and at the end of nobody, who has nothing."""

    @classmethod
    def of(cls, ridge: Ridge, *, engine: Engine) -> "Multiplied":
        """Make the products of all owners."""
        blocks = row_blocks(len(ridge.owners) + 1, OWNERS_AT_ONCE)
        start = OwnerProducts.empty(ridge, engine.room)
        return cls(ridge, engine.fold(multiply_owners, blocks, start, ridge))

    @cached_property
    def dense_weights(self) -> FloatArray:
        """Tags x dense columns: the weights, turned."""
        return np.ascontiguousarray(self.ridge.weights[self.ridge.evidence.n_sparse :].T)

    @cached_property
    def dense_precision(self) -> FloatArray:
        """P at words and dense columns x dense columns."""
        n = self.ridge.evidence.n_sparse
        return np.ascontiguousarray(self.ridge.other_precision[n:].T)

    @cached_property
    def base(self) -> FloatArray:
        """Twice what is taken off the prediction of each tag: as fitted, and as given."""
        n = self.ridge.evidence.n_sparse
        means = np.stack([self.ridge.fitted_mean[:n], self.ridge.mean[:n]])
        products: FloatArray = means @ self.ridge.weights[:n]
        return products

    @cached_property
    def other_base(self) -> FloatArray:
        """The product m P at words and dense columns, m being the mean of the sparse as fitted."""
        n = self.ridge.evidence.n_sparse
        product: FloatArray = self.ridge.fitted_mean[:n] @ self.ridge.other_precision[:n]
        return product

    @cached_property
    def at_mean(self) -> FloatArray:
        """Twice P m' at all columns, m being the mean of the sparse ones as fitted, as given."""
        ridge, n = self.ridge, self.ridge.evidence.n_sparse
        predictor = ridge.evidence.predictor
        means = np.stack([ridge.fitted_mean[:n], ridge.mean[:n]]).astype(np.float64)
        tags, words = means[:, : len(predictor)], means[:, len(predictor) :]
        weighed = tags * ridge.own_precision[predictor]
        products = words @ ridge.other_precision[:, : n - len(predictor)].T
        products -= weighed @ ridge.weights[:, predictor].T
        products[:, : len(predictor)] += weighed
        return products


def multiply_owners(block: Block, ridge: Ridge) -> Products:
    """Return the products of some owners."""
    totals = ridge.owners.at(np.arange(block.start, block.stop))
    side = ridge.summed(totals)
    n_words = len(ridge.evidence.words)
    unexplained = side.tags - side.predicted
    at_tags = unexplained * ridge.own_precision
    quadratic = np.einsum("ij,ij->i", at_tags, side.tags)
    quadratic += np.einsum("ij,ij->i", side.others, side.columns)
    n = len(ridge.evidence.predictor)
    at_words = side.others[:, :n_words] @ ridge.mean[n : n + n_words]
    used = row_number_of_entries(totals.tags), totals.tags.indices
    spelled = row_number_of_entries(totals.words), totals.words.indices
    return Products(
        block,
        unexplained[used],
        side.others[spelled],
        np.ascontiguousarray(side.others[:, n_words:]),
        quadratic,
        at_tags @ ridge.fitted_share + at_words,
        at_tags @ ridge.share + at_words,
    )


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
        ridge, evidence = multiplied.ridge, multiplied.ridge.evidence
        self.multiplied, self.ridge = multiplied, ridge
        self.owner = np.minimum(rows.owner, len(ridge.owners))
        self.tags, self.believed = rows.tags, believed
        self.row = row_number_of_entries(rows.tags)
        self.words = evidence.words_of(rows)
        self.dense = evidence.dense(rows) - ridge.mean[evidence.n_sparse :]
        # As fitted, and as given: in the same places.
        self.known = [evidence.known(tags, self.words) for tags in (believed, rows.tags)]

    def excess(self) -> FloatArray:
        """Return what is said about each given tag, the image itself left out."""
        ridge, row, tag = self.ridge, self.row, self.tags.indices
        own = ridge.own_precision[tag]
        fitted, now = self._predicted()
        unfitted = self.believed.data - ridge.fitted_share[tag] - fitted
        theirs = values_at(self.multiplied.owners.unexplained, self.owner[row], tag)
        images = np.append(ridge.owners.images, 0.0)[self.owner]
        b = ridge.owner_variance
        c = np.where(images > 0, b / (1.0 + b * images), 0.0)
        left = unfitted - c[row] * theirs
        both, mixed = self._forms(c, unfitted * own, theirs * own)
        raw_left = (self.tags.data - ridge.share[tag] - now) * own
        room = np.maximum(left**2 * own + (1.0 - c - both)[row], LEAST_ROOM)
        found: FloatArray = now - (mixed[row] - raw_left * left) * left / room
        return found.astype(np.float32)

    def _predicted(self) -> FloatArray:
        """Return twice the predictions of the given tags: from tags as fitted, and as given."""
        tag = self.tags.indices
        found = self._by_sparse(self.row, tag, self.ridge.weights)
        found += _row_products(self.dense, self.row, self.multiplied.dense_weights, tag)
        found -= self.multiplied.base[:, tag]
        return found

    def _forms(
        self, c: FloatArray, at_tags: FloatArray, theirs: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return z~ P z~' and z P z~' of each image, z being as fitted, and as given.

        ``at_tags`` is z P at the given tags, ``theirs`` S P, S being the owner's sums.
        """
        owners = self.multiplied.owners
        words, at_dense = self._at_others()
        dense = np.einsum("ij,ij->i", self.dense, at_dense)
        theirs_dense = np.einsum("ij,ij->i", self.dense, owners.at_dense[self.owner])
        row = row_number_of_entries(self.words)
        theirs_words = values_at(owners.at_words, self.owner[row], self.words.indices)
        forms, means = [], (owners.at_mean, owners.at_mean_now)
        for number, tags in enumerate((self.believed.data, self.tags.data)):
            mine = self._summed(tags, at_tags, words) + dense
            other = self._summed(tags, theirs, theirs_words) + theirs_dense
            other -= means[number][self.owner]
            forms.append((mine - self._by_mean(number), other))
        (mine, other), (mine_now, other_now) = forms
        both = mine - 2.0 * c * other + c**2 * owners.quadratic[self.owner]
        return both, mine_now - c * other_now

    def _at_others(self) -> tuple[FloatArray, FloatArray]:
        """Return z P as fitted: at the words of each image, and at the dense columns."""
        multiplied, ridge = self.multiplied, self.ridge
        n, n_words = ridge.evidence.n_sparse, len(ridge.evidence.words)
        row, word = row_number_of_entries(self.words), self.words.indices
        at_words = self._by_sparse(row, word, ridge.other_precision)[0]
        at_words += _row_products(self.dense, row, multiplied.dense_precision[:n_words], word)
        at_words -= multiplied.other_base[word]
        known = self.known[0].astype(np.float32)
        at_dense = np.asarray(known @ ridge.other_precision[:n, n_words:])
        at_dense += self.dense @ multiplied.dense_precision[n_words:]
        at_dense -= multiplied.other_base[n_words:]
        return at_words, at_dense

    def _by_mean(self, number: int) -> FloatArray:
        """Return z P m' of each image, m being the mean as fitted (0) or as given (1)."""
        n, at_mean = self.ridge.evidence.n_sparse, self.multiplied.at_mean[number]
        found = self.known[0] @ at_mean[:n] + self.dense @ at_mean[n:]
        centred: FloatArray = found - self.ridge.fitted_mean[:n] @ at_mean[:n]
        return centred

    def _summed(self, tags: FloatArray, at_tags: FloatArray, at_words: FloatArray) -> FloatArray:
        """Return for each image the sum of something over its tags and words."""
        n = len(self.owner)
        found = np.bincount(self.row, tags * at_tags, minlength=n).astype(np.float64)
        row = row_number_of_entries(self.words)
        return found + np.bincount(row, self.words.data * at_words, minlength=n)

    def _by_sparse(self, row: IntArray, column: IntArray, matrix: FloatArray) -> FloatArray:
        """Return twice, as fitted and as given: sums over the sparse columns of a row."""
        known = self.known[0]
        counts = np.diff(known.indptr)[row]
        case = np.repeat(np.arange(len(row)), counts)
        within = np.arange(len(case)) - np.repeat(np.cumsum(counts) - counts, counts)
        entry = known.indptr[row][case] + within
        factor = matrix[known.indices[entry], column[case]]
        found = np.zeros((2, len(row)))
        for total, some in zip(found, self.known, strict=True):
            total += np.bincount(case, some.data[entry] * factor, minlength=len(row))
        return found


def _row_products(
    left: FloatArray, row: IntArray, right: FloatArray, column: IntArray
) -> FloatArray:
    """Return the inner products of some pairs of rows."""
    found = np.empty(len(row))
    for start in range(0, len(row), PAIRS_AT_ONCE):
        part = slice(start, start + PAIRS_AT_ONCE)
        found[part] = np.einsum("ij,ij->i", left[row[part]], right[column[part]])
    return found
