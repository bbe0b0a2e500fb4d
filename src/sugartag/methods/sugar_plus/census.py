"""What all evidence means, with people's recall told from many more images than all else.

What evidence means is learned from some images of which every cell is kept. How often people leave
out what belongs shows only where the evidence is strongest, in one cell of thousands, and of a
large vocabulary few images are kept. So the cells of many more are counted, step by step of
evidence, and nothing of them is kept.
"""

from dataclasses import dataclass, replace

import numpy as np

from sugartag._typing import FloatArray, SparseRows
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, Engine, blocks_all_over
from sugartag.methods.sugar_plus.evidence_steps import cells_in_steps
from sugartag.methods.sugar_plus.fitted import FittedSugarPlus
from sugartag.methods.sugar_plus.learning import GivenTags, sample_blocks, steps
from sugartag.methods.sugar_plus.rise import Rise, Steps, rise_through, step_edges
from sugartag.methods.sugar_plus.weighing import Heard

CELLS = 1 << 24
"""Images x tags that are counted, at most."""
ROWS_PER_BLOCK = 512


@dataclass(frozen=True, eq=False)
class Census:
    """The images that are counted."""

    collection: Collection
    blocks: tuple[Block, ...]
    """None where they would be no more than those that are kept."""
    honest: SparseRows
    """All images x tags: how probably a given tag was no habit."""

    @classmethod
    def of(cls, collection: Collection, given: GivenTags) -> "Census":
        """Choose images all over the collection."""
        most = CELLS // (collection.n_tags * ROWS_PER_BLOCK)
        blocks = blocks_all_over(collection.blocks(ROWS_PER_BLOCK), most)
        more = _n_images(blocks) > _n_images(sample_blocks(collection))
        return cls(collection, blocks if more else (), given.honest_rows)

    def told(self, fitted: FittedSugarPlus, heard: Heard, *, engine: Engine) -> FittedSugarPlus:
        """Return the model with what its evidence means; ``heard`` is what some images kept."""
        rise = self._rise(fitted, heard, engine=engine) if self.blocks else None
        whole = heard.whole(rise, threads=engine.threads)
        of_strangers = None
        if fitted.sight is not None:
            of_strangers = heard.alone(whole.recall, threads=engine.threads)
        elif fitted.subjects is not None:
            of_strangers = heard.alone(threads=engine.threads)
        return replace(fitted, whole=whole, of_strangers=of_strangers)

    def _rise(self, fitted: FittedSugarPlus, heard: Heard, *, engine: Engine) -> Rise | None:
        """Return how what is given rises with all evidence; None where those kept tell it better.

        Of images of nobody less is said, so they are not counted.
        """
        if not heard.given.any():
            return None
        fitted.stay_ready(engine=engine)
        edges = step_edges(heard.by_all, heard.given)
        known = self.collection, fitted, self.honest, heard.slips.rate, edges
        counts = np.sum(list(engine.map(count_cells, self.blocks, *known)), axis=0)
        return rise_through(Steps.counted(counts)) if counts[0].sum() > heard.given.size else None


def count_cells(
    block: Block,
    collection: Collection,
    fitted: FittedSugarPlus,
    honest: SparseRows,
    slips: FloatArray,
    edges: FloatArray,
) -> FloatArray:
    """Return of each step of evidence what the images of a block count, if owners are known."""
    rows = collection.rows(block)
    counts = np.zeros((4, len(edges) + 1))
    known = np.flatnonzero(rows.owner < fitted.n_owners)
    for part in steps(len(known), collection.n_tags):
        some = rows.at(known[part])
        uses = honest[some.position].toarray()
        counts += cells_in_steps(edges, fitted.said(some), some.tags.toarray() > 0, uses, slips)
    return counts


def _n_images(blocks: tuple[Block, ...]) -> int:
    return sum(block.stop - block.start for block in blocks)
