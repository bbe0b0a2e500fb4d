"""Links of images to the anchor images: the RBF kernel of eq. 1, a few nearest anchors kept."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy import sparse

from sugartag._rules import Positive, Shape, Within
from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.linalg.distances import squared_distances
from sugartag.linalg.sparse_rows import row_number_of_entries

TIE_STEP = 1e-9
"""Anchors at the same distance are taken in index order: each is this much farther, relatively."""


@dataclass(frozen=True, eq=False)
class ImageLinker:
    """Links feature rows to anchors by exp(-d²/σ²), nearest first, none below the cutoff."""

    anchors: Annotated[FloatArray, Shape("anchor images", "features")]
    """Anchors x dimensions, scaled as the rows will be."""
    bandwidth: Annotated[float, Positive()]
    """σ of eq. 1."""
    cutoff: Annotated[float, Within(0, 1)]
    """Weaker links are left out; 1e-4 in the paper."""
    max_links: Annotated[int, Within(1, 1_000_000)]
    """Anchors a row is linked to at most."""
    lone_links: bool = False
    """Link a row that has no link above the cutoff to its nearest anchor, by the cutoff."""

    def links(self, features: FloatArray, *, barred: BoolArray | None = None) -> SparseRows:
        """Return rows x anchors, float64, column indices sorted within each row.

        ``barred`` marks pairs that must not be linked, however near.
        """
        links = self._among(self._distances(features, barred), self.max_links)
        links.eliminate_zeros()
        return links

    def nearest(
        self, features: FloatArray, count: int, *, barred: BoolArray | None = None
    ) -> SparseRows:
        """Return rows x anchors as :meth:`links`, of the ``count`` nearest anchors.

        All of them are stored: a link that is cut is a stored zero. Only pairs that are barred
        are not there.
        """
        distances = self._distances(features, barred)
        near = self._among(distances, count)
        if count > self.max_links:
            near.data[~_stored_in(near, nearest_columns(distances, self.max_links))] = 0.0
        if barred is None:
            return near
        kept = ~barred[row_number_of_entries(near), near.indices]
        starts = np.concatenate([[0], np.cumsum(kept)])[near.indptr]
        return sparse.csr_array((near.data[kept], near.indices[kept], starts), shape=near.shape)

    def _distances(self, features: FloatArray, barred: BoolArray | None) -> FloatArray:
        distances = squared_distances(features, self.anchors)
        if barred is not None:
            distances[barred] = np.inf
        return distances

    def _among(self, distances: FloatArray, count: int) -> SparseRows:
        """Return the links to the nearest columns, zeros stored where they are cut."""
        nearest = nearest_columns(distances, count)
        kernel = np.exp(-np.take_along_axis(distances, nearest, axis=1) / self.bandwidth**2)
        kernel[kernel < self.cutoff] = 0.0
        if self.lone_links:
            self._link_the_lone(kernel, np.take_along_axis(distances, nearest, axis=1))
        n_rows, kept = nearest.shape
        return sparse.csr_array(
            (kernel.ravel(), nearest.ravel(), np.arange(0, n_rows * kept + 1, kept)),
            shape=distances.shape,
        )

    def _link_the_lone(self, kernel: FloatArray, distances: FloatArray) -> None:
        closest = distances.argmin(axis=1)
        reached = np.isfinite(np.take_along_axis(distances, closest[:, None], axis=1)[:, 0])
        lone = np.flatnonzero(~kernel.any(axis=1) & reached)
        kernel[lone, closest[lone]] = self.cutoff


def _stored_in(matrix: SparseRows, columns: IntArray) -> BoolArray:
    """Tell which stored entries are at some columns of their row, rows x columns of indices."""
    n_rows, n_columns = matrix.shape
    marked = np.zeros((n_rows, n_columns), dtype=np.bool_)
    np.put_along_axis(marked, columns, True, axis=1)
    found: BoolArray = marked[row_number_of_entries(matrix), matrix.indices]
    return found


def nearest_columns(distances: FloatArray, count: int) -> IntArray:
    """Return the ``count`` nearest columns of each row, in column order; ties by column."""
    n_columns = distances.shape[1]
    if count >= n_columns:
        return np.tile(np.arange(n_columns), (len(distances), 1))
    nearest = distances.min(axis=1, keepdims=True)
    scale = np.where(np.isfinite(nearest), nearest, 0.0) + 1.0  # a row may have every pair barred
    keys = distances + np.arange(n_columns) * (TIE_STEP * scale)
    return np.sort(np.argpartition(keys, count - 1, axis=1)[:, :count], axis=1)


def median_distance(sample: FloatArray, anchors: FloatArray) -> float:
    """Return the median distance of a sample of images to the anchors; 1 where all are the same.

    A bandwidth counted in it suits every scaling of the features, which the paper's 2.5 does not.
    """
    found = float(np.sqrt(np.median(squared_distances(sample, anchors))))
    return found if found > 0 else 1.0
