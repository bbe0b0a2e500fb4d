"""What a model does with collections, folders and data frames, and frames of what it says."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from sugartag._typing import FloatArray
from sugartag.collection.align import seen_from
from sugartag.collection.frames import kind_of, made_frame
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Block, Engine, Progress
from sugartag.engine.local import on_all_cores
from sugartag.errors import SettingsError
from sugartag.pipeline.changes import MEANT, decisions_of
from sugartag.pipeline.fitting import update_model
from sugartag.pipeline.model import Model
from sugartag.pipeline.propose import ROWS_PER_BLOCK, Thresholds, all_probabilities, propose
from sugartag.progress import progress_for

COLUMNS = {
    "image_id": "image_id",
    "tag": "tag",
    "action": "action",
    "probability": "score",
    "reason": "reason",
}
"""The columns of suggestions, and the fields of changes that they are."""


def as_collection(photos: Any, **columns: Any) -> Collection:
    """Return a collection as it is, that of a folder, or one made from a frame."""
    if not isinstance(photos, Collection | str | Path):
        return Collection.from_frame(photos, **columns)
    if given := [name for name, value in columns.items() if value is not None]:
        raise SettingsError(
            f"{', '.join(given)} is for frames: a collection has its own; leave it out"
        )
    return photos if isinstance(photos, Collection) else Collection.read(photos)


@contextmanager
def opened_engine(
    engine: Engine | None, progress: bool | Progress | None
) -> Iterator[tuple[Engine, Progress | None]]:
    """Yield the engine to work on, and what shows progress."""
    if engine is not None:
        yield engine, getattr(engine, "progress", None)
        return
    with progress_for(progress) as display:
        yield on_all_cores(display), display


def suggested(
    model: Model,
    photos: Any,
    *,
    top: int = 10,
    add_from: float | None = None,
    doubt_below: float | None = None,
    actions: Sequence[str] | None = None,
    kind: str | None = None,
    progress: bool | Progress | None = None,
    engine: Engine | None = None,
    **columns: Any,
) -> Any:
    """Return what a model proposes, as a frame; see :meth:`Model.suggest`."""
    wanted = tuple(MEANT) if actions is None else tuple(actions)
    if unknown := [action for action in wanted if action not in MEANT]:
        raise SettingsError(f"there is no action {unknown[0]!r}; choose from: {', '.join(MEANT)}")
    thresholds = Thresholds(top=top, add=add_from, doubt=doubt_below)
    collection = as_collection(photos, **columns)
    with opened_engine(engine, progress) as (working, _):
        found = [
            change
            for some in propose(model, collection, engine=working, thresholds=thresholds)
            for change in some
            if change.action in wanted
        ]
    listed = {name: [getattr(one, of) for one in found] for name, of in COLUMNS.items()}
    return made_frame(listed, kind or kind_of(photos))


def scored(
    model: Model,
    photos: Any,
    *,
    as_probabilities: bool = False,
    kind: str | None = None,
    progress: bool | Progress | None = None,
    engine: Engine | None = None,
    **columns: Any,
) -> Any:
    """Return images x tags, scores or probabilities; see :meth:`Model.scores`."""
    collection = as_collection(photos, **columns)
    aligned = seen_from(model.catalogue, collection)
    score = all_probabilities if as_probabilities else _scores
    found = np.empty((collection.n_images, len(model.tag_names)), dtype=np.float32)
    blocks = aligned.blocks(min(ROWS_PER_BLOCK, collection.rows_at_once))
    with opened_engine(engine, progress) as (working, _):
        parts = working.map(score_block, blocks, model, aligned, score)
        for block, part in zip(blocks, parts, strict=True):
            found[block] = part
    if kind is None:
        return found
    by_tag = dict(zip(model.tag_names, found.T, strict=True))
    return made_frame({"image_id": list(collection.ids), **by_tag}, kind)


def score_block(
    block: Block,
    model: Model,
    collection: Collection,
    score: Callable[[Model, Rows], FloatArray],
) -> FloatArray:
    """Return the scores of one block."""
    return score(model, collection.rows(block))


def updated(
    model: Model,
    photos: Any,
    decisions: Any = None,
    *,
    progress: bool | Progress | None = None,
    engine: Engine | None = None,
    **columns: Any,
) -> Model:
    """Return the model with more images and decisions; see :meth:`Model.update`."""
    collection = as_collection(photos, **columns)
    decided = [] if decisions is None else decisions_of(decisions)
    with opened_engine(engine, progress) as (working, _):
        return update_model(model, collection, decided, engine=working)


def _scores(model: Model, rows: Rows) -> FloatArray:
    return model.fitted.scores(rows)
