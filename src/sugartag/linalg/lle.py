"""Locally linear geometry: how each row is put together from its nearest rows.

Row x_i is written as a sum of its neighbours, sum_j s_ij x_j with sum_j s_ij = 1. A factor keeps
this geometry where tr(F' M F) = sum_i |f_i - sum_j s_ij f_j|^2 is small, M = (I - S)'(I - S).
"""

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, IntArray, SparseRows

ROWS_AT_ONCE = 1_024
"""Rows whose local systems are solved in one step."""


def reconstruction_weights(
    rows: FloatArray, others: FloatArray, neighbours: IntArray, *, ridge: float = 1e-2
) -> FloatArray:
    """Return rows x neighbours, float64: the weights that put each row together, summing to 1.

    ``neighbours`` are row numbers of ``others``; a missing one has the number ``len(others)`` and
    gets weight 0, and so does everything of a row that has none. ``ridge`` is relative to the
    trace of a row's local Gram matrix; twins of a row share its weight evenly.
    """
    weights = np.zeros(neighbours.shape)
    for at in range(0, len(rows), ROWS_AT_ONCE):
        part = slice(at, at + ROWS_AT_ONCE)
        weights[part] = _weights(rows[part], others, neighbours[part], ridge)
    return weights


def _weights(
    rows: FloatArray, others: FloatArray, neighbours: IntArray, ridge: float
) -> FloatArray:
    present = neighbours < len(others)
    apart = others.astype(np.float64)[np.where(present, neighbours, 0)]
    apart -= rows.astype(np.float64)[:, None, :]
    apart *= present[:, :, None]
    gram = np.einsum("ijd,ikd->ijk", apart, apart, optimize=True)
    trace = np.einsum("ijj->i", gram)
    place = np.arange(neighbours.shape[1])
    # A missing neighbour has an empty row: 1 on its diagonal keeps the system solvable.
    lift = np.where(trace > 0, ridge * trace, 1.0)[:, None]
    gram[:, place, place] += np.where(present, lift, 1.0)
    solved = np.linalg.solve(gram, present[:, :, None].astype(np.float64))[:, :, 0]
    total = solved.sum(axis=1, keepdims=True)
    weights: FloatArray = solved / np.where(total > 0, total, 1.0)
    return weights


def reconstruction_matrix(
    neighbours: IntArray, weights: FloatArray, *, n_others: int
) -> SparseRows:
    """Return S: rows x others, the weights at the neighbours; a missing neighbour has no entry."""
    present = neighbours < n_others
    row = np.repeat(np.arange(len(neighbours)), np.count_nonzero(present, axis=1))
    matrix = sparse.csr_array(
        (weights[present], (row, neighbours[present])), shape=(len(neighbours), n_others)
    )
    matrix.sort_indices()
    return matrix


def geometry_matrix(weights: SparseRows) -> SparseRows:
    """Return M = (I - S)'(I - S): symmetric, positive semi-definite, sparse.

    A row without neighbours is pulled towards 0, as nothing says what it should be like.
    """
    residual = sparse.csr_array(sparse.eye_array(weights.shape[0], format="csr") - weights)
    matrix = sparse.csr_array(residual.T @ residual)
    matrix.sort_indices()
    return matrix
