"""The pictures under a folder and the files beside them, in one order on every machine.

Links to folders are not entered, so that there are no loops and no way out; links to files are
taken if they stay inside. What is left out though it looks like a picture is said with the reason.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sugartag.metadata.sidecars import sidecar_names

PICTURES = frozenset(
    (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".tif", ".tiff", ".heic", ".heif", ".hif")
)
SKIPPED_FOLDERS = frozenset(
    ("@eaDir", "#recycle", "@Recycle", "__MACOSX", "$RECYCLE.BIN", "System Volume Information")
)
"""What file servers and systems keep beside pictures; hidden folders are skipped as well."""


@dataclass(frozen=True)
class FileState:
    """What tells whether a file has changed, without reading it."""

    name: str
    size: int
    mtime_ns: int


@dataclass(frozen=True)
class PictureFile:
    """A picture with the files beside it that describe it."""

    path: str
    """Relative to the folder, parts separated by ``/``."""
    state: FileState
    sidecars: tuple[FileState, ...]


@dataclass(frozen=True)
class LeftOut:
    """Something that is no picture of the collection, and why."""

    path: str
    reason: str


def walk(root: Path, *, without: Path | None = None) -> Iterator[PictureFile | LeftOut]:
    """Yield the pictures under a folder by path; ``without`` is a folder that is not entered."""
    real_root = os.path.realpath(root)
    skipped = None if without is None else os.path.realpath(without)
    pending = [""]
    while pending:
        below = pending.pop()
        folder = os.path.join(real_root, below)  # noqa: PTH118 - names may not be text
        if folder.rstrip(os.sep) == skipped:
            continue
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: os.fsencode(entry.name))
        except OSError as error:
            yield LeftOut(_shown(below), f"the folder cannot be read ({error.strerror})")
            continue
        names = {entry.name for entry in found}
        folders = []
        for entry in found:
            path = f"{below}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if not _is_skipped(entry.name):
                    folders.append(f"{path}/")
            elif _is_picture(entry.name) or entry.is_symlink():
                yield from _picture(entry, path, names, real_root)
        pending += reversed(folders)


def _is_skipped(name: str) -> bool:
    return name.startswith(".") or name in SKIPPED_FOLDERS


def _is_picture(name: str) -> bool:
    # Hidden files are thumbnails, or what macOS keeps of a file.
    return os.path.splitext(name)[1].lower() in PICTURES and not name.startswith(".")  # noqa: PTH122


def _picture(
    entry: os.DirEntry[str], path: str, names: set[str], root: str
) -> Iterator[PictureFile | LeftOut]:
    reason = _fault(entry, root)
    if not _is_picture(entry.name):
        # A link that is named like no picture matters only if it hides a folder.
        if _leads_to_folder(entry) and not _is_skipped(entry.name):
            yield LeftOut(_shown(path), "a link to a folder; links to folders are not followed")
    elif reason is not None:
        yield LeftOut(_shown(path), reason)
    else:
        folder = os.path.dirname(entry.path)  # noqa: PTH120
        beside = (_state(folder, name) for name in sidecar_names(entry.name, names))
        state = _state(folder, entry.name)
        if state is None:
            yield LeftOut(_shown(path), "it went away while the folder was read")
        else:
            yield PictureFile(path, state, tuple(one for one in beside if one is not None))


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # It leads to itself, or to where nothing can be read.
        return False


def _fault(entry: os.DirEntry[str], root: str) -> str | None:
    """Return why an entry is not taken, or None."""
    try:
        os.fsencode(entry.path).decode()
    except UnicodeDecodeError:
        return "its name is not UTF-8; rename it"
    try:
        if entry.is_symlink():
            real = os.path.realpath(entry.path, strict=True)
            if not real.startswith(root.rstrip(os.sep) + os.sep):
                return "a link that leads out of the folder; it is not followed"
        mode = entry.stat().st_mode
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        return f"it cannot be read ({reason})"
    if stat.S_ISDIR(mode):
        return "a link to a folder; links to folders are not followed"
    return None if stat.S_ISREG(mode) else "not a regular file"


def _state(folder: str, name: str) -> FileState | None:
    """Return the state of a file, or of a link that leads nowhere; None if there is neither."""
    path = os.path.join(folder, name)  # noqa: PTH118
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        try:
            found = os.lstat(path)
        except OSError:
            return None
    return FileState(name, found.st_size, found.st_mtime_ns)


def _shown(path: str) -> str:
    """Return a path as text, bytes that are none written out."""
    return os.fsencode(path).decode(errors="backslashreplace")
