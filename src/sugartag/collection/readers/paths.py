"""Image paths: relative, inside the images' folder, and there."""

import os
import re
import stat
from functools import lru_cache
from pathlib import Path

from sugartag.collection.readers.batch import Batch, shown
from sugartag.errors import CollectionError

FOLDERS_REMEMBERED = 4096
_ABSOLUTE = re.compile(r"[/\\]|[A-Za-z]:[/\\]")
_SEPARATORS = re.compile(r"[/\\]")


class PathCheck:
    """Checks the ``path`` column of a table, batch by batch.

    Paths name files, so they are kept as they stand: another normal form would name another
    file.
    """

    def __init__(self, root: Path | None, *, on_disk: bool = True) -> None:
        """With ``on_disk``, every path must be that of a file under ``root``."""
        self._on_disk = on_disk
        self._root = None if root is None else _real_folder(root)
        self._leads_out = lru_cache(FOLDERS_REMEMBERED)(self._folder_leads_out)

    @property
    def root(self) -> str | None:
        """The images' folder, absolute, as it is stored."""
        return self._root

    def paths(self, batch: Batch) -> list[str]:
        """Return the paths of a batch, or raise naming the first one that is not acceptable."""
        paths = list(batch.texts("path"))
        if self._root is None and not any(paths):
            return paths
        for index, path in enumerate(paths):
            reason = self.fault(path)
            if reason:
                raise batch.error(index, f"path {shown(path)} {reason}")
        return paths

    def fault(self, path: str) -> str | None:
        """Return what is wrong with a path, or None."""
        if _ABSOLUTE.match(path):
            return "is absolute; give paths relative to the images' folder"
        if ".." in path and ".." in _SEPARATORS.split(path):
            return "contains '..'; give paths that stay inside the images' folder"
        if self._root is None or not self._on_disk:
            return None
        return self._fault_on_disk(self._root, path)

    def _fault_on_disk(self, root: str, path: str) -> str | None:
        if not path:
            return f"is empty; with --images-root every image needs a file under {root}"
        full = os.path.join(root, path)  # noqa: PTH118 - a Path for every image is slow
        if self._leads_out(os.path.dirname(full)):  # noqa: PTH120
            return f"leads out of {root} through a link; give paths that stay inside"
        try:
            mode = os.lstat(full).st_mode
            if stat.S_ISLNK(mode):
                if not _inside(root, os.path.realpath(full)):
                    return f"is a link that leads out of {root}; give paths that stay inside"
                mode = os.stat(full).st_mode  # noqa: PTH116
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            return f"cannot be found under {root} ({why}); check the path or --images-root"
        return None if stat.S_ISREG(mode) else f"is not a file under {root}; name an image file"

    def _folder_leads_out(self, folder: str) -> bool:
        return self._root is not None and not _inside(self._root, os.path.realpath(folder))


def _inside(root: str, path: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def _real_folder(root: Path) -> str:
    try:
        if not root.is_dir():
            raise CollectionError(f"--images-root {root} is not a folder; name the images' folder")
        return str(root.resolve())
    except (OSError, RuntimeError) as error:
        raise CollectionError(f"--images-root {root} cannot be read: {error}") from error
