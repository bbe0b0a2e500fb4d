"""What a run on a folder of photographs found, put on one page."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sugartag.collection.model import Collection
from sugartag.collection.shown import counted
from sugartag.evaluation.cost import machine
from sugartag.photos.advice import Advice
from sugartag.photos.shown import Shown
from sugartag.report.chosen import PICTURES_PER_OWNER, PICTURES_PER_TAG, Loaded, chosen_pictures
from sugartag.report.content import (
    Charts,
    Counts,
    Report,
    Verdict,
    count_added,
    count_scores,
)

LOOKED = "sugartag looked at every photograph, at who took it and at how the others are tagged."
CHOSEN = (
    "The pictures are a random choice among those with something to add or to doubt, at most "
    f"{PICTURES_PER_OWNER} by one person and {PICTURES_PER_TAG} of one subject."
)


@dataclass(frozen=True)
class Found:
    """What came of a run."""

    shown: Shown
    added: int
    """Tags that are sure enough to be added, as changes.csv has them."""
    helpful: tuple[Advice, ...]


def build_report(
    name: str,
    collection: Collection,
    found: Found,
    *,
    evidence: str,
    facts: Mapping[str, str],
    commands: Sequence[Sequence[str]],
    load: Callable[[str], Loaded | None],
    seed: int,
) -> Report:
    """Put what was found on one page."""
    by_image: dict[str, list[Verdict]] = {}
    for change in found.shown.changes:
        verdict = Verdict(change.tag, change.action, change.score, change.reason)
        by_image.setdefault(change.image_id, []).append(verdict)
    verdicts = [verdict for some in by_image.values() for verdict in some]
    here = machine()
    counts = Counts(
        images=collection.n_images,
        tags=collection.n_tags,
        owners=collection.n_owners,
        added=sum(verdict.action == "add" for verdict in verdicts),
        doubted=sum(verdict.action == "doubt" for verdict in verdicts),
    )
    pictures = tuple(chosen_pictures(collection, by_image, seed, load))
    return Report(
        title=f"{name}, retagged",
        lead=f"{LOOKED} {_found(counts, found)} No file was changed.",
        counts=counts,
        evidence=evidence,
        pictures=pictures,
        charts=Charts(scores=count_scores(verdicts), most_added=count_added(verdicts)),
        facts=(
            *facts.items(),
            ("Machine", f"{here['cpu']}, {here['cores']} cores"),
            ("sugartag", str(here["sugartag"])),
        ),
        commands=tuple(map(shlex.join, commands)),
        notes=(*([CHOSEN] if pictures else []), *map(_as_note, found.helpful)),
    )


def _found(counts: Counts, found: Found) -> str:
    """Return in a sentence or two what there is to add and to doubt, and how sure it is."""
    sure = "no tag that is sure enough to add"
    if found.added:
        sure = f"{counted(found.added, 'tag')} to add, listed in changes.csv,"
    doubts = counted(counts.doubted, "tag") if counts.doubted else "none"
    words = f"It found {sure} and {doubts} to doubt."
    if counts.added > found.added:
        words += (
            f" {counted(counts.added - found.added, 'less sure suggestion')}, from a probability "
            f"of {found.shown.add_from:g} on, can be seen here, too."
        )
    return words


def _as_note(one: Advice) -> str:
    return " ".join([one.words, "; ".join(one.commands)]).strip()


def commands_for(folder: Path, out: Path, owner_from: str, encoder: str) -> list[list[str]]:
    """Return the commands that do the same step by step."""
    collection, model = str(out / "collection"), str(out / "model")
    return [
        ["sugartag", "import", str(folder), "--out", collection, "--owner-from", owner_from],
        ["sugartag", "embed", collection, "--model", encoder],
        ["sugartag", "fit", collection, "--out", model],
        ["sugartag", "suggest", model, collection, "--out", str(out / "changes.csv")],
    ]
