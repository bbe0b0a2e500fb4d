"""Fit a method, score every image, measure the scores.

A :class:`Task` says what is predicted: the true concepts of a collection, or tags hidden from it.
Images are scored a block at a time. F, changes and MiAP add up over blocks; MAP and NDCG need all
images of a concept, so the scores of the concepts, and of no other tag, go into a table that may
be a mapped file.

Which concepts count: means over concepts are over those with at least one positive. A concept of
the truth always has one; a tag none of whose uses was hidden has none, so it cannot be scored and
is in no mean over concepts. It still competes with the others in the ranking of an image.
"""

import dataclasses
import logging
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from scipy import sparse

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.assignment.rank import top_tags
from sugartag.collection.model import Collection, Rows
from sugartag.collection.subset import hide_tags, tag_counts, without_truth
from sugartag.engine.base import Block, Engine, Progress, row_blocks, stage
from sugartag.errors import CollectionError, SettingsError
from sugartag.evaluation import bootstrap, fscore, ranking
from sugartag.evaluation.cost import Meter
from sugartag.evaluation.results import Measures, MethodResult, Metrics, Table, Tally, metrics_of
from sugartag.methods.base import Fitted, Method

logger = logging.getLogger(__name__)

MIN_USES = 10
"""Uses that make a tag a concept when tags are hidden."""
CELLS_AT_ONCE = 1 << 25
"""Scores of one block at most, unless asked otherwise: 128 MB of float32."""
LARGEST_BLOCK = 8192
SCORED_ROWS = 256
"""Images scored at a time: blocks are multiples of it, for the last digits of a product
depend on how many rows it has."""


@dataclass(frozen=True, eq=False)
class Task:
    """What is predicted, from what."""

    given: Collection
    """What methods learn from and score; it knows no truth."""
    answers: Collection
    """The same images, with the true concepts, or with the hidden tags as their tags."""
    concept_names: tuple[str, ...]
    concept_tag: Mapping[int, int]
    """The tag that scores each concept; a concept without one scores the floor everywhere."""
    n_positives: IntArray
    """How many images have each concept."""
    hidden: Mapping[str, float] | None = None
    """The share hidden and the uses that make a concept; None where the truth is known."""

    @property
    def shape(self) -> tuple[int, int]:
        """Return the shape of a table of scores: images and concepts."""
        return self.given.n_images, len(self.concept_names)

    def positives_of(self, block: Block) -> SparseRows:
        """Return what is to be found in one block: images x concepts."""
        if self.hidden is None:
            return self.answers.truth_of(block)
        tags = self.answers.tags_of(block)
        return fscore.concepts_of(tags, self.concept_tag, n_concepts=len(self.concept_names))

    def counts(self) -> dict[str, int]:
        """Return how much of everything there is, as result files name it."""
        given = self.given
        return {
            "images": given.n_images,
            "tags": given.n_tags,
            "owners": given.n_owners,
            "groups": given.n_groups,
            "concepts": len(self.concept_names),
        }

    def described(self) -> dict[str, Any]:
        """Return what is predicted, as result files say it."""
        scored = int(np.count_nonzero(self.n_positives))
        return {
            "predict": "truth" if self.hidden is None else "hidden tags",
            "concepts_scored": scored,
            **(self.hidden or {}),
        }


def truth_task(collection: Collection) -> Task:
    """Predict the true concepts, each scored by the tag of the same name."""
    collection.require_tags("an evaluation")
    if not collection.has_truth:
        raise CollectionError("this collection has no truth; pass --hide 0.3 to score without one")
    tag_of = {name: tag for tag, name in enumerate(collection.tag_names)}
    names = collection.concept_names
    n_positives = np.zeros(len(names), dtype=np.int64)
    for shard in collection.shards:
        if shard.truth is not None:
            n_positives += np.bincount(shard.truth.indices, minlength=len(names))
    return Task(
        given=without_truth(collection),
        answers=collection,
        concept_names=names,
        concept_tag={c: tag_of[name] for c, name in enumerate(names) if name in tag_of},
        n_positives=n_positives,
    )


