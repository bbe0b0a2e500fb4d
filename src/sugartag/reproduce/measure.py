"""F of each concept and average precision of each query, for one way of scoring.

The rules are those of :mod:`sugartag.evaluation.protocol`; what is kept here is finer: concepts
and queries one by one, and the average F of each replicate, so that methods can be compared on the
same resampled images.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Literal

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, SparseRows
from sugartag.engine.base import Block, Engine
from sugartag.evaluation import bootstrap, ranking
from sugartag.evaluation.fscore import FCounts, f_counts
from sugartag.evaluation.protocol import Task, everything_but, predicted_tags
from sugartag.methods.base import Fitted

ROWS_PER_BLOCK = 4096


@dataclass(frozen=True)
class Measures:
    """What to measure."""

    top: int
    """Tags an image is given."""
    replicates: int
    """Resamplings of the images."""
    seed: int
    """With the same seed, the same images are in a replicate for every method."""
    queries: tuple[int, ...] = ()
    """Concepts that images are searched for by."""
    lengths: tuple[int, ...] = (10,)
    """Lengths of the lists found."""


@dataclass(frozen=True, eq=False)
class _Part:
    """What one block of images adds."""

    counts: FCounts
    scores: tuple[FloatArray, ...]
    """Of the queries: images x queries, one array a block."""

    def __add__(self, other: "_Part") -> "_Part":
        return _Part(self.counts + other.counts, self.scores + other.scores)


def measured(fitted: Fitted, task: Task, measures: Measures, *, engine: Engine) -> dict[str, Any]:
    """Score every image and return what the scores are worth, as numbers for JSON."""
    blocks = task.given.blocks(ROWS_PER_BLOCK)
    parts = engine.map(measure_images, blocks, fitted, task, measures)
    whole: _Part = reduce(add, parts)
    f = whole.counts.f()  # replicates x concepts, the images as they are first
    known = whole.counts.relevant[0] > 0
    means = _mean_f(whole.counts)
    spread = [
        bootstrap.centred_interval(float(f[0, c]), _of_present(whole.counts, f, c))
        for c in range(f.shape[1])
    ]
    found: dict[str, Any] = {
        "f": float(means[0]),
        "interval": list(bootstrap.centred_interval(float(means[0]), means[1:])),
        "replicates": means[1:].tolist(),
        "concept_f": [
            value if there else None for value, there in zip(f[0].tolist(), known, strict=True)
        ],
        "concept_low": [low for low, _ in spread],
        "concept_high": [high for _, high in spread],
    }
    if measures.queries:
        found |= _retrieved(np.concatenate(whole.scores), task, measures)
    return found


def measure_images(block: Block, fitted: Fitted, task: Task, measures: Measures) -> _Part:
    """Count one block's predictions, and keep its scores of the queries."""
    rows = task.given.rows(block)
    scores = fitted.scores(rows)
    left_out = None if task.hidden is None else rows.tags
    positives = task.positives_of(block)
    drawn = bootstrap.poisson_weights(measures.seed, block.start, block.stop, measures.replicates)
    weights = np.concatenate([np.ones((1, len(rows)), dtype=np.uint8), drawn])
    allowed = None if left_out is None else everything_but(left_out)
    predicted = predicted_tags(scores, measures.top, fitted, allowed)
    counts = f_counts(predicted, positives, task.concept_tag, weights=weights)
    return _Part(counts, (_query_scores(scores, fitted.floor, task, measures.queries, left_out),))


def _query_scores(
    scores: FloatArray,
    floor: float,
    task: Task,
    queries: Sequence[int],
    left_out: SparseRows | None,
) -> FloatArray:
    """Return images x queries: the floor without a tag, NaN where the tag is left out."""
    found = np.full((len(scores), len(queries)), floor, dtype=np.float32)
    for place, concept in enumerate(queries):
        if concept in task.concept_tag:
            tag = task.concept_tag[concept]
            found[:, place] = scores[:, tag]
            if left_out is not None:
                found[left_out[:, [tag]].nonzero()[0], place] = np.nan
    return found


def _mean_f(counts: FCounts) -> FloatArray:
    """Return the average F over the concepts with a positive, for each replicate."""
    known = counts.relevant > 0
    sums = np.where(known, counts.f(), 0.0).sum(axis=1)
    return bootstrap.ResampledSums(sums, np.count_nonzero(known, axis=1)).mean()


def _of_present(counts: FCounts, f: FloatArray, concept: int) -> FloatArray:
    """Return F of one concept in the replicates that have an image of it."""
    present: FloatArray = f[1:, concept][counts.relevant[1:, concept] > 0]
    return present


def _retrieved(scores: FloatArray, task: Task, measures: Measures) -> dict[str, Any]:
    """Return the average precision of each query at each length, in both ways of counting."""
    positives = sparse.vstack(
        [task.positives_of(block) for block in task.given.blocks(ROWS_PER_BLOCK)], format="csc"
    )
    found: dict[str, list[list[float]]] = {}
    for place, concept in enumerate(measures.queries):
        relevant = positives[:, [concept]].toarray().ravel() > 0
        for name, divisor in _DIVISORS.items():
            values = ranking.average_precision_at(
                scores[:, place], relevant, measures.lengths, divisor=divisor
            )
            found.setdefault(name, []).append(values.tolist())
    return found


_DIVISORS: Mapping[str, Literal["retrieved", "all"]] = {
    "precision_paper": "retrieved",
    "precision_usual": "all",
}
