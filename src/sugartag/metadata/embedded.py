"""The metadata inside picture files, found without decoding a pixel.

Every container is a run of pieces with a length: the pieces that hold XMP, IPTC or EXIF are
read, the others are skipped. Lengths are not to be trusted; a file that contradicts itself gives
what was found until then, and the problem.
"""

import io
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from sugartag._extras import optional
from sugartag.errors import MissingExtraError
from sugartag.metadata.exif import (
    IPTC_TAG,
    PHOTOSHOP_TAG,
    XMP_TAG,
    ExifError,
    directory_fields,
    exif_metadata,
)
from sugartag.metadata.files import UnreadableError, regular_file
from sugartag.metadata.iptc import iptc_of_photoshop, read_iptc
from sugartag.metadata.keywords import Metadata, merged
from sugartag.metadata.xmp import MAX_PACKET_BYTES, read_xmp

MAX_PIECES = 10_000
MAX_HEIF_BYTES = 256 << 20
MAX_PHOTOSHOP_BYTES = 8 << 20
_JPEG_XMP = b"http://ns.adobe.com/xap/1.0/\0"
_JPEG_MORE_XMP = b"http://ns.adobe.com/xmp/extension/\0"
_JPEG_EXIF = b"Exif\0\0"
_JPEG_PHOTOSHOP = b"Photoshop 3.0\0"
_PNG_XMP = b"XML:com.adobe.xmp\0"
_HEIF_BRANDS = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1", b"avif"}
_MORE_XMP = Metadata(problems=("extended XMP is not read; what the main packet says is taken",))


class _Damaged(ValueError):
    """A container contradicts itself; the message says how."""


def read_embedded(path: Path, *, root: Path | None = None) -> Metadata:
    """Return what a picture file says of itself; what could not be read is among its problems."""
    parts: list[Metadata] = []
    try:
        with regular_file(path, root=root) as file:
            for part in _parts(path, file):
                parts.append(part)
    except (_Damaged, ExifError, UnreadableError, struct.error) as error:
        parts.append(Metadata(problems=(str(error),)))
    return merged(parts)


