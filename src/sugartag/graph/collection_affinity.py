"""The tag affinity of a whole collection, in one pass over its images."""

from collections.abc import Callable

import numpy as np

from sugartag._typing import SparseRows
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, Engine
from sugartag.graph.tag_affinity import Diagonal, cooccurrence, tag_affinity
from sugartag.graph.wordnet import LinSimilarity, load_taxonomy


def collection_affinity(
    collection: Collection,
    *,
    cooccurrence_weight: float,
    taxonomy_weight: float,
    links_per_tag: int | None,
    diagonal: Diagonal = "one",
    engine: Engine,
    weighed: Callable[[SparseRows], SparseRows] | None = None,
) -> SparseRows:
    """Return T of eq. 5 for the collection's own tags and counts, weighted first if so asked."""
    counts = engine.sum(count_tags_together, collection.blocks(), collection)
    lin = None
    if taxonomy_weight > 0:
        uses = counts.diagonal().astype(np.int64)
        lin = LinSimilarity.of_tags(load_taxonomy(), collection.tag_names, uses)
    return tag_affinity(
        counts if weighed is None else weighed(counts),
        lin,
        cooccurrence_weight=cooccurrence_weight,
        taxonomy_weight=taxonomy_weight,
        links_per_tag=links_per_tag,
        diagonal=diagonal,
    )


def count_tags_together(block: Block, collection: Collection) -> SparseRows:
    """Count how often each two tags stand on the same image of a block."""
    return cooccurrence(collection.tags_of(block))
