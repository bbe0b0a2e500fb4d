"""Evidence of images that are gone through several times: their dense columns are made once."""

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from sugartag._typing import FloatArray
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Engine
from sugartag.errors import StorageError
from sugartag.methods.sugar_plus.evidence import Evidence


@dataclass(frozen=True, eq=False)
class KeptEvidence(Evidence):
    """Evidence that keeps the dense columns of the blocks of a collection.

    They are the same to the last bit whether they are kept or made again, because only whole
    blocks are kept: a product of other rows may be rounded otherwise.
    """

    kept: FloatArray
    """Images x dense columns."""
    blocks: frozenset[tuple[int, int]]
    """First and last images of those that are kept once they were made."""
    made: set[tuple[int, int]] = field(default_factory=set)

    def dense(self, rows: Rows) -> FloatArray:
        """Return images x dense columns, float32; they are not to be changed."""
        block = int(rows.position[0]), int(rows.position[0]) + len(rows)
        if block not in self.blocks:
            return super().dense(rows)
        place = slice(*block)
        if block in self.made:
            return self.kept[place]
        found = super().dense(rows)
        self.kept[place] = found
        self.made.add(block)
        return found


def keeping_dense(evidence: Evidence, collection: Collection, *, engine: Engine) -> Evidence:
    """Return evidence that keeps dense columns, if there is a place that all workers see."""
    if not engine.shares_memory or engine.scratch is None:
        return evidence
    try:
        kept = engine.room((collection.n_images, evidence.n_dense), np.float32)
    except StorageError:
        # It saves time, no more: on a full disk they are made anew for every pass.
        return evidence
    blocks = frozenset((block.start, block.stop) for block in collection.blocks())
    return KeptEvidence(**_parts(evidence), kept=np.asarray(kept), blocks=blocks)


def keeping_nothing(evidence: Evidence) -> Evidence:
    """Return the same evidence without what it keeps."""
    return Evidence(**_parts(evidence))


def _parts(evidence: Evidence) -> dict[str, Any]:
    return {part.name: getattr(evidence, part.name) for part in fields(Evidence)}
