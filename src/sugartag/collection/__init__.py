"""Photo collections: the model, the folder on disk, readers, subsets, synthetic collections."""

from sugartag.collection.model import Collection, Rows, Shard
from sugartag.collection.store import open_collection, save_collection
from sugartag.collection.texts import Texts

__all__ = ["Collection", "Rows", "Shard", "Texts", "open_collection", "save_collection"]
