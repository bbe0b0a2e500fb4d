"""The tags as their owners gave them: what every other method has to beat."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sugartag._typing import FloatArray
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Engine


@dataclass(frozen=True)
class FittedOriginal:
    """Nothing learned: an image's scores are its own tags."""

    gives_whole_sets: ClassVar[bool] = True

    @property
    def floor(self) -> float:
        """Zero: the score of a tag that was not given."""
        return 0.0

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return 1 for each tag given and 0 for the others; nobody else has a say."""
        return rows.tags.toarray().astype(np.float32, copy=False)


@dataclass(frozen=True)
class Original:
    """Leaves the tags as they are."""

    name: ClassVar[str] = "original"
    summary: ClassVar[str] = "The tags as they were given."
    fitted_type: ClassVar[type[FittedOriginal]] = FittedOriginal

    def fit(
        self, collection: Collection, *, engine: Engine, rng: np.random.Generator
    ) -> FittedOriginal:
        """Return at once: there is nothing to learn."""
        return FittedOriginal()
