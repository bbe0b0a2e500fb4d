"""What the collection itself decides: how wide the likeness is, and how strong the ridges.

Owners, with all their images, are held out of a sample, and the choice is what predicts their tags
best. Tags that an owner repeats from image to image cannot help there: only what holds between
strangers can.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, Engine
from sugartag.linalg.sparse_rows import chosen_columns
from sugartag.methods.sugar_plus.evidence import (
    USUAL_WIDTH,
    Evidence,
    compared_features,
    likeness,
)
from sugartag.methods.sugar_plus.ridge import inverse_columns

TAG_RIDGES = (20.0, 5.0, 80.0, 1.0, 300.0)
ANCHOR_RIDGES = (0.3, 0.03, 3.0)
KERNEL_WIDTHS = (USUAL_WIDTH, 0.8)
"""Each from the most usual on: where nothing can be told, the first is taken."""
TASTE_RIDGE = 10.0
IMAGES = 6_000
"""Of the sample, at most."""
HELD_OUT = 0.2
FOLDS = 3
"""Times that others are held out, where the sample is the whole collection; else once is enough."""
COLUMNS = 1_000
"""Tags and words among the columns: the most used."""
MEASURED_TAGS = 200
"""Tags whose prediction decides, at most: some of each frequency."""
FEWEST_OWNERS = 10
"""With fewer, images are held out one by one."""


@dataclass(frozen=True)
class Choice:
    """What was chosen, or set."""

    kernel_width: float
    tag_ridge: float
    anchor_ridge: float
    precision: float
    """With which the tags of held-out owners were found: mean average precision."""


@dataclass(frozen=True)
class Fixed:
    """What is set already; None is to be chosen."""

    kernel_width: float | None
    tag_ridge: float | None
    anchor_ridge: float | None


def penalties(
    evidence: Evidence, n_known: int, tag_ridge: float, anchor_ridge: float
) -> FloatArray:
    """Return the penalty of each column: tags and words, anchors, tastes."""
    counts = (n_known, len(evidence.anchors), evidence.taste.shape[1])
    return np.repeat([tag_ridge, anchor_ridge, TASTE_RIDGE], counts)


def choose(
    fixed: Fixed,
    collection: Collection,
    evidence: Evidence,
    owner_variance: float,
    *,
    engine: Engine,
    rng: np.random.Generator,
) -> Choice:
    """Choose what is not set, one after the other: the tags' ridge, then the anchors' part."""
    trial = Trial.drawn(collection, evidence, owner_variance, engine=engine, rng=rng)
    widths = (fixed.kernel_width,) if fixed.kernel_width else KERNEL_WIDTHS
    tag_ridges = (fixed.tag_ridge,) if fixed.tag_ridge else TAG_RIDGES
    anchor_ridges = (fixed.anchor_ridge,) if fixed.anchor_ridge else ANCHOR_RIDGES
    if not len(evidence.anchors):
        widths, anchor_ridges = widths[:1], anchor_ridges[:1]
    usual = trial.at(widths[0])
    first = [usual.precision(ridge, anchor_ridges[0]) for ridge in tag_ridges]
    tag_ridge = tag_ridges[int(np.argmax(first))]
    found = [
        Choice(width, tag_ridge, ridge, round(at_width.precision(tag_ridge, ridge), 6))
        for width in widths
        for at_width in (usual if width == widths[0] else trial.at(width),)
        for ridge in anchor_ridges
    ]
    return max(found, key=lambda choice: choice.precision)


@dataclass(frozen=True, eq=False)
class Trial:
    """A sample of images, a part of it held out."""

    evidence: Evidence
    n_tags: int
    """How many of the sparse columns are tags."""
    known: FloatArray
    """Images x sparse columns, the most used."""
    looks: FloatArray
    """Images x features."""
    taste: FloatArray
    owner: IntArray
    """Numbers from 0 on; nobody's images have one each."""
    fold: IntArray
    """When each image is held out; never where it is ``n_folds``."""
    n_folds: int
    owner_variance: float

    @classmethod
    def drawn(
        cls,
        collection: Collection,
        evidence: Evidence,
        owner_variance: float,
        *,
        engine: Engine,
        rng: np.random.Generator,
    ) -> "Trial":
        """Draw owners with all their images."""
        unit = np.where(
            collection.owner < collection.nobody,
            collection.owner,
            collection.nobody + np.arange(collection.n_images),
        )
        if len(np.unique(unit)) < FEWEST_OWNERS:
            unit = np.arange(collection.n_images)
        rank = rng.permutation(int(unit.max()) + 1)[unit]
        order = np.argsort(rank, kind="stable")[:IMAGES]
        n_folds = FOLDS if len(order) == collection.n_images else 1
        # The owner at a cut is held out as a whole.
        ends = np.round(HELD_OUT * len(order) * np.arange(1, n_folds + 1)).astype(int)
        fold = np.searchsorted(rank[order[np.maximum(ends, 1) - 1]], rank)
        images = np.sort(order)
        parts = list(engine.map(read_sample, collection.blocks(), collection, evidence, images))
        known = sparse.csr_array(sparse.vstack([part[0] for part in parts], format="csr"))
        columns = _most_used(known)
        return cls(
            evidence,
            int(np.searchsorted(columns, len(evidence.predictor))),
            chosen_columns(known, columns).toarray().astype(np.float64),
            np.concatenate([part[1] for part in parts]),
            evidence.taste[np.minimum(collection.owner[images], len(evidence.taste) - 1)],
            np.unique(unit[images], return_inverse=True)[1],
            fold[images],
            n_folds,
            owner_variance,
        )

    def at(self, width: float) -> "TrialAtWidth":
        """Return the sums of the images that are not held out, with a likeness of this width."""
        parts = [self.known, self.taste]
        if len(self.evidence.anchors):
            sigma = width * self.evidence.median
            parts.insert(1, likeness(self.looks, self.evidence.anchors, sigma))
        columns = np.hstack(parts, dtype=np.float64)
        folds = [self._without(columns, self.fold == number) for number in range(self.n_folds)]
        return TrialAtWidth(self, tuple(folds))

    def _without(self, columns: FloatArray, held: BoolArray) -> "Fold":
        fitted, owner = columns[~held], self.owner[~held]
        mean = fitted.mean(axis=0) if len(fitted) else np.zeros(columns.shape[1])
        fitted -= mean
        count = np.bincount(owner, minlength=1)
        whose = sparse.csr_array(
            (np.ones(len(owner)), (owner, np.arange(len(owner)))), shape=(len(count), len(owner))
        )
        sums = whose @ fitted
        weight = self.owner_variance / (1.0 + self.owner_variance * count)
        gram = fitted.T @ fitted - (sums.T * weight) @ sums
        return Fold(held, gram, columns[held] - mean)


