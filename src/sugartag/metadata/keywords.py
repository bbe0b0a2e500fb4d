"""What is read from the metadata of a picture."""

from collections.abc import Iterable
from dataclasses import dataclass, field

MAX_KEYWORDS = 2_000
"""More than this are no one's description of a picture; none of them is taken."""
MAX_KEYWORD_CHARACTERS = 500
MAX_LEVELS = 32
INTERNAL_ROOTS = ("_Digikam_Internal_Tags_", "darktable")
"""What these programs write above tags of their own: labels and histories, not keywords."""


@dataclass(frozen=True)
class Keyword:
    """A keyword with the levels above it, and the field that it stood in."""

    path: tuple[str, ...]
    """``("places", "usa", "ohio")``; one level where no hierarchy is given."""
    source: str

    @property
    def name(self) -> str:
        """The last level, which is the tag."""
        return self.path[-1]


@dataclass(frozen=True)
class Metadata:
    """What the fields of one file say, or of a picture and its sidecars together."""

    keywords: tuple[Keyword, ...] = ()
    creator: str = ""
    """Who made the picture: XMP dc:creator, or the IPTC by-line."""
    artist: str = ""
    """EXIF Artist, which many cameras fill in."""
    title: str = ""
    rating: int | None = None
    """-1 (rejected) to 5."""
    problems: tuple[str, ...] = field(default=())
    """What could not be read, and why: one line each."""


def keyword_of(text: str, source: str, separator: str | None) -> Keyword | None:
    """Return the keyword that a field holds, or None if it holds none."""
    parts = text.split(separator) if separator else [text]
    path = tuple(level for part in parts if (level := part.strip()))
    internal = len(path) > 1 and path[0] in INTERNAL_ROOTS
    too_long = len(path) > MAX_LEVELS or len(text) > MAX_KEYWORD_CHARACTERS
    return None if not path or internal or too_long else Keyword(path, source)


def keywords_of(texts: Iterable[str], source: str, separator: str | None) -> list[Keyword]:
    """Return the keywords that the texts of one field hold."""
    found = (keyword_of(text, source, separator) for text in texts)
    return [keyword for keyword in found if keyword is not None]


def merged(parts: Iterable[Metadata]) -> Metadata:
    """Return all keywords of the parts once each; of the rest, the first part that says it."""
    parts = list(parts)
    keywords: dict[tuple[str, ...], Keyword] = {}
    for part in parts:
        for keyword in part.keywords:
            keywords.setdefault(keyword.path, keyword)
    return Metadata(
        keywords=tuple(keywords.values()),
        creator=next((part.creator for part in parts if part.creator), ""),
        artist=next((part.artist for part in parts if part.artist), ""),
        title=next((part.title for part in parts if part.title), ""),
        rating=next((part.rating for part in parts if part.rating is not None), None),
        problems=tuple(problem for part in parts for problem in part.problems),
    )
