"""The few rows of each group that are nearest to its centre."""

import numpy as np

from sugartag._typing import BoolArray, FloatArray, IntArray


def nearest_in_group(
    group: IntArray, distance: FloatArray, count: int, allowed: BoolArray
) -> IntArray:
    """Return, ascending, the ``count`` nearest allowed rows of every group; ties by row."""
    rows = np.flatnonzero(allowed)
    order = rows[np.lexsort((rows, distance[rows], group[rows]))]
    sizes = np.unique(group[order], return_counts=True)[1]
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(order[np.arange(len(order)) - starts < count])