@dataclass(frozen=True, eq=False)
class Fold:
    """The regression without some images, its ridges still open."""

    held: BoolArray
    gram: FloatArray
    columns: FloatArray
    """Of the images held out, centred like the others."""


@dataclass(frozen=True, eq=False)
class TrialAtWidth:
    """A trial with a likeness of one width."""

    trial: Trial
    folds: tuple[Fold, ...]

    def precision(self, tag_ridge: float, anchor_ridge: float) -> float:
        """Return the mean average precision of the tags of the images held out."""
        trial, n = self.trial, self.trial.n_tags
        if not n:
            return 0.0
        penalty = penalties(trial.evidence, trial.known.shape[1], tag_ridge, anchor_ridge)
        measured = np.unique(np.linspace(0, n - 1, min(MEASURED_TAGS, n)).astype(int))
        found = []
        for fold in self.folds:
            columns, place = inverse_columns(fold.gram, penalty, measured), np.arange(len(measured))
            weights = columns / -columns[measured, place]
            weights[measured, place] = 0.0
            given = trial.known[fold.held][:, measured] > 0
            found.append(mean_precision(fold.columns @ weights, given))
        return float(np.mean(found))


def read_sample(
    block: Block, collection: Collection, evidence: Evidence, images: IntArray
) -> tuple[SparseRows, FloatArray]:
    """Return the sparse columns and the features of those images of a block that are asked for."""
    first, last = np.searchsorted(images, [block.start, block.stop])
    rows = collection.rows(block).at(images[first:last] - block.start)
    known = evidence.known(rows.tags, evidence.words_of(rows))
    if not len(evidence.anchors):
        return known, np.zeros((len(rows), 0), dtype=np.float32)
    features = rows.features_like(evidence.anchors.shape[1])
    return known, compared_features(features, evidence.unit_features)


def mean_precision(scores: FloatArray, given: BoolArray) -> float:
    """Return the mean over tags of the average precision."""
    found = []
    for tag in np.flatnonzero(given.any(axis=0)):
        hits = given[np.argsort(-scores[:, tag], kind="stable"), tag]
        place = np.flatnonzero(hits) + 1
        found.append(np.mean(np.arange(1, len(place) + 1) / place))
    return float(np.mean(found)) if found else 0.0


def _most_used(known: SparseRows) -> IntArray:
    counts = np.asarray(known.sum(axis=0)).ravel()
    most = np.argsort(-counts, kind="stable")[:COLUMNS]
    return np.sort(most[counts[most] >= 2])
