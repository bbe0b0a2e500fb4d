r"""NUS-WIDE and NUS-WIDE-128, as they are unpacked from their archives.

::

    ImageList/Imagelist.txt               one picture a line: actor\0001_2124494179.jpg
    NUS_WID_Tags/All_Tags.txt             one picture a line: photo id, then its tags
    NUS_WID_Tags/Final_Tag_List.txt       the 5,018 tags that are kept
    Groundtruth/AllLabels/Labels_*.txt    a file for each concept, 0 or 1 a line
    users.txt                             photo id, user id (more columns are ignored)
    groups.txt                            user id, group

All but the last two come from the site of NUS-WIDE and stand in the order of the image list.
NUS-WIDE-128 adds 47 concepts in files of the same kind.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sugartag.collection.archives.archive import Archive, Row, find, required, stream
from sugartag.collection.readers.lines import TextLines
from sugartag.errors import CollectionError

SITE = "the NUS-WIDE site (lms.comp.nus.edu.sg, NUS-WIDE)"
_LABELS = re.compile(r"Labels_(.+)\.txt")
_SPLIT = re.compile(r"_(?:Train|Test)\.txt$")
_PHOTO = re.compile(r"(\d+)\.\w+$")
_SPLIT_FOLDER = "TrainTestLabels"


def detect(path: Path) -> bool:
    """Tell whether a folder is this archive."""
    return path.is_dir() and find(path, "All_Tags.txt") is not None


def open_nuswide(path: Path) -> Archive:
    """Open the archive unpacked in a folder."""
    images = required(path, "Imagelist.txt", f"ImageList.zip of {SITE}")
    tags = required(path, "All_Tags.txt", f"NUS_WID_Tags.zip of {SITE}")
    paths = [line.strip().replace("\\", "/") for line in TextLines(images) if line.strip()]
    ids = _ids(images, paths)
    kept = _words(find(path, "Final_Tag_List.txt"))
    owners = _users(find(path, "users.txt"))
    groups = find(path, "groups.txt")
    labels = _labels(path)

    def rows() -> Iterator[Row]:
        lines = TextLines(tags, lenient=True)
        number = 0
        for number, line in enumerate(lines, 1):
            if number > len(paths):
                break
            photo, *words = line.split() or [""]
            if photo != ids[number - 1].partition("-")[0]:
                raise CollectionError(
                    f"{tags}, line {number}: photo {photo!r}, {images} has {paths[number - 1]}; "
                    "take both from one version of the archive"
                )
            yield {
                "image_id": ids[number - 1],
                "path": paths[number - 1],
                "owner": owners.get(photo, ""),
                "tags": words if kept is None else [word for word in words if word in kept],
            }
        if number != len(paths):
            raise CollectionError(f"{tags} has {number:,} lines, {images} has {len(paths):,}")

    return Archive(
        table=stream(tags, rows, total=len(paths)),
        truth=stream(labels[0].parent, lambda: _truth(labels, ids)) if labels else None,
        groups=stream(groups, lambda: _groups(groups)) if groups else None,
        images_root=find(path, "Flickr"),
    )


def _ids(images: Path, paths: list[str]) -> list[str]:
    """Return the photo ids; one that a line repeats gets its number of repetitions."""
    seen: dict[str, int] = {}
    ids = []
    for number, path in enumerate(paths, 1):
        found = _PHOTO.search(path)
        if found is None:
            raise CollectionError(f"{images}, line {number}: {path!r} does not end with a photo id")
        photo = found[1]
        seen[photo] = seen.get(photo, 0) + 1
        ids.append(photo if seen[photo] == 1 else f"{photo}-{seen[photo]}")
    if not ids:
        raise CollectionError(f"{images} is empty")
    return ids


def _words(path: Path | None) -> frozenset[str] | None:
    """Return the words that stand first on the lines of a file."""
    if path is None:
        return None
    return frozenset(line.split()[0] for line in TextLines(path, lenient=True) if line.strip())


def _users(path: Path | None) -> dict[str, str]:
    if path is None:
        return {}
    found = {}
    for line in TextLines(path, lenient=True):
        words = line.split(None, 2)
        if len(words) > 1:
            found[words[0]] = words[1]
    return found


def _groups(path: Path) -> Iterator[Row]:
    for number, line in enumerate(TextLines(path, lenient=True), 1):
        words = line.split(None, 1)
        if len(words) == 1:
            raise CollectionError(f"{path}, line {number}: a user id without a group")
        if words:
            yield {"owner": words[0], "group": words[1].strip()}


def _labels(root: Path) -> list[Path]:
    """List the files of the concepts; those of the train and test parts say the same again."""
    folder = find(root, "AllLabels")
    inside = sorted((folder or root).glob("Labels_*.txt"))
    return [path for path in inside if not _SPLIT.search(path.name)]


def _truth(labels: list[Path], ids: list[str]) -> Iterator[Row]:
    for path in labels:
        found = _LABELS.fullmatch(path.name)
        concept = found[1] if found else path.stem
        for row in _positive(path, len(ids)):
            yield {"image_id": ids[row], "concept": concept}


def _positive(path: Path, n_images: int) -> list[int]:
    if path.stat().st_size > 8 * n_images + 1024:
        raise CollectionError(f"{path} is too large for {n_images:,} lines of 0 or 1")
    values = path.read_bytes().split()
    if len(values) != n_images:
        raise CollectionError(f"{path} has {len(values):,} lines, not {n_images:,}")
    odd = set(values) - {b"0", b"1"}
    if odd:
        line = 1 + next(index for index, value in enumerate(values) if value in odd)
        raise CollectionError(f"{path}, line {line}: {values[line - 1]!r} is neither 0 nor 1")
    return [int(row) for row in np.flatnonzero(np.array(values) == b"1")]
