"""Three verbs over row blocks, ``map``, ``sum`` and ``fold``, and the engines that run them."""

from sugartag.engine.base import Engine, row_blocks
from sugartag.engine.dask import DaskEngine
from sugartag.engine.local import LocalEngine

__all__ = ["DaskEngine", "Engine", "LocalEngine", "row_blocks"]
