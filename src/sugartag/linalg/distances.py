"""Squared Euclidean distances between rows, in float64."""

import numpy as np

from sugartag._typing import FloatArray


def squared_distances(rows: FloatArray, others: FloatArray) -> FloatArray:
    """Return rows x others, never negative.

    Float64 throughout: the result is then the same to about 1e-12 whatever the block it was
    computed in, which keeps every choice of nearest anchors independent of block sizes.
    """
    left, right = rows.astype(np.float64), others.astype(np.float64)
    products = left @ right.T
    products *= -2.0
    products += np.einsum("ij,ij->i", left, left)[:, None]
    products += np.einsum("ij,ij->i", right, right)[None, :]
    return np.maximum(products, 0.0, out=products)


def unit_rows(rows: FloatArray) -> FloatArray:
    """Scale every row to Euclidean length 1; a row of zeros stays."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))[:, None]
    return rows / np.where(lengths > 0, lengths, 1.0).astype(rows.dtype)
