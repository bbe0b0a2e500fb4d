"""YFCC100M: the tab-separated files of the Yahoo Flickr Creative Commons collection.

One photo or video a line, without a header, plain or ``.bz2`` or ``.gz``; 23 fields in the release
of Yahoo, 25 in that of Multimedia Commons, which begins with a line number and adds a hash. Texts
are URL-encoded. Videos are skipped.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sugartag.collection.archives.archive import Archive, Row, stream
from sugartag.collection.readers.lines import TextLines
from sugartag.collection.vocabulary import url_decoded
from sugartag.errors import CollectionError

_NAME = re.compile(r"yfcc100m_dataset(?:-?\d+)?(?:\.tsv|\.txt)?(?:\.bz2|\.gz)?")


@dataclass(frozen=True)
class _Fields:
    photo: int
    user: int
    title: int
    tags: int
    marker: int


_LAYOUTS = {
    23: _Fields(photo=0, user=1, title=6, tags=8, marker=22),
    25: _Fields(photo=1, user=3, title=8, tags=10, marker=24),
}


def detect(path: Path) -> bool:
    """Tell whether a file or folder is this archive."""
    return bool(_NAME.fullmatch(path.name)) or (path.is_dir() and bool(_files(path)))


def open_yfcc(path: Path) -> Archive:
    """Open one of the files, or all that lie in a folder."""
    files = _files(path) if path.is_dir() else [path]
    if not files:
        raise CollectionError(
            f"{path} has no file called yfcc100m_dataset or yfcc100m_dataset-0.bz2"
        )
    return Archive(
        table=stream(path, lambda: (row for file in files for row in _rows(file))), raw_tags=True
    )


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name))


def _rows(path: Path) -> Iterator[Row]:
    for number, line in enumerate(TextLines(path, lenient=True), 1):
        parts = line.rstrip("\r\n").split("\t")
        fields = _LAYOUTS.get(len(parts))
        if fields is None:
            raise CollectionError(
                f"{path}, line {number}: {len(parts)} fields; YFCC100M has 23 or 25 on every line"
            )
        if parts[fields.marker] == "1":
            continue
        tags = parts[fields.tags]
        yield {
            "image_id": parts[fields.photo],
            "owner": parts[fields.user],
            "tags": [url_decoded(tag) for tag in tags.split(",")] if tags else [],
            "title": url_decoded(parts[fields.title]),
        }
