"""Proposals for every image of a collection: tags to add, to keep, to doubt."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sugartag._typing import BoolArray, FloatArray, IntArray
from sugartag.assignment.rank import top_tags
from sugartag.assignment.thresholds import DIGITS, TagThresholds
from sugartag.collection.align import seen_from
from sugartag.collection.model import Collection, Rows
from sugartag.collection.texts import Texts
from sugartag.engine.base import Block, Engine
from sugartag.engine.local import on_all_cores
from sugartag.errors import StorageError
from sugartag.methods.base import Calibrated, Updatable
from sugartag.methods.settings import require
from sugartag.pipeline.changes import Change
from sugartag.pipeline.reasons import Verdict, reasoned, require_explaining

if TYPE_CHECKING:
    from sugartag.pipeline.model import Model

ROWS_PER_BLOCK = 1024


@dataclass(frozen=True)
class Thresholds:
    """Where a probability becomes a verdict."""

    top: int = 10
    """Tags that are added to an image, at most; those that a person accepted all are."""
    add: float | None = None
    """A tag is added from this probability on; None for what the model learned for each tag."""
    doubt: float | None = None
    """A given tag is doubted below this probability; None likewise."""

    def __post_init__(self) -> None:
        require(self.top >= 0, f"top must not be negative, not {self.top}")
        for name in ("add", "doubt"):
            value = getattr(self, name)
            require(
                value is None or 0 <= value <= 1,
                f"the threshold {name} must be from 0 to 1, not {value}",
            )

    def of_each_tag(self, model: "Model") -> TagThresholds:
        """Return the thresholds of each of the model's tags."""
        learned = model.thresholds
        asked = TagThresholds.same(self.add or 0.0, self.doubt or 0.0, len(learned.add))
        return TagThresholds(
            learned.add if self.add is None else asked.add,
            learned.doubt if self.doubt is None else asked.doubt,
        )


def propose(
    model: "Model",
    collection: Collection,
    *,
    engine: Engine | None = None,
    thresholds: Thresholds | None = None,
    explain: bool = False,
) -> Iterator[list[Change]]:
    """Yield the changes of one block of images after the other, in row order.

    Tags the model never saw get no verdict. With ``explain`` the changes are
    :class:`~sugartag.pipeline.changes.ExplainedChange`, with all that they follow from.
    """
    if explain:
        require_explaining(model)
    aligned = seen_from(model.catalogue, collection)
    blocks = aligned.blocks(ROWS_PER_BLOCK)
    ids = collection.ids
    engine, thresholds = engine or on_all_cores(), thresholds or Thresholds()
    yield from engine.map(judge_images, blocks, model, aligned, ids, thresholds, explain)


def judge_images(
    block: Block,
    model: "Model",
    collection: Collection,
    ids: Texts,
    thresholds: Thresholds,
    explain: bool = False,
) -> list[Change]:
    """Return the changes of one block."""
    rows = collection.rows(block)
    scores = model.fitted.scores(rows)
    if not np.isfinite(scores).all():
        raise StorageError(f"the model {model.run_id} gives scores that are not numbers; fit again")
    asked = _Asked.of(model, rows, scores, thresholds.top)
    posterior = np.round(_posterior(model, rows, scores, asked).astype(np.float64), DIGITS)
    limits = thresholds.of_each_tag(model)
    below = posterior < np.where(asked.given, limits.doubt[asked.tag], limits.add[asked.tag])
    withheld = asked.given & below & ~_something_else_is_known(rows)[asked.row]
    doubted = (below & ~withheld) | (asked.decided < 0)
    action = np.where(asked.given, np.where(doubted, "doubt", "keep"), "add")
    listed = asked.given | ~below | (asked.decided > 0)
    columns = (asked.row, asked.tag, action, posterior, withheld)
    verdicts = [Verdict(*one) for one in zip(*(c[listed].tolist() for c in columns), strict=True)]
    return reasoned(verdicts, model, rows, scores, ids[block], in_full=explain)


@dataclass(frozen=True, eq=False)
class _Asked:
    """The tags of a block that may get a verdict: for each image additions first, best first."""

    row: IntArray
    tag: IntArray
    given: BoolArray
    decided: IntArray
    """1 where a person confirmed the tag, -1 where rejected, else 0."""

    @classmethod
    def of(cls, model: "Model", rows: Rows, scores: FloatArray, top: int) -> "_Asked":
        """Take the given tags, the best others, and those that a person accepted."""
        given, decided = rows.tags.toarray() > 0, _decided(model, rows)
        accepted = np.nonzero((decided > 0) & ~given)
        best = top_tags(scores, top, allowed=~given & (decided == 0))
        kinds = (
            accepted,
            (np.repeat(np.arange(len(rows)), np.diff(best.starts)), best.tags),
            np.nonzero(given),
        )
        row, tag = (np.concatenate([kind[k] for kind in kinds]) for k in range(2))
        order = np.argsort(row, kind="stable")
        row, tag = row[order], tag[order]
        return cls(row, tag, given[row, tag], decided[row, tag].astype(np.int64))


def _decided(model: "Model", rows: Rows) -> IntArray:
    """Return images x tags: 1 where a person confirmed the tag, -1 where rejected."""
    if isinstance(model.fitted, Updatable):
        found: IntArray = model.fitted.decided_of(rows).toarray()
        return found
    return np.zeros(rows.tags.shape, dtype=np.int8)


def all_probabilities(model: "Model", rows: Rows) -> FloatArray:
    """Return images x tags: the probability that each tag of the model belongs, float32."""
    scores = model.fitted.scores(rows)
    row, tag = (place.ravel() for place in np.indices(scores.shape))
    given, decided = rows.tags.toarray().ravel() > 0, _decided(model, rows).ravel()
    asked = _Asked(row, tag, given, decided.astype(np.int64))
    return _posterior(model, rows, scores, asked).astype(np.float32).reshape(scores.shape)


def _posterior(model: "Model", rows: Rows, scores: FloatArray, asked: _Asked) -> FloatArray:
    """Return the probability that each tag belongs to its image."""
    if isinstance(model.fitted, Calibrated):
        return model.fitted.posterior(rows, scores, asked.row, asked.tag)
    found = scores[asked.row, asked.tag]
    return np.where(asked.given, model.calibration.given(found), model.calibration.added(found))


def _something_else_is_known(rows: Rows) -> BoolArray:
    """Tell of which images more is known than one tag: of the others no tag can be doubted."""
    found: BoolArray = rows.described | (np.diff(rows.tags.indptr) > 1)
    return found
