"""The second pass: what the shards could not know before the whole table had been read."""

from dataclasses import dataclass

import numpy as np

from sugartag._typing import BoolArray, IntArray
from sugartag.collection.model import Shard
from sugartag.collection.store import CollectionWriter
from sugartag.collection.texts import Texts


@dataclass(frozen=True)
class Settlement:
    """Rewrites the owners and tags of shards with their final indices."""

    writer: CollectionWriter
    kept: BoolArray
    """Which tags, as they were numbered in the first pass, stay in the vocabulary."""
    n_owners: int
    has_paths: bool
    has_titles: bool

    def settle(self, number: int) -> tuple[int, int]:
        """Rewrite one shard; return how many of its images have no tag, and how many no owner."""
        shard = self.writer.shard(number, n_tags=len(self.kept))
        ownerless = shard.owner == 0
        # Nobody comes after the last owner, so that no index is negative.
        owner = np.where(ownerless, self.n_owners, shard.owner - 1).astype(np.int32)
        indptr, indices = self._tags(shard)
        self.writer.attach(number, "owner", owner)
        self.writer.attach(number, "tags.indptr", indptr)
        self.writer.attach(number, "tags.indices", indices)
        for name, wanted in (("paths", self.has_paths), ("titles", self.has_titles)):
            if wanted and getattr(shard, name) is None:
                self.writer.attach_texts(number, name, Texts.of([""] * len(shard)))
        return int(np.count_nonzero(np.diff(indptr) == 0)), int(np.count_nonzero(ownerless))

    def _tags(self, shard: Shard) -> tuple[IntArray, IntArray]:
        stays = self.kept[shard.tags.indices]
        before = np.append(0, np.cumsum(stays))
        new_index = np.cumsum(self.kept) - 1
        indices = new_index[shard.tags.indices[stays]]
        return before[shard.tags.indptr].astype(np.int32), indices.astype(np.int32)
