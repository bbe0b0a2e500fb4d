"""What a run on a folder of photographs found, put on one page."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sugartag.collection.model import Collection
from sugartag.evaluation.cost import machine
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


def build_report(
    name: str,
    collection: Collection,
    shown: Shown,
    *,
    evidence: str,
    facts: Mapping[str, str],
    commands: Sequence[Sequence[str]],
    load: Callable[[str], Loaded | None],
    seed: int,
) -> Report:
    """Put what was found on one page."""
    by_image: dict[str, list[Verdict]] = {}
    for change in shown.changes:
        verdict = Verdict(change.tag, change.action, change.score, change.reason)
        by_image.setdefault(change.image_id, []).append(verdict)
    verdicts = [verdict for some in by_image.values() for verdict in some]
    here = machine()
    return Report(
        title=f"{name}, retagged",
        lead=(
            "sugartag looked at every photograph, at who took it and at how the others are tagged, "
            "and says which tags to add, which to keep and which to doubt. No file was changed."
        ),
        counts=Counts(
            images=collection.n_images,
            tags=collection.n_tags,
            owners=collection.n_owners,
            added=sum(verdict.action == "add" for verdict in verdicts),
            doubted=sum(verdict.action == "doubt" for verdict in verdicts),
        ),
        evidence=evidence,
        pictures=tuple(chosen_pictures(collection, by_image, seed, load)),
        charts=Charts(scores=count_scores(verdicts), most_added=count_added(verdicts)),
        facts=(
            *facts.items(),
            ("Machine", f"{here['cpu']}, {here['cores']} cores"),
            ("sugartag", str(here["sugartag"])),
        ),
        commands=tuple(map(shlex.join, commands)),
        notes=(
            "The pictures are a random choice among those with something to add or to doubt, at "
            f"most {PICTURES_PER_OWNER} by one person and {PICTURES_PER_TAG} of one subject.",
            f"Suggestions are shown from a probability of {shown.add_from:g} on; changes.csv has "
            "those that are sure enough to be added.",
        ),
    )


def commands_for(folder: Path, out: Path, owner_from: str, encoder: str) -> list[list[str]]:
    """Return the commands that do the same step by step."""
    collection, model = str(out / "collection"), str(out / "model")
    return [
        ["sugartag", "import", str(folder), "--out", collection, "--owner-from", owner_from],
        ["sugartag", "embed", collection, "--model", encoder],
        ["sugartag", "fit", collection, "--out", model],
        ["sugartag", "suggest", model, collection, "--out", str(out / "changes.csv")],
    ]
