"""sugar-plus: the anchor machinery of the paper, with its modelling faults removed.

Evidence from everything known of an image (its other tags, anchors, its title, its owner's groups),
one ridge regression for all tags, the owner's own history, and a model of how people tag that turns
evidence into the probability that a tag belongs. What there is to choose is chosen from the
collection itself, by how well its tags are predicted from everything else.
"""

import logging
import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sugartag._typing import BoolArray, FloatArray, IntArray
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Block, Engine
from sugartag.methods.settings import require, require_not_negative, require_positive
from sugartag.methods.sugar_plus_belief import Beliefs, Evidences
from sugartag.methods.sugar_plus_evidence import Evidence, EvidencePlan, gather_evidence
from sugartag.methods.sugar_plus_history import History, write_history
from sugartag.methods.sugar_plus_ridge import Normal, Ridge, normal_equations

logger = logging.getLogger(__name__)

TAG_RIDGES = (1.0, 5.0, 20.0, 80.0, 300.0)
ANCHOR_RIDGES = (0.03, 0.1, 0.3, 1.0, 3.0)
USUAL_ANCHOR_RIDGE = 0.1
"""What anchors are penalised by while the ridge of tags is chosen."""
TASTE_RIDGE = 10.0
ROWS_PER_BLOCK = 256
ROWS_AT_ONCE = 512
"""Images scored in one step: a dozen arrays of them x tags are in double precision."""
LEARNING_CELLS = 1 << 23
"""Images x tags that belief is learned from, at most."""
CHOOSING_TAGS = 1_000
"""Tags among the columns while ridges are chosen: the most used."""
MEASURED_TAGS = 200
"""Tags whose prediction decides between ridges."""


