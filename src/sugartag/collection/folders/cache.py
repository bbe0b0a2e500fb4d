"""What was read of every picture, so that a second run reads only what is new or changed."""

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sugartag.collection.companions import KNOWN_PICTURES
from sugartag.collection.folders.walk import FileState, PictureFile
from sugartag.metadata import Keyword, Metadata
from sugartag.metadata.files import UnreadableError, regular_file

MAX_LINE_BYTES = 4 << 20
_ENDS_BYTES = 1 << 16


@dataclass(frozen=True)
class Known:
    """One picture as it was read."""

    picture: PictureFile
    fingerprint: str
    """Of the picture file alone; it tells whether the pixels may have changed."""
    metadata: Metadata


def fingerprint(path: Path, *, root: Path) -> str:
    """Return a digest of a file's size and of its first and last 64 KiB; empty if unreadable."""
    try:
        with regular_file(path, root=root) as file:
            size = os.fstat(file.fileno()).st_size
            digest = hashlib.sha256(f"{size} ".encode())
            digest.update(file.read(_ENDS_BYTES))
            file.seek(max(size - _ENDS_BYTES, _ENDS_BYTES) if size > _ENDS_BYTES else 0)
            digest.update(file.read(_ENDS_BYTES))
    except UnreadableError:
        return ""
    return digest.hexdigest()


def write_known(folder: Path, known: Iterable[Known]) -> None:
    """Write what was read, one picture a line."""
    with (folder / KNOWN_PICTURES).open("w", encoding="utf-8") as file:
        for one in known:
            file.write(json.dumps(_as_json(one), ensure_ascii=False) + "\n")


def read_known(folder: Path) -> dict[str, Known]:
    """Return what an earlier run read, by path; a line that makes no sense is as if not there."""
    known: dict[str, Known] = {}
    if not (folder / KNOWN_PICTURES).is_file():
        return known
    with (folder / KNOWN_PICTURES).open("rb") as file:
        while line := file.readline(MAX_LINE_BYTES):
            try:
                one = _from_json(json.loads(line))
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
            known[one.picture.path] = one
    return known


def _as_json(known: Known) -> dict[str, Any]:
    metadata = known.metadata
    return {
        "path": known.picture.path,
        "size": known.picture.state.size,
        "mtime_ns": known.picture.state.mtime_ns,
        "fingerprint": known.fingerprint,
        "sidecars": [[one.name, one.size, one.mtime_ns] for one in known.picture.sidecars],
        "keywords": [[word.source, *word.path] for word in metadata.keywords],
        "creator": metadata.creator,
        "artist": metadata.artist,
        "title": metadata.title,
        "rating": metadata.rating,
        "problems": list(metadata.problems),
    }


def _from_json(record: dict[str, Any]) -> Known:
    path = _text(record["path"])
    name = path.rpartition("/")[2]
    metadata = Metadata(
        keywords=tuple(
            Keyword(tuple(map(_text, levels)), _text(source))
            for source, *levels in record["keywords"]
            if levels
        ),
        creator=_text(record["creator"]),
        artist=_text(record["artist"]),
        title=_text(record["title"]),
        rating=None if record["rating"] is None else int(record["rating"]),
        problems=tuple(map(_text, record["problems"])),
    )
    sidecars = tuple(FileState(_text(n), int(s), int(t)) for n, s, t in record["sidecars"])
    state = FileState(name, int(record["size"]), int(record["mtime_ns"]))
    return Known(PictureFile(path, state, sidecars), _text(record["fingerprint"]), metadata)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value
