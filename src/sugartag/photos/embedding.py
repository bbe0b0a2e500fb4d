"""The encoders' part of the job: features of the pictures, and small copies to show."""

import importlib
import io
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from sugartag.engine.base import Progress
from sugartag.errors import SettingsError
from sugartag.report.chosen import Loaded

SHOWN_SIDE = 384
SHOWN_QUALITY = 80


def embed(folder: Path, encoder: str, *, progress: Progress | None) -> str:
    """Describe the pictures of a collection that are not described yet; say what came of it."""
    made = _part("encoders").make_encoder(encoder)
    found = _part("embedding").embed_collection(folder, made, progress=progress)
    line = f"{found.described:,} described by {made.name}, {found.kept:,} had their features"
    return f"{line}, {found.unreadable:,} cannot be read" if found.unreadable else line


def shown_by(root: str) -> Callable[[str], Loaded | None]:
    """Return what makes a small JPEG of a picture below a folder; None if it cannot be read."""
    images = _part("images")

    def load(path: str) -> Loaded | None:
        try:
            with images.opened_inside(root, path) as file, images.quiet_pillow():
                picture = file.picture(side=SHOWN_SIDE // 2)
        except images.PictureError:
            return None
        picture.thumbnail((SHOWN_SIDE, SHOWN_SIDE))
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG", quality=SHOWN_QUALITY)
        return buffer.getvalue(), "image/jpeg"

    return load


def _part(name: str) -> ModuleType:
    try:
        return importlib.import_module(f"sugartag.features.{name}")
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("sugartag."):
            raise
        raise SettingsError(
            "this version has no encoder to describe photographs with; "
            "import a table with --features instead"
        ) from error
