"""A ridge made ready for products with images: its weights in parts, and what is constant."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sugartag._typing import FloatArray, SparseRows
from sugartag.engine.base import row_blocks
from sugartag.linalg.quadratic import QuadraticForm
from sugartag.linalg.sparse_rows import row_number_of_entries
from sugartag.methods.sugar_plus.at_places import dense_products
from sugartag.methods.sugar_plus.cell_by_cell import Constants

if TYPE_CHECKING:
    from sugartag.methods.sugar_plus.ridge import Ridge

ROWS_AT_ONCE = 512
"""Of the weights, which are made more exact for a product."""


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

    def at_others(
        self, known: Sequence[SparseRows], words: SparseRows, dense: FloatArray, others: FloatArray
    ) -> list[FloatArray]:
        """Return z P o' of each image, float64, o being its columns that are no tags, ``others``.

        z is as given and as fitted, by what is ``known`` of it. Its dense columns do the same to
        both, and at the few sparse columns that it has P o' is enough, P being symmetric.
        """
        alone = np.zeros_like(others)
        alone[:, len(self.word_mean) :] = dense
        by_dense = self._dense_form.at(dense) - dense @ self._at_word_mean
        by_dense += _summed(words, dense_products(words, alone, self._word_precision))
        at_known = (dense_products(some, others, self.sparse_precision) for some in known)
        by_sparse = map(_summed, known, at_known)
        bases = others @ self.other_base.T
        return [by_dense + some + base for some, base in zip(by_sparse, bases.T, strict=True)]

    @cached_property
    def _dense_form(self) -> QuadraticForm:
        return QuadraticForm.of(self.dense_precision[:, len(self.word_mean) :])

    @property
    def _word_precision(self) -> FloatArray:
        """P at words x columns that are no tags."""
        return self.sparse_precision[len(self.ridge.evidence.predictor) :]

    @cached_property
    def _at_word_mean(self) -> FloatArray:
        """P m' at the dense columns, m being the mean of the words."""
        found: FloatArray = self.dense_precision[:, : len(self.word_mean)] @ self.word_mean
        return found

    def other_columns(self, words: SparseRows, dense: FloatArray, images: FloatArray) -> FloatArray:
        """Return the columns that are no tags, centred, of rows that sum up so many images."""
        if not words.shape[1]:
            return dense
        return np.hstack([words.toarray() - np.multiply.outer(images, self.word_mean), dense])

    @cached_property
    def constants(self) -> Constants:
        """What goes cell by cell needs of each tag."""
        by_tag = self.ridge.own_precision, self.weighed_shares.T, self.share, self.fitted_share
        return Constants.of(self.sparse_weights, self.base, *by_tag)

    @cached_property
    def weighed_shares(self) -> FloatArray:
        """Tags x 2: their shares, as given and as fitted, times P[t, t]."""
        shares = np.stack([self.share, self.fitted_share], axis=1)
        return shares * self.ridge.own_precision[:, None]

    @cached_property
    def at_weighed_shares(self) -> FloatArray:
        """Columns x 2: the weights of each, times the weighed shares of the tags; float64."""
        weights, shares = self.ridge.weights, self.weighed_shares.astype(np.float64)
        blocks = row_blocks(len(weights), ROWS_AT_ONCE)
        return np.concatenate([weights[some] @ shares for some in blocks])


def _summed(places: SparseRows, values: FloatArray) -> FloatArray:
    """Return for each row the sum of its entries, each times a value; float64."""
    row = row_number_of_entries(places)
    return np.bincount(row, places.data * values, minlength=places.shape[0]).astype(np.float64)
