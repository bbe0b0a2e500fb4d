"""Metadata inside real picture files; what is damaged gives what it has, and says so."""

import io
import os
import struct

import pytest
from PIL import Image

from picture_files import (
    EXTENDED_HEADER,
    XMP_HEADER,
    data_set,
    itxt,
    jpeg_with,
    photoshop,
    picture,
    png_with,
)
from sugartag.metadata import read_metadata
from sugartag.metadata.embedded import MAX_PIECES
from sugartag.metadata.keywords import MAX_KEYWORDS
from xmp_packets import bag, packet

PACKET = packet(bag("dc:subject", ["beach", "sea"]), bag("dc:creator", ["Anna"], "Seq"))
UTF8 = data_set(1, 90, b"\x1b%G")
IPTC = UTF8 + b"".join(
    [
        data_set(2, 25, "café".encode()),
        data_set(2, 25, b"dog"),
        data_set(2, 80, b"Ben"),
        data_set(2, 5, b"A title"),
    ]
)


@pytest.fixture
def read(tmp_path):
    def reading(data: bytes, name: str = "photo.jpg"):
        (tmp_path / name).write_bytes(data)
        return read_metadata(tmp_path / name)

    return reading


def names(found) -> set[str]:
    return {keyword.name for keyword in found.keywords}


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_xmp_and_the_artist_are_found_in_every_kind_of_file(read, kind):
    found = read(picture(kind, xmp=PACKET, artist="Carol"), f"photo.{kind.lower()}")

    assert names(found) == {"beach", "sea"}
    assert (found.creator, found.artist, found.problems) == ("Anna", "Carol", ())


def test_the_metadata_of_a_heic_file_is_read_where_the_extra_is_installed(read):
    heif = pytest.importorskip("pillow_heif")
    exif = Image.Exif()
    exif[315] = "Carol"
    made = heif.from_pillow(Image.new("RGB", (64, 64), (9, 99, 200)))
    buffer = io.BytesIO()
    made.save(buffer, xmp=PACKET, exif=exif.tobytes())

    found = read(buffer.getvalue(), "photo.heic")

    assert names(found) == {"beach", "sea"}
    assert (found.creator, found.artist, found.problems) == ("Anna", "Carol", ())


def test_compressed_text_of_a_png_is_read(read):
    data = png_with(picture("PNG"), b"iTXt", itxt(PACKET, compressed=True))

    assert names(read(data, "photo.png")) == {"beach", "sea"}


def test_iptc_keywords_by_line_and_title_are_read_in_the_marked_charset(read):
    found = read(jpeg_with((0xED, photoshop(IPTC))))

    assert names(found) == {"café", "dog"}
    assert (found.creator, found.title, found.problems) == ("Ben", "A title", ())


def test_iptc_without_a_marker_is_read_as_the_windows_code_page(read):
    data = data_set(2, 25, "Zürich".encode("cp1252"))

    assert names(read(jpeg_with((0xED, photoshop(data))))) == {"Zürich"}


def test_iptc_spread_over_two_segments_is_one_block(read):
    content = photoshop(IPTC)
    rest = b"Photoshop 3.0\0" + content[60:]

    found = read(jpeg_with((0xED, content[:60]), (0xED, rest)))

    assert names(found) == {"café", "dog"}


def test_iptc_of_a_tiff_is_read(read):
    buffer = io.BytesIO()
    Image.new("RGB", (4, 4)).save(buffer, "TIFF", tiffinfo={33723: IPTC})

    assert names(read(buffer.getvalue(), "photo.tif")) == {"café", "dog"}


def test_sidecars_embedded_xmp_and_iptc_are_one_union(tmp_path, read):
    (tmp_path / "photo.jpg.xmp").write_bytes(packet(bag("dc:subject", ["one", "beach"])))
    (tmp_path / "photo.XMP").write_bytes(packet(bag("digiKam:TagsList", ["a/two"], "Seq")))
    (tmp_path / "photo.txt").write_text("three, four\nfive\n")
    (tmp_path / "other.xmp").write_bytes(packet(bag("dc:subject", ["wrong"])))

    found = read(jpeg_with((0xED, photoshop(IPTC)), data=picture("JPEG", xmp=PACKET)))

    assert names(found) == {"one", "two", "three", "four", "five", "beach", "sea", "café", "dog"}
    assert len(found.keywords) == len({keyword.path for keyword in found.keywords})


def test_extended_xmp_is_left_out_with_a_note(read):
    found = read(jpeg_with((0xE1, EXTENDED_HEADER + b"x" * 40), data=picture("JPEG", xmp=PACKET)))

    assert names(found) == {"beach", "sea"}
    assert "extended XMP" in found.problems[0]


def test_keywords_of_windows_in_exif_are_read(read):
    exif = Image.Exif()
    exif[40094] = "tree;old house".encode("utf-16-le") + b"\0\0"
    buffer = io.BytesIO()
    Image.new("RGB", (4, 4)).save(buffer, "JPEG", exif=exif)

    assert names(read(buffer.getvalue())) == {"tree", "old house"}


