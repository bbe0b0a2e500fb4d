"""All that is known of a picture: its sidecars and what it says of itself."""

import os
from collections.abc import Iterable
from pathlib import Path

from sugartag.metadata.embedded import read_embedded
from sugartag.metadata.keywords import Metadata, merged
from sugartag.metadata.sidecars import read_sidecar, sidecar_names


def read_metadata(
    path: Path, *, sidecars: Iterable[str] | None = None, root: Path | None = None
) -> Metadata:
    """Return the union of all keywords, and the creator, artist and title that come first.

    Sidecars come before what is embedded, as they are what people edit last. ``sidecars`` names
    the files beside the picture to read, if they are known; with ``root``, no link is followed
    out of that folder. Nothing raises: what could not be read is among the problems.
    """
    if sidecars is None:
        sidecars = sidecar_names(path.name, _names_in(path.parent))
    beside = [read_sidecar(path.parent / name, root=root) for name in sidecars]
    return merged([*beside, read_embedded(path, root=root)])


def _names_in(folder: Path) -> set[str]:
    try:
        return set(os.listdir(folder))  # noqa: PTH208 - only the names are wanted
    except OSError:
        return set()
