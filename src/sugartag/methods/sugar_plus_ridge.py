"""One ridge regression from everything known of an image to each of its tags, in closed form.

Every tag is predicted from all columns but itself. With P the inverse of the regularised Gram
matrix, the weights for a tag t among the columns are -P[:, t] / P[t, t], zero at t: one inverse
serves all tags. What an image says of itself is taken out again by its leverage, also in closed
form, so that an image that was fitted is judged as if its tag had not been known.

Images of one owner are alike in ways that have nothing to do with what they show. The regression
therefore has a random effect for each owner: sums over an owner's images are taken out of the Gram
matrix by the share b n / (1 + b n), n being their number and b the variance of the effect relative
to the noise. A tag that owners stamp on all they upload then predicts nothing.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Block, Engine
from sugartag.methods.sugar_plus_evidence import Evidence

MOST_LEVERAGE = 0.95
"""Leverage is counted up to here: beyond it an image says nearly all there is about itself."""


@dataclass(frozen=True, eq=False)
class Products:
    """Sums over images; those of two sets of images can be added."""

    count: float
    columns: FloatArray
    """The sum of each column, sparse ones first."""
    tags: FloatArray
    """How many images have each tag."""
    sparse_gram: SparseRows
    """Sparse columns x sparse columns."""
    mixed_gram: FloatArray
    """Sparse columns x dense columns."""
    dense_gram: FloatArray
    sparse_tags: SparseRows
    """Sparse columns x tags."""
    dense_tags: FloatArray
    """Dense columns x tags."""

    def __add__(self, other: "Products") -> "Products":
        """Return the sums of both sets of images."""
        return Products(
            self.count + other.count,
            self.columns + other.columns,
            self.tags + other.tags,
            sparse.csr_array(self.sparse_gram + other.sparse_gram),
            self.mixed_gram + other.mixed_gram,
            self.dense_gram + other.dense_gram,
            sparse.csr_array(self.sparse_tags + other.sparse_tags),
            self.dense_tags + other.dense_tags,
        )

    @classmethod
    def of(cls, known: SparseRows, dense: FloatArray, tags: SparseRows) -> "Products":
        """Return the sums of rows, which may carry weights."""
        sums = [np.asarray(part.sum(axis=0)).ravel() for part in (known, dense)]
        turned = sparse.csr_array(known.T)
        return cls(
            float(known.shape[0]),
            np.concatenate(sums),
            np.asarray(tags.sum(axis=0), dtype=np.float64).ravel(),
            sparse.csr_array(turned @ known),
            np.asarray(turned @ dense),
            dense.T @ dense,
            sparse.csr_array(turned @ tags),
            np.ascontiguousarray((tags.T @ dense).T),
        )

    def gram(self) -> FloatArray:
        """Return columns x columns, dense."""
        return np.block(
            [[self.sparse_gram.toarray(), self.mixed_gram], [self.mixed_gram.T, self.dense_gram]]
        )

    def cross(self) -> FloatArray:
        """Return columns x tags, dense."""
        return np.vstack([self.sparse_tags.toarray(), self.dense_tags])


@dataclass(frozen=True, eq=False)
class OwnerSums:
    """Sums over the images of each owner in a block, and the block's own sums."""

    owner: IntArray
    known: SparseRows
    dense: FloatArray
    tags: SparseRows
    products: Products


@dataclass(frozen=True, eq=False)
class Normal:
    """The regression's normal equations, centred and cleaned of owners, without a ridge yet."""

    gram: FloatArray
    """Columns x columns."""
    cross: FloatArray
    """Columns x tags."""
    mean: FloatArray
    """Of each column."""
    share: FloatArray
    """Of the images that have each tag."""


def normal_equations(
    collection: Collection, evidence: Evidence, owner_variance: float, *, engine: Engine
) -> Normal:
    """Add up all images in one pass and take the owners' effects out."""
    n = collection.n_owners
    shape = (n, evidence.n_dense)
    dense = np.zeros(shape, dtype=np.float32 if shape[0] * shape[1] > 1 << 24 else np.float64)
    known: list[SparseRows] = []
    tags: list[SparseRows] = []
    total: Products | None = None
    for part in engine.map(add_up_images, collection.blocks(), collection, evidence):
        dense[part.owner] += part.dense
        known.append(_spread(part.known, part.owner, n))
        tags.append(_spread(part.tags, part.owner, n))
        if len(known) > 16:
            known, tags = [_summed(known)], [_summed(tags)]
        total = part.products if total is None else total + part.products
    if total is None:
        raise ValueError("a collection has at least one block")
    images = np.bincount(collection.owner, minlength=n + 1)[:n].astype(np.float64)
    mean, share = total.columns / total.count, total.tags / total.count
    gram, cross = total.gram(), total.cross()
    gram -= total.count * np.multiply.outer(mean, mean)
    cross -= total.count * np.multiply.outer(mean, share)
    if owner_variance > 0:
        weight = np.sqrt(owner_variance / (1.0 + owner_variance * images))
        _take_out_owners(
            gram, cross, (_summed(known), dense, _summed(tags)), images, weight, mean, share
        )
    return Normal(gram, cross, mean, share)


