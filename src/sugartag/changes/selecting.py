"""Which proposals are asked for, and the SQL that finds them by an index."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from sugartag.errors import SettingsError

State = Literal[
    "any",
    "open",
    "undecided",
    "touched",
    "decided",
    "accepted",
    "rejected",
    "skipped",
    "pending",
]
STATES: dict[str, str] = {
    "any": "1",
    "open": "(d.verdict IS NULL OR d.verdict = 'skip')",
    "undecided": "d.verdict IS NULL",
    "touched": "d.verdict IS NOT NULL",
    "decided": "d.verdict IN ('accept', 'reject')",
    "accepted": "d.verdict = 'accept'",
    "rejected": "d.verdict = 'reject'",
    "skipped": "d.verdict = 'skip'",
    "pending": "((d.verdict = 'accept' AND g.image IS NULL) "
    "OR (d.verdict = 'reject' AND g.image IS NOT NULL))",
}
"""What the state of a proposal means, in SQL; ``pending`` is decided but not yet applied."""
FEW = {"touched", "decided", "accepted", "rejected", "skipped", "pending"}
"""States that are found from the decisions, which are few, and not from the proposals."""
ACTIONS = ("add", "keep", "doubt")


@dataclass(frozen=True, slots=True)
class Selection:
    """Which proposals are asked for; what is None does not matter."""

    actions: tuple[str, ...] = ("add", "doubt")
    tag: str | None = None
    image: str | None = None
    owner: str | None = None
    group: str | None = None
    run: str | None = None
    """A run id; None for the latest run of proposals."""
    least: float = 0.0
    most: float = 1.0
    """The bounds of the probability, both included."""
    state: State = "any"
    untagged: bool = False
    """Only images without any tag."""

    def __post_init__(self) -> None:
        for action in self.actions:
            if action not in ACTIONS:
                raise SettingsError(f"an action is one of {', '.join(ACTIONS)}, not {action!r}")
        if self.state not in STATES:
            raise SettingsError(f"a state is one of {', '.join(STATES)}, not {self.state!r}")


class Place(NamedTuple):
    """The last proposal of a page."""

    action: str
    probability: float
    image: int
    tag: int


def cursor_of(action: str, probability: float, image: int, tag: int) -> str:
    """Return a place as text."""
    return f"{action}:{probability!r}:{image}:{tag}"


def after_cursor(cursor: str | None, actions: tuple[str, ...]) -> Place | None:
    """Return the place that a cursor stands for."""
    if cursor is None:
        return None
    try:
        action, probability, image, tag = cursor.split(":")
        place = Place(action, float(probability), int(image), int(tag))
    except ValueError as error:
        raise SettingsError(f"{cursor[:60]!r} is not a cursor; start at the first page") from error
    if place.action not in actions:
        raise SettingsError(f"the cursor {cursor[:60]!r} is of another selection")
    return place


_COLUMNS = """p.image, i.image_id, t.name, p.action, p.probability, p.rank, p.reason,
(SELECT run_id FROM runs WHERE run = p.run), d.verdict, coalesce(d.version, 0),
g.image IS NOT NULL, g.source, p.image, p.tag"""
_OF = {
    "p": "proposals p",
    "i": "images i ON i.image = p.image",
    "t": "tags t ON t.tag = p.tag",
    "m": "memberships m ON m.owner = i.owner",
    "d": "decided d ON d.image = p.image AND d.tag = p.tag",
    "g": "image_tags g ON g.image = p.image AND g.tag = p.tag",
}


@dataclass(frozen=True, slots=True)
class Query:
    """A selection of one run and action as SQL.

    The order of the joins is fixed (CROSS JOIN): whichever table narrows the selection most comes
    first, and the others are looked up by their keys.
    """

    asked: Selection
    run: int
    action: str
    facet: str | None = None

    def page(self, after: Place | None, limit: int) -> tuple[str, list[Any]]:
        """Return the query for a page, in order, after a place."""
        rising = self.action == "doubt"
        where, values = self._where()
        if after is not None:
            beyond, tie = (">=", "<") if rising else ("<=", ">")
            where += (
                f" AND p.probability {beyond} ? AND (p.probability <> ? "
                f"OR (p.image, p.tag) {tie} (?, ?))"
            )
            values += [after.probability, after.probability, after.image, after.tag]
        direction = ("ASC", "DESC") if rising else ("DESC", "ASC")
        order = f"p.probability {direction[0]}, p.image {direction[1]}, p.tag {direction[1]}"
        sql = f"SELECT {_COLUMNS} {self._from('itdg')} WHERE {where} ORDER BY {order} LIMIT ?"
        return sql, [*values, limit]

    def counted(self, by: str | None = None) -> tuple[str, list[Any]]:
        """Return the query for how many there are, in all or by an expression."""
        where, values = self._where()
        needed = self._needed() + {"owner": "i", "group": "im"}.get(self.facet or "", "")
        what, group = (f"{by}, count(*)", f"GROUP BY {by}") if by else ("count(*)", "")
        return f"SELECT {what} {self._from(needed)} WHERE {where} {group}", values

    def _needed(self) -> str:
        """Return which tables the conditions speak of, besides the proposals."""
        found = "i" if self.asked.owner is not None or self.asked.group is not None else ""
        if self.asked.state != "any":
            found += "d"
        return found + ("g" if self.asked.state == "pending" else "")

    def _from(self, tables: str) -> str:
        asked, first = self.asked, "p"
        if asked.image is None and asked.state in FEW:
            first = "d"
        elif asked.image is None and asked.tag is None and "i" in self._needed():
            first = "i"
        sql = "FROM proposals p" if first == "p" else f"FROM {_OF[first].partition(' ON ')[0]}"
        if first != "p":
            sql += f" CROSS JOIN proposals p ON {_OF[first].partition(' ON ')[2]}"
        for name in dict.fromkeys(tables):
            if name != first:
                join = "LEFT JOIN" if name in "dg" else "CROSS JOIN"
                sql += f" {join} {_OF[name]}"
        return sql

    def _where(self) -> tuple[str, list[Any]]:
        asked = self.asked
        terms = ["p.run = ?", "p.action = ?", STATES[asked.state]]
        values: list[Any] = [self.run, self.action]
        if asked.least > 0 or asked.most < 1:
            terms.append("p.probability BETWEEN ? AND ?")
            values += [asked.least, asked.most]
        named = [
            ("p.tag = (SELECT tag FROM tags WHERE name = ?)", asked.tag),
            ("p.image = (SELECT image FROM images WHERE image_id = ?)", asked.image),
            ("i.owner = (SELECT owner FROM owners WHERE name = ?)", asked.owner),
            (
                'i.owner IN (SELECT owner FROM memberships WHERE "group" = '
                '(SELECT "group" FROM groups WHERE name = ?))',
                asked.group,
            ),
        ]
        for sql, value in named:
            if value is not None:
                terms.append(sql)
                values.append(value)
        if asked.untagged:
            terms.append("NOT EXISTS (SELECT 1 FROM image_tags u WHERE u.image = p.image)")
        return " AND ".join(terms), values
