"""Questions of the page that the catalogue itself does not answer yet."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from json import dumps

from sugartag.changes.catalogue import Catalogue
from sugartag.collection.decisions import Decision


@dataclass(frozen=True, slots=True)
class Totals:
    """How far the review of a run has come."""

    add: int
    doubt: int
    keep: int
    decided: int
    """Additions and doubts that were accepted or rejected."""
    pending: int
    """Decisions that change a tag and are not applied."""

    @property
    def proposed(self) -> int:
        """Additions and doubts together."""
        return self.add + self.doubt


@dataclass(frozen=True, slots=True)
class Shown:
    """What is needed to show a picture."""

    image: int
    image_id: str
    title: str
    owner: str


@dataclass(frozen=True, slots=True)
class PlainTag:
    """A tag of an image that no proposal is about: it has it, or somebody wants it to."""

    image: int
    image_id: str
    tag: str
    source: str | None
    """Where it comes from; None if it was accepted and is not applied yet."""
    verdict: str | None
    version: int


@dataclass(frozen=True, slots=True)
class TagDifference:
    """How the proposals for a tag differ between two runs."""

    tag: str
    appeared: int
    disappeared: int
    rose: int
    fell: int


def totals(catalogue: Catalogue, run: int | None) -> Totals:
    """Return how many proposals a run has, and how many are decided."""
    by_action: dict[str, int] = dict(
        catalogue.all(
            "SELECT action, sum(n) FROM proposal_counts WHERE run = ? AND facet = 'tag' "
            "GROUP BY action",
            (run,),
        )
    )
    (decided,) = catalogue.one(
        "SELECT count(*) FROM decided d JOIN proposals p ON p.run = ? AND p.image = d.image AND "
        "p.tag = d.tag WHERE d.verdict IN ('accept', 'reject') AND p.action IN ('add', 'doubt')",
        (run,),
    )
    (pending,) = catalogue.one(
        "SELECT count(*) FROM decided d LEFT JOIN image_tags g ON g.image = d.image AND "
        "g.tag = d.tag WHERE (d.verdict = 'accept' AND g.image IS NULL) "
        "OR (d.verdict = 'reject' AND g.image IS NOT NULL)"
    )
    return Totals(
        by_action.get("add", 0),
        by_action.get("doubt", 0),
        by_action.get("keep", 0),
        decided,
        pending,
    )


def covers(
    catalogue: Catalogue, run: int | None, tags: Iterable[str], action: str
) -> dict[str, int]:
    """Return for each tag the image that a run proposes it for with the most certainty."""
    order = "ASC" if action == "doubt" else "DESC"
    found = {}
    for tag in tags:
        row = catalogue.first(
            "SELECT image FROM proposals WHERE run = ? AND tag = (SELECT tag FROM tags WHERE "
            f"name = ?) AND action = ? ORDER BY probability {order}, image LIMIT 1",
            (run, tag, action),
        )
        if row is not None:
            found[tag] = int(row[0])
    return found


def decided_by_tag(catalogue: Catalogue, run: int | None, action: str) -> dict[str, int]:
    """Return how many proposals of a run were accepted or rejected, by tag."""
    return dict(
        catalogue.all(
            "SELECT t.name, count(*) FROM decided d JOIN proposals p ON p.run = ? "
            "AND p.image = d.image AND p.tag = d.tag JOIN tags t ON t.tag = d.tag "
            "WHERE d.verdict IN ('accept', 'reject') AND p.action = ? GROUP BY d.tag",
            (run, action),
        )
    )


def shown(catalogue: Catalogue, images: Iterable[int]) -> dict[int, Shown]:
    """Return title and owner of some images by number."""
    rows = catalogue.all(
        "SELECT i.image, i.image_id, coalesce(i.title, ''), coalesce(o.name, '') FROM images i "
        "LEFT JOIN owners o USING (owner) WHERE i.image IN (SELECT value FROM json_each(?))",
        (dumps(sorted(set(images))),),
    )
    return {row[0]: Shown(*row) for row in rows}


def plain_tags(catalogue: Catalogue, image: int, judged: Iterable[str]) -> list[PlainTag]:
    """Return the tags that an image has, or will have, besides those that were judged."""
    rows = catalogue.all(
        "SELECT i.image, i.image_id, t.name, g.source, d.verdict, coalesce(d.version, 0) "
        "FROM (SELECT tag FROM image_tags WHERE image = ?1 UNION "
        "SELECT tag FROM decided WHERE image = ?1 AND verdict = 'accept') s "
        "JOIN tags t ON t.tag = s.tag JOIN images i ON i.image = ?1 "
        "LEFT JOIN image_tags g ON g.image = ?1 AND g.tag = s.tag "
        "LEFT JOIN decided d ON d.image = ?1 AND d.tag = s.tag ORDER BY t.name",
        (image,),
    )
    known = set(judged)
    return [PlainTag(*row) for row in rows if row[2] not in known]


def numbers_of(catalogue: Catalogue, ids: Iterable[str]) -> dict[str, int]:
    """Return the numbers of the images with these ids, as far as there are any."""
    return dict(
        catalogue.all(
            "SELECT image_id, image FROM images WHERE image_id IN (SELECT value FROM json_each(?))",
            (dumps(list(ids), ensure_ascii=False),),
        )
    )


def path_of(catalogue: Catalogue, image: int) -> str | None:
    """Return the path of an image's file below the folder of the pictures."""
    row = catalogue.first("SELECT path FROM images WHERE image = ?", (image,))
    return None if row is None else row[0]


