"""Filling a catalogue: a collection's images and tags, and the proposals of a run."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby, islice
from json import dumps
from operator import attrgetter
from typing import Any, Protocol

from sugartag.changes.store import Row, Store, now
from sugartag.collection.model import Collection
from sugartag.collection.vocabulary import clean
from sugartag.errors import CollectionError

ROWS_PER_WRITE = 20_000
"""Rows of one transaction: others can write in between."""
IMAGES_AT_ONCE = 4096
ACTIONS = ("add", "keep", "doubt")


class ChangeLike(Protocol):
    """One proposed change, as :class:`sugartag.Change` is one."""

    @property
    def image_id(self) -> str:
        """The image."""

    @property
    def tag(self) -> str:
        """The tag's name."""

    @property
    def action(self) -> str:
        """One of add, keep and doubt."""

    @property
    def score(self) -> float:
        """The probability that the tag belongs."""

    @property
    def reason(self) -> str:
        """Why, in a line."""

    @property
    def run_id(self) -> str:
        """The run it comes from."""


@dataclass(frozen=True)
class Loaded:
    """What was taken into the catalogue."""

    run_id: str
    counts: Mapping[str, int]
    """Proposals by action."""


class Loading(Store):
    """Takes collections and change sets into the catalogue."""

    def set_fact(self, name: str, value: str) -> None:
        """Keep a fact about the catalogue, such as ``images_root``."""
        with self.writing(durable=False) as connection:
            connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def fact(self, name: str) -> str | None:
        """Return a fact about the catalogue, or None."""
        found = self.first("SELECT value FROM facts WHERE name = ?", (name,))
        return None if found is None else str(found[0])

    def load_collection(self, collection: Collection, *, at: str | None = None) -> int:
        """Take in the images that the catalogue does not have yet, and return how many.

        Their tags count as given by the image's owner, or as imported where nobody knows the
        owner. Images that are there already keep their tags: those may have been changed here.
        """
        if collection.images_root is not None:
            self.set_fact("images_root", collection.images_root)
        owner = self._load_groups(collection)
        tag = self._numbers("tags", "tag", collection.tag_names)
        ids, moment = collection.ids, at or now()
        texts = [collection.texts_of(name) for name in ("paths", "titles")]
        loaded = 0
        for block in collection.blocks(IMAGES_AT_ONCE):
            names = list(ids[block])
            owners = [owner.get(number) for number in collection.owner[block].tolist()]
            optional = [["" for _ in names] if t is None else list(t[block]) for t in texts]
            tags = collection.tags_of(block)
            with self.writing(durable=False) as connection:
                known = self._known_images(names)
                fresh = [k for k, image_id in enumerate(names) if image_id not in known]
                connection.executemany(
                    "INSERT INTO images (image_id, path, owner, title) VALUES (?, ?, ?, ?)",
                    [
                        (names[k], optional[0][k] or None, owners[k], optional[1][k] or None)
                        for k in fresh
                    ],
                )
                known = self._known_images(names[k] for k in fresh)
                connection.executemany(
                    "INSERT INTO image_tags SELECT ?1, ?2, iif(?3 IS NULL, 'import', 'person'), "
                    "NULL, (SELECT name FROM owners WHERE owner = ?3), ?4",
                    (
                        (known[names[k]], tag[column], owners[k], moment)
                        for k in fresh
                        for column in tags.indices[tags.indptr[k] : tags.indptr[k + 1]].tolist()
                    ),
                )
            loaded += len(fresh)
        self.connection.execute("ANALYZE")
        return loaded

    def load_changes(
        self,
        changes: Iterable[ChangeLike],
        *,
        method: str | None = None,
        settings: Mapping[str, Any] | None = None,
        created: str | None = None,
    ) -> list[Loaded]:
        """Take in proposals of one or more runs; a run that is there already is replaced.

        All changes of a run must be given at once. Until all are there, the run is not the
        latest one.
        """
        runs: dict[str, int] = {}
        counts: dict[str, Counter[str]] = {}
        ranks: Counter[tuple[int, int, str]] = Counter()
        for run_id, some in groupby(changes, key=attrgetter("run_id")):
            if run_id not in runs:
                runs[run_id] = self._begin_run(run_id, method, settings or {}, created)
                counts[run_id] = Counter(dict.fromkeys(ACTIONS, 0))
            while part := list(islice(some, ROWS_PER_WRITE)):
                counts[run_id].update(self._add_proposals(runs[run_id], part, ranks))
        for run in runs.values():
            self._finish_run(run)
        self.connection.execute("ANALYZE")
        return [Loaded(run_id, counts[run_id]) for run_id in runs]

    def _begin_run(
        self, run_id: str, method: str | None, settings: Mapping[str, Any], created: str | None
    ) -> int:
        with self.writing(durable=False) as connection:
            taken = self.first("SELECT run, kind FROM runs WHERE run_id = ?", (run_id,))
            if taken is not None and taken[1] != "suggest":
                raise CollectionError(
                    f"the run {run_id!r} of this catalogue is one of {taken[1]}, not of proposals; "
                    "give the change set another run_id"
                )
            about = (method, dumps(dict(settings)), created or now())
            if taken is not None:
                for table in ("proposals", "proposal_counts"):
                    connection.execute(f"DELETE FROM {table} WHERE run = ?", (taken[0],))
                connection.execute(
                    "UPDATE runs SET state = 'loading', method = ?, settings = ?, created = ? "
                    "WHERE run = ?",
                    (*about, taken[0]),
                )
                return int(taken[0])
            made = connection.execute(
                "INSERT INTO runs (run_id, kind, state, method, settings, created) "
                "VALUES (?, 'suggest', 'loading', ?, ?, ?)",
                (run_id, *about),
            )
            return int(made.lastrowid or 0)

    def _add_proposals(
        self, run: int, changes: list[ChangeLike], ranks: Counter[tuple[int, int, str]]
    ) -> Counter[str]:
        image = self._known_images([clean(one.image_id) for one in changes])
        tag = dict(enumerate(self._numbers("tags", "tag", [clean(c.tag) for c in changes])))
        rows: list[Row] = []
        for place, one in enumerate(changes):
            number = image.get(clean(one.image_id))
            if number is None:
                raise CollectionError(
                    f"the run {one.run_id!r} is about an image {one.image_id!r} that the "
                    "catalogue does not have; load the collection it was made for"
                )
            ranks[run, number, one.action] += 1
            rank = ranks[run, number, one.action]
            rows.append((run, number, tag[place], one.action, float(one.score), rank, one.reason))
        with self.writing(durable=False) as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO proposals "
                "(run, image, tag, action, probability, rank, reason) VALUES (?, ?, ?, ?, ?, ?, ?)",
                rows,
            )
        return Counter(row[3] for row in rows)

    def _finish_run(self, run: int) -> None:
        """Count what the run proposes by facet, and make it the latest one."""
        owned = "JOIN images i USING (image)"
        joins = {
            "tag": ("p.tag", ""),
            "owner": ("i.owner", owned),
            "group": ('m."group"', f"{owned} JOIN memberships m ON m.owner = i.owner"),
        }
        with self.writing(durable=False) as connection:
            for facet, (key, join) in joins.items():
                connection.execute(
                    f"INSERT INTO proposal_counts SELECT ?, ?, {key}, p.action, count(*) "
                    f"FROM proposals p {join} WHERE p.run = ? AND {key} IS NOT NULL "
                    f"GROUP BY {key}, p.action",
                    (run, facet, run),
                )
            connection.execute("UPDATE runs SET state = 'ready' WHERE run = ?", (run,))

    def _load_groups(self, collection: Collection) -> dict[int, int]:
        """Take in owners, groups and memberships; return the number of each owner."""
        owners = self._numbers("owners", "owner", collection.owner_names)
        groups = self._numbers("groups", '"group"', collection.group_names)
        pairs = collection.groups.tocoo()
        with self.writing(durable=False) as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO memberships VALUES (?, ?)",
                [
                    (groups[group], owners[owner])
                    for owner, group in zip(pairs.row.tolist(), pairs.col.tolist(), strict=True)
                ],
            )
        return dict(enumerate(owners))

    def tag_numbers(self, names: Iterable[str]) -> dict[str, int]:
        """Return the number of each tag; a new tag is taken up."""
        wanted = list(dict.fromkeys(names))
        return dict(zip(wanted, self._numbers("tags", "tag", wanted), strict=True))

    def _numbers(self, table: str, key: str, names: Iterable[str]) -> list[int]:
        """Return the number of each name, new names being taken up."""
        wanted = list(names)
        known = self._look_up(table, key, "name", wanted)
        if fresh := [name for name in dict.fromkeys(wanted) if name not in known]:
            with self.writing(durable=False) as connection:
                connection.executemany(
                    f"INSERT OR IGNORE INTO {table} (name) VALUES (?)", [(n,) for n in fresh]
                )
            known |= self._look_up(table, key, "name", fresh)
        return [known[name] for name in wanted]

    def _known_images(self, ids: Iterable[str]) -> dict[str, int]:
        return self._look_up("images", "image", "image_id", ids)

    def _look_up(self, table: str, key: str, name: str, names: Iterable[str]) -> dict[str, int]:
        """Return the numbers of the names that a table has."""
        wanted = dumps(list(dict.fromkeys(names)), ensure_ascii=False)
        return dict(
            self.all(
                f"SELECT {name}, {key} FROM {table} "
                f"WHERE {name} IN (SELECT value FROM json_each(?))",
                (wanted,),
            )
        )