@dataclass(frozen=True, eq=False)
class FittedSugarPlus:
    """What evidence there is, what it says about tags, and what that means."""

    gives_whole_sets: ClassVar[bool] = False

    evidence: Evidence
    ridge: Ridge
    history: History
    belief: Beliefs
    tag_ridge: float
    anchor_ridge: float
    threshold: float
    """The probability from which suggesting a tag raises the F that is expected."""

    @property
    def floor(self) -> float:
        """The probability from which a suggestion does more good than harm."""
        return self.threshold

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return the probability that each tag belongs.

        With ``strangers_only`` the owner's other images have no say; anchors belong to nobody.
        """
        history = None if strangers_only else self.history
        found = np.empty((len(rows), self.evidence.n_tags), dtype=np.float32)
        for start in range(0, len(rows), ROWS_AT_ONCE):
            part = np.arange(start, min(start + ROWS_AT_ONCE, len(rows)))
            some = rows.at(part)
            evidences = evidences_of(some, self.evidence, self.ridge, history)
            found[part] = self.belief.probability(evidences, some.tags.toarray() > 0)
        return found


@dataclass(frozen=True)
class SugarPlus:
    """Settings of sugar-plus; those that are None are chosen from the collection."""

    name: ClassVar[str] = "sugar-plus"
    summary: ClassVar[str] = "Everything known of an image weighed for each tag; the default."
    fitted_type: ClassVar[type[FittedSugarPlus]] = FittedSugarPlus

    anchors: int = 500
    """Anchors that images are compared with: centres of many images."""
    kernel_width: float = 1.4
    """Width of the likeness to an anchor, in median distances of two images."""
    anchor_ridge: float | None = None
    """Penalty of the weights of anchors; None chooses."""
    tag_ridge: float | None = None
    """Penalty of the weights of tags and title words; None chooses."""
    max_predictors: int = 4_000
    """Tags that predict others, at most: the most used."""
    titles: bool = True
    """Use the words of titles, where there are titles."""
    tastes: int = 32
    """Numbers that describe what the members of an owner's groups tag; 0 leaves groups out."""
    owner_variance: float = 0.05
    """How much images of one owner have in common for no visible reason, relative to the noise."""
    history: int = 200
    """Images of each owner that are remembered, at most; 0 leaves the owner's history out."""
    look_alike_width: float = 0.4
    """Width within which two images of one owner look alike, in median distances."""
    unit_features: bool = True
    """Scale the features of each image to length 1 before comparing them."""

    def __post_init__(self) -> None:
        require_not_negative(
            self, "anchors", "max_predictors", "tastes", "history", "owner_variance"
        )
        require_positive(self, "kernel_width", "look_alike_width")
        for name in ("anchor_ridge", "tag_ridge"):
            value = getattr(self, name)
            require(
                value is None or value > 0,
                f"{self.name} setting {name} is {value}; it must be above 0, or none",
            )

    def fit(
        self, collection: Collection, *, engine: Engine, rng: np.random.Generator
    ) -> FittedSugarPlus:
        """Add up the evidence in one pass, solve, and learn what it means on a sample."""
        began = time.perf_counter()
        evidence = gather_evidence(self._plan(), collection, engine=engine, rng=rng)
        normal = normal_equations(collection, evidence, self.owner_variance, engine=engine)
        history = write_history(
            collection,
            normal.share,
            width=self.look_alike_width,
            most=self.history,
            unit_features=self.unit_features,
            engine=engine,
            rng=rng,
        )
        logger.info("sugar-plus: evidence added up, %.1f s", time.perf_counter() - began)
        sample = _sample_blocks(collection)
        tag_ridge, anchor_ridge = self._ridges(normal, evidence, collection, sample)
        logger.info("sugar-plus: tag_ridge %g, anchor_ridge %g", tag_ridge, anchor_ridge)
        penalty = _penalty(evidence, tag_ridge, anchor_ridge)
        ridge = Ridge.solved(normal, evidence.predictor, penalty, collection.n_images)
        belief, threshold = _learned(evidence, ridge, history, collection, sample, engine)
        logger.info(
            "sugar-plus: content %.2f, look-alikes %.2f, stamps %.2f, recall %.2f, floor %.2f; "
            "%.1f s",
            belief.with_history.content_weight,
            belief.with_history.alike_weight,
            belief.with_history.always_stamp,
            belief.with_history.recall,
            threshold,
            time.perf_counter() - began,
        )
        return FittedSugarPlus(evidence, ridge, history, belief, tag_ridge, anchor_ridge, threshold)

    def _plan(self) -> EvidencePlan:
        return EvidencePlan(
            anchors=self.anchors,
            kernel_width=self.kernel_width,
            max_predictors=self.max_predictors,
            titles=self.titles,
            tastes=self.tastes,
            unit_features=self.unit_features,
        )

    def _ridges(
        self,
        normal: Normal,
        evidence: Evidence,
        collection: Collection,
        sample: tuple[Block, ...],
    ) -> tuple[float, float]:
        """Choose the ridges that are not set, one after the other."""
        choice = RidgeChoice.of(normal, evidence, collection, sample)
        tag_ridge, anchor_ridge = self.tag_ridge, self.anchor_ridge
        if tag_ridge is None:
            fixed = anchor_ridge or USUAL_ANCHOR_RIDGE
            tag_ridge = max(TAG_RIDGES, key=lambda value: choice.precision(value, fixed))
        if anchor_ridge is None:
            fixed = tag_ridge
            anchor_ridge = max(ANCHOR_RIDGES, key=lambda value: choice.precision(fixed, value))
        return tag_ridge, anchor_ridge


