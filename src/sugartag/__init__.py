"""Clean up the tags of photo-sharing collections: which to keep, which to doubt, which to add."""

import importlib
import typing

if typing.TYPE_CHECKING:
    from sugartag.api import Tuning, evaluate, fit, load, tune
    from sugartag.collection import Collection
    from sugartag.collection.synthetic import World
    from sugartag.engine import DaskEngine, LocalEngine
    from sugartag.errors import SugartagError
    from sugartag.methods.registry import method_names
    from sugartag.pipeline.model import Model

__version__ = "0.1.0"

__all__ = [
    "Collection",
    "DaskEngine",
    "LocalEngine",
    "Model",
    "SugartagError",
    "Tuning",
    "World",
    "__version__",
    "evaluate",
    "fit",
    "load",
    "method_names",
    "tune",
]

_HOME = {
    "sugartag.api": ("Tuning", "evaluate", "fit", "load", "tune"),
    "sugartag.collection": ("Collection",),
    "sugartag.collection.synthetic": ("World",),
    "sugartag.engine": ("DaskEngine", "LocalEngine"),
    "sugartag.errors": ("SugartagError",),
    "sugartag.methods.registry": ("method_names",),
    "sugartag.pipeline.model": ("Model",),
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
