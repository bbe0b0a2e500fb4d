"""The layout of the jingwei survey: flickr81, mirflickr08, train1m and others.

::

    TextData/id.userid.lemmtags.txt         image id, user id, tags separated by spaces (by tabs)
    ImageSets/*.txt                         not needed
    FeatureData/NAME/feature.bin            float32, with shape.txt (rows, numbers) and id.txt
    Annotations/Image/NAME/CONCEPT.txt      image id and label, 1 where the concept is true
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sugartag._typing import FloatArray
from sugartag.collection.archives.archive import Archive, Row, find, stream
from sugartag.collection.archives.gathered import GatheredFeatures
from sugartag.collection.readers.lines import TextLines
from sugartag.errors import CollectionError

_TAGS = ("id.userid.lemmtags.txt", "id.userid.rawtags.txt", "id.userid.tags.txt")
MAX_ID_BYTES = 1 << 30


def detect(path: Path) -> bool:
    """Tell whether a folder is this archive."""
    return path.is_dir() and any(find(path, name) for name in _TAGS)


def open_jingwei(path: Path, features: Path | None = None, truth: Path | None = None) -> Archive:
    """Open the archive unpacked in a folder; the two others name one of several parts of it."""
    tags = next((found for name in _TAGS if (found := find(path, name))), None)
    if tags is None:
        raise CollectionError(f"{path} has no {_TAGS[0]}; it is part of the social tags of jingwei")
    features = features or _only(path, "FeatureData/*/shape.txt", "--features FOLDER")
    labels = truth or _only(path, "Annotations/Image/*/*.txt", "--truth FOLDER")

    def rows() -> Iterator[Row]:
        for number, line in enumerate(TextLines(tags, lenient=True), 1):
            parts = line.rstrip("\r\n").split("\t")
            if len(parts) != 3:
                raise CollectionError(
                    f"{tags}, line {number}: {len(parts)} fields, not image id, user id, tags"
                )
            yield {"image_id": parts[0], "owner": parts[1], "tags": parts[2].split()}

    return Archive(
        table=stream(tags, rows),
        features=None if features is None else open_bigfile(features),
        truth=None if labels is None else stream(labels, lambda: _truth(labels, tags)),
    )


def _only(root: Path, pattern: str, option: str) -> Path | None:
    """Return the folder in which files of a pattern lie; raise if there are several."""
    folders = {path.parent for depth in range(2) for path in root.glob("*/" * depth + pattern)}
    if len(folders) > 1:
        names = ", ".join(sorted(str(folder) for folder in folders))
        raise CollectionError(f"{root} has several of {pattern}: {names}; name one with {option}")
    return next(iter(folders), None)


def _truth(folder: Path, tags: Path) -> Iterator[Row]:
    known = {line.partition("\t")[0] for line in TextLines(tags, lenient=True)}
    for path in sorted(folder.glob("*.txt")):
        for number, line in enumerate(TextLines(path), 1):
            words = line.split()
            if words and (len(words) != 2 or not words[1].lstrip("+-").isdigit()):
                raise CollectionError(
                    f"{path}, line {number}: {line.strip()!r} is not an id and a label"
                )
            if words and int(words[1]) > 0 and words[0] in known:
                yield {"image_id": words[0], "concept": path.stem}


def open_bigfile(folder: Path) -> GatheredFeatures:
    """Open the features of a folder with ``feature.bin``, ``shape.txt`` and ``id.txt``."""
    for name in ("shape.txt", "id.txt", "feature.bin"):
        if not (folder / name).is_file():
            raise CollectionError(f"{folder} has no {name}; jingwei features are three files")
    words = (folder / "shape.txt").read_text(encoding="utf-8").split()
    if len(words) != 2 or not all(word.isdigit() for word in words) or "0" in words:
        raise CollectionError(f"{folder / 'shape.txt'} does not hold two numbers")
    rows, columns = map(int, words)
    size = (folder / "feature.bin").stat().st_size
    if size != 4 * rows * columns:
        raise CollectionError(
            f"{folder / 'feature.bin'} has {size:,} bytes, not {rows:,} x {columns:,} float32"
        )
    if (folder / "id.txt").stat().st_size > MAX_ID_BYTES:
        raise CollectionError(f"{folder / 'id.txt'} is larger than {MAX_ID_BYTES:,} bytes")
    ids = (folder / "id.txt").read_text(encoding="utf-8", errors="replace").split()
    if len(ids) != rows:
        raise CollectionError(f"{folder / 'id.txt'} has {len(ids):,} ids, not {rows:,}")
    row_of = {image: row for row, image in enumerate(ids)}
    return GatheredFeatures(folder, BinaryRows(folder / "feature.bin", rows, columns), row_of)


@dataclass(frozen=True)
class BinaryRows:
    """A file of float32 without a header."""

    path: Path
    rows: int
    dimensions: int

    def at(self, rows: Sequence[int]) -> FloatArray:
        """Read some rows."""
        # Mapped again, so that pages already copied do not pile up in memory.
        shape = (self.rows, self.dimensions)
        values = np.memmap(self.path, dtype="<f4", mode="r", shape=shape)
        return np.asarray(values[np.asarray(rows, dtype=np.int64)], dtype=np.float32)
