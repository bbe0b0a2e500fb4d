"""IPTC-IIM: keywords and the by-line, as the Photoshop block of a picture holds them."""

import struct
from collections.abc import Iterator

from sugartag.metadata.keywords import MAX_KEYWORDS, Metadata, keywords_of

SOURCE = "IPTC:Keywords"
_MARKER = 0x1C
_CHARSET, _TITLE, _KEYWORD, _BYLINE = (1, 90), (2, 5), (2, 25), (2, 80)
_WANTED = {_CHARSET, _TITLE, _KEYWORD, _BYLINE}
_UTF8 = b"\x1b%G"
_EXTENDED = 0x8000
_MAX_VALUE_BYTES = 4096
_RESOURCE = b"8BIM"
_IPTC_RESOURCE = 0x0404


def read_iptc(data: bytes) -> Metadata:
    """Return what the data sets say; lengths that lead out of the data end the reading."""
    found: dict[tuple[int, int], list[bytes]] = {}
    problems: tuple[str, ...] = ()
    try:
        for key, value in _data_sets(data):
            found.setdefault(key, []).append(value)
            if len(found[key]) > MAX_KEYWORDS:
                return Metadata(
                    problems=(f"IPTC: more than {MAX_KEYWORDS:,} keywords; none taken",)
                )
    except (ValueError, struct.error) as error:
        problems = (f"IPTC: damaged ({error}); what stands before is taken",)
    utf8 = _UTF8 in found.get(_CHARSET, [])
    texts = {key: [_text(value, utf8=utf8) for value in values] for key, values in found.items()}
    return Metadata(
        keywords=tuple(keywords_of(texts.get(_KEYWORD, ()), SOURCE, None)),
        creator=next(iter(texts.get(_BYLINE, ())), ""),
        title=next(iter(texts.get(_TITLE, ())), ""),
        problems=problems,
    )


def iptc_of_photoshop(data: bytes) -> bytes:
    """Return the IPTC part of a Photoshop image resource block; empty if it has none."""
    offset = 0
    while data[offset : offset + 4] == _RESOURCE and offset + 8 <= len(data):
        (number,) = struct.unpack_from(">H", data, offset + 4)
        name_bytes = data[offset + 6] + 1
        start = offset + 6 + name_bytes + name_bytes % 2
        if start + 4 > len(data):
            break
        (size,) = struct.unpack_from(">I", data, start)
        if number == _IPTC_RESOURCE:
            return data[start + 4 : start + 4 + size]
        offset = start + 4 + size + size % 2
    return b""


def _data_sets(data: bytes) -> Iterator[tuple[tuple[int, int], bytes]]:
    offset = 0
    while offset < len(data) and data[offset] == _MARKER:
        _, record, number, size = struct.unpack_from(">BBBH", data, offset)
        offset += 5
        if size & _EXTENDED:
            width = size & ~_EXTENDED
            size = int.from_bytes(data[offset : offset + width], "big")
            offset += width
        if offset + size > len(data):
            raise ValueError(
                f"a value of {size:,} bytes, of which {len(data) - offset:,} are there"
            )
        if (record, number) in _WANTED:
            yield (record, number), data[offset : offset + min(size, _MAX_VALUE_BYTES)]
        offset += size


def _text(value: bytes, *, utf8: bool) -> str:
    """Decode a value: UTF-8 where it is marked or valid, else the Windows code page."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = value.decode("utf-8" if utf8 else "cp1252", errors="replace")
    return " ".join(text.replace("\0", "").split())
