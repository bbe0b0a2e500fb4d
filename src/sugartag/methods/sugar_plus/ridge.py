"""The two ridge regressions of every tag, with exact leave-one-out in closed form.

The visual view regresses tags on the dense predictors alone; the joint view also on the other tags.
With P = (Z'WZ + penalty)^-1 the weights are B = P (Z'WY + penalty B0), shrunk towards B0: what the
names of tags say of each other in the joint view, 0 elsewhere. A tag must not predict itself: its
weights without its own column t are B_t - P_t B_tt / P_tt (Steck's EASE, for a target that is not
the column itself). Leaving image i out of the fit needs no refit: its
prediction f becomes y - (y - f) / (1 - h), with the leverage h = w_i (z'Pz - (P_t'z)^2 / P_tt), the
last term only where the image has tag t among its predictors.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from scipy import linalg, sparse

from sugartag._rules import Shape
from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.linalg.sparse_rows import row_number_of_entries
from sugartag.methods.sugar_plus._kernels import (
    add_sparse_products_at_cells,
    products_at_cells,
    quadratic_forms,
    take_out_columns,
)
from sugartag.methods.sugar_plus.blocks import Blocks, Predictors
from sugartag.methods.sugar_plus.statistics import Statistics

INTERCEPT_PENALTY = 1e-6
MIRRORED_AT_ONCE = 256
MOST_LEVERAGE = 0.95
"""An image that decides its own fit by more than this is held to it."""


@dataclass(frozen=True, eq=False)
class VisualRidge:
    """The ridge on visual components alone."""

    weights: Annotated[FloatArray, Shape("components+1", "tags")]
    """Dense predictors x tags, float32."""
    inverse: Annotated[FloatArray, Shape("components+1", "components+1")]
    """P, float32."""

    @classmethod
    def solve(cls, statistics: Statistics, blocks: Blocks, penalty: float) -> "VisualRidge":
        """Solve the normal equations of all tags at once."""
        n_tags = blocks.tags.width
        gram = statistics.gram[n_tags:, n_tags:].copy()
        gram[np.diag_indices_from(gram)] += _dense_penalty(len(gram), penalty)
        inverse = _inverse(gram)
        weights = inverse @ statistics.cross[n_tags:]
        return cls(weights.astype(np.float32), inverse.astype(np.float32))

    def leverage(self, predictors: Predictors, weight: FloatArray) -> FloatArray:
        """Return h of each image, the same for all tags."""
        dense = predictors.dense
        found: FloatArray = weight * np.einsum("ij,ij->i", dense @ self.inverse, dense)
        return np.minimum(found, MOST_LEVERAGE)

    def spread(self, statistics: Statistics) -> FloatArray:
        """Return the standard deviation of the predictions of each tag over the images."""
        n_dense = len(self.weights)
        gram = statistics.gram[-n_dense:, -n_dense:] / max(statistics.weight, 1.0)
        centred = gram - np.outer(gram[-1], gram[-1])
        variance = np.einsum("ij,ij->j", centred.astype(np.float32) @ self.weights, self.weights)
        found: FloatArray = np.sqrt(np.maximum(variance, 0.0))
        return found


@dataclass(frozen=True, eq=False)
class JointLeverage:
    """What leaving out images needs to know of the joint view."""

    whole: FloatArray
    """w z'Pz of each image: the leverage for tags that it does not have."""
    at_given: FloatArray
    """The leverage at each predictor tag that an image has, entry by entry."""
    dense: FloatArray
    """w z'Pz with z' the dense predictors of an image alone."""
    dense_at_given: FloatArray
    """The same at each predictor tag that an image has, without the tag's own column."""


