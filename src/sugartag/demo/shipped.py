"""The collection shipped with the package: OpenClipart drawings and their tags."""

import shutil
import zipfile
from importlib import resources
from pathlib import Path

from sugartag.collection.model import Collection
from sugartag.collection.readers import Sources, import_collection
from sugartag.collection.store import open_collection
from sugartag.collection.vocabulary import TagRules

MIN_USES = 3
"""Tags that fewer drawings have are dropped: nothing can be learned of them."""


def import_shipped(out: Path) -> Collection:
    """Unpack the shipped drawings and import their table into ``out``."""
    images, folder = out / "images", out / "collection"
    images.mkdir(parents=True, exist_ok=True)
    with resources.as_file(resources.files("sugartag") / "assets" / "openclipart") as shipped:
        with zipfile.ZipFile(shipped / "thumbs.zip") as archive:
            archive.extractall(images)
        shutil.copy(shipped / "LICENSE.txt", images)
        sources = Sources(
            shipped / "images.csv", features=shipped / "features.npy", images_root=images
        )
        import_collection(sources, folder, rules=TagRules(min_uses=MIN_USES), overwrite=True)
    return open_collection(folder, verify=False)
