"""One folder of everything that is wrong with a folder of photographs, and what becomes of each."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from hostile_pictures import JPEG, READ, REFUSED, Make, encoded, writes
from picture_files import jpeg_with, photoshop, picture
from xmp_packets import bag, packet

ROW, ROW_AND_LINE, LINE = "a row", "a row and a line", "a line"
"""What a picture gets: a row in the collection, a line in ``errors.jsonl``, or both."""

NO_PICTURES = (".gif", ".bmp")
"""Endings that a folder of photographs is not searched for."""

ENTITIES = (
    "<!DOCTYPE x [<!ENTITY a 'ha'>"
    + "".join(f"<!ENTITY {chr(98 + n)} '{f'&{chr(97 + n)};' * 10}'>" for n in range(9))
    + "]>"
)
OUTWARD = "<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>"


def link_to(target: str) -> Make:
    return lambda path: path.symlink_to(target)


def locked(data: bytes) -> Make:
    def make(path: Path) -> None:
        path.write_bytes(data)
        path.chmod(0)

    return make


def a_locked_folder(path: Path) -> None:
    path.mkdir()
    (path / "inside.jpg").write_bytes(JPEG)
    path.chmod(0)


def a_folder_with_a_picture(path: Path) -> None:
    path.mkdir()
    (path / "inside.jpg").write_bytes(JPEG)


SIDECARS: Mapping[str, Make] = {
    "entities.jpg.xmp": writes(packet(bag("dc:subject", ["&j;"]), before=ENTITIES)),
    "outward.jpg.xmp": writes(packet(bag("dc:subject", ["&a;"]), before=OUTWARD)),
    "doctype.xmp": writes(packet(before="<!DOCTYPE x>")),
    "million.jpg.xmp": writes(packet(bag("dc:subject", [f"k{n}" for n in range(1_000_000)]))),
    "deep.jpg.xmp": writes(packet("<dc:subject>" * 5_000 + "</dc:subject>" * 5_000)),
    "not-xml.jpg.xmp": writes(b"<<<<"),
    "cut.jpg.xmp": writes(packet(bag("dc:subject", ["beach"]))[:400]),
    "of-zeros.jpg.xmp": writes(bytes(1000)),
    "sidecar-pipe.jpg.xmp": lambda path: os.mkfifo(path),
    "sidecar-out.jpg.xmp": link_to("/etc/passwd"),
    "sidecar-loop.jpg.xmp": lambda path: path.symlink_to(path),
    "sidecar-locked.jpg.xmp": locked(packet(bag("dc:subject", ["beach"]))),
    "sidecar-folder.jpg.xmp": lambda path: path.mkdir(),
    "binary.txt": writes(b"\0\1\2\3 binary"),
    "many.txt": writes(b"a," * 500_000),
    "latin.txt": writes(b"\xff\xfe\xfa latin"),
}
"""Sidecars of good pictures: the picture has its row, the sidecar its line."""

EMBEDDED: Mapping[str, Make] = {
    "embedded-entities.jpg": writes(picture("JPEG", xmp=packet(before=ENTITIES))),
    "iptc-lies.jpg": writes(jpeg_with((0xED, photoshop(b"\x1c\x02\x19\x75\x30short")))),
    "exif-lies.jpg": writes(jpeg_with((0xE1, b"Exif\0\0II*\0" + b"\xff\xff\xff\x7f"))),
}
"""Good pictures whose metadata is hostile."""

NAMES: Mapping[str, tuple[Make, str]] = {
    os.fsdecode(b"caf\xe9.jpg"): (writes(JPEG), LINE),
    "back\\..\\slash.jpg": (writes(JPEG), LINE),
    "C:\\drive.jpg": (writes(JPEG), LINE),
    "line\nfeed.jpg": (writes(JPEG), ROW),
    "-rf.jpg": (writes(JPEG), ROW),
    "=1+1.jpg": (writes(JPEG), ROW),
    "e\u0301.jpg": (writes(JPEG), ROW),
    "é.jpg": (writes(JPEG), LINE),
    "loop": (link_to("."), LINE),
    "up": (link_to(".."), LINE),
    "locked.jpg": (locked(JPEG), ROW_AND_LINE),
    "locked-folder": (a_locked_folder, LINE),
    "full.jpg": (a_folder_with_a_picture, ROW),
}
"""Names, links and rights."""

WITHOUT_A_ROW = {
    "folder.jpg": None,
    "pipe.jpg": LINE,
    "device.jpg": LINE,
    "link-out.jpg": LINE,
    "link-loop.jpg": LINE,
    "link-broken.jpg": LINE,
}
"""Of the pictures that are refused, those that are no files: an empty folder is none at all."""


def expected() -> dict[str, str | None]:
    """Return what every file of the folder gets, by its path as it is shown."""
    found: dict[str, str | None] = {}
    for name, (make, _) in REFUSED.items():
        if make is not nothing_there() and not name.endswith(NO_PICTURES):
            found[name] = WITHOUT_A_ROW.get(name, ROW_AND_LINE)
    found |= {name: ROW for name in READ if not name.endswith(NO_PICTURES)}
    found["bad-exif.jpg"] = ROW_AND_LINE
    found |= {picture_of(name): ROW_AND_LINE for name in SIDECARS}
    found |= dict.fromkeys(EMBEDDED, ROW_AND_LINE)
    for name, (_, what) in NAMES.items():
        shown = os.fsencode(name).decode(errors="backslashreplace")
        found["full.jpg/inside.jpg" if name == "full.jpg" else shown] = what
    return found


def nothing_there() -> Make:
    return REFUSED["missing.jpg"][0]


def picture_of(sidecar: str) -> str:
    return sidecar.removesuffix(".xmp").removesuffix(".txt").removesuffix(".jpg") + ".jpg"


def write_hostile_folder(folder: Path) -> None:
    """Write everything into a new folder, and something outside that nothing may touch."""
    folder.mkdir()
    makers: dict[str, Callable[[Path], None]] = {
        **{name: make for name, (make, _) in REFUSED.items()},
        **READ,
        **{picture_of(name): writes(JPEG) for name in SIDECARS},
        **SIDECARS,
        **EMBEDDED,
        **{name: make for name, (make, _) in NAMES.items()},
        "good.jpg": writes(encoded("JPEG")),
    }
    for name, make in makers.items():
        make(folder / name)
