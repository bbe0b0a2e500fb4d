"""One text that names all that a method may learn from in a collection."""

import hashlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from sugartag._typing import IntArray
from sugartag.collection.model import Collection

ROWS_AT_ONCE = 8192


def collection_digest(collection: Collection) -> str:
    """Return a digest of names, tags, owners, groups, titles and features; not of the truth.

    It depends on the images and their order, and not on how they lie in shards.
    """
    digest = hashlib.sha256("\n".join(collection.tag_names).encode())
    for array in _arrays(collection):
        digest.update(f"{array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _arrays(collection: Collection) -> Iterator[npt.NDArray[np.generic]]:
    yield from (collection.groups.indptr, collection.groups.indices)
    for texts in (collection.owner_names, collection.group_names, collection.ids):
        yield from (texts.data[texts.offsets[0] : texts.offsets[-1]], _lengths(texts.offsets))
    for block in collection.blocks(ROWS_AT_ONCE):
        rows = collection.rows(block)
        tags = rows.tags.sorted_indices()
        yield from (_lengths(tags.indptr), tags.indices.astype(np.int64))
        yield rows.owner.astype(np.int64)
        if rows.titles is not None:
            offsets = rows.titles.offsets
            yield from (rows.titles.data[offsets[0] : offsets[-1]], _lengths(offsets))
        if rows.features is not None:
            yield rows.features
        if rows.has_features is not None:
            yield rows.has_features


def _lengths(offsets: IntArray) -> IntArray:
    return np.diff(offsets).astype(np.int64)
