"""What is to become of the tags of images and of their sidecars, and what was done."""

from dataclasses import dataclass, field


def counted(number: int, word: str, words: str | None = None) -> str:
    """Return a number with its noun: 1 tag, 2 tags."""
    return f"{number:,} {word if number == 1 else words or word + 's'}"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a tag comes from, as a row of the catalogue holds it."""

    source: str
    run: int | None
    by: str | None
    at: str


@dataclass(frozen=True, slots=True)
class TagChange:
    """A tag to add to an image or to remove from it."""

    tag: str
    change: str
    """``add`` or ``remove``."""
    provenance: Provenance
    """Of the tag that is added, or that was there."""


@dataclass(frozen=True, slots=True)
class ImagePlan:
    """What is to become of the tags of one image."""

    image: int
    image_id: str
    path: str | None
    changes: tuple[TagChange, ...]
    """In the catalogue."""
    sidecar_add: tuple[str, ...] = ()
    sidecar_remove: tuple[str, ...] = ()
    sidecar_all: tuple[str, ...] = ()
    """What a sidecar that has to be made will hold."""


@dataclass(frozen=True, slots=True)
class FilePlan:
    """What is to become of one sidecar."""

    image: int
    path: str
    before: bytes | None
    after: bytes
    added: tuple[str, ...]
    removed: tuple[str, ...]


@dataclass
class Outcome:
    """What a run did."""

    run_id: str | None
    images: int = 0
    added: int = 0
    removed: int = 0
    sidecars: int = 0
    problems: list[str] = field(default_factory=list)
    """What could not be done, a line each."""

    def __str__(self) -> str:
        """Say in a line what was done."""
        done = f"{counted(self.added, 'tag')} added and {self.removed:,} removed"
        where = f"{counted(self.sidecars, 'sidecar')} written, {counted(self.images, 'image')}"
        return f"{self.run_id}: {done}, {where}"
