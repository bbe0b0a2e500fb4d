"""Two verbs over row blocks, ``map`` and ``sum``, and the engines that run them."""

from sugartag.engine.base import Engine, row_blocks
from sugartag.engine.local import LocalEngine

__all__ = ["Engine", "LocalEngine", "row_blocks"]
