"""Change sets read from their files, with the decisions that somebody may have written in."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sugartag.changes.catalogue import Catalogue
from sugartag.changes.deciding import Verdict
from sugartag.changes.loading import Loaded
from sugartag.changes.selecting import ACTIONS
from sugartag.collection.readers.batch import Batch, Columns, shown
from sugartag.collection.readers.table import read_table
from sugartag.collection.vocabulary import clean_all

COLUMNS = Columns(
    required=("image_id", "tag", "action"),
    optional=("score", "probability", "reason", "run_id", "decision"),
)
MEANINGS = {"accept": True, "yes": True, "y": True, "reject": False, "no": False, "n": False}
"""What may stand in the column ``decision``, in any case: whether the change is right."""
REVIEWER = "file:"
"""Decisions from a file are by ``file:NAME``."""


@dataclass(frozen=True, slots=True)
class ReadChange:
    """A row of a change set."""

    image_id: str
    tag: str
    action: str
    score: float
    reason: str
    run_id: str
    verdict: Verdict | None
    """What the column ``decision`` means for the tag: an accepted doubt rejects it."""


def read_changes(path: Path) -> Iterator[ReadChange]:
    """Yield the rows of a change set; CSV, TSV, JSONL or Parquet by extension."""
    for batch in read_table(path, COLUMNS):
        names = ("image_id", "tag", "action", "reason", "run_id", "decision")
        columns = [clean_all(batch.texts(name)) for name in names]
        scores = batch.columns.get("score") or batch.columns.get("probability")
        for index, row in enumerate(zip(*columns, strict=True)):
            image_id, tag, action, reason, run_id, decision = row
            _check(batch, index, image_id, tag, action)
            score = _probability(batch, index, None if scores is None else scores[index])
            verdict = _verdict(batch, index, action, decision)
            yield ReadChange(image_id, tag, action, score, reason, run_id or path.stem, verdict)


def load_change_file(
    catalogue: Catalogue, path: Path, *, reviewer: str | None = None
) -> list[Loaded]:
    """Take a change set into a catalogue, and the decisions in it."""
    loaded = catalogue.load_changes(read_changes(path))
    decided = [
        (change.image_id, change.tag, change.verdict)
        for change in read_changes(path)
        if change.verdict is not None
        and catalogue.standing(change.image_id, change.tag)[0] != change.verdict
    ]
    if decided:
        catalogue.decide_all(decided, reviewer=reviewer or f"{REVIEWER}{path.name}")
    return loaded


def _check(batch: Batch, index: int, image_id: str, tag: str, action: str) -> None:
    if not image_id or not tag:
        raise batch.error(index, "image_id or tag is empty; give both, or leave the row out")
    if action not in ACTIONS:
        raise batch.error(index, f"action is {shown(action)}; it must be one of: add, keep, doubt")


def _probability(batch: Batch, index: int, value: Any) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = float("nan")
    if not 0 <= found <= 1:
        raise batch.error(index, f"score is {shown(value)}; give a probability from 0 to 1")
    return found


def _verdict(batch: Batch, index: int, action: str, decision: str) -> Verdict | None:
    if not decision:
        return None
    right = MEANINGS.get(decision.casefold())
    if right is None:
        known = ", ".join(MEANINGS)
        raise batch.error(index, f"decision is {shown(decision)}; it must be one of: {known}")
    return "accept" if right == (action != "doubt") else "reject"
