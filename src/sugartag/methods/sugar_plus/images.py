"""Images that a model is to be extended by: new ones, and ones it has with other tags."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sugartag._typing import IntArray, SparseRows
from sugartag.collection.model import Collection, Shard
from sugartag.collection.subset import without_truth
from sugartag.collection.texts import Texts
from sugartag.linalg.sparse_rows import same_places
from sugartag.methods.sugar_plus.decisions import as_decided
from sugartag.methods.sugar_plus.fitted import FittedSugarPlus
from sugartag.methods.sugar_plus.learning import tags_as_given


@dataclass(frozen=True, eq=False)
class Images:
    """The images to be added, new or changed."""

    collection: Collection
    """With their tags as they are given; positions are those in the model to be."""
    decided: SparseRows
    """All images of the model to be x tags."""

    @cached_property
    def position(self) -> IntArray:
        """Where they stand in the model to be."""
        return np.concatenate([positions_of(shard) for shard in self.collection.shards])

    @cached_property
    def given(self) -> SparseRows:
        """Their tags as they are given."""
        return tags_as_given(self.collection)

    @property
    def decided_here(self) -> SparseRows:
        """What was decided about them."""
        return rows_at(self.decided, self.position)

    @cached_property
    def corrected(self) -> Collection:
        """The same images with the tags they have after what was decided."""
        return with_tags(self.collection, as_decided(self.given, self.decided_here))

    def among(self, fitted: FittedSugarPlus) -> "Images | None":
        """Return those that a model has, as they were given and decided there."""
        chosen = np.flatnonzero(self.position < fitted.ridge.n_images)
        if not len(chosen):
            return None
        own = chosen_images(self.collection, chosen)
        given = rows_at(as_ones(fitted.trusted), self.position[chosen])
        return Images(with_tags(own, given), fitted.decided)


def chosen_images(collection: Collection, images: IntArray) -> Collection:
    """Return some images of a collection, ascending; shards that are wanted whole are not copied.

    Only what can be learned from is kept.
    """
    collection = without_truth(collection)
    shards, start = [], 0
    for shard in collection.shards:
        first, last = np.searchsorted(images, [start, start + len(shard)])
        rows = images[first:last] - start
        start += len(shard)
        if len(rows) == len(shard):
            shards.append(shard)
        elif len(rows):
            shards.append(
                Shard(
                    ids=Texts.of(shard.ids[row] for row in rows.tolist()),
                    owner=shard.owner[rows],
                    tags=shard.tags[rows],
                    features=None if shard.features is None else shard.features[rows],
                    titles=None
                    if shard.titles is None
                    else Texts.of(shard.titles[row] for row in rows.tolist()),
                    position=images[first:last] if shard.position is None else shard.position[rows],
                )
            )
    return replace(collection, shards=tuple(shards))


def with_tags(collection: Collection, tags: SparseRows) -> Collection:
    """Return the same images with other tags."""
    ends = np.cumsum([0, *(len(shard) for shard in collection.shards)])
    shards = (
        replace(shard, tags=tags[start : start + len(shard)])
        for shard, start in zip(collection.shards, ends, strict=False)
    )
    return replace(collection, shards=tuple(shards))


def positions_of(shard: Shard) -> IntArray:
    """Return where the images of a shard stand in the model to be."""
    if shard.position is None:
        raise ValueError("the collection is not seen from a catalogue")
    return shard.position


def as_ones(matrix: SparseRows) -> SparseRows:
    """Return the matrix with a 1 in each of its stored places."""
    return same_places(np.ones(matrix.nnz, dtype=np.float32), matrix)


def rows_at(matrix: SparseRows, rows: IntArray) -> SparseRows:
    """Return some rows of a matrix."""
    found: SparseRows = matrix[rows]
    return found