def examples(
    catalogue: Catalogue, run: int | None, tag: str, *, besides: int, limit: int
) -> list[int]:
    """Return images that have a tag, those first of which a run is surest."""
    rows = catalogue.all(
        "SELECT image FROM proposals WHERE run = ? AND tag = (SELECT tag FROM tags WHERE name = ?) "
        "AND action = 'keep' AND image <> ? ORDER BY probability DESC LIMIT ?",
        (run, tag, besides, limit),
    )
    return [int(row[0]) for row in rows]


def standing_decisions(catalogue: Catalogue, known_tags: Iterable[str]) -> list[Decision]:
    """Return what was accepted and rejected about tags that a model knows."""
    known = set(known_tags)
    rows = catalogue.all(
        "SELECT i.image_id, t.name, d.verdict = 'accept', d.decision FROM decided d "
        "JOIN images i USING (image) JOIN tags t USING (tag) "
        "WHERE d.verdict IN ('accept', 'reject') ORDER BY d.image, d.tag"
    )
    return [
        Decision(image_id, tag, bool(right), f"decision {number}")
        for image_id, tag, right, number in rows
        if tag in known
    ]


def n_answers(catalogue: Catalogue) -> int:
    """Return how many tags of images stand accepted or rejected, whatever was proposed."""
    return int(
        catalogue.one("SELECT count(*) FROM decided WHERE verdict IN ('accept', 'reject')")[0]
    )


def n_newer(catalogue: Catalogue, decision: int) -> int:
    """Return about how many tags something was decided, or taken back, after a decision."""
    return int(catalogue.one("SELECT count(*) FROM decided WHERE version > ?", (decision,))[0])


def last_decision(catalogue: Catalogue) -> int:
    """Return the number of the decision that was made last; 0 where there is none."""
    return int(catalogue.one("SELECT coalesce(max(decision), 0) FROM decisions")[0])


def reviewer_of(catalogue: Catalogue, decision: int) -> str | None:
    """Return who made a decision, or None if there is no such decision."""
    row = catalogue.first("SELECT reviewer FROM decisions WHERE decision = ?", (decision,))
    return None if row is None else str(row[0])


def differences(
    catalogue: Catalogue, before: int, after: int, *, limit: int
) -> Sequence[TagDifference]:
    """Return how two runs differ, by tag, those first that differ most.

    Only additions and doubts count, and only what nobody decided.
    """
    rows = catalogue.all(
        """
        WITH old AS (SELECT image, tag, action, probability FROM proposals
                     WHERE run = ?1 AND action IN ('add', 'doubt')),
             new AS (SELECT image, tag, action, probability FROM proposals
                     WHERE run = ?2 AND action IN ('add', 'doubt')),
             both AS (
                SELECT new.image, new.tag, old.image IS NULL AS appeared, 0 AS disappeared,
                       coalesce(new.probability > old.probability + 0.005, 0) AS rose,
                       coalesce(new.probability < old.probability - 0.005, 0) AS fell
                FROM new LEFT JOIN old USING (image, tag, action)
                UNION ALL
                SELECT old.image, old.tag, 0, 1, 0, 0 FROM old LEFT JOIN new
                USING (image, tag, action) WHERE new.image IS NULL)
        SELECT t.name, sum(appeared), sum(disappeared), sum(rose), sum(fell)
        FROM both JOIN tags t USING (tag)
        LEFT JOIN decided d ON d.image = both.image AND d.tag = both.tag
        WHERE coalesce(d.verdict, 'skip') = 'skip'
        GROUP BY both.tag HAVING sum(appeared + disappeared + rose + fell) > 0
        ORDER BY sum(appeared + disappeared) DESC, sum(rose + fell) DESC, t.name LIMIT ?3
        """,
        (before, after, limit),
    )
    return [TagDifference(*row) for row in rows]
