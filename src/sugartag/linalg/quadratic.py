"""Quadratic forms of many rows."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas

from sugartag._typing import FloatArray
from sugartag.engine.base import row_blocks

ROWS_AT_ONCE = 512
"""Rows that are multiplied in one step: what is made of them fits a cache."""


@dataclass(frozen=True, eq=False)
class QuadraticForm:
    """The form x A x' of a symmetric matrix A: half of the products will do."""

    half: FloatArray
    """What is below the diagonal, with what is above added; float32, column by column."""

    @classmethod
    def of(cls, matrix: FloatArray) -> "QuadraticForm":
        """Return the form of a symmetric matrix."""
        return cls(np.asfortranarray(np.tril(matrix) + np.triu(matrix, 1).T))

    def at(self, rows: FloatArray) -> FloatArray:
        """Return x A x' for each row x; float64."""
        found = np.zeros(len(rows))
        for part in row_blocks(len(rows), ROWS_AT_ONCE):
            some = rows[part]
            half = blas.strmm(1.0, self.half, some.T, lower=1, trans_a=1).T
            found[part] = np.einsum("ij,ij->i", half, some)
        return found