LIE = struct.pack(">BBBH", 0x1C, 2, 25, 30_000) + b"short"
LONG_LIE = struct.pack(">BBBH", 0x1C, 2, 25, 0x8004) + b"\xff\xff\xff\xff"
DAMAGED = {
    "empty": b"",
    "svg-named-jpg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    "jpeg-of-two-bytes": b"\xff\xd8",
    "jpeg-cut-in-xmp": picture("JPEG", xmp=PACKET)[:200],
    "jpeg-cut-in-length": b"\xff\xd8\xff\xe1\x40",
    "jpeg-length-zero": b"\xff\xd8\xff\xe1\0\0abc",
    "jpeg-of-endless-markers": b"\xff\xd8" + b"\xff\x01" * (MAX_PIECES + 1),
    "jpeg-all-ff": b"\xff\xd8" + b"\xff" * 100_000,
    "iptc-length-lies": jpeg_with((0xED, photoshop(LIE))),
    "iptc-long-length-lies": jpeg_with((0xED, photoshop(LONG_LIE))),
    "iptc-header-cut": jpeg_with((0xED, photoshop(b"\x1c\x02"))),
    "iptc-too-many": jpeg_with((0xED, photoshop(data_set(2, 25, b"a") * (MAX_KEYWORDS + 1)))),
    "xmp-not-xml": jpeg_with((0xE1, XMP_HEADER + b"<<<<")),
    "exif-not-tiff": jpeg_with((0xE1, b"Exif\0\0garbage garbage")),
    "exif-offset-lies": jpeg_with((0xE1, b"Exif\0\0II*\0" + b"\xff\xff\xff\x7f")),
    "exif-cut": jpeg_with((0xE1, b"Exif\0\0II*\0\x08\0\0\0\xff\x0f")),
    "exif-field-of-gigabytes": jpeg_with(
        (0xE1, b"Exif\0\0II*\0\x08\0\0\0" + struct.pack("<HHHII", 1, 315, 2, 1 << 30, 8))
    ),
    "tiff-cut": b"II*\0\x08\0\0\0",
    "big-tiff": b"II+\0\x08\0\0\0" + b"\0" * 16,
    "png-chunk-of-gigabytes": png_with(picture("PNG"), b"iTXt", b"")[:-24]
    + b"\x7f\xff\xff\xffiTXt",
    "png-bomb": png_with(picture("PNG"), b"iTXt", itxt(b" " * (100 << 20), compressed=True)),
    "png-not-zlib": png_with(
        picture("PNG"), b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0never compressed"
    ),
    "webp-chunk-lies": b"RIFF\x40\0\0\0WEBPXMP \xff\xff\xff\x7fabc",
    "webp-cut": b"RIFF\x40\0\0\0WEBPXMP ",
    "heic-of-nothing": b"\0\0\0\x18ftypheic" + b"\0" * 64,
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_or_hostile_file_gives_a_problem_and_never_an_error(read, name):
    found = read(DAMAGED[name])

    assert found.problems
    assert all("\n" not in problem and len(problem) < 300 for problem in found.problems)
    assert len(found.keywords) <= 1


def test_a_damaged_file_still_gives_what_stands_before_the_damage(read):
    whole = jpeg_with((0xED, photoshop(IPTC)), (0xE1, XMP_HEADER + PACKET))

    found = read(whole[: len(photoshop(IPTC)) + len(PACKET) // 2])

    assert names(found) == {"café", "dog"}
    assert "cut off" in found.problems[0]


def test_a_pipe_and_a_folder_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.jpg")
    (tmp_path / "b.jpg").mkdir()

    for name in ("a.jpg", "b.jpg", "missing.jpg"):
        assert len(read_metadata(tmp_path / name).problems) == 1


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("photo.jpg.xmp", packet(before="<!DOCTYPE x>")),
        ("photo.xmp", b" " * (50 << 20)),
        ("photo.xmp", packet(bag("dc:subject", ["k"] * 1_000_000))),
        ("photo.txt", b"\0\1\2\3 binary"),
        ("photo.txt", b"\xff\xfe\xfa latin"),
        ("photo.txt", b"a," * 5_000),
        ("photo.txt", b"a," * 500_000),
        ("photo.txt", b"A long sentence about the picture, " + b"and on " * 40),
    ],
)
def test_a_hostile_sidecar_costs_its_keywords_and_nothing_else(tmp_path, read, name, data):
    (tmp_path / name).write_bytes(data)

    found = read(picture("JPEG", xmp=PACKET))

    assert {"beach", "sea"} <= names(found)
    assert len(names(found)) <= 3
    assert found.problems[0].startswith(f"{name}: ")


def test_a_sidecar_that_links_out_of_the_root_is_not_read(tmp_path):
    root = tmp_path / "photos"
    root.mkdir()
    (tmp_path / "secret.xmp").write_bytes(packet(bag("dc:subject", ["secret"])))
    (root / "photo.jpg").write_bytes(picture("JPEG"))
    (root / "photo.jpg.xmp").symlink_to(tmp_path / "secret.xmp")

    found = read_metadata(root / "photo.jpg", root=root)

    assert found.keywords == ()
    assert "leads out" in found.problems[0]
