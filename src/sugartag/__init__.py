"""Clean up the tags of photo-sharing collections: which to keep, which to doubt, which to add."""

import importlib
import typing

if typing.TYPE_CHECKING:
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
    from sugartag.methods.registry import make_method, method_names
    from sugartag.pipeline.changes import Change, write_changes
    from sugartag.pipeline.fitting import fit_model
    from sugartag.pipeline.model import Model, load_model, save_model
    from sugartag.pipeline.propose import Thresholds, propose

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

_HOME = {
    "sugartag.collection": (
        "Collection",
        "collection_from_arrays",
        "open_collection",
        "save_collection",
    ),
    "sugartag.collection.readers": ("Sources", "import_collection"),
    "sugartag.collection.synthetic": ("World",),
    "sugartag.engine": ("LocalEngine",),
    "sugartag.errors": ("SugartagError",),
    "sugartag.evaluation.protocol": ("evaluate", "hidden_task", "truth_task"),
    "sugartag.methods.registry": ("make_method", "method_names"),
    "sugartag.pipeline.changes": ("Change", "write_changes"),
    "sugartag.pipeline.fitting": ("fit_model",),
    "sugartag.pipeline.model": ("Model", "load_model", "save_model"),
    "sugartag.pipeline.propose": ("Thresholds", "propose"),
}
"""Where each name comes from. It is looked for when it is asked for: a command that needs nothing
of it, such as one that says how to call the others, then starts at once."""


def __getattr__(name: str) -> typing.Any:
    for home, names in _HOME.items():
        if name in names:
            return getattr(importlib.import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
