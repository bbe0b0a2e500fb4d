"""What an image's own tags add to its scores.

Most methods score an image by others that are like it. The tags its owner gave it say more than any
of them, but are not always right: they are added with a weight, and a weight of 0 leaves them out.
"""

import numpy as np

from sugartag._typing import FloatArray
from sugartag.collection.model import Collection, Rows
from sugartag.methods.base import Fitted

SAMPLE_ROWS = 1_000
"""Images whose best scores are averaged to find the size of a method's scores."""


def add_own_tags(scores: FloatArray, rows: Rows, weight: float) -> None:
    """Add ``weight`` to the score of every tag an image has, in place; images x tags."""
    if weight > 0:
        row = np.repeat(np.arange(len(rows)), np.diff(rows.tags.indptr))
        scores[row, rows.tags.indices] += weight * rows.tags.data


def size_of_scores(fitted: Fitted, collection: Collection) -> float:
    """Return the mean of the best scores of some fitted images, spread evenly over all.

    A weight of own tags counted in it means the same whatever the scale of a method's scores.
    """
    n_images = collection.n_images
    n_parts = min(10, n_images)
    starts = np.linspace(0, n_images, n_parts, endpoint=False).astype(int)
    best = []
    for start in starts.tolist():
        rows = collection.rows(slice(start, min(start + SAMPLE_ROWS // n_parts, n_images)))
        best.append(fitted.scores(rows).max(axis=1))
    return max(float(np.concatenate(best).mean(dtype=np.float64)), 0.0)
