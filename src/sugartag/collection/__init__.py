"""Photo collections: the model, the folder on disk, readers, subsets and synthetic worlds."""

from sugartag.collection.build import collection_from_arrays
from sugartag.collection.model import Collection, Rows, Shard
from sugartag.collection.store import open_collection, save_collection
from sugartag.collection.texts import Texts

__all__ = [
    "Collection",
    "Rows",
    "Shard",
    "Texts",
    "collection_from_arrays",
    "open_collection",
    "save_collection",
]
