"""F of each concept and average precision of each query, for one way of scoring.

Scored as :mod:`sugartag.evaluation.protocol` does it; what is kept here is finer: concepts and
queries one by one, and the average F of each replicate, so that methods can be compared on the same
resampled images.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray
from sugartag.engine.base import Engine
from sugartag.evaluation.bootstrap import centred_interval
from sugartag.evaluation.fscore import FCounts
from sugartag.evaluation.protocol import Task, scored
from sugartag.evaluation.ranking import average_precision_at
from sugartag.evaluation.results import Measures as EvaluationMeasures
from sugartag.methods.base import Fitted

_DIVISORS: Mapping[str, Literal["retrieved", "all"]] = {
    "precision_paper": "retrieved",
    "precision_usual": "all",
}


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


def measured(fitted: Fitted, task: Task, measures: Measures, *, engine: Engine) -> dict[str, Any]:
    """Score every image and return what the scores are worth, as numbers for JSON."""
    table = np.empty(task.shape, dtype=np.float32, order="F")
    wanted = EvaluationMeasures(
        tops=(measures.top,), bootstrap=measures.replicates, bootstrap_seed=measures.seed
    )
    counts = scored(fitted, task, wanted, engine=engine, table=table).f[0]
    f, known = counts.f(), counts.relevant[0] > 0  # replicates x concepts, images as they are first
    means = counts.mean_f()
    spread = [
        centred_interval(float(f[0, c]), _of_present(counts, f, c)) for c in range(f.shape[1])
    ]
    return {
        "f": float(means[0]),
        "interval": list(centred_interval(float(means[0]), means[1:])),
        "replicates": means[1:].tolist(),
        "concept_f": [
            value if there else None for value, there in zip(f[0].tolist(), known, strict=True)
        ],
        "concept_low": [low for low, _ in spread],
        "concept_high": [high for _, high in spread],
    } | _retrieved(table, task, measures)


def _of_present(counts: FCounts, f: FloatArray, concept: int) -> FloatArray:
    """Return F of one concept in the replicates that have an image of it."""
    present: FloatArray = f[1:, concept][counts.relevant[1:, concept] > 0]
    return present


def _retrieved(table: FloatArray, task: Task, measures: Measures) -> dict[str, Any]:
    """Return the average precision of each query at each length, in both ways of counting."""
    positives = sparse.vstack(
        [task.positives_of(block) for block in task.given.blocks()], format="csc"
    )
    found: dict[str, list[list[float]]] = {}
    for concept in measures.queries:
        relevant = positives[:, [concept]].toarray().ravel() > 0
        for name, divisor in _DIVISORS.items():
            values = average_precision_at(
                table[:, concept], relevant, measures.lengths, divisor=divisor
            )
            found.setdefault(name, []).append(values.tolist())
    return found
