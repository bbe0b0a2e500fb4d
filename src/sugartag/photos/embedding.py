"""The encoders' part of the job: features of the pictures, and small copies to show."""

import io
from collections.abc import Callable
from pathlib import Path

from sugartag.engine.base import Progress
from sugartag.errors import PictureError
from sugartag.features.embedding import embed_collection
from sugartag.features.encoders import make_encoder
from sugartag.features.images import opened_inside, quiet_pillow
from sugartag.report.chosen import Loaded

SHOWN_SIDE = 384
SHOWN_QUALITY = 80


def embed(folder: Path, encoder: str, *, progress: Progress | None) -> str:
    """Describe the pictures of a collection that are not described yet; say what came of it."""
    made = make_encoder(encoder)
    found = embed_collection(folder, made, progress=progress)
    line = f"{found.described:,} described by {made.name}, {found.kept:,} had their features"
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
