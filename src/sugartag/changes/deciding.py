"""What reviewers decide: a log that is only appended to, with what stands at present.

A verdict is about a tag of an image, whatever was proposed: ``accept`` says that the tag belongs,
``reject`` that it does not, ``skip`` that the reviewer cannot say. So a doubt is confirmed by
``reject`` and dismissed by ``accept``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from sugartag.changes.loading import Loading
from sugartag.changes.store import Row, now
from sugartag.collection.vocabulary import clean
from sugartag.errors import CollectionError, ConflictError, SettingsError

Verdict = Literal["accept", "reject", "skip"]
VERDICTS: tuple[str, ...] = get_args(Verdict)
LONGEST_NAME = 200
"""Characters of a reviewer's name or of a tag typed by one."""


@dataclass(frozen=True, slots=True)
class Decided:
    """A row of the log."""

    decision: int
    """Its number; they ascend in the order in which decisions were made."""
    image_id: str
    tag: str
    verdict: str
    """``accept``, ``reject``, ``skip``, or ``undo`` for the taking back of another row."""
    reviewer: str
    at: str
    batch: int
    """The first decision of those that were made together."""
    undoes: int | None
    stands: int | None
    """The decision that stands after this one; None where nothing does."""


_LOG = (
    "SELECT d.decision, i.image_id, t.name, d.verdict, d.reviewer, d.at, d.batch, d.undoes, "
    "CASE WHEN d.verdict = 'undo' THEN d.stands ELSE d.decision END "
    "FROM decisions d JOIN images i USING (image) JOIN tags t USING (tag)"
)


