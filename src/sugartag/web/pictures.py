"""Pictures as the page shows them: thumbnails by the image's number, made once and kept.

The originals are never sent. A path comes from the catalogue, never from a request; it is followed
to its end and must stay inside the folder of the pictures.
"""

import hashlib
import io
import os
import threading
import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image, ImageOps, UnidentifiedImageError

SIZES = {"grid": 480, "large": 1600}
"""Names of sizes, with the longest edge in pixels."""
QUALITY = 82
MOST_PIXELS = 120_000_000
LARGEST_FILE = 400 << 20
KINDS = ("JPEG", "PNG", "WEBP", "TIFF", "GIF", "BMP", "HEIF")
AT_ONCE = 2
"""Pictures that are decoded at the same time: each may take half a gigabyte."""
MAT = (255, 255, 255)


@dataclass(frozen=True)
class Pictures:
    """Makes thumbnails of the pictures below a folder, and keeps them in another one."""

    root: Path | None
    kept: Path
    _turns: threading.BoundedSemaphore = field(
        default_factory=lambda: threading.BoundedSemaphore(AT_ONCE), repr=False
    )

    def thumbnail(self, path: str | None, size: str) -> bytes | None:
        """Return a picture as WebP, without any metadata; None if it cannot be shown."""
        source = self._inside(path)
        if source is None or size not in SIZES:
            return None
        try:
            changed = source.stat()
        except OSError:
            return None
        name = hashlib.sha256(f"{source}\n{size}".encode()).hexdigest()[:32]
        target = self.kept / name[:2] / f"{name}.webp"
        with suppress(OSError):
            if target.stat().st_mtime_ns == changed.st_mtime_ns:
                return target.read_bytes()
        if changed.st_size > LARGEST_FILE:
            return None
        with self._turns:
            made = _reduced(source, SIZES[size])
        if made is not None:
            _keep(target, made, changed.st_mtime_ns)
        return made

    def _inside(self, path: str | None) -> Path | None:
        """Return the file that a path leads to, if that is one below the root."""
        if self.root is None or not path or "\0" in path:
            return None
        try:
            root = self.root.resolve(strict=True)
            found = (root / path).resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            return None
        return found if found.is_relative_to(root) and found.is_file() else None


def _reduced(source: Path, edge: int) -> bytes | None:
    """Return a picture of at most this size, upright, in RGB, without metadata."""
    _open_heif()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(source, formats=KINDS) as picture:
                if picture.width * picture.height > MOST_PIXELS:
                    return None
                picture.draft("RGB", (edge, edge))
                # First small, then upright: turning a whole photograph takes memory twice.
                picture.thumbnail((edge, edge), Image.Resampling.LANCZOS, reducing_gap=2.0)
                return _as_webp(ImageOps.exif_transpose(picture))
    except (OSError, UnidentifiedImageError, ValueError, SyntaxError, MemoryError, EOFError):
        return None
    except Image.DecompressionBombError:
        return None


def _as_webp(picture: Image.Image) -> bytes:
    if picture.has_transparency_data:
        layer = picture.convert("RGBA")
        picture = Image.new("RGB", layer.size, MAT)
        picture.paste(layer, mask=layer.getchannel("A"))
    plain = Image.new("RGB", picture.size)
    plain.paste(picture.convert("RGB"))
    buffer = io.BytesIO()
    plain.save(buffer, "WEBP", quality=QUALITY, method=3)
    return buffer.getvalue()


def _open_heif() -> None:
    """Let Pillow read HEIC files, if the package for that is installed."""
    if "HEIF" not in Image.OPEN:
        with suppress(ImportError):
            from pillow_heif import register_heif_opener

            register_heif_opener()


def _keep(target: Path, made: bytes, moment: int) -> None:
    """Keep a thumbnail for the next time; where that fails it is made again then."""
    partial = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}")
    with suppress(OSError):
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(made)
        os.utime(partial, ns=(moment, moment))
        partial.replace(target)
