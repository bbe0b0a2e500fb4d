"""What a model does with collections, folders and data frames, and frames of what it says."""

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sugartag._typing import FloatArray
from sugartag.collection.align import seen_from
from sugartag.collection.frames import made_frame
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, Engine, Progress
from sugartag.engine.local import on_all_cores
from sugartag.errors import SettingsError
from sugartag.pipeline.changes import MEANT
from sugartag.pipeline.propose import ROWS_PER_BLOCK, Thresholds, all_probabilities, propose
from sugartag.progress import progress_for

if TYPE_CHECKING:
    from sugartag.pipeline.model import Model

COLUMNS = {
    "image_id": "image_id",
    "tag": "tag",
    "action": "action",
    "probability": "score",
    "reason": "reason",
}
"""The columns of suggestions, and the fields of changes that they are."""
FRAME_OPTIONS = tuple(inspect.signature(Collection.from_frame).parameters)[1:]


def as_collection(photos: Any, **options: Any) -> Collection:
    """Return a collection as it is, that of a folder, or one made from a frame."""
    if unknown := [name for name in options if name not in FRAME_OPTIONS]:
        raise SettingsError(
            f"there is no option {unknown[0]!r}; those of frames are: {', '.join(FRAME_OPTIONS)}"
        )
    if not isinstance(photos, Collection | str | Path):
        return Collection.from_frame(photos, **options)
    if given := [name for name, value in options.items() if value is not None]:
        raise SettingsError(
            f"{', '.join(given)} is for frames: a collection has its own; leave it out"
        )
    if isinstance(photos, Collection):
        return photos
    if Path(photos).is_file():
        raise SettingsError(
            f"{photos} is a file; pass a data frame, or the folder that sugartag import makes of it"
        )
    return Collection.read(photos)


@contextmanager
def opened_engine(
    engine: Engine | None, progress: bool | Progress | None
) -> Iterator[tuple[Engine, Progress | None]]:
    """Yield the engine to work on, and what shows progress: that of the engine if it has one."""
    own = getattr(engine, "progress", None)
    if own is not None and engine is not None:
        yield engine, own
        return
    with progress_for(progress) as display:
        if engine is None:
            yield on_all_cores(display), display
        elif is_dataclass(engine) and hasattr(engine, "map"):
            yield replace(engine, progress=display), display
        else:
            raise SettingsError(f"engine is {engine!r}; pass a LocalEngine or a DaskEngine")


@contextmanager
def opened(
    photos: Any, engine: Engine | None, progress: bool | Progress | None, **options: Any
) -> Iterator[tuple[Collection, Engine]]:
    """Yield the images as a collection, and the engine to work on."""
    collection = as_collection(photos, **options)
    with opened_engine(engine, progress) as (working, _):
        yield collection, working


def suggestions(
    model: "Model",
    collection: Collection,
    engine: Engine,
    thresholds: Thresholds,
    actions: str | Sequence[str] | None,
) -> dict[str, list[Any]]:
    """Return what a model proposes, column by column."""
    wanted = MEANT if actions is None else [actions] if isinstance(actions, str) else list(actions)
    if unknown := [action for action in wanted if action not in MEANT]:
        raise SettingsError(f"there is no action {unknown[0]!r}; choose from: {', '.join(MEANT)}")
    found = [
        change
        for some in propose(model, collection, engine=engine, thresholds=thresholds)
        for change in some
        if change.action in wanted
    ]
    return {name: [getattr(one, of) for one in found] for name, of in COLUMNS.items()}


def of_every_tag(
    model: "Model",
    collection: Collection,
    engine: Engine,
    kind: str | None,
    *,
    as_probabilities: bool = False,
) -> Any:
    """Return images x tags, scores or probabilities: an array, or a frame with the ids."""
    aligned = seen_from(model.catalogue, collection)
    found = np.empty((collection.n_images, len(model.tag_names)), dtype=np.float32)
    blocks = aligned.blocks(min(ROWS_PER_BLOCK, collection.rows_at_once))
    parts = engine.map(score_images, blocks, model, aligned, as_probabilities)
    for block, part in zip(blocks, parts, strict=True):
        found[block] = part
    if kind is None:
        return found
    by_tag = dict(zip(model.tag_names, found.T, strict=True))
    return made_frame({"image_id": list(collection.ids), **by_tag}, kind)


def score_images(
    block: Block, model: "Model", collection: Collection, as_probabilities: bool
) -> FloatArray:
    """Return images x tags of one block."""
    rows = collection.rows(block)
    return all_probabilities(model, rows) if as_probabilities else model.fitted.scores(rows)
