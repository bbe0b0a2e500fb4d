"""Real picture files with metadata inside, for tests."""

import io
import struct
import zlib

from PIL import Image

SIZE = (16, 12)
XMP_HEADER = b"http://ns.adobe.com/xap/1.0/\0"
EXTENDED_HEADER = b"http://ns.adobe.com/xmp/extension/\0"


def picture(kind: str, *, xmp: bytes | None = None, artist: str = "", colour: int = 99) -> bytes:
    """Return a small picture of a kind that Pillow writes, with XMP and an EXIF artist."""
    image = Image.new("RGB", SIZE, (colour, 40, 200))
    exif = Image.Exif()
    if artist:
        exif[315] = artist
    buffer = io.BytesIO()
    if kind == "TIFF":
        fields = {**({700: xmp} if xmp else {}), **({315: artist} if artist else {})}
        image.save(buffer, kind, tiffinfo=fields)
    else:
        more = {} if xmp is None or kind == "PNG" else {"xmp": xmp}
        image.save(buffer, kind, exif=exif, **more)
    data = buffer.getvalue()
    return data if kind != "PNG" or xmp is None else png_with(data, b"iTXt", itxt(xmp))


def itxt(xmp: bytes, *, compressed: bool = False) -> bytes:
    """Return the content of the PNG chunk that XMP stands in."""
    text = zlib.compress(xmp) if compressed else xmp
    return b"XML:com.adobe.xmp\0" + (b"\1\0" if compressed else b"\0\0") + b"\0\0" + text


def png_with(data: bytes, kind: bytes, content: bytes) -> bytes:
    """Return a PNG with one more chunk before its end."""
    checksum = struct.pack(">I", zlib.crc32(kind + content))
    chunk = struct.pack(">I", len(content)) + kind + content + checksum
    return data[:-12] + chunk + data[-12:]


def jpeg_with(*segments: tuple[int, bytes], data: bytes | None = None) -> bytes:
    """Return a JPEG that begins with the segments given."""
    body = picture("JPEG") if data is None else data
    made = b"".join(
        bytes([0xFF, marker]) + struct.pack(">H", len(content) + 2) + content
        for marker, content in segments
    )
    return body[:2] + made + body[2:]


def photoshop(iptc: bytes) -> bytes:
    """Return the content of an APP13 segment that holds IPTC data after another resource."""
    other = b"8BIM" + struct.pack(">H", 0x03ED) + b"\3abc" + struct.pack(">I", 3) + b"xyz\0"
    padding = b"\0" * (len(iptc) % 2)
    block = b"8BIM" + struct.pack(">H", 0x0404) + b"\0\0" + struct.pack(">I", len(iptc))
    return b"Photoshop 3.0\0" + other + block + iptc + padding


def data_set(record: int, number: int, value: bytes) -> bytes:
    """Return one IPTC data set."""
    return struct.pack(">BBBH", 0x1C, record, number, len(value)) + value
