"""One ridge regression from everything known of an image to each of its tags, in closed form.

Every tag is predicted from all columns but itself. With P the inverse of the regularised Gram
matrix, the weights for a tag t among the columns are -P[:, t] / P[t, t], zero at t: one inverse
serves all tags.

Images of one owner are alike in ways that have nothing to do with what they show. The regression
therefore has a random effect for each owner: sums over an owner's images are taken out of the Gram
matrix by the share c = b / (1 + b n), n being their number and b the variance of the effect
relative to the noise. A tag that owners stamp on all they upload then predicts little.

An image that was fitted is judged as if it had not been, also in closed form. With V the
covariance of the images, z~ = z - c S the row of V^-1 Z (S: the sums over the owner's images) and
r~ the residual y~ - z~ w, leaving the image out changes its prediction z w by

    - (z P z~') r~ / (1 - c - z~ P z~')

where P is that of the tag in question, P - P[:, t] P[t, :] / P[t, t]. The products with P follow
from the predictions: (z P)[t] = P[t, t] (z[t] - z w_t).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.collection.model import Rows
from sugartag.methods.sugar_plus.evidence import Evidence
from sugartag.methods.sugar_plus.normal import Normal, normal_equations
from sugartag.methods.sugar_plus.sides import Centre, Dense, Side
from sugartag.methods.sugar_plus.sums import OwnerTotals, Sums, outside_of

LEAST_ROOM = 0.05
"""What 1 - leverage is counted as, at least: below, an image says nearly all about itself."""
OWNER_CELLS = 1 << 24
"""Owners x tags whose sums are kept ready, at most."""
OWNERS_AT_ONCE = 1_024
ROWS_AT_ONCE = 512
"""Of a matrix that is mirrored."""
INTEREST_SHRINKAGE = 2.0
"""Images of nobody's interest that an owner's others are averaged with."""


@dataclass(frozen=True, eq=False)
class Content:
    """What is said about images x tags, beyond each tag's share, the image itself left out."""

    excess: FloatArray
    """By what is known of the image; float32."""
    interest: FloatArray
    """By what is known of the owner's other images: the mean of what it says about them."""


