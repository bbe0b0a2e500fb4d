"""How sure a suggestion must be to stand on a page that people look at."""

from collections.abc import Sequence
from dataclasses import dataclass

from sugartag.collection.model import Collection
from sugartag.engine.base import Engine
from sugartag.pipeline.changes import Change
from sugartag.pipeline.model import Model
from sugartag.pipeline.propose import Thresholds, propose
from sugartag.report.chosen import N_PICTURES

STEPS = (0.5, 0.3, 0.2, 0.1)
"""More probable than not, if that fills a page; less sure ones where the evidence is weak."""


@dataclass(frozen=True)
class Shown:
    """What a page shows, which is more than would be added."""

    changes: tuple[Change, ...]
    add_from: float
    """The probability from which suggestions are shown."""


def shown_changes(model: Model, collection: Collection, *, engine: Engine) -> Shown:
    """Return all changes, with additions from the highest step that gives a page of pictures."""
    proposed = propose(model, collection, engine=engine, thresholds=Thresholds(add=STEPS[-1]))
    changes = [change for some in proposed for change in some]
    step = next((step for step in STEPS if _n_images(changes, step) >= N_PICTURES), STEPS[-1])
    shown = (one for one in changes if one.action != "add" or one.score >= step)
    return Shown(tuple(shown), step)


def _n_images(changes: Sequence[Change], step: float) -> int:
    return len({one.image_id for one in changes if one.action == "add" and one.score >= step})
