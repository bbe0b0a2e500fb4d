"""Linear classifiers that learn from the planted truth, and score images they did not learn from.

Images are dealt into folds; the images of one are scored by what was learned from the others. How
much is penalised, and how features are scaled against tags, is chosen by splits of what folds have
to learn from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from comparison.linear_classifiers import logistic_scores, ridge_scores
from sugartag._typing import BoolArray, FloatArray, IntArray
from sugartag.assignment.rank import top_tags
from sugartag.collection.model import Collection, Rows
from sugartag.collection.synthetic import World
from sugartag.engine.base import Engine
from sugartag.evaluation.protocol import Task, truth_task
from sugartag.evaluation.ranking import average_precision
from sugartag.features.normalise import visual_rows
from sugartag.linalg.logistic import logistic_weights

N_FOLDS = 5
FEATURE_SCALES = (1.0, 2.0, 4.0, 8.0)
"""What features of length 1 are multiplied by, beside tags of 0 and 1."""
TOP = 5
"""Tags of an image that the floor is chosen for."""
FLOORS = 50
"""Floors tried."""
MORE_IMAGES = 100_000
"""Other images of the same world that classifiers with very many labels learn from."""
MANY_PENALTY, MANY_STEPS = 1.0, 60
FOLDING = 5
"""Keeps the random numbers of folds apart from those that make a world or fit a method."""


class Scorer(Protocol):
    """Learns from some images and scores others, with several penalties."""

    def __call__(
        self, inputs: FloatArray, labels: BoolArray, others: FloatArray, penalties: Sequence[float]
    ) -> list[FloatArray]:
        """Return images x concepts for each penalty."""
        ...


@dataclass(frozen=True)
class Kind:
    """A kind of classifier, and the penalties it is tried with."""

    scores: Scorer
    penalties: tuple[float, ...]


KINDS: Mapping[str, Kind] = {
    # One divided by scikit-learn's C, and its alpha.
    "logistic": Kind(logistic_scores, (10.0, 3.0, 1.0, 0.3)),
    "ridge": Kind(ridge_scores, (300.0, 100.0, 30.0, 10.0)),
}


@dataclass(frozen=True, eq=False)
class Labelled:
    """Images with their truth, as classifiers learn from them."""

    features: FloatArray
    """Of length 1, as they are compared."""
    tags: FloatArray
    """Images x tags, 1 where given."""
    labels: BoolArray
    """Images x concepts."""
    owner: IntArray

    @classmethod
    def of(cls, task: Task) -> "Labelled":
        """Return the images of a task whose answer is the truth."""
        everything = slice(0, task.given.n_images)
        rows = task.given.rows(everything)
        return cls(
            features=visual_rows(rows.features, unit_length=True),
            tags=rows.tags.toarray().astype(np.float64),
            labels=task.positives_of(everything).toarray() > 0,
            owner=rows.owner,
        )

    def inputs(self, chosen: BoolArray, scale: float) -> FloatArray:
        """Return what is known of some images, features scaled against tags."""
        return np.hstack([scale * self.features[chosen], self.tags[chosen]])


@dataclass(frozen=True)
class Chosen:
    """What splits of the images to learn from decided."""

    scale: float
    penalty: float
    floor: float
    """The score from which predicting a concept raises F."""
    precision: float
    """MAP of the images held out in these splits."""


@dataclass(frozen=True, eq=False)
class HeldOutScores:
    """Scores of images by classifiers that did not see them; there is nothing left to fit."""

    name: ClassVar[str] = "clean-labels"
    summary: ClassVar[str] = "Linear classifiers trained on the truth of other images."
    fitted_type: ClassVar[type[Any]]
    gives_whole_sets: ClassVar[bool] = False

    table: FloatArray
    """Images x tags; tags whose truth is not known score the floor."""
    floor: float

    def fit(self, collection: Collection, *, engine: Engine, rng: np.random.Generator) -> Self:
        """Return the scores, which are there already."""
        return self

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return images x tags."""
        return self.table[rows.position]


HeldOutScores.fitted_type = HeldOutScores


def dealt(known: Labelled, over: str, rng: np.random.Generator, n_parts: int) -> IntArray:
    """Return the part of each image: dealt one by one, or all images of an owner together."""
    if over == "images":
        return rng.permutation(len(known.labels)) % n_parts
    of_owner = rng.permutation(int(known.owner.max()) + 1) % n_parts
    return of_owner[known.owner]


def cross_validated(
    task: Task, known: Labelled, kind: Kind, *, over: str, seed: int
) -> tuple[HeldOutScores, Chosen]:
    """Return the scores of every image by what was learned from the other folds."""
    rng = np.random.default_rng([seed, FOLDING])
    fold = dealt(known, over, rng, N_FOLDS)
    chosen = choose(known, kind, fold, dealt(known, over, rng, N_FOLDS))
    scores = np.zeros(known.labels.shape)
    for number in range(N_FOLDS):
        learn, held = fold != number, fold == number
        inputs, others = (known.inputs(part, chosen.scale) for part in (learn, held))
        (scores[held],) = kind.scores(inputs, known.labels[learn], others, [chosen.penalty])
    table = np.full((task.given.n_images, task.given.n_tags), chosen.floor, dtype=np.float32)
    for concept, tag in task.concept_tag.items():
        table[:, tag] = scores[:, concept]
    return HeldOutScores(table, chosen.floor), chosen


