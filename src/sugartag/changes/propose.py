"""Proposals for every image of a collection: tags to add, to keep, to doubt."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sugartag._typing import BoolArray, FloatArray
from sugartag.assignment.rank import top_tags
from sugartag.assignment.thresholds import DIGITS, LEAST, NEVER_DOUBTED, TagThresholds
from sugartag.changes.change import Change
from sugartag.changes.reasons import Verdict, reasoned, require_explaining
from sugartag.collection.align import seen_from
from sugartag.collection.model import Collection, Rows
from sugartag.collection.texts import Texts
from sugartag.engine.base import Block, Engine
from sugartag.linalg.sparse_rows import row_number_of_entries
from sugartag.methods.base import get_ready
from sugartag.methods.settings import require
from sugartag.methods.sugar_plus import FittedSugarPlus
from sugartag.model_folder import Model

ROWS_PER_BLOCK = 1024


@dataclass(frozen=True)
class Thresholds:
    """Where a probability becomes a verdict."""

    top: int = 10
    """At most so many tags are added to an image."""
    add: float | None = None
    """A tag is added from this chance on; None keeps to what the model learned for each tag."""
    doubt: float | None = None
    """A given tag is doubted below this chance; None likewise."""

    def __post_init__(self) -> None:
        require(self.top >= 0, f"top must not be negative, not {self.top}")
        for name in ("add", "doubt"):
            value = getattr(self, name)
            require(
                value is None or 0 <= value <= 1,
                f"the threshold {name} must be from 0 to 1, not {value}",
            )

    def of_each_tag(self, model: Model) -> TagThresholds:
        """Return the thresholds of each of the model's tags."""
        learned = model.thresholds
        asked = TagThresholds.same(self.add or 0.0, self.doubt or 0.0, len(learned.add))
        return TagThresholds(
            learned.add if self.add is None else asked.add,
            learned.doubt if self.doubt is None else asked.doubt,
        )


def propose(
    model: Model,
    collection: Collection,
    *,
    engine: Engine,
    thresholds: Thresholds,
    explain: bool = False,
) -> Iterator[list[Change]]:
    """Yield the changes of one block of images after the other, in row order.

    Tags the model never saw get no verdict: nothing is known of them. With ``explain`` the changes
    are :class:`~sugartag.changes.reasons.ExplainedChange`, with all that they follow from.
    """
    if explain:
        require_explaining(model)
    aligned = seen_from(model.catalogue, collection)
    blocks = aligned.blocks(ROWS_PER_BLOCK)
    ids = collection.ids
    get_ready(model.fitted, engine=engine)
    yield from engine.map(judge_images, blocks, model, aligned, ids, thresholds, explain)


def judge_images(
    block: Block,
    model: Model,
    collection: Collection,
    ids: Texts,
    thresholds: Thresholds,
    explain: bool = False,
) -> list[Change]:
    """Return the changes of one block."""
    rows = collection.rows(block)
    scores = model.fitted.scores(rows)
    given = rows.tags.toarray() > 0
    limits = thresholds.of_each_tag(model)
    told = _something_else_is_known(rows)
    wrong = _said_to_be_wrong(model, rows)
    best = top_tags(scores, thresholds.top, allowed=~given)
    verdicts: list[Verdict] = []
    for row in range(len(rows)):
        added = best.of(row)
        chances = _told(model.calibration.added(scores[row, added]))
        verdicts += [
            Verdict(row, int(tag), "add", float(chance))
            for tag, chance in zip(added, chances, strict=True)
            if chance >= limits.add[tag]
        ]
        own = np.flatnonzero(given[row])
        chances = _told(model.calibration.given(scores[row, own]))
        verdicts += [
            Verdict(row, int(tag), "doubt", float(chance))
            if (row, int(tag)) in wrong
            else _on_given(row, int(tag), float(chance), limits.doubt[tag], told=bool(told[row]))
            for tag, chance in zip(own, chances, strict=True)
        ]
    return reasoned(verdicts, model, rows, scores, ids[block], in_full=explain)


def _on_given(row: int, tag: int, chance: float, limit: float, *, told: bool) -> Verdict:
    """Return the verdict on a given tag, and why a poor one is kept."""
    if told and chance < limit:
        return Verdict(row, tag, "doubt", chance)
    if chance < limit:
        return Verdict(row, tag, "keep", chance, withheld="image")
    never = limit == NEVER_DOUBTED and chance < LEAST
    return Verdict(row, tag, "keep", chance, withheld="tag" if never else "")


def _said_to_be_wrong(model: Model, rows: Rows) -> set[tuple[int, int]]:
    """Return rows and tags of which somebody said that they are wrong: these stay doubted."""
    if not isinstance(model.fitted, FittedSugarPlus):
        return set()
    decided = model.fitted.decided_of(rows)
    row, wrong = row_number_of_entries(decided), decided.data < 0
    return set(zip(row[wrong].tolist(), decided.indices[wrong].tolist(), strict=True))


def _something_else_is_known(rows: Rows) -> BoolArray:
    """Tell of which images more is known than one tag: of the others no tag can be doubted."""
    if rows.features is not None:
        return np.ones(len(rows), dtype=bool)
    titled = np.zeros(len(rows), dtype=bool)
    if rows.titles is not None:
        titled = np.array([bool(title.strip()) for title in rows.titles], dtype=bool)
    return titled | (np.diff(rows.tags.indptr) > 1)


def _told(chances: FloatArray) -> FloatArray:
    """Return chances as they are told, and judged: to four digits."""
    return np.round(chances.astype(np.float64), DIGITS)
