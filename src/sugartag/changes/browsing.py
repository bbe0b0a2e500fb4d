"""Looking through the proposals of a catalogue: pages, counts and facets."""

from dataclasses import dataclass, replace
from typing import Literal

from sugartag.changes.deciding import Deciding
from sugartag.changes.selecting import Query, Selection, State, after_cursor, cursor_of
from sugartag.changes.store import Row
from sugartag.errors import SettingsError

Facet = Literal["tag", "owner", "group"]
PAGE = 60
FACETS = {
    "tag": ("tags", "tag", "p.tag"),
    "owner": ("owners", "owner", "i.owner"),
    "group": ("groups", '"group"', 'm."group"'),
}
"""Table, key, and the expression that proposals are grouped by."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One proposal, with what has become of it."""

    image: int
    """The image's number in the catalogue; ``image_id`` is its name."""
    image_id: str
    tag: str
    action: str
    probability: float
    rank: int
    """Its place among the image's proposals of the same action, from 1."""
    reason: str
    run_id: str
    verdict: str | None
    """The decision that stands: accept, reject, skip or None."""
    version: int
    """Give it to ``decide(expected=...)``; 0 where nothing was ever decided."""
    given: bool
    """Whether the image has the tag at present."""
    source: str | None
    """Where a tag that the image has comes from: person, import, model or reviewer."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some proposals, and where the next ones begin."""

    proposals: tuple[Proposal, ...]
    cursor: str | None
    """Give it to ``proposals(cursor=...)`` for the next page; None at the end."""


@dataclass(frozen=True, slots=True)
class FacetCount:
    """How many proposals fall under one name."""

    name: str
    n: int
    n_decided: int
    """Those of them that were accepted or rejected."""


class Browsing(Deciding):
    """Reads pages and counts; each answer comes from an index."""

    def latest_run(self) -> str | None:
        """Return the id of the run of proposals that was loaded last, or None."""
        row = self.first(
            "SELECT run_id FROM runs WHERE kind = 'suggest' AND state = 'ready' "
            "ORDER BY created DESC, run DESC LIMIT 1"
        )
        return None if row is None else str(row[0])

    def proposals(
        self, selection: Selection | None = None, *, cursor: str | None = None, limit: int = PAGE
    ) -> Page:
        """Return a page: one action after the other, as they are listed in the selection.

        Doubts come by rising probability, everything else by falling probability. With a tag and
        one action this is the grid of a review by tag; with an image it is all about that image.
        """
        asked = selection or Selection()
        run = self.run_number(asked.run)
        if run is None:
            return Page((), None)
        start = after_cursor(cursor, asked.actions)
        found: list[Row] = []
        for action in asked.actions[asked.actions.index(start.action) if start else 0 :]:
            here = start if start is not None and start.action == action else None
            sql, values = Query(asked, run, action).page(here, limit + 1 - len(found))
            found += self.all(sql, values)
            if len(found) > limit:
                break
        page = [_proposal(row) for row in found[:limit]]
        last = found[limit - 1] if len(found) > limit else None
        return Page(tuple(page), cursor_of(last[3], last[4], *last[-2:]) if last else None)

    def count(self, selection: Selection | None = None) -> int:
        """Return how many proposals are selected."""
        asked = selection or Selection()
        # Those that are still open may be most of a large table; those that are not are few.
        if asked.state in ("open", "undecided"):
            others: State = "decided" if asked.state == "open" else "touched"
            return self.count(replace(asked, state="any")) - self.count(
                replace(asked, state=others)
            )
        run = self.run_number(asked.run)
        if run is None:
            return 0
        counts = [Query(asked, run, action).counted() for action in asked.actions]
        return sum(int(self.one(sql, values)[0]) for sql, values in counts)

    def counts_above(
        self, threshold: float, *, tag: str | None = None, run: str | None = None
    ) -> dict[str, int]:
        """Return how many additions there are from a probability on, and doubts up to it.

        Keys: ``add`` and ``doubt``, and of those neither accepted nor rejected ``add_open`` and
        ``doubt_open``.
        """
        add = Selection(("add",), tag=tag, run=run, least=threshold)
        doubt = Selection(("doubt",), tag=tag, run=run, most=threshold)
        return {
            "add": self.count(add),
            "add_open": self.count(replace(add, state="open")),
            "doubt": self.count(doubt),
            "doubt_open": self.count(replace(doubt, state="open")),
        }

    def histogram(self, selection: Selection | None = None, *, bands: int = 20) -> list[int]:
        """Return how many of the selected proposals lie in each band of probability."""
        asked, found = selection or Selection(), [0] * bands
        run = self.run_number(asked.run)
        for action in asked.actions if run is not None else ():
            sql, values = Query(asked, run or 0, action).counted(
                f"min(CAST(p.probability * {int(bands)} AS INTEGER), {int(bands) - 1})"
            )
            for band, n in self.all(sql, values):
                found[band] += n
        return found

    def facets(
        self, facet: Facet, selection: Selection | None = None, *, limit: int = 200
    ) -> list[FacetCount]:
        """Return the names with the most proposals: tags, owners or groups of the selection."""
        if facet not in FACETS:
            raise SettingsError(f"a facet is one of {', '.join(FACETS)}, not {facet!r}")
        asked = selection or Selection()
        run = self.run_number(asked.run)
        if run is None:
            return []
        n = self._facet_counts(facet, asked, run)
        decided = self._grouped(facet, replace(asked, state="decided"), run) if n else {}
        best = sorted(n, key=lambda key: (-n[key], key))[:limit]
        table, key, _ = FACETS[facet]
        names: dict[int, str] = dict(
            self.all(
                f"SELECT {key}, name FROM {table} WHERE {key} IN (SELECT value FROM json_each(?))",
                (f"[{','.join(map(str, best))}]",),
            )
        )
        return [FacetCount(names[one], n[one], decided.get(one, 0)) for one in best]

    def _facet_counts(self, facet: Facet, asked: Selection, run: int) -> dict[int, int]:
        if asked != Selection(asked.actions, run=asked.run):
            return self._grouped(facet, asked, run)
        marks = ",".join("?" * len(asked.actions))
        return dict(
            self.all(
                "SELECT key, sum(n) FROM proposal_counts "
                f"WHERE run = ? AND facet = ? AND action IN ({marks}) GROUP BY key",
                (run, facet, *asked.actions),
            )
        )

    def _grouped(self, facet: Facet, asked: Selection, run: int) -> dict[int, int]:
        found: dict[int, int] = {}
        for action in asked.actions:
            sql, values = Query(asked, run, action, facet=facet).counted(FACETS[facet][2])
            for key, n in self.all(sql, values):
                if key is not None:
                    found[key] = found.get(key, 0) + n
        return found

    def run_number(self, run_id: str | None) -> int | None:
        """Return the number of a run of proposals; None where there is no run at all."""
        wanted = self.latest_run() if run_id is None else run_id
        if wanted is None:
            return None
        row = self.first("SELECT run FROM runs WHERE run_id = ? AND kind = 'suggest'", (wanted,))
        if row is None:
            raise SettingsError(f"there is no run of proposals {wanted!r} in {self.path}")
        return int(row[0])


def _proposal(row: Row) -> Proposal:
    image, image_id, tag, action, probability, rank, reason, run_id, verdict, version = row[:10]
    return Proposal(
        image=image,
        image_id=image_id,
        tag=tag,
        action=action,
        probability=probability,
        rank=rank,
        reason=reason,
        run_id=run_id,
        verdict=verdict,
        version=version,
        given=bool(row[10]),
        source=row[11],
    )