def choose(known: Labelled, kind: Kind, fold: IntArray, inner: IntArray) -> Chosen:
    """Return the scale and the penalty with the highest MAP in splits of what folds learn from.

    Of what each fold learns from, the images of one inner part are held out, of another part for
    each fold, and all of them are ranked together, as they are when folds are measured: scores of
    several classifiers then have to agree. For the same reason the choice is one for all folds.
    """
    parts = [(fold != k) & (inner != k) for k in range(N_FOLDS)]
    held = [(fold != k) & (inner == k) for k in range(N_FOLDS)]
    wanted = np.concatenate([known.labels[part] for part in held])
    found = []
    for scale in FEATURE_SCALES:
        tried = [
            kind.scores(
                known.inputs(learn, scale),
                known.labels[learn],
                known.inputs(rest, scale),
                kind.penalties,
            )
            for learn, rest in zip(parts, held, strict=True)
        ]
        for place, penalty in enumerate(kind.penalties):
            scores = np.concatenate([one[place] for one in tried])
            found.append((mean_precision(scores, wanted), scale, penalty, scores))
    precision, scale, penalty, scores = max(found, key=lambda one: one[0])
    return Chosen(scale, penalty, best_floor(scores, wanted), precision)


def mean_precision(scores: FloatArray, wanted: BoolArray) -> float:
    """Return the mean over concepts of the average precision, of those that some image has."""
    known = np.flatnonzero(wanted.any(axis=0))
    return float(np.mean([average_precision(scores[:, c], wanted[:, c]) for c in known]))


def best_floor(scores: FloatArray, wanted: BoolArray) -> float:
    """Return the floor with the highest mean F, when each image gets its best above the floor."""
    best = top_tags(scores, TOP).as_rows(scores.shape[1]).toarray() != 0
    known = wanted.any(axis=0)
    floors = np.quantile(scores[best], np.linspace(0.0, 1.0, FLOORS, endpoint=False))

    def mean_f(floor: float) -> float:
        given = best & (scores > floor)
        both = np.count_nonzero(given & wanted, axis=0)
        total = np.count_nonzero(given, axis=0) + np.count_nonzero(wanted, axis=0)
        return float(np.mean(2.0 * both[known] / total[known]))

    return float(max(floors, key=mean_f))


def missing_found(task: Task, scores: FloatArray, right: float) -> float:
    """Return which part of the right tags that nobody gave is in a list that is mostly right.

    It is the longest list, by score, of cells of images x tags whose truth is known and that were
    not given, of which at least the share ``right`` is.
    """
    everything = slice(0, task.given.n_images)
    concepts, tags = (list(part) for part in (task.concept_tag.keys(), task.concept_tag.values()))
    missing = task.given.rows(everything).tags.toarray()[:, tags] == 0
    wanted = task.positives_of(everything).toarray()[:, concepts][missing] > 0
    return found_in_order(scores[:, tags][missing], wanted, right)


def found_by_many(world: World, seed: int, right: float) -> float:
    """Return the same of logistic regression that learned from very many other images of a world.

    With so many images it does not matter how much is penalised. Features are standardised.
    """
    more = world.n_owners * MORE_IMAGES // world.n_images
    sizes = {"n_images": world.n_images + MORE_IMAGES, "n_owners": world.n_owners + more}
    task = truth_task(replace(world, **sizes).generate(seed))
    known, here = Labelled.of(task), np.arange(task.given.n_images) < world.n_images
    features = known.features - known.features.mean(axis=0)
    features /= np.maximum(features.std(axis=0), np.finfo(np.float32).tiny)
    ones = np.ones((len(features), 1))
    inputs = np.hstack([features, 2.0 * known.tags, ones]).astype(np.float32)
    labels = known.labels[~here].astype(np.float32)
    weights = logistic_weights(inputs[~here], labels, MANY_PENALTY, MANY_STEPS)
    concepts, tags = (list(part) for part in (task.concept_tag.keys(), task.concept_tag.values()))
    missing = known.tags[here][:, tags] == 0
    wanted = known.labels[here][:, concepts][missing]
    return found_in_order((inputs[here] @ weights)[:, concepts][missing], wanted, right)


def found_in_order(scores: FloatArray, wanted: BoolArray, right: float) -> float:
    """Return which part of what is wanted is in the longest list by score that is mostly right."""
    so_far = np.cumsum(wanted[np.argsort(-scores, kind="stable")])
    enough = np.flatnonzero(so_far >= right * np.arange(1, len(so_far) + 1))
    return float(so_far[enough[-1]] / so_far[-1]) if len(enough) else 0.0
