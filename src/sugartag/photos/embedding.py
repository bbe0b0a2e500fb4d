"""The encoders' part of the job: features of the pictures, and small copies to show."""

import io
from collections.abc import Callable
from pathlib import Path

from sugartag.collection.feature_update import encoder_of
from sugartag.collection.shown import counted
from sugartag.engine.base import Progress
from sugartag.errors import PictureError
from sugartag.features.embedding import embed_collection
from sugartag.features.encoders import make_encoder
from sugartag.features.images import opened_inside, quiet_pillow
from sugartag.report.chosen import Loaded

SHOWN_SIDE = 384
SHOWN_QUALITY = 80


def embed(folder: Path, encoder: str, *, progress: Progress | None) -> str:
    """Describe the pictures of a collection that are not described yet; say what came of it.

    Features that another encoder made are replaced.
    """
    made = make_encoder(encoder)
    before = encoder_of(folder)
    other = before is not None and before.get("fingerprint") != made.fingerprint
    found = embed_collection(folder, made, overwrite=other, progress=progress)
    line = f"{counted(found.described, 'photograph')} described by {made.name}"
    if other and before is not None:
        line += f" in place of {before.get('name')}"
    if found.kept:
        line += f", {found.kept:,} had their features"
    return f"{line}, {found.unreadable:,} cannot be read" if found.unreadable else line


def shown_by(root: str) -> Callable[[str], Loaded | None]:
    """Return what makes a small JPEG of a picture below a folder; None if it cannot be read."""

    def load(path: str) -> Loaded | None:
        try:
            with opened_inside(root, path) as file, quiet_pillow():
                picture = file.picture(side=SHOWN_SIDE // 2)
        except PictureError:
            return None
        picture.thumbnail((SHOWN_SIDE, SHOWN_SIDE))
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG", quality=SHOWN_QUALITY)
        return buffer.getvalue(), "image/jpeg"

    return load