@dataclass(frozen=True, eq=False)
class RidgeChoice:
    """A smaller regression, and sampled images on which its ridges are compared."""

    normal: Normal
    evidence: Evidence
    rows: tuple[Rows, ...]
    measured: IntArray
    """Tags whose prediction counts."""
    n_images: int

    @classmethod
    def of(
        cls,
        normal: Normal,
        evidence: Evidence,
        collection: Collection,
        sample: tuple[Block, ...],
    ) -> "RidgeChoice":
        """Keep the most used tags among the columns, and all other columns."""
        uses = normal.share[evidence.predictor]
        kept = np.sort(np.argsort(-uses, kind="stable")[:CHOOSING_TAGS])
        columns = np.concatenate([kept, np.arange(len(evidence.predictor), len(normal.mean))])
        predictor = evidence.predictor[kept]
        measured = np.linspace(0, len(predictor) - 1, min(MEASURED_TAGS, len(predictor)))
        smaller = Normal(
            normal.gram[np.ix_(columns, columns)],
            normal.cross[columns],
            normal.mean[columns],
            normal.share,
        )
        return cls(
            smaller,
            replace(evidence, predictor=predictor),
            tuple(collection.rows(block) for block in sample),
            predictor[np.unique(measured.astype(int))],
            collection.n_images,
        )

    def precision(self, tag_ridge: float, anchor_ridge: float) -> float:
        """Return the mean average precision of the given tags, each image judged by the others."""
        penalty = _penalty(self.evidence, tag_ridge, anchor_ridge)
        ridge = Ridge.solved(self.normal, self.evidence.predictor, penalty, self.n_images)
        found, given = [], []
        for rows in self.rows:
            known, dense = self.evidence.sparse_part(rows), self.evidence.dense_part(rows)
            found.append(ridge.excess(rows, known, dense)[:, self.measured])
            given.append(rows.tags[:, self.measured].toarray() > 0)
        return mean_precision(np.concatenate(found), np.concatenate(given))


def evidences_of(
    rows: Rows, evidence: Evidence, ridge: Ridge, history: History | None
) -> Evidences:
    """Return what everything says about the tags of some images."""
    known, dense = evidence.sparse_part(rows), evidence.dense_part(rows)
    content = ridge.excess(rows, known, dense)
    if history is None:
        nothing = np.zeros_like(content)
        return Evidences(content, nothing, nothing, np.zeros(len(rows), dtype=bool))
    habits = history.habits(rows)
    return Evidences(content, habits.always, habits.alike, habits.told)


def mean_precision(scores: FloatArray, given: BoolArray) -> float:
    """Return the mean over tags of the average precision, to the digits that mean something."""
    found = []
    for tag in np.flatnonzero(given.any(axis=0)):
        hits = given[np.argsort(-scores[:, tag], kind="stable"), tag]
        place = np.flatnonzero(hits) + 1
        found.append(np.mean(np.arange(1, len(place) + 1) / place))
    return round(float(np.mean(found)), 6) if found else 0.0


def judge_by_the_others(
    block: Block, collection: Collection, evidence: Evidence, ridge: Ridge, history: History
) -> tuple[Evidences, BoolArray]:
    """Return what everything says about the images of a block, and what was given."""
    rows = collection.rows(block)
    return evidences_of(rows, evidence, ridge, history), rows.tags.toarray() > 0


def _learned(
    evidence: Evidence,
    ridge: Ridge,
    history: History,
    collection: Collection,
    sample: tuple[Block, ...],
    engine: Engine,
) -> tuple[Beliefs, float]:
    parts = list(engine.map(judge_by_the_others, sample, collection, evidence, ridge, history))
    given = np.concatenate([part[1] for part in parts])
    names = ("content", "always", "alike", "told")
    evidences = Evidences(
        *(np.concatenate([getattr(part[0], name) for part in parts]) for name in names)
    )
    belief = Beliefs.learned(evidences, given, ridge.share)
    return belief, best_threshold(belief.probability(evidences, given))


def best_threshold(probability: FloatArray) -> float:
    """Return the threshold with the highest F expected, if the probabilities are right."""
    falling = np.sort(probability, axis=None)[::-1]
    expected = np.cumsum(falling)
    f = 2.0 * expected / (np.arange(1, len(falling) + 1) + expected[-1])
    return round(float(falling[int(f.argmax())]), 4)


def _sample_blocks(collection: Collection) -> tuple[Block, ...]:
    """Return blocks all over the collection, as many as belief can be learned from."""
    blocks = collection.blocks(ROWS_PER_BLOCK)
    wanted = max(1, LEARNING_CELLS // (collection.n_tags * ROWS_PER_BLOCK))
    chosen = np.unique(np.linspace(0, len(blocks) - 1, min(wanted, len(blocks))).astype(int))
    return tuple(blocks[number] for number in chosen)


def _penalty(evidence: Evidence, tag_ridge: float, anchor_ridge: float) -> FloatArray:
    counts = (evidence.n_sparse, len(evidence.anchors), evidence.taste.shape[1])
    return np.repeat([tag_ridge, anchor_ridge, TASTE_RIDGE], counts)
