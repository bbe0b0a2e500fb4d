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

from sugartag._typing import FloatArray, SparseRows
from sugartag.collection.model import Rows
from sugartag.engine.base import Engine, row_blocks
from sugartag.linalg.symmetric import invert
from sugartag.linalg.threads import run_parts
from sugartag.methods.sugar_plus.evidence import Evidence
from sugartag.methods.sugar_plus.kept_owners import KeptOwners
from sugartag.methods.sugar_plus.levels import Levels
from sugartag.methods.sugar_plus.normal import Normal, normal_equations
from sugartag.methods.sugar_plus.sparse_columns import outside_of
from sugartag.methods.sugar_plus.sums import OwnerTotals, Sums
from sugartag.methods.sugar_plus.through import Through

ROWS_AT_ONCE = 512
"""Of a matrix that is worked on from top to bottom."""


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
    left_out: int = 0
    """Images that were taken out of the sums again, and that nobody asks about."""

    @property
    def n_images(self) -> int:
        """Images fitted, with those left out: rows from here on are new."""
        return int(self.sums.count) + self.left_out

    @property
    def owners(self) -> OwnerTotals:
        """Sums over the images of each owner."""
        return self.sums.owners

    @classmethod
    def solved(
        cls,
        sums: Sums,
        evidence: Evidence,
        penalty: FloatArray,
        owner_variance: float,
        *,
        threads: int = 1,
    ) -> "Ridge":
        """Solve with a penalty for each column."""
        normal = normal_equations(sums, evidence, owner_variance, threads=threads)
        precision = inverse_of(normal.gram, penalty, threads=threads)
        predictor, n = evidence.predictor, len(evidence.predictor)
        own = np.zeros(evidence.n_tags, dtype=np.float32)
        own[predictor] = np.diag(precision)[:n]
        share = sums.given / sums.count
        mean = normal.mean.copy()
        mean[:n] = share[predictor]
        return cls(
            evidence=evidence,
            sums=sums,
            weights=weights_of(precision, normal, evidence, threads=threads),
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
        return Content(*Through(self, rows, trusted).content())

    @cached_property
    def levels(self) -> Levels:
        """What products with this ridge need."""
        return Levels(self)

    @cached_property
    def kept_owners(self) -> KeptOwners:
        """Owners whose sums are kept ready: nobody's, unless somebody keeps them."""
        return KeptOwners.none(self)

    @property
    def keeps_owners(self) -> bool:
        """Whether the sums of the busiest owners are ready."""
        return len(self.kept_owners.kept) > 0

    def keep_owners(self, *, engine: Engine) -> None:
        """Keep the sums of the busiest owners ready: what is judged stays, and takes less time."""
        self.__dict__["kept_owners"] = KeptOwners.of(self, engine=engine)


def inverse_of(gram: FloatArray, penalty: FloatArray, *, threads: int = 1) -> FloatArray:
    """Turn a Gram matrix, which is used up, into its inverse with a penalty on its diagonal."""
    gram[np.diag_indices_from(gram)] += penalty
    invert(gram, threads=threads)
    return gram


def weights_of(
    precision: FloatArray, normal: Normal, evidence: Evidence, *, threads: int = 1
) -> FloatArray:
    """Return columns x tags, float32: the weights with which each tag is predicted."""
    predictor, outside = evidence.predictor, outside_of(evidence)
    n = len(predictor)
    weights = np.empty((len(precision), evidence.n_tags), dtype=np.float32)
    scale = -1.0 / np.diag(precision)[:n]

    def weigh(some: slice) -> None:
        weights[some, predictor] = precision[some, :n] * scale
        weights[some, outside] = precision[some] @ normal.cross

    run_parts(weigh, row_blocks(len(precision), ROWS_AT_ONCE), threads)
    weights[np.arange(n), predictor] = 0.0
    return weights
