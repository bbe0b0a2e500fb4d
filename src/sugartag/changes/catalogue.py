"""The catalogue of a collection: images, tags with their provenance, proposals, decisions.

It is one SQLite file beside the collection's folder. Any number of threads and processes may use
it at once.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sugartag.changes.browsing import Browsing
from sugartag.changes.selecting import Selection
from sugartag.changes.store import default_path
from sugartag.collection.folders import read_hierarchy
from sugartag.collection.store import open_collection
from sugartag.errors import CollectionError, StorageError
from sugartag.storage.aside import file_aside

SECONDS_TO_MAKE = 60.0
"""How long another process that makes the same catalogue is waited for."""


@dataclass(frozen=True, slots=True)
class GivenTag:
    """A tag that an image has, and where it comes from."""

    tag: str
    source: str
    """``person``, ``import``, ``model`` or ``reviewer``."""
    run_id: str | None
    """The run that proposed it, if one did."""
    by: str | None
    """The owner or the reviewer who gave it."""
    at: str


@dataclass(frozen=True, slots=True)
class ImageRecord:
    """An image with its tags."""

    image: int
    image_id: str
    path: str | None
    owner: str | None
    title: str | None
    tags: tuple[GivenTag, ...]


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run of proposals, or of changes that were applied."""

    run_id: str
    kind: str
    state: str
    method: str | None
    settings: str
    """JSON."""
    created: str
    by: str | None


@dataclass(frozen=True, slots=True)
class Pending:
    """A decision that has not been applied: a tag to add, or to remove."""

    image_id: str
    tag: str
    change: str
    """``add`` or ``remove``."""
    reviewer: str


class Catalogue(Browsing):
    """Everything that is known, proposed and decided about a collection's tags.

    Make or open it with :meth:`of_collection`, or with ``create`` and ``open``; close it, or use
    it in a ``with`` block. A method is one short transaction.
    """

    @classmethod
    def of_collection(cls, folder: Path, path: Path | None = None) -> "Catalogue":
        """Open the catalogue of a collection folder, made from the collection if there is none."""
        where = path or default_path(folder)
        if where.exists():
            return cls.open(where)
        collection = open_collection(folder)
        try:
            with file_aside(where, patience=SECONDS_TO_MAKE) as aside, cls.create(aside) as made:
                made.load_collection(collection)
                made.set_fact("hierarchy", json.dumps(read_hierarchy(folder), ensure_ascii=False))
                made.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except StorageError:
            # Somebody else may have made one meanwhile: then it is theirs that counts.
            if not where.exists():
                raise
        return cls.open(where)

    def sizes(self) -> dict[str, int]:
        """Return how many images, tags, uses of tags, owners and groups there are."""
        names = ("images", "tags", "image_tags", "owners", "groups")
        return {name: int(self.one(f"SELECT count(*) FROM {name}")[0]) for name in names}

    def runs(self, kind: str | None = None) -> list[RunRecord]:
        """Return the runs, the latest first."""
        rows = self.all(
            "SELECT run_id, kind, state, method, settings, created, by FROM runs "
            "WHERE ?1 IS NULL OR kind = ?1 ORDER BY created DESC, run DESC",
            (kind,),
        )
        return [RunRecord(*row) for row in rows]

    def image(self, image_id: str) -> ImageRecord:
        """Return one image with its tags."""
        return self._image("i.image_id = ?", image_id)

    def image_numbered(self, image: int) -> ImageRecord:
        """Return the image with this number in the catalogue."""
        return self._image("i.image = ?", image)

    def _image(self, where: str, value: object) -> ImageRecord:
        row = self.first(
            "SELECT i.image, i.image_id, i.path, o.name, i.title FROM images i "
            f"LEFT JOIN owners o USING (owner) WHERE {where}",
            (value,),
        )
        if row is None:
            raise CollectionError(f"{self.path} has no image {value!r}; check the name")
        image, name, path, owner, title = row
        return ImageRecord(image, name, path, owner, title, self.tags_of(image))

    def tags_of(self, image: int) -> tuple[GivenTag, ...]:
        """Return the tags that the image with this number has, by name."""
        rows = self.all(
            "SELECT t.name, g.source, r.run_id, g.by, g.at FROM image_tags g JOIN tags t USING "
            "(tag) LEFT JOIN runs r USING (run) WHERE g.image = ? ORDER BY t.name",
            (image,),
        )
        return tuple(GivenTag(*row) for row in rows)

    def next_image(
        self, after: int = 0, selection: Selection | None = None, *, backwards: bool = False
    ) -> ImageRecord | None:
        """Return the next image, by number, that has a selected proposal; by default an open one.

        Of the selection, the actions, the run and whether the state is open count.
        """
        asked = selection or Selection(state="open")
        run = self.run_number(asked.run)
        beyond, order = ("<", "DESC") if backwards else (">", "ASC")
        marks = ",".join("?" * len(asked.actions))
        undecided = "AND (d.verdict IS NULL OR d.verdict = 'skip')" if asked.state == "open" else ""
        row = self.first(
            "SELECT p.image FROM proposals p LEFT JOIN decided d ON d.image = p.image "
            f"AND d.tag = p.tag WHERE p.run = ? AND p.image {beyond} ? AND p.action IN ({marks}) "
            f"{undecided} ORDER BY p.image {order} LIMIT 1",
            (run, after, *asked.actions),
        )
        return None if row is None else self.image_numbered(row[0])

    def tag_uses(self, *, beginning: str = "", limit: int | None = None) -> list[tuple[str, int]]:
        """Return tags that begin like this, in any case, with how many images have them."""
        rows = self.all(
            "SELECT t.name, (SELECT count(*) FROM image_tags g WHERE g.tag = t.tag) AS n "
            "FROM tags t WHERE lower(substr(t.name, 1, length(?1))) = lower(?1) "
            "ORDER BY n DESC, t.name LIMIT ?2",
            (beginning, -1 if limit is None else limit),
        )
        return [(str(name), int(n)) for name, n in rows]

    def pending(self) -> Iterator[Pending]:
        """Yield what was decided and not yet applied: accepted additions, rejected given tags."""
        rows = self.connection.execute(
            "SELECT i.image_id, t.name, "
            "CASE d.verdict WHEN 'accept' THEN 'add' ELSE 'remove' END, s.reviewer "
            "FROM decided d JOIN images i USING (image) JOIN tags t USING (tag) "
            "JOIN decisions s ON s.decision = d.decision "
            "LEFT JOIN image_tags g ON g.image = d.image AND g.tag = d.tag "
            "WHERE (d.verdict = 'accept' AND g.image IS NULL) "
            "OR (d.verdict = 'reject' AND g.image IS NOT NULL) ORDER BY d.image, d.tag"
        )
        return (Pending(*row) for row in rows)


def catalogue_of(named: Path, path: Path | None = None) -> Catalogue:
    """Open the catalogue that a command names: the file itself, or the collection it belongs to."""
    if named.is_file():
        return Catalogue.open(named)
    return Catalogue.of_collection(named, path)