def _parts(path: Path, file: BinaryIO) -> Iterator[Metadata]:
    head = file.read(12)
    file.seek(0)
    if head.startswith(b"\xff\xd8"):
        yield from _jpeg(file)
    elif head.startswith(b"\x89PNG\r\n\x1a\n"):
        yield from _png(file)
    elif head.startswith(b"RIFF") and head[8:] == b"WEBP":
        yield from _webp(file)
    elif head.startswith((b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")):
        yield from _of_directory(file)
    elif head[4:8] == b"ftyp" and head[8:] in _HEIF_BRANDS:
        yield from _heif(path, file)
    else:
        raise _Damaged("not a JPEG, PNG, WebP, TIFF or HEIC picture" if head else "an empty file")


def _jpeg(file: BinaryIO) -> Iterator[Metadata]:
    photoshop = b""
    damage: _Damaged | None = None
    try:
        for marker, segment in _segments(file):
            if marker == 0xED and segment.startswith(_JPEG_PHOTOSHOP):
                # One resource may be spread over several segments.
                photoshop += segment[len(_JPEG_PHOTOSHOP) :]
                if len(photoshop) > MAX_PHOTOSHOP_BYTES:
                    raise _Damaged(f"Photoshop data of more than {MAX_PHOTOSHOP_BYTES:,} bytes")
            elif marker == 0xE1:
                yield from _app1(segment)
    except _Damaged as error:
        damage = error
    if iptc := iptc_of_photoshop(photoshop):
        yield read_iptc(iptc)
    if damage is not None:
        raise damage


def _app1(segment: bytes) -> Iterator[Metadata]:
    if segment.startswith(_JPEG_XMP):
        yield read_xmp(segment[len(_JPEG_XMP) :])
    elif segment.startswith(_JPEG_MORE_XMP):
        yield _MORE_XMP
    elif segment.startswith(_JPEG_EXIF):
        yield from _exif(segment[len(_JPEG_EXIF) :])


def _segments(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield the marker and content of the APP1 and APP13 segments before the picture itself."""
    file.seek(2)
    for _ in range(MAX_PIECES):
        byte = file.read(1)
        while byte == b"\xff":
            byte = file.read(1)
        if not byte:
            raise _Damaged("a JPEG that ends before its picture")
        marker = byte[0]
        if marker in {0xD9, 0xDA}:
            return
        if marker == 0x01 or 0xD0 <= marker <= 0xD7:
            continue
        size = int.from_bytes(_exactly(file, 2, "JPEG"), "big") - 2
        if size < 0:
            raise _Damaged("a JPEG segment without a length")
        if marker in {0xE1, 0xED}:
            yield marker, _exactly(file, size, "JPEG")
        else:
            file.seek(size, io.SEEK_CUR)
    raise _Damaged(f"a JPEG of more than {MAX_PIECES:,} segments")


def _png(file: BinaryIO) -> Iterator[Metadata]:
    file.seek(8)
    for _ in range(MAX_PIECES):
        header = file.read(8)
        if not header or header[4:] == b"IEND":
            return
        if len(header) < 8:
            raise _Damaged("a PNG that is cut off")
        size, kind = struct.unpack(">I4s", header)
        if kind in {b"iTXt", b"eXIf"} and size <= MAX_PACKET_BYTES:
            data = _exactly(file, size, "PNG")
            yield from _exif(data) if kind == b"eXIf" else _png_text(data)
            size = 0
        elif kind == b"iTXt":
            yield Metadata(problems=(f"a PNG text of {size:,} bytes; it was not read",))
        file.seek(size + 4, io.SEEK_CUR)
    raise _Damaged(f"a PNG of more than {MAX_PIECES:,} chunks")


def _png_text(data: bytes) -> Iterator[Metadata]:
    if not data.startswith(_PNG_XMP):
        return
    compressed, rest = data[len(_PNG_XMP) :][:1] == b"\1", data[len(_PNG_XMP) + 2 :]
    text = rest.split(b"\0", 2)[-1]
    if compressed:
        try:
            text = zlib.decompressobj().decompress(text, MAX_PACKET_BYTES + 1)
        except zlib.error as error:
            raise _Damaged(f"a PNG whose XMP cannot be decompressed ({error})") from error
    yield read_xmp(text)


def _webp(file: BinaryIO) -> Iterator[Metadata]:
    file.seek(12)
    for _ in range(MAX_PIECES):
        header = file.read(8)
        if not header:
            return
        if len(header) < 8:
            raise _Damaged("a WebP that is cut off")
        kind, size = struct.unpack("<4sI", header)
        if kind not in {b"XMP ", b"EXIF"}:
            file.seek(size + size % 2, io.SEEK_CUR)
            continue
        if size > MAX_PACKET_BYTES:
            raise _Damaged(f"a WebP chunk {kind.decode()!r} of {size:,} bytes; it was not read")
        data = _exactly(file, size, "WebP")
        file.seek(size % 2, io.SEEK_CUR)
        yield from _exif(data.removeprefix(_JPEG_EXIF)) if kind == b"EXIF" else [read_xmp(data)]
    raise _Damaged(f"a WebP of more than {MAX_PIECES:,} chunks")


def _exif(block: bytes) -> Iterator[Metadata]:
    try:
        yield exif_metadata(directory_fields(io.BytesIO(block)))
    except ExifError as error:
        yield Metadata(problems=(f"EXIF: {error}",))


def _of_directory(file: BinaryIO) -> Iterator[Metadata]:
    fields = directory_fields(file)
    if XMP_TAG in fields:
        yield read_xmp(fields[XMP_TAG])
    iptc = fields.get(IPTC_TAG) or iptc_of_photoshop(fields.get(PHOTOSHOP_TAG, b""))
    if iptc:
        yield read_iptc(iptc.rstrip(b"\0"))
    yield exif_metadata(fields)


def _heif(path: Path, file: BinaryIO) -> Iterator[Metadata]:
    try:
        heif = optional("pillow_heif", extra="heif", needed_for="the metadata of a HEIC picture")
    except MissingExtraError as error:
        yield Metadata(problems=(str(error),))
        return
    data = file.read(MAX_HEIF_BYTES + 1)
    if len(data) > MAX_HEIF_BYTES:
        raise _Damaged(f"a HEIC file of more than {MAX_HEIF_BYTES:,} bytes; it was not read")
    try:
        info = heif.open_heif(io.BytesIO(data), convert_hdr_to_8bit=False).info
    except (ValueError, RuntimeError, OSError, EOFError, SyntaxError) as error:
        raise _Damaged(f"a HEIC file that cannot be read ({error})") from error
    if info.get("xmp"):
        yield read_xmp(bytes(info["xmp"]))
    if info.get("exif"):
        yield from _exif(bytes(info["exif"]).removeprefix(_JPEG_EXIF))


def _exactly(file: BinaryIO, size: int, kind: str) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise _Damaged(f"a {kind} that is cut off")
    return data
