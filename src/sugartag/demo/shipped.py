"""The collections shipped with the package: photographs as files, and drawings as a table."""

import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from sugartag.collection.folders import FolderSources, import_folder, owner_rule
from sugartag.collection.model import Collection
from sugartag.collection.readers import Sources, import_collection
from sugartag.collection.store import open_collection
from sugartag.collection.vocabulary import TagRules
from sugartag.engine.base import Progress
from sugartag.photos.embedding import embed

MIN_USES = 3
"""Tags that fewer pictures have are dropped: nothing can be learned of them."""
ENCODER = "efficientnet-lite0"


@dataclass(frozen=True)
class Shipped:
    """A shipped collection, and how the report speaks of it."""

    noun: str
    title: str
    lead: str
    credit: str
    collection: Callable[[Path, Progress | None], Collection]
    """Makes the collection below a folder."""


def import_drawings(out: str | Path, progress: Progress | None = None) -> Collection:
    """Unpack the shipped drawings and import their table into ``out``."""
    images, folder = Path(out) / "images", Path(out) / "collection"
    with resources.as_file(resources.files("sugartag") / "assets" / "openclipart") as shipped:
        _unpack(shipped / "thumbs.zip", images)
        sources = Sources(
            shipped / "images.csv", features=shipped / "features.npy", images_root=images
        )
        import_collection(
            sources,
            folder,
            rules=TagRules(min_uses=MIN_USES),
            overwrite=True,
            progress=progress,
        )
    return open_collection(folder, verify=False)


def import_photographs(out: Path, progress: Progress | None = None) -> Collection:
    """Unpack the shipped photographs with their sidecars, import the folder, and embed it."""
    folder = unpacked_photographs(out)
    import_folder(
        FolderSources(folder, owner_rule("creator")),
        out / "collection",
        rules=TagRules(min_uses=MIN_USES),
        overwrite=True,
        progress=progress,
    )
    embed(out / "collection", ENCODER, progress=progress)
    return open_collection(out / "collection", verify=False)


def unpacked_photographs(out: Path) -> Path:
    """Write the shipped photographs and their sidecars as files; return their folder."""
    with resources.as_file(resources.files("sugartag") / "assets" / "photos") as shipped:
        _unpack(shipped / "photos.zip", out / "photos")
    return out / "photos"


def _unpack(archive: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder)
    shutil.copy(archive.parent / "LICENSE.txt", folder)


PHOTOGRAPHS = Shipped(
    noun="photographs",
    title="DOCUMERICA, retagged",
    lead=(
        "Photographs of the United States in the 1970s, read from files with keywords in XMP "
        "sidecars. sugartag looked at every photograph, at who took it and at how the others are "
        "tagged, and says which tags to add, which to keep and which to doubt."
    ),
    credit=(
        "Photographs: DOCUMERICA, US National Archives, in the public domain. Their keywords are "
        "words of the archive's captions."
    ),
    collection=import_photographs,
)
DRAWINGS = Shipped(
    noun="drawings",
    title="OpenClipart, retagged",
    lead=(
        "Thousands of drawings, tagged by the people who drew them: some tags missing, some "
        "odd. sugartag looked at every picture, at who drew it and at how the others tag, and "
        "says which tags to add, which to keep and which to doubt."
    ),
    credit=(
        "Drawings and tags: Open Clip Art Library, dedicated to the public domain by their makers."
    ),
    collection=import_drawings,
)
