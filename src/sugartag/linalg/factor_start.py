"""Where the factors of a sparse matrix start: at its largest singular vectors."""

import numpy as np
from scipy.sparse.linalg import aslinearoperator

from sugartag._typing import FloatArray, SparseRows
from sugartag.linalg.proximal import largest_singular_parts

SMALLEST_SHARE = 1e-9
"""Singular values below this share of the largest are 0 but for rounding."""


def singular_start(
    matrix: SparseRows, rank: int, *, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return rows x r and columns x r whose product is the best of that rank, r at most ``rank``.

    Each has the square roots of the singular values. Directions that the matrix does not have
    are left out: their vectors would be made of rounding. One column stays in any case.
    """
    parts = largest_singular_parts(aslinearoperator(matrix), min(rank, *matrix.shape), rng=rng)
    kept = max(1, int(np.count_nonzero(parts.values > SMALLEST_SHARE * parts.values[0])))
    root = np.sqrt(parts.values[:kept])
    return parts.left[:, :kept] * root, parts.right[:, :kept] * root
