"""What an image's own tags add to its scores.

Most methods score an image by others that are like it. The tags its owner gave it say more than any
of them, but are not always right: they are added with a weight, and a weight of 0 leaves them out.
"""

import numpy as np

from sugartag._typing import FloatArray
from sugartag.collection.model import Collection, Rows
from sugartag.methods.base import Fitted

SAMPLE_ROWS = 2_000
"""Images that show the mean and the size of a method's scores."""


def add_own_tags(scores: FloatArray, rows: Rows, weight: float) -> None:
    """Add ``weight`` to the score of every tag an image has, in place; images x tags."""
    if weight > 0:
        row = np.repeat(np.arange(len(rows)), np.diff(rows.tags.indptr))
        scores[row, rows.tags.indices] += weight * rows.tags.data


def sampled_scores(fitted: Fitted, collection: Collection) -> FloatArray:
    """Return the scores of some fitted images, spread evenly over all: images x tags."""
    edges = np.linspace(0, collection.n_images, min(10, collection.n_images) + 1).astype(int)
    most = SAMPLE_ROWS // (len(edges) - 1)
    parts = [
        slice(start, min(start + most, stop))
        for start, stop in zip(edges.tolist(), edges[1:].tolist(), strict=False)
    ]
    return np.concatenate([fitted.scores(collection.rows(part)) for part in parts])


def size_of_scores(scores: FloatArray) -> float:
    """Return the mean of the best scores of images, at least 0.

    A weight of own tags counted in it means the same whatever the scale of a method's scores.
    """
    return max(float(scores.max(axis=1).mean(dtype=np.float64)), 0.0)
