"""A ridge turned the way that products at given tags read it, and rows on their way through it.

With P the inverse of the regularised Gram matrix, the product of a row z with P is known at a tag
from what the ridge does not explain there: (z P)[t] = P[t, t] (z[t] - z w_t). P being symmetric,
z P m' for the mean m of the sparse columns follows from P m', which is made once.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import blas

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.engine.base import row_blocks
from sugartag.linalg.sparse_rows import row_number_of_entries
from sugartag.methods.sugar_plus.at_places import dense_products, sparse_products
from sugartag.methods.sugar_plus.ridge import Ridge

ROWS_AT_ONCE = 512
"""Of a matrix that is multiplied: what is made of them fits a cache."""


@dataclass(frozen=True, eq=False)
class Turned:
    """A ridge, with what is made of it once to judge given tags."""

    ridge: Ridge

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
    def at_mean(self) -> FloatArray:
        """Twice P m' at all columns, m being the mean of the sparse ones as fitted, as given."""
        ridge, n = self.ridge, self.ridge.evidence.n_sparse
        predictor = ridge.evidence.predictor
        means = np.stack([ridge.fitted_mean[:n], ridge.mean[:n]]).astype(np.float64)
        weighed = np.zeros((2, ridge.evidence.n_tags))
        weighed[:, predictor] = means[:, : len(predictor)] * ridge.own_precision[predictor]
        words = means[:, len(predictor) :]
        found = np.empty((2, len(ridge.weights)))
        for part in row_blocks(len(ridge.weights), ROWS_AT_ONCE):
            found[:, part] = words @ ridge.other_precision[part, : words.shape[1]].T
            found[:, part] -= weighed @ ridge.weights[part].T
        found[:, : len(predictor)] += weighed[:, predictor]
        return found

    @cached_property
    def of_mean(self) -> FloatArray:
        """Twice m P m', the first m being the mean as fitted, the second that as given, too."""
        n = self.ridge.evidence.n_sparse
        products: FloatArray = self.at_mean[:, :n] @ self.ridge.fitted_mean[:n]
        return products

    @cached_property
    def _half(self) -> FloatArray:
        """P at the dense columns, what is above the diagonal added to what is below."""
        precision = self.dense_precision[len(self.ridge.evidence.words) :]
        return np.asfortranarray(np.tril(precision) + np.triu(precision, 1).T)

    def dense_form(self, dense: FloatArray) -> FloatArray:
        """Return d P d' for each row d of dense columns; float64.

        As P is symmetric, half of the products will do.
        """
        found = np.zeros(len(dense))
        for part in row_blocks(len(dense), ROWS_AT_ONCE):
            rows = dense[part]
            half = blas.strmm(1.0, self._half, rows.T, lower=1, trans_a=1).T
            found[part] = np.einsum("ij,ij->i", half, rows)
        return found


class SummedRows:
    """Rows of columns, each the sum over so many images, tags as far as they were believed.

    The dense columns are centred already, the sparse ones are not.
    """

    def __init__(
        self,
        turned: Turned,
        tags: SparseRows,
        words: SparseRows,
        dense: FloatArray,
        images: FloatArray,
    ) -> None:
        self.turned, self.ridge = turned, turned.ridge
        self.tags, self.words, self.dense, self.images = tags, words, dense, images
        self.known = self.ridge.evidence.known(tags, words).astype(np.float32)
        self.row: IntArray = row_number_of_entries(tags)
        self.word_row: IntArray = row_number_of_entries(words)

    @cached_property
    def dense_at_tags(self) -> FloatArray:
        """What the dense columns add to the predictions of the tags."""
        return dense_products(self.tags, self.dense, self.turned.dense_weights)

    @cached_property
    def dense_at_words(self) -> FloatArray:
        """What the dense columns add to the product with P at the words."""
        return dense_products(self.words, self.dense, self.turned.dense_precision)

    @cached_property
    def dense_at_mean(self) -> FloatArray:
        """What the dense columns add to z P m', m being as fitted, and as given."""
        at_mean = self.turned.at_mean[:, self.ridge.evidence.n_sparse :]
        product: FloatArray = (self.dense @ at_mean.T.astype(np.float32)).T
        return product

    def predicted(self, *others: SparseRows) -> FloatArray:
        """Return the predictions of the tags; also from other values of the tags, as given."""
        known = [self.ridge.evidence.known(tags, self.words).data for tags in others]
        values = np.stack([self.known.data, *known], dtype=np.float32)
        found = sparse_products(self.tags, self.known, values, self.ridge.weights)
        found += self.dense_at_tags
        found -= self.turned.base[: len(found), self.tags.indices] * self.images[self.row]
        return found

    def unexplained(self, predicted: FloatArray) -> FloatArray:
        """Return z - z w at the tags."""
        centre = self.ridge.fitted_share[self.tags.indices] * self.images[self.row]
        return self.tags.data - centre - predicted

    def at_words(self) -> FloatArray:
        """Return z P at the words."""
        ridge, word = self.ridge, self.words.indices
        found = sparse_products(
            self.words, self.known, self.known.data[None], ridge.other_precision
        )[0]
        found += self.dense_at_words
        mean = self.turned.at_mean[0, len(ridge.evidence.predictor) + word]
        centred: FloatArray = found - mean * self.images[self.word_row]
        return centred

    def at_mean(self) -> FloatArray:
        """Return twice z P m', m being the mean of the sparse columns as fitted, as given."""
        n = self.ridge.evidence.n_sparse
        sparse_part = (self.known @ self.turned.at_mean[:, :n].T).T
        of_mean = np.multiply.outer(self.turned.of_mean, self.images)
        found: FloatArray = sparse_part + self.dense_at_mean - of_mean
        return found

    def added(self, at_tags: FloatArray, at_words: FloatArray) -> FloatArray:
        """Return for each row the sum of something over its tags and words; float64."""
        found = np.bincount(self.row, at_tags, minlength=len(self.images)).astype(np.float64)
        return found + np.bincount(
            self.word_row, self.words.data * at_words, minlength=len(self.images)
        )
