"""Opens pictures from files that nobody vouches for: bounded, upright, in RGB, on white.

A file is opened only inside the images' folder, and only if it is a plain file. How many pixels it
has is read from its header before anything is decoded. JPEGs are decoded at a reduced size where
that is enough. Whatever cannot be read is a :class:`~sugartag.errors.PictureError` whose message
says why.
"""

import hashlib
import io
import os
import stat
import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import PurePath
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from sugartag._extras import optional
from sugartag.errors import PictureError

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PIXELS = 200_000_000
"""Pictures with more pixels are refused."""
FORMATS = ("JPEG", "MPO", "PNG", "WEBP", "TIFF", "GIF", "BMP", "PPM", "JPEG2000", "AVIF", "HEIF")
"""What is read, in Pillow's names; others of its readers run programs or are hardly ever tried."""
SPARE = 2
"""A picture is decoded with sides at least this many times those that are wanted."""
LARGE_PIXELS = 24_000_000
"""Pictures with more pixels are decoded one at a time: together they would fill the memory."""
DIGEST_BYTES = 16
_HASH_CHUNK = 1 << 20
_SNIFFED = 1024
_ORIENTATION = 0x0112
_WHITE = (255, 255, 255, 255)

_opening, _decoding_large = Lock(), Lock()
_UNREADABLE = (
    OSError,
    ValueError,
    SyntaxError,
    EOFError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    NotImplementedError,
    RuntimeError,
    MemoryError,
    AssertionError,
    struct.error,
    zlib.error,
)
"""What Pillow raises, one way or another, for a file that makes no sense."""


@dataclass(frozen=True)
class FileVersion:
    """What tells whether a file is still the one that was read."""

    size: int
    mtime_ns: int
    digest: bytes = b""
    """BLAKE2b of its bytes; empty where they were not read."""

    def looks_like(self, other: "FileVersion") -> bool:
        """Tell whether size and time are the same; the bytes are not compared."""
        return (self.size, self.mtime_ns) == (other.size, other.mtime_ns)


@dataclass
class PictureFile:
    """An open file, to be hashed and decoded."""

    file: BinaryIO
    version: FileVersion

    def digest(self) -> bytes:
        """Return the BLAKE2b of its bytes."""
        found = hashlib.blake2b(digest_size=DIGEST_BYTES)
        self.file.seek(0)
        try:
            while chunk := self.file.read(_HASH_CHUNK):
                found.update(chunk)
        except OSError as error:
            raise PictureError(_system_reason(error)) from error
        return found.digest()

    def picture(self, *, side: int, max_pixels: int = MAX_PIXELS) -> "Image":
        """Return the first frame, upright, in RGB, with sides of twice ``side`` or more kept."""
        self.file.seek(0)
        return decoded(self.file, side=side, max_pixels=max_pixels)


@contextmanager
def opened_inside(root: str, path: str) -> Iterator[PictureFile]:
    """Open the file at ``path`` below the folder ``root``, which no link may lead out of."""
    with _descriptor(root, path) as descriptor:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise PictureError(f"is {_kind(found.st_mode)}, not a file")
        if found.st_size == 0:
            raise PictureError("is empty")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            yield PictureFile(file, FileVersion(found.st_size, found.st_mtime_ns))


def version_inside(root: str, path: str) -> FileVersion:
    """Return size and time of the file at ``path`` below ``root``, without reading it."""
    with opened_inside(root, path) as found:
        return found.version


@contextmanager
def _descriptor(root: str, path: str) -> Iterator[int]:
    if not path:
        raise PictureError("has no path")
    if "\0" in path or PurePath(path).is_absolute() or ".." in PurePath(path).parts:
        raise PictureError("has a path that does not stay inside the images' folder")
    real_root = os.path.realpath(root)
    real = os.path.realpath(os.path.join(real_root, path))  # noqa: PTH118 - Path drops no '.'
    if not real.startswith(real_root.rstrip(os.sep) + os.sep):
        raise PictureError("is a link that leads out of the images' folder")
    try:
        # Not blocking: a pipe that nobody writes to would be waited for forever.
        descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise PictureError(_system_reason(error)) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def decoded(file: BinaryIO, *, side: int, max_pixels: int = MAX_PIXELS) -> "Image":
    """Return the picture in a file: its first frame, upright, RGB, transparency on white."""
    try:
        image = _opened(file)
        width, height = image.size
        if width * height > max_pixels:
            raise PictureError(
                f"has {width:,} x {height:,} pixels, more than the {max_pixels:,} that are read"
            )
        # A JPEG's decoder can leave out detail; never below twice the sides wanted.
        image.draft(None, (SPARE * side, SPARE * side))
        if width * height > LARGE_PIXELS:
            with _decoding_large:
                return _upright(_plain(image, side), image)
        return _upright(_plain(image, side), image)
    except PictureError:
        raise
    except _UNREADABLE as error:
        raise PictureError(_decoding_reason(file, error)) from error


