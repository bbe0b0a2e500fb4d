"""Proposals for every image of a collection: tags to add, to keep, to doubt."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sugartag._typing import FloatArray
from sugartag.assignment.rank import top_tags
from sugartag.changes.change import Action, Change
from sugartag.collection.align import seen_from
from sugartag.collection.model import Collection
from sugartag.collection.texts import Texts
from sugartag.engine.base import Block, Engine
from sugartag.methods.settings import require
from sugartag.model_folder import Model

ROWS_PER_BLOCK = 1024


@dataclass(frozen=True)
class Thresholds:
    """Where a probability becomes a verdict."""

    top: int = 10
    """At most so many tags are added to an image."""
    add: float = 0.5
    """A tag is added from this chance on."""
    doubt: float = 0.5
    """A given tag is doubted below this chance."""

    def __post_init__(self) -> None:
        require(self.top >= 0, f"top must not be negative, not {self.top}")
        for name in ("add", "doubt"):
            value = getattr(self, name)
            require(0 <= value <= 1, f"the threshold {name} must be from 0 to 1, not {value}")


def propose(
    model: Model, collection: Collection, *, engine: Engine, thresholds: Thresholds
) -> Iterator[list[Change]]:
    """Yield the changes of one block of images after the other, in row order.

    Tags the model never saw get no verdict: nothing is known of them.
    """
    aligned = seen_from(model.catalogue, collection)
    blocks = aligned.blocks(ROWS_PER_BLOCK)
    ids = collection.ids
    yield from engine.map(judge_images, blocks, model, aligned, ids, thresholds)


def judge_images(
    block: Block, model: Model, collection: Collection, ids: Texts, thresholds: Thresholds
) -> list[Change]:
    """Return the changes of one block."""
    rows = collection.rows(block)
    scores = model.fitted.scores(rows)
    given = rows.tags.toarray() > 0
    best = top_tags(scores, thresholds.top, allowed=~given)
    place = _Ranks(scores, model.method.name)
    changes: list[Change] = []
    for row, image_id in enumerate(ids[block]):
        verdicts: list[tuple[int, Action, float]] = []
        added = best.of(row)
        chances = model.calibration.added(scores[row, added])
        verdicts += [
            (int(tag), "add", float(chance))
            for tag, chance in zip(added, chances, strict=True)
            if chance >= thresholds.add
        ]
        own = np.flatnonzero(given[row])
        chances = model.calibration.given(scores[row, own])
        verdicts += [
            (int(tag), "keep" if chance >= thresholds.doubt else "doubt", float(chance))
            for tag, chance in zip(own, chances, strict=True)
        ]
        changes += [
            Change(
                image_id=image_id,
                tag=collection.tag_names[tag],
                action=action,
                score=round(chance, 4),
                reason=place.reason(row, tag),
                run_id=model.run_id,
            )
            for tag, action, chance in verdicts
        ]
    return changes


@dataclass(frozen=True, eq=False)
class _Ranks:
    """Says where a tag stands among all tags of an image."""

    scores: FloatArray
    method: str

    def reason(self, row: int, tag: int) -> str:
        """Return the tag's rank in words."""
        rank = 1 + int(np.count_nonzero(self.scores[row] > self.scores[row, tag]))
        return f"{self.method} ranks it {rank} of {self.scores.shape[1]} tags for this image"
