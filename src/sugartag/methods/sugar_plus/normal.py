"""The normal equations of the regression: sums that are centred and cleaned of owners.

The Gram matrix is the same above and below its diagonal, so its upper half is made and mirrored in
the end. It is made in bands, which no two threads share: the numbers do not depend on how many
threads there are, and nothing has to be gathered and added up afterwards.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from sugartag._typing import FloatArray
from sugartag.engine.base import row_blocks
from sugartag.linalg.symmetric import mirror
from sugartag.linalg.threads import run_parts
from sugartag.methods.sugar_plus.evidence import Evidence
from sugartag.methods.sugar_plus.sparse_columns import (
    BAND,
    add_mixed_products,
    add_products,
    outside_of,
    runs,
    sparse_columns,
)
from sugartag.methods.sugar_plus.sums import OwnerTotals, Sums

OWNERS_AT_ONCE = 4_096
"""Owners whose dense sums are multiplied in one step."""
DENSE_BAND = 128
"""Dense columns of a band, at most: each needs all dense columns after it."""


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


def normal_equations(
    sums: Sums, evidence: Evidence, owner_variance: float, *, threads: int = 1
) -> Normal:
    """Centre the sums and take the owners' effects out.

    Centring turns s s' into (s - n m)(s - n m)', s being an owner's sums and n their images.
    """
    found = _Equations.of(sums, evidence)
    size = sums.count
    if owner_variance > 0:
        weight = owner_variance / (1.0 + owner_variance * sums.owners.images)
        found.take_out(sums.owners, weight, evidence, threads=threads)
        size += float(weight @ sums.owners.images**2)
    run_parts(partial(found.centre, size), row_blocks(len(found.gram), BAND), threads)
    mirror(found.gram, threads=threads)
    return Normal(found.gram, found.cross, found.mean, sums.tags / sums.count)


@dataclass(frozen=True, eq=False)
class _Equations:
    """The normal equations while owners are taken out; of the Gram matrix, the upper half."""

    gram: FloatArray
    cross: FloatArray
    mean: FloatArray
    """Of each column."""
    outside: FloatArray
    """The mean of each tag that is not among the columns."""
    effects: FloatArray
    """The sum of s n of each column, weighed, of the owners that are out."""
    outside_effects: FloatArray
    """The same of each tag that is not among the columns."""

    @classmethod
    def of(cls, sums: Sums, evidence: Evidence) -> "_Equations":
        """Start with the sums as they are."""
        n_columns, n_outside = sums.cross.shape
        mean, outside = sums.columns / sums.count, sums.tags[outside_of(evidence)] / sums.count
        left = np.zeros(n_columns), np.zeros(n_outside)
        return cls(sums.gram.copy(), sums.cross.copy(), mean, outside, *left)

    def take_out(
        self, owners: OwnerTotals, weight: FloatArray, evidence: Evidence, *, threads: int
    ) -> None:
        """Subtract s s' of all owners, each times a weight."""
        n = evidence.n_sparse
        mixed = np.zeros((n + len(self.outside), evidence.n_dense))
        for some in runs(owners.tags.indptr):
            columns = sparse_columns(owners.tags[some], owners.words[some], evidence)
            half, whole = columns.weighed(np.sqrt(weight[some])), columns.weighed(weight[some])
            add_products(half, -1.0, self.gram, self.cross, threads=threads)
            add_mixed_products(whole, owners.dense[some], mixed, threads=threads)
            effects = whole.weighed(owners.images[some]).sums()
            self.effects[:n] += effects[:n]
            self.outside_effects[:] += effects[n:]
        self.gram[:n, n:] -= mixed[:n]
        self.cross[n:] -= mixed[n:].T
        bands = row_blocks(evidence.n_dense, DENSE_BAND)
        run_parts(partial(self._take_out_dense, owners, weight, n), bands, threads)

    def _take_out_dense(self, owners: OwnerTotals, weight: FloatArray, n: int, band: slice) -> None:
        """Subtract products of a band of dense columns with those from the band on."""
        gram = self.gram[n + band.start : n + band.stop, n + band.start :]
        effects = self.effects[n + band.start : n + band.stop]
        root = np.sqrt(weight)
        for some in row_blocks(len(owners), OWNERS_AT_ONCE):
            dense = root[some, None] * owners.dense[some, band.start :]
            mine = np.ascontiguousarray(dense[:, : band.stop - band.start])
            gram -= mine.T @ dense
            effects += (root[some] * owners.images[some]) @ mine

    def centre(self, size: float, band: slice) -> None:
        """Centre a band of the upper half.

        With w the weights, this adds the sum of (s - n m)(s - n m)' w, but for s s', which is out
        already. ``size`` is the sum of n n w, and of all images.
        """
        mean, first = self.mean, band.start
        column = self.effects - (0.5 * size) * mean
        upper, cross = self.gram[band, first:], self.cross[band]
        upper += np.multiply.outer(column[band], mean[first:])
        upper += np.multiply.outer(mean[band], column[first:])
        cross += np.multiply.outer(self.effects[band], self.outside)
        cross += np.multiply.outer(mean[band], self.outside_effects - size * self.outside)
