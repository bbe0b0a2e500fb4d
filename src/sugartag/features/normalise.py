"""Feature rows as methods compare them."""

import numpy as np

from sugartag._typing import FloatArray
from sugartag.linalg.distances import unit_rows


def visual_rows(features: FloatArray | None, unit_length: bool) -> FloatArray:
    """Return the features in float64, scaled to Euclidean length 1 if so asked."""
    if features is None:
        raise ValueError("the rows have no features")
    rows = features.astype(np.float64)
    return unit_rows(rows) if unit_length else rows
