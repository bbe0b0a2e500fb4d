"""Import an optional package, or say how to install it."""

import importlib
from types import ModuleType

from sugartag.errors import MissingExtraError


def optional(module: str, *, extra: str, needed_for: str) -> ModuleType:
    """Return the module, or raise naming the extra that brings it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise MissingExtraError(package, extra=extra, needed_for=needed_for) from error
