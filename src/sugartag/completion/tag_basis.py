"""The eigenbasis of the tag affinity, apart for each connected part of its graph.

Tags that no path of affinities joins never mix, so a basis vector has entries in one part only. A
tag on its own is its own basis vector and costs nothing.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse.csgraph import connected_components

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.linalg.modes import column_chunks, require_contiguous
from sugartag.linalg.threads import run_parts


@dataclass(frozen=True, eq=False)
class _Part:
    """Some tags that mix with each other, and the eigenvectors of their affinity."""

    tags: IntArray
    vectors: FloatArray
    """One eigenvector a column; the k-th stands at the place of the k-th tag."""


@dataclass(frozen=True, eq=False)
class TagBasis:
    """An orthonormal basis of the tags in which T is diagonal."""

    values: FloatArray
    """The eigenvalues of T, float64, at the places their components take in the tag mode."""
    parts: tuple[_Part, ...]
    """The connected parts of at least two tags."""
    dtype: np.dtype[Any]
    """Of the basis vectors."""

    @classmethod
    def of(cls, affinity: SparseRows, dtype: np.dtype[Any]) -> "TagBasis":
        """Decompose a symmetric T; its eigenvectors are kept in ``dtype``."""
        _, label = connected_components(affinity, directed=False)
        values = np.array(affinity.diagonal(), dtype=np.float64)
        by_part = np.split(np.argsort(label, kind="stable"), np.cumsum(np.bincount(label))[:-1])
        parts = []
        for tags in by_part:
            if len(tags) > 1:
                dense = affinity[tags][:, tags].toarray().astype(np.float64, copy=False)
                # Transposed, which T does not notice: LAPACK then works in it, without a copy.
                values[tags], vectors = linalg.eigh(dense.T, overwrite_a=True, driver="evd")
                parts.append(_Part(tags, vectors.astype(dtype)))
        return cls(values, tuple(parts), dtype)

    def vectors(self, chosen: BoolArray) -> FloatArray:
        """Return some of the basis vectors, those at these places: tags x chosen ones."""
        column = np.cumsum(chosen) - 1
        found = np.zeros((len(self.values), int(column[-1]) + 1), dtype=self.dtype)
        found[chosen, column[chosen]] = 1.0
        for part in self.parts:
            mine = chosen[part.tags]
            found[np.ix_(part.tags, column[part.tags[mine]])] = part.vectors[:, mine]
        return found

    def turn(self, tensor: FloatArray, *, threads: int = 1) -> None:
        """Turn the tag mode of a tensor into the basis, in place."""
        for part in self.parts:
            _apply(part.vectors.T, part.tags, tensor, threads)

    def turn_back(self, tensor: FloatArray, *, threads: int = 1) -> None:
        """Turn the tag mode of a tensor back, in place."""
        for part in self.parts:
            _apply(part.vectors, part.tags, tensor, threads)


def _apply(matrix: FloatArray, tags: IntArray, tensor: FloatArray, threads: int) -> None:
    require_contiguous(tensor)
    flat = tensor.reshape(len(tensor), -1)
    # A slice where it is all of them: an index array copies what it takes out.
    rows = slice(None) if len(tags) == len(flat) else tags

    def apply(columns: slice) -> None:
        flat[rows, columns] = matrix @ flat[rows, columns]

    run_parts(apply, column_chunks(flat.shape[1]), threads)
