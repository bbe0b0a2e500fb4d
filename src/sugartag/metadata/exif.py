"""The few fields of EXIF and TIFF directories that name people and keywords."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from sugartag.metadata.keywords import Metadata, keywords_of

XMP_TAG, IPTC_TAG, PHOTOSHOP_TAG = 700, 33723, 34377
ARTIST_TAG, XP_KEYWORDS_TAG = 315, 40094
XP_SOURCE = "EXIF:XPKeywords"
MAX_FIELD_BYTES = 8 << 20
MAX_ENTRIES = 4096
_ITEM_BYTES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}
_WANTED = {XMP_TAG, IPTC_TAG, PHOTOSHOP_TAG, ARTIST_TAG, XP_KEYWORDS_TAG}


class ExifError(ValueError):
    """A directory cannot be read; the message says why."""


@dataclass(frozen=True)
class _Entry:
    tag: int
    size: int
    inline: bytes


def directory_fields(file: BinaryIO) -> dict[int, bytes]:
    """Return the wanted fields of the first directory of a TIFF file, or of an EXIF block."""
    try:
        return dict(_fields(file))
    except struct.error as error:
        raise ExifError("the TIFF directory is cut off") from error


def exif_metadata(fields: dict[int, bytes]) -> Metadata:
    """Return what the fields say of artist and keywords, apart from XMP and IPTC inside them."""
    artist = fields.get(ARTIST_TAG, b"").split(b"\0")[0]
    try:
        name = artist.decode()
    except UnicodeDecodeError:
        name = artist.decode("cp1252", errors="replace")
    words = fields.get(XP_KEYWORDS_TAG, b"").decode("utf-16-le", errors="replace")
    keywords = keywords_of(words.replace("\0", "").split(";"), XP_SOURCE, None)
    return Metadata(keywords=tuple(keywords), artist=" ".join(name.split()))


def _fields(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    header = file.read(8)
    order = {b"II": "<", b"MM": ">"}.get(header[:2], "")
    if not order or len(header) < 8:
        raise ExifError("it does not start as a TIFF file does")
    version, start = struct.unpack(f"{order}HI", header[2:])
    if version != 42:
        raise ExifError("a BigTIFF, whose metadata is not read" if version == 43 else "not a TIFF")
    file.seek(start)
    (count,) = struct.unpack(f"{order}H", file.read(2))
    if count > MAX_ENTRIES:
        raise ExifError(f"a directory of {count:,} entries; it was not read")
    directory = file.read(12 * count)
    if len(directory) < 12 * count:
        raise ExifError("the TIFF directory is cut off")
    for entry in _entries(directory, order):
        if entry.size > MAX_FIELD_BYTES:
            raise ExifError(f"tag {entry.tag} of {entry.size:,} bytes; it was not read")
        value = entry.inline[: entry.size]
        if entry.size > 4:
            file.seek(struct.unpack(f"{order}I", entry.inline)[0])
            value = file.read(entry.size)
        if len(value) < entry.size:
            raise ExifError(f"tag {entry.tag} is cut off")
        yield entry.tag, value


def _entries(directory: bytes, order: str) -> Iterator[_Entry]:
    for offset in range(0, len(directory), 12):
        tag, kind, count, inline = struct.unpack_from(f"{order}HHI4s", directory, offset)
        if tag in _WANTED and kind in _ITEM_BYTES:
            yield _Entry(tag, count * _ITEM_BYTES[kind], inline)
