"""Applying what was decided: to the catalogue and, if asked, to sidecars.

A tag is added if a reviewer accepted it, or if it was asked for all additions from a probability
on. A tag is removed if a reviewer rejected it, and never otherwise: no probability removes one.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from sugartag.changes.catalogue import Catalogue
from sugartag.changes.journal import Journal, Reached, go_on, only_one
from sugartag.changes.plans import ImagePlan, Outcome, Provenance, TagChange
from sugartag.changes.sidecar_files import SidecarFiles
from sugartag.changes.store import now
from sugartag.errors import SettingsError
from sugartag.metadata.sidecar_writer import Paths


@dataclass(frozen=True)
class Wanted:
    """What is to be applied."""

    above: float | None = None
    """Also additions from this probability on that nobody rejected; None for decisions alone."""
    run: str | None = None
    """The run of proposals that ``above`` is about; None for the latest."""
    sidecars: bool = False
    images_root: str | None = None
    """Where the images are, if not where they were."""

    def __post_init__(self) -> None:
        if self.above is not None and not 0 <= self.above <= 1:
            raise SettingsError(f"a probability is from 0 to 1, not {self.above}")


def plans(catalogue: Catalogue, wanted: Wanted) -> Iterator[ImagePlan]:
    """Yield what is to become of each image that changes, or whose sidecar may have to."""
    rows = catalogue.all(_PENDING)
    if wanted.above is not None:
        run = catalogue.run_number(wanted.run)
        rows += catalogue.all(_ABOVE, (run, wanted.above, now()))
    changes = {image: list(some) for image, some in groupby(sorted(rows, key=_key), itemgetter(0))}
    images = set(changes)
    if wanted.sidecars:
        images.update(row[0] for row in catalogue.all(_IN_SIDECARS))
    for image in sorted(images):
        yield _plan(catalogue, image, changes.get(image, []), sidecars=wanted.sidecars)


def _key(row: tuple[Any, ...]) -> tuple[int, str]:
    return row[0], row[1]


def _plan(
    catalogue: Catalogue, image: int, rows: list[tuple[Any, ...]], *, sidecars: bool
) -> ImagePlan:
    image_id, path = catalogue.one("SELECT image_id, path FROM images WHERE image = ?", (image,))
    changes = tuple(TagChange(tag, change, Provenance(*from_)) for _, tag, change, *from_ in rows)
    if not sidecars:
        return ImagePlan(image, image_id, path, changes)
    added = [one.tag for one in changes if one.change == "add"]
    removed = {one.tag for one in changes if one.change == "remove"}
    given = [tag for tag in catalogue.tags_of(image) if tag.tag not in removed]
    ours = [tag.tag for tag in given if tag.source in {"model", "reviewer"}]
    rejected = [row[0] for row in catalogue.all(_REJECTED, (image,))]
    return ImagePlan(
        image,
        image_id,
        path,
        changes,
        sidecar_add=tuple(dict.fromkeys([*ours, *added])),
        sidecar_remove=tuple(dict.fromkeys([*removed, *rejected])),
        sidecar_all=tuple(dict.fromkeys([*(tag.tag for tag in given), *added])),
    )


def apply_changes(
    catalogue: Catalogue, wanted: Wanted, *, by: str | None = None, reached: Reached = go_on
) -> list[Outcome]:
    """Apply what is wanted; a run that was killed is finished first.

    Returns the runs that were finished, and the new one; its ``run_id`` is None if there was
    nothing to change.
    """
    with only_one(catalogue):
        outcomes = _finished(catalogue, reached)
        journal = journal_for(catalogue, wanted, by=by, reached=reached)
        outcomes.append(journal.run("apply", asdict(wanted), plans(catalogue, wanted)))
    return outcomes


def resume(catalogue: Catalogue, *, reached: Reached = go_on) -> list[Outcome]:
    """Finish the runs that were killed, as they were asked for."""
    with only_one(catalogue):
        return _finished(catalogue, reached)


def _finished(catalogue: Catalogue, reached: Reached) -> list[Outcome]:
    outcomes = []
    for run, run_id, kind, settings in catalogue.all(
        "SELECT run, run_id, kind, settings FROM runs WHERE state = 'planned' ORDER BY run"
    ):
        asked = json.loads(settings)
        wanted = Wanted(
            **{one.name: asked[one.name] for one in fields(Wanted) if one.name in asked}
        )
        journal = journal_for(catalogue, wanted, reached=reached)
        outcome = Outcome(run_id)
        journal.finish_batch(run, outcome)
        rest = plans(catalogue, wanted) if kind == "apply" else iter(())
        outcomes.append(journal.carry_out(rest, outcome, kind, asked))
    return outcomes


def journal_for(
    catalogue: Catalogue, wanted: Wanted, *, by: str | None = None, reached: Reached = go_on
) -> Journal:
    """Return the journal, with the sidecars if they are wanted."""
    root = None if wanted.images_root is None else Path(wanted.images_root)
    sidecars = SidecarFiles.of(catalogue, root) if wanted.sidecars else None
    return Journal(catalogue, sidecars, hierarchy_of(catalogue), by, reached)


def hierarchy_of(catalogue: Catalogue) -> Paths:
    """Return the levels above each tag that always stands in the same place."""
    known: dict[str, list[list[str]]] = json.loads(catalogue.fact("hierarchy") or "{}")
    return {tag: tuple(paths[0]) for tag, paths in known.items() if len(paths) == 1}


_PENDING = """
SELECT d.image, t.name, 'add', 'reviewer',
    (SELECT p.run FROM proposals p WHERE p.image = d.image AND p.tag = d.tag
        AND p.run IN (SELECT run FROM runs WHERE kind = 'suggest') ORDER BY p.run DESC LIMIT 1),
    s.reviewer, s.at
FROM decided d JOIN tags t USING (tag) JOIN decisions s ON s.decision = d.decision
LEFT JOIN image_tags g ON g.image = d.image AND g.tag = d.tag
WHERE d.verdict = 'accept' AND g.image IS NULL
UNION ALL
SELECT d.image, t.name, 'remove', g.source, g.run, g.by, g.at
FROM decided d JOIN tags t USING (tag)
JOIN image_tags g ON g.image = d.image AND g.tag = d.tag
WHERE d.verdict = 'reject'
"""
_ABOVE = """
SELECT p.image, t.name, 'add', 'model', p.run, NULL, ?3
FROM proposals p JOIN tags t USING (tag)
LEFT JOIN decided d ON d.image = p.image AND d.tag = p.tag
LEFT JOIN image_tags g ON g.image = p.image AND g.tag = p.tag
WHERE p.run = ?1 AND p.action = 'add' AND p.probability >= ?2
    AND g.image IS NULL AND (d.verdict IS NULL OR d.verdict = 'skip')
"""
_IN_SIDECARS = """
SELECT image FROM image_tags WHERE source IN ('model', 'reviewer')
UNION SELECT image FROM decided WHERE verdict = 'reject'
"""
_REJECTED = """
SELECT t.name FROM decided d JOIN tags t USING (tag) WHERE d.image = ? AND d.verdict = 'reject'
"""
