"""Quadratic forms of many rows."""

from dataclasses import dataclass

import numpy as np

from sugartag._typing import FloatArray
from sugartag.engine.base import row_blocks

ROWS_AT_ONCE = 512
"""Rows that are multiplied in one step: what is made of them fits a cache."""
BAND = 128
"""Columns of a band."""


@dataclass(frozen=True, eq=False)
class QuadraticForm:
    """The form x A x' of a symmetric matrix A: little more than half of the products will do.

    They are NumPy's, which let other threads work. SciPy's product with a triangle does not, and
    threads would wait for each other longer than it saves.
    """

    bands: tuple[tuple[slice, FloatArray], ...]
    """Bands of columns of what is below the diagonal, with what is above added, from the diagonal
    on."""

    @classmethod
    def of(cls, matrix: FloatArray) -> "QuadraticForm":
        """Return the form of a symmetric matrix."""
        half = np.tril(matrix) + np.triu(matrix, 1).T
        bands = row_blocks(len(matrix), BAND)
        return cls(tuple((band, np.ascontiguousarray(half[band.start :, band])) for band in bands))

    def at(self, rows: FloatArray) -> FloatArray:
        """Return x A x' for each row x; float64."""
        found = np.zeros(len(rows))
        for part in row_blocks(len(rows), ROWS_AT_ONCE):
            some = rows[part]
            for band, half in self.bands:
                found[part] += np.einsum("ij,ij->i", some[:, band.start :] @ half, some[:, band])
        return found
