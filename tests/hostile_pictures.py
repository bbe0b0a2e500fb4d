"""Broken and hostile image files, each written by a function of its own."""

import io
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

Make = Callable[[Path], None]


def noise(mode: str = "RGB", size: tuple[int, int] = (60, 40)) -> Image.Image:
    channels = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4, "CMYK": 4}[mode]
    values = np.random.default_rng(0).integers(0, 256, (size[1], size[0], channels), np.uint8)
    return Image.fromarray(values.squeeze(), mode)


def encoded(kind: str, image: Image.Image | None = None, **options: object) -> bytes:
    file = io.BytesIO()
    (image or noise()).save(file, kind, **options)  # type: ignore[arg-type]
    return file.getvalue()


def png_chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png_of(width: int, height: int, pixels: bytes = b"") -> bytes:
    """Return a grey PNG that claims a size, whatever it holds."""
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = [png_chunk(b"IHDR", header), png_chunk(b"IDAT", pixels), png_chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def writes(data: bytes) -> Make:
    return lambda path: path.write_bytes(data) and None


def a_folder(path: Path) -> None:
    path.mkdir()


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_link_out(path: Path) -> None:
    outside = path.parent.parent / "outside.jpg"
    outside.write_bytes(encoded("JPEG"))
    path.symlink_to(outside)


def a_link_to_itself(path: Path) -> None:
    path.symlink_to(path)


def a_link_to_nothing(path: Path) -> None:
    path.symlink_to(path.parent / "gone.jpg")


def a_link_to_a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def nothing(path: Path) -> None:
    """Leave the file out."""


def two_frames(kind: str) -> bytes:
    frames = [Image.new("RGB", (30, 30), "red"), Image.new("RGB", (30, 30), "blue")]
    file = io.BytesIO()
    options = {"lossless": True} if kind == "WEBP" else {}
    frames[0].save(file, kind, save_all=True, append_images=frames[1:], **options)
    return file.getvalue()


JPEG, PNG = encoded("JPEG"), encoded("PNG")
BOMB = zlib.compress(bytes(50_000_000), 9)

REFUSED: dict[str, tuple[Make, str]] = {
    "truncated.jpg": (writes(JPEG[: len(JPEG) // 2]), "is truncated"),
    "truncated.png": (writes(PNG[: len(PNG) // 2]), "truncated|damaged"),
    "truncated.gif": (writes(encoded("GIF")[:60]), "truncated|damaged|not a picture"),
    "truncated.tif": (writes(encoded("TIFF")[:2000]), "truncated|damaged|not a picture"),
    "truncated.webp": (writes(encoded("WEBP")[:300]), "truncated|damaged|not a picture"),
    "header-only.jpg": (writes(JPEG[:20]), "not a picture|damaged|truncated"),
    "bomb-30000.png": (writes(png_of(30_000, 30_000, BOMB)), "30,000 x 30,000 pixels"),
    "bomb-claimed.png": (writes(png_of(2**31 - 1, 2**31 - 1)), "2,147,483,647"),
    "no-pixels.png": (writes(png_of(0, 0)), "damaged|not a picture"),
    "half-the-rows.png": (
        writes(png_of(500, 500, zlib.compress(b"\0" * 900))),
        "truncated|damaged",
    ),
    "bad-checksum.png": (writes(PNG[:40] + b"\xff\xff" + PNG[42:]), "damaged|truncated"),
    "bomb-text.png": (
        writes(PNG[:33] + png_chunk(b"zTXt", b"a\0\0" + BOMB) + PNG[33:]),
        "damaged|not a picture",
    ),
    "empty.jpg": (writes(b""), "is empty"),
    "zeros.jpg": (writes(bytes(5000)), "nothing but zeros"),
    "random.jpg": (writes(np.random.default_rng(1).bytes(5000)), "not a picture"),
    "drawing.jpg": (
        writes(b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>'),
        "SVG drawing",
    ),
    "page.jpg": (writes(b"<!DOCTYPE html><html>404</html>"), "web page"),
    "document.jpg": (writes(b"%PDF-1.7\n"), "PDF"),
    "program.jpg": (writes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n"), "PostScript"),
    "text.jpg": (writes("Keine Bilder hier, nur Wörter.\n".encode() * 20), "not a picture"),
    "script.jpg": (writes(b"#!/bin/sh\nrm -rf /\n"), "not a picture"),
    "archive.jpg": (writes(b"PK\x03\x04" + bytes(200)), "not a picture"),
    "photoshop.jpg": (writes(b"8BPS\0\x01" + bytes(200)), "not a picture"),
    "floats.tif": (
        writes(encoded("TIFF", Image.fromarray(np.ones((9, 9), np.float32)))),
        "floating-point",
    ),
    "deep.tif": (
        writes(encoded("TIFF", Image.fromarray(np.full((9, 9), 1 << 20, np.int32)))),
        "more than 16 bits",
    ),
    "folder.jpg": (a_folder, "is a folder"),
    "pipe.jpg": (a_pipe, "is a pipe"),
    "device.jpg": (a_link_to_a_device, "leads out of"),
    "link-out.jpg": (a_link_out, "leads out of"),
    "link-loop.jpg": (a_link_to_itself, "cannot be read"),
    "link-broken.jpg": (a_link_to_nothing, "No such file"),
    "missing.jpg": (nothing, "No such file"),
    "a" * 300 + ".jpg": (nothing, "name too long"),
}
"""Files that are not read: how to make each, and what the reason must say."""

READ: dict[str, Make] = {
    "one-pixel.png": writes(encoded("PNG", Image.new("RGB", (1, 1), "red"))),
    "strip.png": writes(encoded("PNG", Image.new("L", (30_000, 1), 200))),
    "cmyk.jpg": writes(encoded("JPEG", noise("CMYK"))),
    "cmyk.tif": writes(encoded("TIFF", noise("CMYK"))),
    "sixteen-bit.png": writes(
        encoded("PNG", Image.fromarray(np.full((50, 50), 0x8000, np.uint16)))
    ),
    "sixteen-bit.tif": writes(
        encoded("TIFF", Image.fromarray(np.full((50, 50), 0x8000, np.uint16)))
    ),
    "palette.png": writes(encoded("PNG", noise().quantize(16))),
    "palette-transparent.gif": writes(encoded("GIF", noise().quantize(16), transparency=3)),
    "bilevel.png": writes(encoded("PNG", noise("L").convert("1"))),
    "grey.jpg": writes(encoded("JPEG", noise("L"))),
    "grey-alpha.png": writes(encoded("PNG", noise("LA"))),
    "alpha.png": writes(encoded("PNG", noise("RGBA"))),
    "animated.gif": writes(two_frames("GIF")),
    "animated.webp": writes(two_frames("WEBP")),
    "animated.png": writes(two_frames("PNG")),
    "pages.tif": writes(two_frames("TIFF")),
    "progressive.jpg": writes(encoded("JPEG", noise(size=(300, 200)), progressive=True)),
    "png-named.jpg": writes(PNG),
    "bad-exif.jpg": writes(encoded("JPEG", exif=b"Exif\0\0MM\0*\0\0\0\x08\xff\xff" + b"\xff" * 40)),
    "trailing-bytes.jpg": writes(JPEG + b"<script>" * 1000),
    "ümläut \u202e name.jpg": writes(JPEG),
}
"""Files that are odd and read."""


def write_all(folder: Path) -> None:
    """Write every file into a folder."""
    for name, (make, _) in REFUSED.items():
        make(folder / name)
    for name, make in READ.items():
        make(folder / name)