@dataclass(frozen=True, eq=False)
class JointRidge:
    """The ridge on other tags and visual components."""

    tag_weights: Annotated[FloatArray, Shape("predictor tags", "tags")]
    """Predictor tags x tags, float32; the weight of a tag for itself is 0."""
    dense_weights: Annotated[FloatArray, Shape("components+1", "tags")]
    """Dense predictors x tags, float32."""
    inverse: Annotated[FloatArray, Shape("predictors", "predictors")]
    """P, float32."""

    @classmethod
    def solve(cls, statistics: Statistics, blocks: Blocks, prior: SparseRows) -> "JointRidge":
        """Solve the normal equations of all tags at once, no tag predicting itself.

        ``prior`` is B0, tags x tags: what the weights of tags for each other are shrunk towards.
        """
        predictor, n_tags = blocks.tags.predictor, blocks.tags.width
        gram = statistics.gram.copy()
        penalty = _dense_penalty(len(gram), blocks.visual.penalty)
        penalty[:n_tags] = blocks.tags.penalty
        gram[np.diag_indices_from(gram)] += penalty
        inverse = _inverse(gram)
        kept = inverse.astype(np.float32)
        cross = statistics.cross.astype(np.float32)
        expected = sparse.csr_array(prior[predictor])
        row = row_number_of_entries(expected)
        cross[row, expected.indices] += blocks.tags.penalty * expected.data
        weights = kept @ cross
        own: FloatArray = weights[np.arange(n_tags), predictor] / np.diag(kept)[:n_tags]
        take_out_columns(weights, kept, own, predictor)
        weights[np.arange(n_tags), predictor] = 0.0
        return cls(weights[:n_tags], weights[n_tags:], kept)

    def leverage(self, predictors: Predictors, weight: FloatArray) -> JointLeverage:
        """Return the leverage of each image, and what it is at the tags that the image has."""
        tags, dense = predictors.tags, predictors.dense
        n_tags = tags.shape[1]
        inner = dense @ self.inverse[n_tags:, n_tags:]
        forms, products = quadratic_forms(tags, self.inverse[:n_tags, :n_tags])
        across = tags @ self.inverse[:n_tags, n_tags:]
        of_dense = weight * np.einsum("ij,ij->i", inner + across, dense)
        whole = of_dense + weight * (np.einsum("ij,ij->i", across, dense) + forms)
        row, column = row_number_of_entries(tags), tags.indices
        own_dense = products_at_cells(dense, self.inverse[:n_tags, n_tags:], row, column)
        own = products + own_dense
        scale = weight[row] / np.diag(self.inverse)[column]
        return JointLeverage(
            whole=np.minimum(whole, MOST_LEVERAGE),
            at_given=np.clip(whole[row] - scale * own**2, 0.0, MOST_LEVERAGE),
            dense=of_dense,
            dense_at_given=of_dense[row] - scale * own * own_dense,
        )

    def at_cells(
        self, predictors: Predictors, row: IntArray, tag: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return what the dense predictors and what other tags add to some predictions.

        Each is that of a tag, for the image of its row.
        """
        of_dense = products_at_cells(predictors.dense, self._dense_weights_by_tag, row, tag)
        of_tags = np.zeros_like(of_dense)
        add_sparse_products_at_cells(predictors.tags, self.tag_weights, row, tag, of_tags)
        return of_dense, of_tags

    @cached_property
    def _dense_weights_by_tag(self) -> FloatArray:
        """Tags x dense predictors: the weights of one tag lie side by side."""
        return np.ascontiguousarray(self.dense_weights.T)


def _dense_penalty(width: int, penalty: float) -> FloatArray:
    found = np.full(width, penalty)
    found[-1] = INTERCEPT_PENALTY
    return found


def _inverse(gram: FloatArray) -> FloatArray:
    """Return the inverse of a positive definite matrix, overwriting it."""
    factor, info = linalg.lapack.dpotrf(gram, lower=1, overwrite_a=1)
    if info:
        raise ValueError("the normal equations are singular; raise the penalties")
    inverse, _ = linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
    for start in range(0, len(inverse), MIRRORED_AT_ONCE):
        here = slice(start, start + MIRRORED_AT_ONCE)
        corner = np.tril(inverse[here, here])
        inverse[here, here] = corner + np.tril(corner, -1).T
        inverse[here, here.stop :] = inverse[here.stop :, here].T
    # In the order that a stored array has: products round by how a matrix lies in memory.
    found: FloatArray = np.ascontiguousarray(inverse.T)
    return found
