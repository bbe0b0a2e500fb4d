"""The m-by-m summaries of a link matrix.

A link matrix ``L`` (rows x anchors) is the paper's I^m or U^m. Its regulariser is written with the
rows x rows matrix ``W = L Λ⁻¹ Lᵀ`` (eqs. 3 and 4), which is never built: every term it appears in
collapses to something anchors x anchors, because each row of ``W`` sums to the same number as
the row of ``L`` it came from.
"""

from dataclasses import dataclass

import numpy as np

from sugartag._typing import FloatArray, SparseRows

DENSE_FROM = 0.1
"""Share of links from which dense products are faster."""


@dataclass(frozen=True, eq=False)
class LinkSums:
    """Additive sums over the rows of a link matrix; all the regulariser needs of it."""

    column_sums: FloatArray
    """Λ: what each anchor is linked with, in all."""
    gram: FloatArray
    """LᵀL."""
    weighted_gram: FloatArray
    """Lᵀ diag(L1) L."""

    def __add__(self, other: "LinkSums") -> "LinkSums":
        return LinkSums(
            self.column_sums + other.column_sums,
            self.gram + other.gram,
            self.weighted_gram + other.weighted_gram,
        )


@dataclass(frozen=True, eq=False)
class LinkGrams:
    """The summaries in the form the completion problem uses them, float64."""

    gram: FloatArray
    """LᵀL, of the paper's G."""
    smoothed: FloatArray
    """LᵀWL = LᵀL Λ⁻¹ LᵀL, of the paper's Q and P."""
    degree: FloatArray
    """LᵀDL with D the row sums of W, of the paper's U and V."""

    @property
    def roughness(self) -> FloatArray:
        """The anchors' Laplacian LᵀDL - LᵀWL: what the regulariser penalises."""
        return self.degree - self.smoothed

    @classmethod
    def of(cls, sums: LinkSums) -> "LinkGrams":
        """Finish the sums of all rows. An anchor that nothing is linked to adds nothing."""
        linked = sums.column_sums > 0
        inverse = np.zeros_like(sums.column_sums)
        inverse[linked] = 1.0 / sums.column_sums[linked]
        return cls(
            gram=sums.gram,
            smoothed=(sums.gram * inverse) @ sums.gram,
            degree=sums.weighted_gram,
        )


def link_sums(links: SparseRows) -> LinkSums:
    """Sum up some rows of a link matrix."""
    rows = links.astype(np.float64)
    degrees = np.asarray(rows.sum(axis=1)).ravel()
    column_sums = np.asarray(rows.sum(axis=0), dtype=np.float64).ravel()
    if rows.nnz > DENSE_FROM * rows.shape[0] * rows.shape[1]:
        dense = rows.toarray()
        return LinkSums(column_sums, dense.T @ dense, dense.T @ (dense * degrees[:, None]))
    weighted = rows.copy()
    weighted.data *= np.repeat(degrees, np.diff(rows.indptr))
    transposed = rows.T
    return LinkSums(column_sums, (transposed @ rows).toarray(), (transposed @ weighted).toarray())
