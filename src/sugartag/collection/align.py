"""A collection as a model sees it: in the model's tags, owners and image positions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from scipy import sparse

from sugartag._rules import Shape
from sugartag._typing import IntArray, SparseRows
from sugartag.collection.model import Collection, Shard
from sugartag.collection.texts import Texts


@dataclass(frozen=True, eq=False, repr=False)
class Catalogue:
    """The names a model was fitted with."""

    tag_names: Annotated[tuple[str, ...], Shape("tags")]
    owner_names: Annotated[Texts, Shape("owners")]
    ids: Annotated[Texts, Shape("images")]

    @classmethod
    def of(cls, collection: Collection) -> "Catalogue":
        """Take the names of a collection."""
        return cls(collection.tag_names, collection.owner_names, collection.ids)

    def __repr__(self) -> str:
        sizes = (len(self.ids), len(self.tag_names), len(self.owner_names))
        return "<Catalogue of {:,} images, {:,} tags, {:,} owners>".format(*sizes)


def seen_from(catalogue: Catalogue, collection: Collection) -> Collection:
    """Return the collection with its tags, owners and rows numbered as in the catalogue.

    Tags the catalogue does not have are left out, owners it does not have become unknown, and
    images it does not have get the position one past its last.
    """
    new_tag = _numbers(catalogue.tag_names, collection.tag_names)
    new_owner = np.append(
        _numbers(catalogue.owner_names, collection.owner_names), len(catalogue.owner_names)
    )
    position = _numbers(catalogue.ids, collection.ids)
    shards, start = [], 0
    for shard in collection.shards:
        stop = start + len(shard)
        shards.append(_renumbered(shard, new_tag, new_owner, position[start:stop], catalogue))
        start = stop
    return replace(
        collection,
        shards=tuple(shards),
        tag_names=catalogue.tag_names,
        owner_names=catalogue.owner_names,
        group_names=Texts.of([]),
        groups=_no_groups(len(catalogue.owner_names)),
        concept_names=(),
        reference_images=len(catalogue.ids),
    )


def _no_groups(n_owners: int) -> SparseRows:
    return sparse.csr_array(np.zeros((n_owners, 0), dtype=np.int8))


def _renumbered(
    shard: Shard, new_tag: IntArray, new_owner: IntArray, position: IntArray, catalogue: Catalogue
) -> Shard:
    return replace(
        shard,
        tags=_with_columns(shard.tags, new_tag, len(catalogue.tag_names)),
        owner=new_owner[shard.owner].astype(np.int32),
        position=position,
        truth=None,
    )


def _with_columns(tags: SparseRows, new_column: IntArray, n_columns: int) -> SparseRows:
    columns = new_column[tags.indices]
    kept = columns < n_columns
    rows = np.repeat(np.arange(tags.shape[0]), np.diff(tags.indptr))
    ones = np.ones(int(kept.sum()), dtype=np.int8)
    return sparse.csr_array((ones, (rows[kept], columns[kept])), shape=(tags.shape[0], n_columns))


def _numbers(known: Sequence[str], names: Sequence[str]) -> IntArray:
    """Return where each name stands among the known ones; their number where it does not."""
    if _same(known, names):
        return np.arange(len(names))
    place = {name: number for number, name in enumerate(known)}
    missing = len(known)
    return np.fromiter((place.get(name, missing) for name in names), np.int64, len(names))


def _same(known: Sequence[str], names: Sequence[str]) -> bool:
    if isinstance(known, Texts) and isinstance(names, Texts):
        return np.array_equal(known.offsets, names.offsets) and np.array_equal(
            known.data, names.data
        )
    return known == names