@dataclass(frozen=True, eq=False)
class Ridge:
    """Weights of all columns for all tags, and what leaves an image out of its own prediction."""

    evidence: Evidence
    """What the columns are."""
    sums: Sums
    """Of the images fitted."""
    weights: FloatArray
    """Columns x tags, float32."""
    mean: FloatArray
    """Of each column, tags as they are given."""
    share: FloatArray
    """Of the images that have each tag."""
    fitted_mean: FloatArray
    """Of each column, tags as far as they are trusted: that is what was fitted."""
    fitted_share: FloatArray
    """Of each tag, as far as it is trusted."""
    own_precision: FloatArray
    """P[t, t] of each tag, float32; 0 where it is not among the columns."""
    other_precision: FloatArray
    """P at all columns x those that are no tags, float32."""
    owner_variance: float

    @property
    def n_images(self) -> int:
        """Images fitted: rows from here on are new."""
        return int(self.sums.count)

    @property
    def owners(self) -> OwnerTotals:
        """Sums over the images of each owner."""
        return self.sums.owners

    @classmethod
    def solved(
        cls, sums: Sums, evidence: Evidence, penalty: FloatArray, owner_variance: float
    ) -> "Ridge":
        """Solve with a penalty for each column."""
        normal = normal_equations(sums, evidence, owner_variance)
        precision = inverse_of(normal.gram, penalty)
        predictor, n = evidence.predictor, len(evidence.predictor)
        own = np.zeros(evidence.n_tags, dtype=np.float32)
        own[predictor] = np.diag(precision)[:n]
        share = sums.given / sums.count
        mean = normal.mean.copy()
        mean[:n] = share[predictor]
        return cls(
            evidence=evidence,
            sums=sums,
            weights=weights_of(precision, normal, evidence),
            mean=mean.astype(np.float32),
            share=share.astype(np.float32),
            fitted_mean=normal.mean.astype(np.float32),
            fitted_share=normal.share.astype(np.float32),
            own_precision=own,
            other_precision=np.ascontiguousarray(precision[:, n:], dtype=np.float32),
            owner_variance=owner_variance,
        )

    def judge(self, rows: Rows, trusted: SparseRows) -> Content:
        """Return what is said about some images.

        ``trusted`` are the tags of all fitted images, as far as they were believed in fitting.
        """
        dense = Dense.of(self, self.evidence.dense(rows), np.ones(len(rows), dtype=np.float32))
        words = self.evidence.words_of(rows)
        now = Side.of(self, rows.tags, words, dense, self._as_given)
        believed = trusted[np.minimum(rows.position, trusted.shape[0] - 1)]
        fitted = Side.of(self, believed, words, dense, self._as_fitted)
        theirs = self._owners_of(rows)
        seen = (rows.position < self.n_images).astype(np.float32)
        interest: FloatArray = theirs.predicted - seen[:, None] * fitted.predicted
        interest /= np.maximum(theirs.images - seen, 0.0)[:, None] + INTEREST_SHRINKAGE
        interest[theirs.images == 0] = 0.0
        excess = now.predicted - seen[:, None] * self._pull(now, fitted, theirs)
        return Content(excess, interest)

    def _owners_of(self, rows: Rows) -> Side:
        """Return for each image the sums over all images of its owner; nobody's are nothing."""
        owner, place = np.unique(np.minimum(rows.owner, len(self.owners)), return_inverse=True)
        number, ready = self._busiest
        asked = number[owner]
        new = asked == len(ready)
        if not new.any():
            return ready.at(asked[place])
        made = self.summed(self.owners.at(owner[new]))
        return ready.at_or(made, asked[place], (np.cumsum(new) - 1)[place], new[place])

    @cached_property
    def _busiest(self) -> tuple[IntArray, Side]:
        """The sums of the owners with most images, made once; and where each owner's are."""
        count = min(len(self.owners), OWNER_CELLS // self.evidence.n_tags)
        busiest = np.sort(np.argsort(-self.owners.images, kind="stable")[:count])
        number = np.full(len(self.owners) + 1, count)
        number[busiest] = np.arange(count)
        steps = range(0, max(count, 1), OWNERS_AT_ONCE)
        chunks = (busiest[start : start + OWNERS_AT_ONCE] for start in steps)
        parts = [self.summed(self.owners.at(chunk)) for chunk in chunks]
        return number, Side.joined(*parts)

    def summed(self, totals: OwnerTotals) -> Side:
        """Take the sums over the images of some owners through the ridge."""
        dense = Dense.of(self, totals.dense, totals.images.astype(np.float32))
        return Side.of(self, totals.tags, totals.words, dense, self._as_fitted)

    @cached_property
    def _as_given(self) -> Centre:
        return Centre.of(self, self.mean, self.share)

    @cached_property
    def _as_fitted(self) -> Centre:
        return Centre.of(self, self.fitted_mean, self.fitted_share)

    def _pull(self, now: Side, fitted: Side, theirs: Side) -> FloatArray:
        """Return how much of each prediction an image owes to its own tags, having been fitted."""
        images, b = theirs.images, np.float32(self.owner_variance)
        c = np.where(images > 0, b / (1 + b * images), np.float32(0))[:, None]
        left = fitted.tags - fitted.predicted - c * (theirs.tags - theirs.predicted)
        whitened = fitted.tags - c * theirs.tags
        columns = fitted.columns - c * theirs.columns
        own = self.own_precision
        raw_left = (now.tags - now.predicted) * own
        # z P z~' and z~ P z~', from the parts at the tags and at the other columns.
        mixed = np.einsum("ij,ij->i", raw_left, whitened)
        mixed += np.einsum("ij,ij->i", now.others, columns)
        both = np.einsum("ij,ij,j->i", left, whitened, own)
        both += np.einsum("ij,ij->i", fitted.others - c * theirs.others, columns)
        room = left * left
        room *= own
        room += 1.0 - c - both[:, None]
        np.maximum(room, np.float32(LEAST_ROOM), out=room)
        pull = raw_left
        pull *= -left
        pull += mixed[:, None]
        pull *= left
        pull /= room
        return pull


def inverse_of(gram: FloatArray, penalty: FloatArray) -> FloatArray:
    """Return the inverse of a Gram matrix with a penalty on its diagonal."""
    matrix = gram.T.copy(order="F")
    matrix[np.diag_indices_from(matrix)] += penalty
    factor, failed = linalg.lapack.dpotrf(matrix, lower=1, overwrite_a=1)
    found, failed_too = linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
    if failed or failed_too:
        raise ValueError("the regression has columns that rounding makes negative in length")
    _mirror(found)
    inverse: FloatArray = found
    return inverse


def _mirror(matrix: FloatArray) -> None:
    """Copy what is below the diagonal to above it."""
    for start in range(0, len(matrix), ROWS_AT_ONCE):
        stop = min(start + ROWS_AT_ONCE, len(matrix))
        square = matrix[start:stop, start:stop]
        square[:] = np.tril(square) + np.tril(square, -1).T
        matrix[start:stop, stop:] = matrix[stop:, start:stop].T


def weights_of(precision: FloatArray, normal: Normal, evidence: Evidence) -> FloatArray:
    """Return columns x tags, float32: the weights with which each tag is predicted."""
    n = len(evidence.predictor)
    weights = np.empty((len(precision), evidence.n_tags), dtype=np.float32)
    weights[:, evidence.predictor] = precision[:, :n] / -np.diag(precision)[:n]
    weights[np.arange(n), evidence.predictor] = 0.0
    weights[:, outside_of(evidence)] = precision @ normal.cross
    return weights