def add_up_images(block: Block, collection: Collection, evidence: Evidence) -> OwnerSums:
    """Return the sums of one block, all together and by owner."""
    rows = collection.rows(block)
    known, dense = evidence.sparse_part(rows), evidence.dense_part(rows)
    tags = rows.tags.astype(np.float64)
    images = np.flatnonzero(rows.owner < collection.nobody)
    owner, place = np.unique(rows.owner[images], return_inverse=True)
    whose = sparse.csr_array((np.ones(len(images)), (place, images)), shape=(len(owner), len(rows)))
    return OwnerSums(
        owner,
        sparse.csr_array(whose @ known),
        np.asarray(whose @ dense),
        sparse.csr_array(whose @ tags),
        Products.of(known, dense, tags),
    )


def _take_out_owners(
    gram: FloatArray,
    cross: FloatArray,
    sums: tuple[SparseRows, FloatArray, SparseRows],
    images: FloatArray,
    weight: FloatArray,
    mean: FloatArray,
    share: FloatArray,
) -> None:
    """Subtract the weighted products of the owners' centred sums, in place."""
    known, dense, tags = sums
    scaled = sparse.diags_array(weight)
    products = Products.of(
        sparse.csr_array(scaled @ known), weight[:, None] * dense, sparse.csr_array(scaled @ tags)
    )
    gram -= products.gram()
    cross -= products.cross()
    # What centring changes: s s' becomes (s - n m)(s - n m)'.
    squared = weight**2
    parts = (known.T @ (squared * images), dense.T @ (squared * images))
    column = np.concatenate([np.asarray(part).ravel() for part in parts])
    tag = np.asarray(tags.T @ (squared * images)).ravel()
    size = float(np.sum(squared * images**2))
    gram += np.multiply.outer(column, mean) + np.multiply.outer(mean, column)
    gram -= size * np.multiply.outer(mean, mean)
    cross += np.multiply.outer(column, share) + np.multiply.outer(mean, tag)
    cross -= size * np.multiply.outer(mean, share)


def _spread(part: SparseRows, owner: IntArray, n_owners: int) -> SparseRows:
    row = np.repeat(owner, np.diff(part.indptr))
    return sparse.csr_array((part.data, (row, part.indices)), shape=(n_owners, part.shape[1]))


def _summed(parts: list[SparseRows]) -> SparseRows:
    total = parts[0]
    for part in parts[1:]:
        total = sparse.csr_array(total + part)
    total.sort_indices()
    return total


@dataclass(frozen=True, eq=False)
class Ridge:
    """Weights of all columns for all tags, and what leaves an image out of its own prediction."""

    weights: FloatArray
    """Columns x tags."""
    mean: FloatArray
    share: FloatArray
    predictor: IntArray
    own_precision: FloatArray
    """P[t, t] of the tags among the columns."""
    other_precision: FloatArray
    """P at all columns x those that are no tags."""
    n_images: int
    """Images fitted: rows from here on are new."""

    @classmethod
    def solved(
        cls, normal: Normal, predictor: IntArray, penalty: FloatArray, n_images: int
    ) -> "Ridge":
        """Solve with a penalty for each column."""
        gram = normal.gram.copy()
        gram[np.diag_indices_from(gram)] += penalty
        precision = linalg.inv(gram, overwrite_a=True, check_finite=False)
        n = len(predictor)
        own = np.diag(precision)[:n].copy()
        rest = np.setdiff1d(np.arange(len(normal.share)), predictor)
        weights = np.empty_like(normal.cross)
        weights[:, predictor] = -precision[:, :n] / own
        weights[np.arange(n), predictor] = 0.0
        weights[:, rest] = precision @ normal.cross[:, rest]
        return cls(
            weights,
            normal.mean,
            normal.share,
            predictor,
            own,
            np.ascontiguousarray(precision[:, n:]),
            n_images,
        )

    def excess(self, rows: Rows, known: SparseRows, dense: FloatArray) -> FloatArray:
        """Return how much likelier than on average each tag is, itself and its image left out."""
        n = known.shape[1]
        centred = dense - self.mean[n:]
        found: FloatArray = np.asarray(known @ self.weights[:n])
        found += centred @ self.weights[n:]
        found -= self.mean[:n] @ self.weights[:n]
        seen = np.flatnonzero(rows.position < self.n_images)
        if len(seen):
            found[seen] = self._without_itself(
                found[seen], known[seen], centred[seen], rows.tags[seen]
            )
        return found

    def _without_itself(
        self, found: FloatArray, known: SparseRows, centred: FloatArray, tags: SparseRows
    ) -> FloatArray:
        """Return the prediction that the other images make of these, tag by tag."""
        given = tags.toarray().astype(np.float64) - self.share
        n = len(self.predictor)
        # Row i of (z P) at the tags follows from the prediction; elsewhere it is computed.
        left = given[:, self.predictor] - found[:, self.predictor]
        pulled = left * self.own_precision
        others = np.asarray(known @ self.other_precision[: known.shape[1]])
        others += centred @ self.other_precision[known.shape[1] :]
        others -= self.mean[: known.shape[1]] @ self.other_precision[: known.shape[1]]
        columns = np.hstack([known[:, n:].toarray() - self.mean[n : known.shape[1]], centred])
        leverage = np.einsum("ij,ij->i", given[:, self.predictor], pulled)
        leverage += np.einsum("ij,ij->i", columns, others)
        pull = np.repeat(leverage[:, None], found.shape[1], axis=1)
        pull[:, self.predictor] -= left * pulled
        np.clip(pull, 0.0, MOST_LEVERAGE, out=pull)
        without: FloatArray = (found - pull * given) / (1.0 - pull)
        return without
