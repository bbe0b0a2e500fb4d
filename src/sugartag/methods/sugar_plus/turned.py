"""A ridge turned the way that products at given tags read it, and rows on their way through it.

With P the inverse of the regularised Gram matrix, the product of a row z with P is known at a tag
from what the ridge does not explain there: (z P)[t] = P[t, t] (z[t] - z w_t). P being symmetric,
z P m' for the mean m of the sparse columns follows from P m', which is made once.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sugartag._typing import FloatArray, SparseRows
from sugartag.linalg.compiled import compiled, read_only
from sugartag.linalg.entries import Entries
from sugartag.linalg.quadratic import QuadraticForm
from sugartag.methods.sugar_plus.at_places import sparse_products
from sugartag.methods.sugar_plus.given_loops import RidgeParts, RowParts
from sugartag.methods.sugar_plus.ridge import Ridge


@dataclass(frozen=True, eq=False)
class Turned:
    """A ridge, with what is made of it once to judge given tags."""

    ridge: Ridge

    @cached_property
    def dense_weights(self) -> FloatArray:
        """Tags x dense columns: the weights, turned."""
        return np.ascontiguousarray(self.ridge.weights[self.ridge.evidence.n_sparse :].T)

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
        _multiply(-weighed, read_only(ridge.weights), found)
        found[:, : len(predictor)] += weighed[:, predictor]
        found += words @ ridge.other_precision[:, : words.shape[1]].T
        return found

    @cached_property
    def of_mean(self) -> FloatArray:
        """Twice m P m', the first m being the mean as fitted, the second that as given, too."""
        n = self.ridge.evidence.n_sparse
        products: FloatArray = self.at_mean[:, :n] @ self.ridge.fitted_mean[:n]
        return products

    @cached_property
    def dense_form(self) -> QuadraticForm:
        """What makes d P d' of rows d of dense columns."""
        evidence = self.ridge.evidence
        precision = self.ridge.other_precision[evidence.n_sparse :, len(evidence.words) :]
        return QuadraticForm.of(precision)

    @property
    def parts(self) -> RidgeParts:
        """What compiled loops need of it."""
        ridge, evidence = self.ridge, self.ridge.evidence
        n_tags, n_predictors = evidence.n_tags, len(evidence.predictor)
        at_mean = np.zeros((2, n_tags + len(evidence.words)))
        at_mean[:, evidence.predictor] = self.at_mean[:, :n_predictors]
        at_mean[:, n_tags:] = self.at_mean[:, n_predictors : evidence.n_sparse]
        words = ridge.other_precision[n_predictors : evidence.n_sparse, len(evidence.words) :]
        parts = (
            ridge.own_precision,
            np.stack([ridge.fitted_share, ridge.share]),
            self.base,
            self.dense_weights,
            np.ascontiguousarray(words),
            at_mean,
            self.at_mean[:, evidence.n_sparse :].astype(np.float32),
            self.of_mean,
        )
        return RidgeParts(*map(read_only, parts))


def through(
    ridge: Ridge, tags: SparseRows, words: SparseRows, dense: FloatArray, *others: SparseRows
) -> RowParts:
    """Return rows with what their tags and words predict of their tags, tags as far as believed.

    The predictions are also made from other values of the tags, in the same places.
    """
    known = ridge.evidence.known(tags, words).astype(np.float32, copy=False)
    more = [ridge.evidence.known(other, words).data for other in others]
    values = np.stack([known.data, *more], dtype=np.float32)
    return RowParts(
        Entries.of(tags, tags.shape[1]),
        sparse_products(tags, known, values, ridge.weights),
        Entries.of(words, words.shape[1]),
        sparse_products(words, known, values[:1], ridge.other_precision)[0],
        read_only(dense),
    )


@compiled
def _multiply(rows: FloatArray, matrix: FloatArray, found: FloatArray) -> None:
    """Fill in a few rows times a matrix turned, float32; summed as float64."""
    for column in range(len(matrix)):
        for row in range(len(rows)):
            total = 0.0
            for number in range(matrix.shape[1]):
                total += rows[row, number] * matrix[column, number]
            found[row, column] = total
