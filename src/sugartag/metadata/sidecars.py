"""The files beside a picture: XMP sidecars and plain text lists of tags."""

import re
from collections.abc import Collection
from pathlib import Path

from sugartag.metadata.files import UnreadableError, whole_file
from sugartag.metadata.keywords import MAX_KEYWORDS, Metadata, keywords_of
from sugartag.metadata.xmp import MAX_PACKET_BYTES, read_xmp

MAX_TEXT_BYTES = 1 << 18
MAX_TAG_CHARACTERS = 100
"""What is longer in a text file is a sentence, not a tag."""
TEXT_SOURCE = "text file"
_ENDS = (".xmp", ".txt")
_BETWEEN_TAGS = re.compile(r"[,\r\n]")


def sidecar_names(name: str, beside: Collection[str]) -> list[str]:
    """Return which of the files beside a picture describe it, the most particular first.

    For ``photo.jpg`` they are ``photo.jpg.xmp``, ``photo.xmp``, ``photo.jpg.txt`` and
    ``photo.txt``, the ending in lower or upper case.
    """
    stems = (name, name.rpartition(".")[0])
    wanted = [f"{stem}{end}" for kind in _ENDS for stem in stems for end in (kind, kind.upper())]
    return [found for found in wanted if found in beside]


def read_sidecar(path: Path, *, root: Path | None = None) -> Metadata:
    """Return what one sidecar says; its problems carry its name."""
    try:
        if path.suffix.lower() == ".xmp":
            found = read_xmp(whole_file(path, MAX_PACKET_BYTES, root=root))
        else:
            found = read_tag_text(whole_file(path, MAX_TEXT_BYTES, root=root))
    except UnreadableError as error:
        found = Metadata(problems=(str(error),))
    named = tuple(f"{path.name}: {problem}" for problem in found.problems)
    return Metadata(
        found.keywords, found.creator, found.artist, found.title, found.rating, problems=named
    )


def read_tag_text(data: bytes) -> Metadata:
    """Return the tags of a text file: one on each line, or separated by commas."""
    if b"\0" in data:
        return Metadata(problems=("not text; it was not read",))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return Metadata(problems=("not UTF-8 text; it was not read",))
    tags = [tag for part in _BETWEEN_TAGS.split(text) if (tag := " ".join(part.split()))]
    if len(tags) > MAX_KEYWORDS:
        return Metadata(problems=(f"more than {MAX_KEYWORDS:,} tags; none was taken",))
    short = [tag for tag in tags if len(tag) <= MAX_TAG_CHARACTERS]
    problems: tuple[str, ...] = ()
    if len(short) < len(tags):
        problems = (f"longer than {MAX_TAG_CHARACTERS} characters, so no tag: left out",)
    return Metadata(tuple(keywords_of(short, TEXT_SOURCE, None)), problems=problems)
