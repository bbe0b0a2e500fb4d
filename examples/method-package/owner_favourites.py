"""A method for sugartag in a package of its own: a tag scores by how often its owner uses it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np


@dataclass(frozen=True, eq=False)
class FittedFavourites:
    """How often each owner uses each tag; the last row is for owners that are not known."""

    gives_whole_sets: ClassVar[bool] = False
    floor: ClassVar[float] = 0.0
    use: np.ndarray

    def scores(self, rows, *, strangers_only=False):
        """Return images x tags, float32."""
        return self.use[np.minimum(rows.owner, len(self.use) - 1)]


@dataclass(frozen=True)
class OwnerFavourites:
    """The settings are the fields; each has a default."""

    name: ClassVar[str] = "owner-favourites"
    summary: ClassVar[str] = "What the owner of the image uses most."
    fitted_type: ClassVar[type] = FittedFavourites
    search_space: ClassVar[dict] = {"smoothing": (0.1, 1.0, 10.0)}
    smoothing: float = 1.0

    def fit(self, collection, *, engine, rng):
        """Count in one pass over blocks of images, which runs on every engine."""
        use = engine.sum(count_uses, collection.blocks(), collection)
        everyone = use.sum(axis=0, keepdims=True) / max(use.sum(), 1.0)
        total = use.sum(axis=1, keepdims=True) + self.smoothing
        return FittedFavourites(((use + self.smoothing * everyone) / total).astype(np.float32))


def count_uses(block, collection):
    """Return owners x tags of one block: how many images of each owner have each tag."""
    rows = collection.rows(block)
    counts = np.zeros((collection.n_owners + 1, collection.n_tags))
    np.add.at(counts, rows.owner, rows.tags.toarray())
    return counts
