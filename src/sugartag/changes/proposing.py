"""What a model proposes, taken into a catalogue as a run."""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from itertools import chain
from typing import Any, cast

from sugartag.changes.catalogue import Catalogue
from sugartag.collection.model import Collection
from sugartag.engine.base import Engine
from sugartag.errors import CollectionError
from sugartag.pipeline.changes import Change
from sugartag.pipeline.model import Model
from sugartag.pipeline.propose import Thresholds, propose

ADD_FROM = 0.2
"""For people who decide, more is proposed than would be added unseen."""
Say = Callable[[str], None]


def take_proposals(
    catalogue: Catalogue,
    model: Model,
    collection: Collection,
    *,
    engine: Engine,
    thresholds: Thresholds | None = None,
    say: Say = lambda _: None,
) -> None:
    """Let a model propose, unless the catalogue has all that it proposes."""
    ready = {run.run_id for run in catalogue.runs("suggest") if run.state == "ready"}
    if model.run_id in ready:
        return
    asked = thresholds or Thresholds(add=ADD_FROM)
    proposed = propose(model, collection, engine=engine, thresholds=asked)
    load_proposals(catalogue, proposed, model, say)


def load_proposals(
    catalogue: Catalogue,
    changes: Iterable[list[Change]],
    model: Model,
    say: Say = lambda _: None,
    **about: Any,
) -> None:
    """Take the proposals of a model into the catalogue, as its latest run."""
    settings = {**asdict(cast("Any", model.method)), **about}
    loaded = catalogue.load_changes(
        chain.from_iterable(changes), method=model.method.name, settings=settings
    )
    if not loaded:
        raise CollectionError(
            "the model proposes nothing for these images; lower the probability from which it may"
        )
    counts = loaded[0].counts
    say(f"{counts['add']:,} tags to add, {counts['doubt']:,} to check, {counts['keep']:,} to keep")
