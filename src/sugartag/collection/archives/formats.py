"""The archives that can be read, by name, and which one a path is."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from sugartag.collection.archives import (
    clip_retrieval,
    image_folder,
    jingwei,
    mirflickr,
    nuswide,
    yfcc,
)
from sugartag.collection.archives.archive import Archive
from sugartag.errors import CollectionError


class Format(NamedTuple):
    """How an archive is recognised and opened."""

    detect: Callable[[Path], bool]
    open: Callable[[Path], Archive]
    has_parts: bool = False
    """Whether there may be several features and truths, one of which is named by its folder."""


FORMATS = {
    "nuswide": Format(nuswide.detect, nuswide.open_nuswide),
    "jingwei": Format(jingwei.detect, jingwei.open_jingwei, has_parts=True),
    "mirflickr": Format(mirflickr.detect, mirflickr.open_mirflickr),
    "clip-retrieval": Format(clip_retrieval.detect, clip_retrieval.open_clip_retrieval),
    "imagefolder": Format(image_folder.detect, image_folder.open_image_folder),
    "yfcc": Format(yfcc.detect, yfcc.open_yfcc),
}
"""In the order in which they are tried."""


def detected_format(path: Path) -> str | None:
    """Return the name of the archive that a path is; None if it is none of them."""
    return next((name for name, format_ in FORMATS.items() if format_.detect(path)), None)


def open_archive(
    path: Path, name: str, *, features: Path | None = None, truth: Path | None = None
) -> Archive:
    """Open an archive of a known kind; features and truth name folders of one that has several."""
    if not path.exists():
        raise CollectionError(f"{path} does not exist; check the name")
    if FORMATS[name].has_parts:
        return jingwei.open_jingwei(path, features, truth)
    if features or truth:
        raise CollectionError(f"{features or truth} is a folder; name a file")
    return FORMATS[name].open(path)
