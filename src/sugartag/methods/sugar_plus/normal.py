"""The normal equations of the regression: sums that are centred and cleaned of owners.

The Gram matrix is the same above and below its diagonal, so only its upper half is made. It is made
in bands, which no two threads share: the numbers do not depend on how many threads there are.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from sugartag._typing import FloatArray
from sugartag.engine.base import row_blocks
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
PARTS = 16
"""Of the owners, at most: the dense products of each part are held until all are there."""


@dataclass(frozen=True, eq=False)
class Normal:
    """The regression's normal equations, centred and cleaned of owners, without a ridge yet."""

    gram: FloatArray
    """Columns x columns; nothing is said below the diagonal."""
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
    mean, outside = sums.columns / sums.count, sums.tags[outside_of(evidence)] / sums.count
    found, size = _Equations.nothing(mean, outside), sums.count
    if owner_variance > 0:
        weight = owner_variance / (1.0 + owner_variance * sums.owners.images)
        found.add(sums.owners, weight, evidence, threads=threads)
        size += float(weight @ sums.owners.images**2)
    run_parts(partial(found.centre, sums, size), row_blocks(len(mean), BAND), threads)
    return Normal(found.gram, found.cross, mean, sums.tags / sums.count)


@dataclass(frozen=True, eq=False)
class _Equations:
    """What owners are to take out of the sums; in the end, the normal equations."""

    gram: FloatArray
    """Its upper half."""
    cross: FloatArray
    mean: FloatArray
    """Of each column."""
    outside: FloatArray
    """The mean of each tag that is not among the columns."""
    effects: FloatArray
    """The sum of s n of each column, weighed, of the owners."""
    outside_effects: FloatArray
    """The same of each tag that is not among the columns."""

    @classmethod
    def nothing(cls, mean: FloatArray, outside: FloatArray) -> "_Equations":
        """Start with nobody."""
        sums = np.zeros((len(mean), len(mean))), np.zeros((len(mean), len(outside)))
        return cls(*sums, mean, outside, np.zeros(len(mean)), np.zeros(len(outside)))

    def add(
        self, owners: OwnerTotals, weight: FloatArray, evidence: Evidence, *, threads: int
    ) -> None:
        """Add s s' of all owners, each times a weight."""
        n = evidence.n_sparse
        mixed = np.zeros((n + len(self.outside), evidence.n_dense))
        for some in runs(owners.tags.indptr):
            columns = sparse_columns(owners.tags[some], owners.words[some], evidence)
            half, whole = columns.weighed(np.sqrt(weight[some])), columns.weighed(weight[some])
            add_products(half, self.gram, self.cross, threads=threads)
            add_mixed_products(whole, owners.dense[some], mixed, threads=threads)
            effects = whole.weighed(owners.images[some]).sums()
            self.effects[:n] += effects[:n]
            self.outside_effects[:] += effects[n:]
        self.gram[:n, n:], self.cross[n:] = mixed[:n], mixed[n:].T
        parts = row_blocks(len(owners), max(OWNERS_AT_ONCE, -(-len(owners) // PARTS)))
        for gram, dense_effects in run_parts(partial(_dense, owners, weight), parts, threads):
            self.gram[n:, n:] += gram
            self.effects[n:] += dense_effects

    def centre(self, sums: Sums, size: float, band: slice) -> None:
        """Make a band of the upper half what the sums are without the owners, centred.

        With w the weights, this takes off the sum of s s' w and adds that of (s - n m)(s - n m)' w,
        but for s s'. ``size`` is the sum of n n w, and of all images.
        """
        mean, first = self.mean, band.start
        column = self.effects - (0.5 * size) * mean
        upper, cross = self.gram[band, first:], self.cross[band]
        np.subtract(sums.gram[band, first:], upper, out=upper)
        upper += np.multiply.outer(column[band], mean[first:])
        upper += np.multiply.outer(mean[band], column[first:])
        np.subtract(sums.cross[band], cross, out=cross)
        cross += np.multiply.outer(self.effects[band], self.outside)
        cross += np.multiply.outer(mean[band], self.outside_effects - size * self.outside)


def _dense(owners: OwnerTotals, weight: FloatArray, part: slice) -> tuple[FloatArray, FloatArray]:
    """Return s s' and s n of the dense columns of some owners, each times a weight."""
    n_dense = owners.dense.shape[1]
    gram, effects = np.zeros((n_dense, n_dense)), np.zeros(n_dense)
    for start in range(part.start, part.stop, OWNERS_AT_ONCE):
        some = slice(start, min(start + OWNERS_AT_ONCE, part.stop))
        root = np.sqrt(weight[some])
        dense = root[:, None] * owners.dense[some]
        gram += dense.T @ dense
        effects += (root * owners.images[some]) @ dense
    return gram, effects