def hidden_task(collection: Collection, share: float, seed: int, min_uses: int = MIN_USES) -> Task:
    """Hide a share of the given tags and predict them, among the tags used often enough.

    A tag still given to an image is left out of that image's ranking.
    """
    collection.require_tags("an evaluation")
    parts = hide_tags(collection, share, seed)
    concepts = np.flatnonzero(tag_counts(collection) >= min_uses)
    n_positives = tag_counts(parts.taken)[concepts]
    if not n_positives.any():
        raise CollectionError(
            f"hiding {share} of the tags hid no tag used {min_uses} times or more; "
            "hide a larger share, or evaluate a larger collection"
        )
    return Task(
        given=parts.collection,
        answers=parts.taken,
        concept_names=tuple(collection.tag_names[tag] for tag in concepts),
        concept_tag=dict(enumerate(concepts.tolist())),
        n_positives=n_positives,
        hidden={"share": share, "min_uses": min_uses},
    )


def method_rng(name: str, seed: int) -> np.random.Generator:
    """Return a method's own random numbers: it scores the same whichever others are compared."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def evaluate(
    method: Method,
    task: Task,
    *,
    engine: Engine,
    rng: np.random.Generator,
    measures: Measures | None = None,
    table: Table | None = None,
    progress: Progress | None = None,
) -> MethodResult:
    """Fit the method, score every image and measure the scores.

    ``table`` (images x concepts, best in Fortran order) is filled with the scores; without one
    they are held in memory. ``progress`` hears how many concepts have been measured.
    """
    measures = measures or Measures()
    table = np.empty(task.shape, dtype=np.float32, order="F") if table is None else table
    if table.shape != task.shape:
        raise SettingsError(f"the table of scores has shape {table.shape}; make it {task.shape}")
    with Meter() as fitting, stage(engine, f"fitting {method.name}"):
        fitted = method.fit(task.given, engine=engine, rng=rng)
    logger.info("%s: fitted in %.2f s", method.name, fitting.seconds)
    blocks = _blocks(task, measures)
    stacked = sparse.vstack([task.positives_of(block) for block in blocks], format="csr")
    positives = sparse.csr_array(stacked.T)

    def score(strangers_only: bool) -> Tally:
        return scored(
            fitted, task, measures, engine=engine, table=table, strangers_only=strangers_only
        )

    def measure(tally: Tally) -> Metrics:
        return metrics_of(tally, table, positives, measures, progress)

    # The author-aware scores go first, so that the table is left with the plain ones.
    aware = measure(score(strangers_only=True)) if measures.author_aware else None
    with Meter() as scoring:
        tally = score(strangers_only=False)
    logger.info("%s: %d images scored in %.2f s", method.name, task.shape[0], tally.seconds)
    return MethodResult(
        name=method.name,
        settings=_settings(method),
        metrics=measure(tally),
        author_aware=aware,
        fit_seconds=fitting.seconds,
        score_seconds=tally.seconds,
        peak_rss_mb=max(fitting.peak_rss_mb, scoring.peak_rss_mb),
    )


def scored(
    fitted: Fitted,
    task: Task,
    measures: Measures,
    *,
    engine: Engine,
    table: Table,
    strangers_only: bool = False,
) -> Tally:
    """Score every image, fill the table, and return what adds up over images."""
    blocks = _blocks(task, measures)
    job = _Job(fitted, task, measures, strangers_only)
    return _filled(table, blocks, engine.map(score_images, blocks, job))


def _blocks(task: Task, measures: Measures) -> tuple[Block, ...]:
    small = max(1, min(LARGEST_BLOCK, CELLS_AT_ONCE // task.given.n_tags))
    asked = measures.rows_per_block or small
    return task.given.blocks(-(-asked // SCORED_ROWS) * SCORED_ROWS)


@dataclass(frozen=True, eq=False)
class _Job:
    """What scoring a block needs to know; the same for all blocks."""

    fitted: Fitted
    task: Task
    measures: Measures
    strangers_only: bool


def score_images(block: Block, job: _Job) -> tuple[FloatArray, Tally]:
    """Score one block; return the scores of the concepts and what they are worth so far."""
    task, fitted = job.task, job.fitted
    rows = task.given.rows(block)
    started = time.perf_counter()
    scores = _scores(fitted, rows, strangers_only=job.strangers_only)
    seconds = time.perf_counter() - started

    left_out = None if task.hidden is None else rows.tags
    concept_scores = _concept_scores(scores, fitted.floor, task, left_out)
    positives = task.positives_of(block)
    drawn = bootstrap.poisson_weights(
        job.measures.bootstrap_seed, block.start, block.stop, job.measures.bootstrap
    )
    weights = np.concatenate([np.ones((1, len(rows)), dtype=np.uint8), drawn])
    allowed = None if left_out is None else everything_but(left_out)
    chosen = [predicted_tags(scores, k, fitted, allowed) for k in sorted(job.measures.tops)]
    precision = ranking.average_precision_rows(concept_scores, positives.toarray() > 0)
    tally = Tally(
        f=tuple(
            fscore.f_counts(tags, positives, task.concept_tag, weights=weights) for tags in chosen
        ),
        changes=fscore.change_counts(chosen[-1], rows.tags, positives, task.concept_tag)
        if left_out is None
        else None,
        image_precision=bootstrap.resampled_sums(precision, weights),
        seconds=seconds,
    )
    return concept_scores, tally


def _scores(fitted: Fitted, rows: Rows, *, strangers_only: bool) -> FloatArray:
    """Return the scores of a block, as many images at a time whatever the size of the block."""
    steps = row_blocks(len(rows), SCORED_ROWS)
    if len(steps) == 1:
        return fitted.scores(rows, strangers_only=strangers_only)
    parts = (rows.at(np.arange(step.start, step.stop)) for step in steps)
    return np.concatenate([fitted.scores(part, strangers_only=strangers_only) for part in parts])


def _concept_scores(
    scores: FloatArray, floor: float, task: Task, left_out: SparseRows | None
) -> FloatArray:
    """Return images x concepts: the floor without a tag, NaN where the tag is left out."""
    concepts, tags = list(task.concept_tag.keys()), list(task.concept_tag.values())
    found = np.full((len(scores), task.shape[1]), floor, dtype=np.float32)
    found[:, concepts] = scores[:, tags]
    if np.isnan(found).any():
        concept = int(np.flatnonzero(np.isnan(found).any(axis=0))[0])
        raise SettingsError(
            f"the scores of {task.concept_names[concept]!r} are not all numbers; "
            "the method did not work with these settings, change them"
        )
    if left_out is not None:
        out = fscore.concepts_of(left_out, task.concept_tag, n_concepts=task.shape[1])
        found[out.nonzero()] = np.nan
    return found


def everything_but(pairs: SparseRows) -> BoolArray:
    """Return which images and tags are not among the pairs."""
    outside = np.ones(pairs.shape, dtype=np.bool_)
    outside[pairs.nonzero()] = False
    return outside


def predicted_tags(
    scores: FloatArray, k: int, fitted: Fitted, allowed: BoolArray | None
) -> SparseRows:
    """Return the tags given to each image: its k best, or all where the answer is a set."""
    if not fitted.gives_whole_sets:
        best = top_tags(scores, k, floor=fitted.floor, allowed=allowed)
        return best.as_rows(scores.shape[1])
    above = scores > scores.dtype.type(fitted.floor)
    whole: SparseRows = sparse.csr_array(above if allowed is None else above & allowed)
    return whole


def _filled(
    table: Table, blocks: Sequence[Block], scored: Iterator[tuple[FloatArray, Tally]]
) -> Tally:
    """Put the scores of the blocks into the table and return the sum of their tallies."""

    def tallies() -> Iterator[Tally]:
        for block, (concept_scores, tally) in zip(blocks, scored, strict=True):
            table[block] = concept_scores
            yield tally

    return reduce(add, tallies())


def _settings(method: Method) -> dict[str, Any]:
    if not dataclasses.is_dataclass(method):
        return {}
    return {item.name: getattr(method, item.name) for item in dataclasses.fields(method)}
