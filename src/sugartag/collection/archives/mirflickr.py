"""MIRFLICKR-25000 and MIRFLICKR-1M, as they are unpacked from their archives.

::

    mirflickr/im1.jpg                       the pictures of MIRFLICKR-25000
    mirflickr/meta/tags/tags1.txt           one tag a line
    mirflickr/meta/license/license1.txt     names the photographer
    mirflickr25k_annotations_v080/*.txt     a file for each concept: the numbers of its pictures

    images/0/0.jpg                          the pictures of MIRFLICKR-1M, 10,000 in a folder
    tags/0/0.txt, license/0/0.txt           the same about them
"""

import re
from collections.abc import Iterator
from pathlib import Path

from sugartag.collection.archives.archive import Archive, Row, find, stream
from sugartag.collection.readers.lines import TextLines
from sugartag.errors import CollectionError
from sugartag.metadata.files import UnreadableError, whole_file

MAX_BYTES = 1 << 18
_NUMBER = re.compile(r"(\d+)\.txt$")
_OWNER = re.compile(rb"flickr\.com/(?:photos|people)/([^/\s\"'<>]+)")
_SECOND_OPINION = "_r1"


def detect(path: Path) -> bool:
    """Tell whether a folder is this archive."""
    return path.is_dir() and _tag_folder(path) is not None


def open_mirflickr(path: Path) -> Archive:
    """Open the archive unpacked in a folder."""
    folder = _tag_folder(path)
    if folder is None:
        raise CollectionError(
            f"{path} has neither meta/tags/tags1.txt (MIRFLICKR-25000) nor tags/0/0.txt "
            "(MIRFLICKR-1M); unpack the tags of press.liacs.nl/mirflickr there"
        )
    large = not folder.match("meta/tags")
    files = _numbered(folder)
    licenses = dict(_numbered(folder.parent / "license"))
    root = folder.parent / "images" if large else folder.parent.parent
    annotations = find(path, "mirflickr25k_annotations*")

    def rows() -> Iterator[Row]:
        for number, file in files:
            yield {
                "image_id": str(number),
                "path": f"{number // 10_000}/{number}.jpg" if large else f"im{number}.jpg",
                "owner": _owner(licenses.get(number)),
                "tags": _read(file).decode(errors="replace").splitlines(),
            }

    known = {number for number, _ in files}
    return Archive(
        table=stream(folder, rows, total=len(files)),
        truth=None
        if annotations is None
        else stream(annotations, lambda: _truth(annotations, known)),
        images_root=root if root.is_dir() else None,
    )


def _tag_folder(path: Path) -> Path | None:
    small = find(path, "meta/tags")
    if small is not None and next(small.glob("tags*.txt"), None) is not None:
        return small
    large = find(path, "tags/0/0.txt")
    return None if large is None else large.parent.parent


def _numbered(folder: Path) -> list[tuple[int, Path]]:
    """List the text files of a folder and of those in it, by the number in their names."""
    files = [*folder.glob("*.txt"), *folder.glob("*/*.txt")]
    found = ((_NUMBER.search(path.name), path) for path in files)
    return sorted((int(match[1]), path) for match, path in found if match)


def _owner(license_file: Path | None) -> str:
    """Return whom the address of the photo names."""
    found = None if license_file is None else _OWNER.search(_read(license_file))
    return "" if found is None else found[1].decode(errors="replace")


def _truth(folder: Path, known: set[int]) -> Iterator[Row]:
    for path in sorted(folder.glob("*.txt")):
        concept = path.stem
        # Files called _r1 hold the pictures in which the concept stands out, a part of the others.
        if concept.lower() == "readme" or concept.endswith(_SECOND_OPINION):
            continue
        for line_number, line in enumerate(TextLines(path), 1):
            text = line.strip()
            if not text.isdigit():
                raise CollectionError(
                    f"{path}, line {line_number}: {text!r} is not the number of a picture"
                )
            if int(text) in known:
                yield {"image_id": text, "concept": concept}


def _read(path: Path) -> bytes:
    try:
        return whole_file(path, MAX_BYTES).replace(b"\0", b"")
    except UnreadableError as error:
        raise CollectionError(f"{path}: {error}") from error
