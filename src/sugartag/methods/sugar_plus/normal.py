"""The normal equations of the regression: sums that are centred and cleaned of owners.

The Gram matrix is the same above and below its diagonal, so its upper half is made and mirrored in
the end. It is made in bands, which no two threads share: the numbers do not depend on how many
threads there are, and nothing has to be gathered and added up afterwards.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.engine.base import row_blocks
from sugartag.linalg.sparse_rows import chosen_columns, same_places
from sugartag.linalg.threads import run_parts
from sugartag.methods.sugar_plus.evidence import Evidence
from sugartag.methods.sugar_plus.sums import OwnerTotals, Sums, outside_of

ENTRIES_AT_ONCE = 1 << 20
"""Tags of owners whose effects are taken out in one step, about; one owner's stay together."""
OWNERS_AT_ONCE = 4_096
"""Owners whose dense sums are weighed in one step."""
BAND = 256
"""Sparse columns of a band, at most."""
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
    size = 0.0
    if owner_variance > 0:
        weight = np.sqrt(owner_variance / (1.0 + owner_variance * sums.owners.images))
        for some in _runs(sums.owners.tags.indptr):
            owners = _Weighed.of(sums.owners.between(some), weight[some], evidence)
            run_parts(partial(owners.take_out, found), owners.bands(), threads)
            found.outside_effects[:] += owners.turned[owners.n_sparse :] @ owners.images
            size += float(owners.images @ owners.images)
    bands = row_blocks(len(found.gram), BAND)
    run_parts(partial(found.finish, sums.count + size), bands, threads)
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

    def finish(self, size: float, band: slice) -> None:
        """Centre a band of the upper half, and copy it to below the diagonal.

        With w the weights, this adds the sum of (s - n m)(s - n m)' w^2, but for s s', which is out
        already. ``size`` is the sum of n n w^2, and of all images.
        """
        gram, mean, first = self.gram, self.mean, band.start
        column = self.effects - (0.5 * size) * mean
        upper = gram[band, first:]
        upper += np.multiply.outer(column[band], mean[first:])
        upper += np.multiply.outer(mean[band], column[first:])
        square = gram[band, band]
        square[:] = np.triu(square) + np.triu(square, 1).T
        gram[band.stop :, band] = gram[band, band.stop :].T
        cross = self.cross[band]
        cross += np.multiply.outer(self.effects[band], self.outside)
        cross += np.multiply.outer(mean[band], self.outside_effects - size * self.outside)


@dataclass(frozen=True, eq=False)
class _Weighed:
    """The sums of some owners, each times a weight, and how many images they have."""

    tags: SparseRows
    """Owners x sparse columns, then the tags that are not among the columns; weighed."""
    turned: SparseRows
    """The same by column."""
    dense: FloatArray
    """Owners x dense columns; weighed when it is their turn, because they are many."""
    weight: FloatArray
    images: FloatArray
    """Weighed."""
    n_sparse: int

    @classmethod
    def of(cls, owners: OwnerTotals, weight: FloatArray, evidence: Evidence) -> "_Weighed":
        """Multiply the sums of each owner by the owner's weight."""
        known = evidence.known(owners.tags, owners.words)
        rest = chosen_columns(owners.tags, outside_of(evidence))
        every = sparse.csr_array(sparse.hstack([known, rest], format="csr"))
        tags = same_places(every.data * np.repeat(weight, np.diff(every.indptr)), every)
        turned, images = sparse.csr_array(tags.T), weight * owners.images
        return cls(tags, turned, owners.dense, weight, images, known.shape[1])

    def bands(self) -> list[slice]:
        """Cut the columns of the Gram matrix, so that a band has sparse or dense ones only."""
        n = self.n_sparse
        dense = row_blocks(self.dense.shape[1], DENSE_BAND)
        moved = (slice(n + band.start, n + band.stop) for band in dense)
        return [*moved, *row_blocks(n, BAND)]

    def take_out(self, found: _Equations, band: slice) -> None:
        """Subtract what a band is answerable for: no entry of the upper half is so for two."""
        if band.start < self.n_sparse:
            self._take_out_sparse(found, band)
        else:
            for some in row_blocks(len(self.images), OWNERS_AT_ONCE):
                self._take_out_dense(found, band, some)

    def _take_out_sparse(self, found: _Equations, band: slice) -> None:
        """Subtract products with sparse columns from the band on, and with other tags."""
        mine, left = self.turned[band], self.n_sparse - band.start
        products = (mine @ self.tags[:, band.start :]).toarray()
        found.gram[band, band.start : self.n_sparse] -= products[:, :left]
        found.cross[band] -= products[:, left:]
        found.effects[band] += mine @ self.images

    def _take_out_dense(self, found: _Equations, band: slice, some: slice) -> None:
        """Subtract some owners' products with all tags, and with dense columns from the band on."""
        n = self.n_sparse
        dense = self.weight[some, None] * self.dense[some, band.start - n :]
        mine = np.ascontiguousarray(dense[:, : band.stop - band.start])
        products = self.tags[some].T @ mine
        found.gram[:n, band] -= products[:n]
        found.cross[band] -= products[n:].T
        found.gram[band, band.start :] -= mine.T @ dense
        found.effects[band] += self.images[some] @ mine


def _runs(start: IntArray) -> Iterator[slice]:
    """Yield runs of rows with a bounded number of entries, all in the end."""
    first, n_rows = 0, len(start) - 1
    while first < n_rows:
        wanted = int(start[first]) + ENTRIES_AT_ONCE
        last = int(np.searchsorted(start, wanted, side="right")) - 1
        last = min(max(last, first + 1), n_rows)
        yield slice(first, last)
        first = last
