"""The Laplacian of an affinity graph, sparse."""

from typing import Any

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, SparseRows
from sugartag.linalg.sparse_rows import row_number_of_entries


def row_shares(matrix: SparseRows) -> SparseRows:
    """Return each row divided by its sum, float64; a row whose sum is 0 stays."""
    total = np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel()
    shares = matrix.astype(np.float64, copy=True)
    shares.data /= np.where(total != 0, total, 1.0)[row_number_of_entries(matrix)]
    return shares


def symmetrised(links: SparseRows) -> SparseRows:
    """Return the links that either end has, the stronger of the two; indices are sorted."""
    both = sparse.csr_array(links.maximum(links.T.tocsr()))
    both.sort_indices()
    return both


def degrees(affinity: SparseRows) -> FloatArray:
    """Return the strength of all links of each node, those with itself left out."""
    total = np.asarray(affinity.sum(axis=1, dtype=np.float64)).ravel()
    degree: FloatArray = total - affinity.diagonal()
    return degree


def laplacian(affinity: SparseRows, *, normalised: bool = True) -> SparseRows:
    """Return L with ``x'Lx`` half the weighted sum of squared differences over linked pairs.

    ``affinity`` is symmetric and not negative. Normalised, ``x`` is first divided by the root of
    the degree: L = I - D^-1/2 W D^-1/2. A link of a node with itself joins nothing and is left
    out; a node without links has an empty row either way, so it costs nothing.
    """
    links = without_diagonal(affinity)
    degree = degrees(links)
    if not normalised:
        return _sorted(sparse.diags_array(degree) - links)
    scale = inverse_roots(degree)
    scaled = sparse.diags_array(scale) @ links @ sparse.diags_array(scale)
    return _sorted(sparse.diags_array((degree > 0).astype(np.float64)) - scaled)


def inverse_roots(degree: FloatArray) -> FloatArray:
    """Return one over the root of each degree; 0 where it is 0."""
    linked = degree > 0
    made: FloatArray = np.where(linked, 1.0 / np.sqrt(np.where(linked, degree, 1.0)), 0.0)
    return made


def without_diagonal(affinity: SparseRows) -> SparseRows:
    """Return the links between different nodes, float64."""
    pairs = affinity.tocoo().astype(np.float64)
    row, column = pairs.coords
    kept = row != column
    made = sparse.csr_array((pairs.data[kept], (row[kept], column[kept])), shape=affinity.shape)
    made.sort_indices()
    return made


def _sorted(matrix: Any) -> SparseRows:
    made: SparseRows = sparse.csr_array(matrix)
    made.sort_indices()
    return made