@contextmanager
def quiet_pillow() -> Iterator[None]:
    """Keep Pillow from warning about odd files; the filters are those of the whole process."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"PIL\.")
        yield


@cache
def _pillow() -> Any:
    pillow = optional("PIL.Image", extra="embed", needed_for="reading pictures")
    with suppress(ImportError):
        optional("pillow_heif", extra="heif", needed_for="HEIC").register_heif_opener()
    pillow.init()
    return pillow


def _opened(file: BinaryIO) -> "Image":
    """Read the header. Pillow's own bound, which warns first, is ours to set for the moment."""
    pillow = _pillow()
    formats = [name for name in FORMATS if name in pillow.OPEN]
    with _opening:
        before, pillow.MAX_IMAGE_PIXELS = pillow.MAX_IMAGE_PIXELS, None
        try:
            image: Image = pillow.open(file, formats=formats)
        finally:
            pillow.MAX_IMAGE_PIXELS = before
    return image


def _plain(image: "Image", side: int) -> "Image":
    """Decode, shrink by a whole factor what is far larger than wanted, and put it on white."""
    image.load()
    if image.mode.startswith("I") or image.mode == "F":
        image = _in_eight_bits(image)
    transparent = image.has_transparency_data
    if transparent or image.mode in {"1", "P"}:
        image = image.convert("RGBA" if transparent else "RGB")
    factor = min(image.size) // (SPARE * side)
    if factor >= 2:
        image = image.reduce(factor)
    if transparent:
        paper: Image = _pillow().new("RGBA", image.size, _WHITE)
        image = _pillow().alpha_composite(paper, image)
    # Converted to what it is, a picture would be copied.
    return image if image.mode == "RGB" else image.convert("RGB")


def _in_eight_bits(image: "Image") -> "Image":
    values = np.asarray(image)
    if image.mode == "F":
        raise PictureError("has floating-point pixels, of which none is known to be white")
    if values.min() < 0 or values.max() > 0xFFFF:
        raise PictureError("has pixels of more than 16 bits")
    found: Image = _pillow().fromarray((values >> 8).astype(np.uint8))
    return found


def _upright(image: "Image", original: "Image") -> "Image":
    """Turn the picture as its EXIF orientation says; one that cannot be read says nothing."""
    try:
        orientation = original.getexif().get(_ORIENTATION, 1)
    except _UNREADABLE:
        return image
    turn = _pillow().Transpose
    how = {
        2: turn.FLIP_LEFT_RIGHT,
        3: turn.ROTATE_180,
        4: turn.FLIP_TOP_BOTTOM,
        5: turn.TRANSPOSE,
        6: turn.ROTATE_270,
        7: turn.TRANSVERSE,
        8: turn.ROTATE_90,
    }.get(orientation if isinstance(orientation, int) else 1)
    return image if how is None else image.transpose(how)


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    if stat.S_ISFIFO(mode):
        return "a pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"


def _system_reason(error: OSError | ValueError) -> str:
    why = error.strerror if isinstance(error, OSError) else None
    return f"cannot be read: {why or error}"


def _decoding_reason(file: BinaryIO, error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "does not fit in memory"
    if isinstance(error, _pillow().UnidentifiedImageError):
        return _not_a_picture(file)
    if "truncated" in str(error).lower():
        return "is truncated"
    words = " ".join(str(error).split()) or type(error).__name__
    return f"is damaged: {words[:200]}"


def _not_a_picture(file: BinaryIO) -> str:
    file.seek(0, io.SEEK_SET)
    start = file.read(_SNIFFED).lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if b"<svg" in start:
        return "is an SVG drawing, which is not read; save it as PNG"
    if start.startswith((b"<!doctype html", b"<html")):
        return "is a web page, not a picture"
    if start.startswith((b"%pdf", b"%!ps")):
        return "is a PDF or PostScript document, not a picture"
    if not start.strip(b"\0"):
        return "holds nothing but zeros"
    return f"is not a picture of a kind that is read ({', '.join(FORMATS)}), or is damaged"
