"""Clean up the tags of photo-sharing collections: which to keep, which to doubt, which to add."""

from sugartag.changes import Change, Thresholds, propose, write_changes
from sugartag.collection import (
    Collection,
    collection_from_arrays,
    open_collection,
    save_collection,
)
from sugartag.collection.readers import Sources, import_collection
from sugartag.collection.synthetic import World
from sugartag.engine import LocalEngine
from sugartag.errors import SugartagError
from sugartag.evaluation.protocol import evaluate, hidden_task, truth_task
from sugartag.fitting import fit_model
from sugartag.methods.registry import make_method, method_names
from sugartag.model_folder import Model, load_model, save_model

__version__ = "0.1.0"

__all__ = [
    "Change",
    "Collection",
    "LocalEngine",
    "Model",
    "Sources",
    "SugartagError",
    "Thresholds",
    "World",
    "__version__",
    "collection_from_arrays",
    "evaluate",
    "fit_model",
    "hidden_task",
    "import_collection",
    "load_model",
    "make_method",
    "method_names",
    "open_collection",
    "propose",
    "save_collection",
    "save_model",
    "truth_task",
    "write_changes",
]
