"""The normal equations of the regression: sums that are centred and cleaned of owners."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, SparseRows
from sugartag.engine.base import row_blocks
from sugartag.methods.sugar_plus.evidence import Evidence
from sugartag.methods.sugar_plus.sums import OwnerTotals, Sums, add_sparse, outside_of

OWNERS_AT_ONCE = 4_096
"""Owners whose effects are taken out in one step."""


@dataclass(frozen=True, eq=False)
class Normal:
    """The regression's normal equations, centred and cleaned of owners, without a ridge yet."""

    gram: FloatArray
    """Columns x columns."""
    cross: FloatArray
    """Columns x the tags that are not among the columns."""
    mean: FloatArray
    """Of each column."""
    share: FloatArray
    """Of each tag: the images that have it, as far as it is trusted."""


def normal_equations(sums: Sums, evidence: Evidence, owner_variance: float) -> Normal:
    """Centre the sums and take the owners' effects out.

    Centring turns s s' into (s - n m)(s - n m)', s being an owner's sums and n their images.
    """
    mean, share = sums.columns / sums.count, sums.tags / sums.count
    outside = outside_of(evidence)
    effects = _Effects(np.zeros(len(mean)), np.zeros(len(outside)), np.zeros(()))
    gram, cross = sums.gram.copy(), sums.cross.copy()
    if owner_variance > 0:
        weight = np.sqrt(owner_variance / (1.0 + owner_variance * sums.owners.images))
        for some in row_blocks(len(sums.owners), OWNERS_AT_ONCE):
            owners = sums.owners.at(np.arange(some.start, some.stop))
            effects.take_out(_Weighed.of(owners, weight[some], evidence), gram, cross)
    # With w the weights: sum of (s - n m)(s - n m)' w^2, but s s', which is out already.
    column = effects.columns - (0.5 * (sums.count + float(effects.size))) * mean
    gram += np.multiply.outer(column, mean)
    gram += np.multiply.outer(mean, column)
    cross += np.multiply.outer(effects.columns, share[outside])
    left = effects.outside - (sums.count + float(effects.size)) * share[outside]
    cross += np.multiply.outer(mean, left)
    return Normal(gram, cross, mean, share)


@dataclass(frozen=True, eq=False)
class _Weighed:
    """The sums of some owners, each times a weight, and how many images they have."""

    known: SparseRows
    dense: FloatArray
    outside: SparseRows
    """Tags that are not among the columns."""
    images: FloatArray

    @classmethod
    def of(cls, owners: OwnerTotals, weight: FloatArray, evidence: Evidence) -> "_Weighed":
        """Multiply the sums of each owner by the owner's weight."""
        scale = sparse.diags_array(weight)
        return cls(
            sparse.csr_array(scale @ evidence.known(owners.tags, owners.words)),
            weight[:, None] * owners.dense,
            sparse.csr_array(scale @ owners.tags[:, outside_of(evidence)]),
            weight * owners.images,
        )


@dataclass(frozen=True, eq=False)
class _Effects:
    """What centring needs of the owners whose effects are out."""

    columns: FloatArray
    """The sum of s n of each column."""
    outside: FloatArray
    """The sum of s n of each tag that is not among the columns."""
    size: FloatArray
    """The sum of n n."""

    def take_out(self, owners: _Weighed, gram: FloatArray, cross: FloatArray) -> None:
        """Subtract the products of some owners' sums, in place."""
        known, dense, outside = owners.known, owners.dense, owners.outside
        n = known.shape[1]
        turned = sparse.csr_array(known.T)
        mixed = np.asarray(turned @ dense)
        add_sparse(gram, sparse.csr_array(-(turned @ known)))
        gram[:n, n:] -= mixed
        gram[n:, :n] -= mixed.T
        gram[n:, n:] -= dense.T @ dense
        add_sparse(cross, sparse.csr_array(-(turned @ outside)))
        cross[n:] -= np.asarray(outside.T @ dense).T
        self.columns[:n] += turned @ owners.images
        self.columns[n:] += dense.T @ owners.images
        self.outside[:] += outside.T @ owners.images
        self.size[()] += owners.images @ owners.images
