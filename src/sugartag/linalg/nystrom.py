"""An explicit map of features whose inner products are nearly those of the RBF kernel.

With landmarks L, phi(x) = K_xL K_LL^(-1/2): among the landmarks themselves the inner products are
exact, elsewhere they are those of the kernel projected on the landmarks.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy import linalg

from sugartag._rules import Positive, Shape
from sugartag._typing import FloatArray
from sugartag.engine.base import row_blocks
from sugartag.linalg.distances import squared_distances
from sugartag.linalg.threads import run_parts

SMALLEST_EIGENVALUE = 1e-6
"""Directions of K_LL below this share of the largest hold rounding, not data: left out."""
PAIRS_AT_ONCE = 2_000
"""Rows at most whose distances to each other give the median."""
BAND = 250
"""Rows of these that are compared with all after them in one step."""


@dataclass(frozen=True, eq=False)
class NystromMap:
    """Landmarks, a width, and what turns kernel values into coordinates."""

    landmarks: Annotated[FloatArray, Shape("landmarks", "features")]
    """Landmarks x dimensions, scaled as the rows will be."""
    width: Annotated[float, Positive()]
    """sigma of exp(-d^2 / sigma^2)."""
    whitening: Annotated[FloatArray, Shape("landmarks", "landmarks")]
    """K_LL^(-1/2), landmarks x landmarks."""

    @classmethod
    def of(cls, landmarks: FloatArray, width: float) -> "NystromMap":
        """Prepare the map for these landmarks."""
        kernel = rbf_kernel(landmarks, landmarks, width)
        return cls(landmarks, width, inverse_square_root(kernel))

    @property
    def length(self) -> int:
        """How many numbers a row is mapped to."""
        return len(self.landmarks)

    def kernel(self, rows: FloatArray) -> FloatArray:
        """Return rows x landmarks: the kernel before whitening."""
        return rbf_kernel(rows, self.landmarks, self.width)

    def mapped(self, rows: FloatArray) -> FloatArray:
        """Return rows x landmarks: phi of each row. Rows of any block, seen or new."""
        coordinates: FloatArray = self.kernel(rows) @ self.whitening
        return coordinates


def rbf_kernel(rows: FloatArray, others: FloatArray, width: float) -> FloatArray:
    """Return exp(-d^2 / width^2) of every row and every other."""
    kernel = squared_distances(rows, others)
    kernel /= -(width**2)
    return np.exp(kernel, out=kernel)


def inverse_square_root(matrix: FloatArray) -> FloatArray:
    """Return the symmetric inverse square root of a positive semi-definite matrix.

    Directions that the matrix does not have (twins among landmarks) are mapped to 0.
    """
    values, vectors = linalg.eigh(matrix)
    kept = values > SMALLEST_EIGENVALUE * values[-1]
    root: FloatArray = (vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T
    return root


def median_width(sample: FloatArray, *, threads: int = 1) -> float:
    """Return the median distance between two different rows of a sample; 1 if all are twins."""
    rows = sample[:PAIRS_AT_ONCE].astype(np.float64)

    def to_later_rows(band: slice) -> FloatArray:
        found = squared_distances(rows[band], rows[band.start :])
        return found[np.triu(found, 1) > 0]

    apart = np.concatenate(run_parts(to_later_rows, row_blocks(len(rows), BAND), threads))
    return float(np.sqrt(np.median(apart))) if len(apart) else 1.0