class Deciding(Loading):
    """Keeps decisions, and takes them back."""

    def decide(
        self,
        image_id: str,
        tag: str,
        verdict: Verdict,
        *,
        reviewer: str,
        expected: int | None = None,
    ) -> Decided:
        """Append a decision about one tag of one image.

        With ``expected``, the version that the reviewer saw (0 where nothing was decided), the
        decision is refused with :class:`ConflictError` if somebody decided since. Without it the
        last decision stands. Either way the log keeps all.
        """
        decided = self.decide_all(
            [(image_id, tag, verdict)],
            reviewer=reviewer,
            expected=None if expected is None else [expected],
        )
        return decided[0]

    def decide_all(
        self,
        decisions: Iterable[tuple[str, str, Verdict]],
        *,
        reviewer: str,
        expected: Sequence[int] | None = None,
    ) -> list[Decided]:
        """Append several decisions as one batch: all of them are kept, or none."""
        asked = [(clean(image), clean(tag), verdict) for image, tag, verdict in decisions]
        _check(asked, reviewer)
        with self.writing() as connection:
            image = self._known_images(one[0] for one in asked)
            known = self._look_up("tags", "tag", "name", [one[1] for one in asked])
            _check_new_tags(one[1] for one in asked if one[1] not in known)
            tag = self._numbers("tags", "tag", [one[1] for one in asked])
            batch, moment = int(self.one(_NEXT)[0]), now()
            made = []
            for place, (image_id, name, verdict) in enumerate(asked):
                if image_id not in image:
                    raise CollectionError(
                        f"the catalogue has no image {image_id!r}; check the name"
                    )
                where = (image[image_id], tag[place])
                if expected is not None:
                    self._check_version(where, expected[place], f"{name!r} of image {image_id!r}")
                row = (*where, verdict, reviewer, moment, batch)
                number = connection.execute(_APPEND, (*row, None, None)).lastrowid or 0
                made.append(
                    Decided(number, image_id, name, verdict, reviewer, moment, batch, None, number)
                )
        return made

    def undo_decision(self, decision: int | None = None, *, reviewer: str) -> list[Decided]:
        """Take back a decision, and all that were made together with it.

        Without a number it is the reviewer's last one that stands. What stood before stands
        again. Raises :class:`ConflictError` where somebody decided since: that is not undone.
        """
        with self.writing() as connection:
            batch = self._batch_to_undo(decision, reviewer)
            rows = self.all(
                "SELECT d.decision, d.image, d.tag, i.image_id, t.name FROM decisions d "
                "JOIN images i USING (image) JOIN tags t USING (tag) "
                "WHERE d.batch = ? AND d.verdict <> 'undo' ORDER BY d.decision DESC",
                (batch,),
            )
            first, moment, made = int(self.one(_NEXT)[0]), now(), []
            for number, image, tag, image_id, name in rows:
                stands = self._stood_before(number, image, tag, f"{name!r} of image {image_id!r}")
                row = (image, tag, "undo", reviewer, moment, first, number, stands)
                new = connection.execute(_APPEND, row).lastrowid or 0
                made.append(
                    Decided(new, image_id, name, "undo", reviewer, moment, first, number, stands)
                )
        return made

    def decision_log(
        self, image_id: str | None = None, tag: str | None = None, *, after: int = 0
    ) -> list[Decided]:
        """Return the log in order, of one image or one tag of it if asked, after a number."""
        where, values = ["d.decision > ?"], [str(after)]
        for column, value in (("i.image_id", image_id), ("t.name", tag)):
            if value is not None:
                where.append(f"{column} = ?")
                values.append(value)
        sql = f"{_LOG} WHERE {' AND '.join(where)} ORDER BY d.decision"
        return [Decided(*row) for row in self.all(sql, [int(values[0]), *values[1:]])]

    def standing(self, image_id: str, tag: str) -> tuple[str | None, int]:
        """Return the verdict that stands about a tag of an image, and its version."""
        row = self.first(
            "SELECT verdict, version FROM decided "
            "WHERE image = (SELECT image FROM images WHERE image_id = ?) "
            "AND tag = (SELECT tag FROM tags WHERE name = ?)",
            (image_id, tag),
        )
        return (None, 0) if row is None else (row[0], int(row[1]))

    def _check_version(self, where: Row, expected: int, what: str) -> None:
        row = self.first("SELECT version FROM decided WHERE image = ? AND tag = ?", where)
        found = 0 if row is None else int(row[0])
        if found != expected:
            (who,) = self.one("SELECT reviewer FROM decisions WHERE decision = ?", (found,))
            raise ConflictError(f"{what} was decided by {who} meanwhile; look at it again")

    def _batch_to_undo(self, decision: int | None, reviewer: str) -> int:
        if decision is None:
            row = self.first(
                "SELECT batch FROM decisions d WHERE reviewer = ? AND verdict <> 'undo' "
                "AND NOT EXISTS (SELECT 1 FROM decisions u WHERE u.undoes = d.decision) "
                "ORDER BY decision DESC LIMIT 1",
                (reviewer,),
            )
            if row is None:
                raise CollectionError(f"{reviewer} has no decision to undo")
            return int(row[0])
        row = self.first("SELECT batch, verdict FROM decisions WHERE decision = ?", (decision,))
        if row is None or row[1] == "undo":
            raise CollectionError(f"there is no decision {decision} to undo; check the number")
        return int(row[0])

    def _stood_before(self, decision: int, image: int, tag: int, what: str) -> int | None:
        """Return what stood before a decision that stands now."""
        version, stands = self.one(
            "SELECT version, decision FROM decided WHERE image = ? AND tag = ?", (image, tag)
        )
        if stands != decision:
            (who,) = self.one("SELECT reviewer FROM decisions WHERE decision = ?", (version,))
            raise ConflictError(f"{what} was decided again by {who}; undo that first")
        row = self.first(
            "SELECT CASE WHEN verdict = 'undo' THEN stands ELSE decision END FROM decisions "
            "WHERE image = ? AND tag = ? AND decision < ? ORDER BY decision DESC LIMIT 1",
            (image, tag, decision),
        )
        return None if row is None else row[0]


_NEXT = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'decisions'), 0) + 1"
_APPEND = (
    "INSERT INTO decisions (image, tag, verdict, reviewer, at, batch, undoes, stands) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)


def _check(asked: Sequence[tuple[str, str, str]], reviewer: str) -> None:
    if not asked:
        raise CollectionError("nothing was decided; name an image, a tag and a verdict")
    if not reviewer.strip() or len(reviewer) > LONGEST_NAME:
        raise SettingsError("a decision needs the name of its reviewer, of 1 to 200 characters")
    for _, _, verdict in asked:
        if verdict not in VERDICTS:
            raise SettingsError(f"a verdict is one of {', '.join(VERDICTS)}, not {verdict!r}")


def _check_new_tags(names: Iterable[str]) -> None:
    for name in names:
        if not name or len(name) > LONGEST_NAME or not name.isprintable():
            raise SettingsError(
                f"{name[:LONGEST_NAME]!r} cannot be a tag; "
                "tags have 1 to 200 characters that can be printed"
            )
