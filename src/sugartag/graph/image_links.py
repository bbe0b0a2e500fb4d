"""Links of images to the anchor images: the RBF kernel of eq. 1, a few nearest anchors kept."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy import sparse

from sugartag._rules import Positive, Shape, Within
from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.linalg.distances import squared_distances

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
    """At most so many anchors a row."""

    def links(self, features: FloatArray, *, barred: BoolArray | None = None) -> SparseRows:
        """Return rows x anchors, float64, column indices sorted within each row.

        ``barred`` marks pairs that must not be linked, however near.
        """
        distances = squared_distances(features, self.anchors)
        if barred is not None:
            distances[barred] = np.inf
        nearest = nearest_columns(distances, self.max_links)
        kernel = np.exp(-np.take_along_axis(distances, nearest, axis=1) / self.bandwidth**2)
        n_rows, kept = nearest.shape
        links = sparse.csr_array(
            (kernel.ravel(), nearest.ravel(), np.arange(0, n_rows * kept + 1, kept)),
            shape=distances.shape,
        )
        links.data[links.data < self.cutoff] = 0.0
        links.eliminate_zeros()
        return links


def nearest_columns(distances: FloatArray, count: int) -> IntArray:
    """Return the ``count`` nearest columns of each row, in column order; ties by column."""
    n_columns = distances.shape[1]
    if count >= n_columns:
        return np.tile(np.arange(n_columns), (len(distances), 1))
    nearest = distances.min(axis=1, keepdims=True)
    scale = np.where(np.isfinite(nearest), nearest, 0.0) + 1.0  # a row may have every pair barred
    keys = distances + np.arange(n_columns) * (TIE_STEP * scale)
    return np.sort(np.argpartition(keys, count - 1, axis=1)[:, :count], axis=1)


def self_tuned_bandwidth(sample: FloatArray, anchors: FloatArray, neighbours: int) -> float:
    """Return σ: the sample's mean distance to its ``neighbours``-th nearest anchor.

    The paper's 2.5 suits no common normalisation of features; this follows any.
    """
    distances = squared_distances(sample, anchors)
    rank = min(neighbours, len(anchors)) - 1
    found = float(np.sqrt(np.partition(distances, rank, axis=1)[:, rank]).mean())
    return found if found > 0 else 1.0
