"""How well tags are predicted of owners that were held out: by a regression on a sample of images.

Tags that an owner repeats from image to image cannot help there: only what holds between strangers
can.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, Engine, row_blocks
from sugartag.linalg.sparse_rows import chosen_columns
from sugartag.methods.sugar_plus.evidence import Evidence
from sugartag.methods.sugar_plus.likeness import compared_features, likeness

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
ROWS_AT_ONCE = 256
"""Rows of a triangular matrix that are solved in one step."""


def penalties(
    evidence: Evidence, n_known: int, tag_ridge: float, anchor_ridge: float
) -> FloatArray:
    """Return the penalty of each column: tags and words, anchors, tastes."""
    counts = (n_known, len(evidence.anchors), evidence.taste.shape[1])
    return np.repeat([tag_ridge, anchor_ridge, TASTE_RIDGE], counts)


@dataclass(frozen=True, eq=False)
class Trial:
    """A sample of images, a part of it held out."""

    evidence: Evidence
    n_tags: int
    """How many of the sparse columns are tags."""
    known: SparseRows
    """Images x sparse columns, the most used; float64."""
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
            chosen_columns(known, columns).astype(np.float64),
            np.concatenate([part[1] for part in parts]),
            evidence.taste[np.minimum(collection.owner[images], len(evidence.taste) - 1)],
            np.unique(unit[images], return_inverse=True)[1],
            fold[images],
            n_folds,
            owner_variance,
        )

    def at(self, width: float) -> "TrialAtWidth":
        """Return the sums of the images that are not held out, with a likeness of this width."""
        parts = [self.taste, np.ones((len(self.taste), 1))]
        if len(self.evidence.anchors):
            sigma = width * self.evidence.median
            parts.insert(0, likeness(self.looks, self.evidence.anchors, sigma))
        near = np.hstack(parts, dtype=np.float64)
        folds = [self._without(near, self.fold == number) for number in range(self.n_folds)]
        return TrialAtWidth(self, width, tuple(folds))

    def _without(self, near: FloatArray, held: BoolArray) -> "Fold":
        """Return the sums without some images; the last of the dense columns is 1."""
        known, dense, owner = self.known[~held], near[~held], self.owner[~held]
        count = np.bincount(owner, minlength=1)
        whose = sparse.csr_array(
            (np.ones(len(owner)), (owner, np.arange(len(owner)))), shape=(len(count), len(owner))
        )
        weight = self.owner_variance / (1.0 + self.owner_variance * count)
        # What an owner's images have in common is taken off.
        sums = whose @ known
        among = known.T @ known - sums.T @ sparse.diags_array(weight) @ sums
        weighed = dense - (weight[:, None] * (whose @ dense))[owner]
        mixed = known.T @ weighed
        gram = np.block([[among.toarray(), mixed], [mixed.T, dense.T @ weighed]])
        # Columns are centred afterwards, by the products with the column of ones.
        mean = np.concatenate([known.sum(axis=0), dense.sum(axis=0)]) / max(len(owner), 1)
        gram -= np.outer(mean, gram[-1])
        gram -= np.outer(gram[:, -1], mean)
        return Fold(gram[:-1, :-1], self.known[held], near[held, :-1])


@dataclass(frozen=True, eq=False)
class Fold:
    """The regression without some images, its ridges still open."""

    gram: FloatArray
    known: SparseRows
    """The sparse columns of the images held out."""
    dense: FloatArray
    """Their dense columns."""


@dataclass(frozen=True, eq=False)
class TrialAtWidth:
    """A trial with a likeness of one width."""

    trial: Trial
    width: float
    folds: tuple[Fold, ...]

    def precision(self, tag_ridge: float, anchor_ridge: float, anchors: int) -> float:
        """Return the mean average precision of the tags of the images held out.

        Of the anchors, so many are used, the first ones.
        """
        evidence = self.trial.evidence
        n, n_known = self.trial.n_tags, int(self.trial.known.shape[1])
        if not n:
            return 0.0
        dense = np.delete(np.arange(evidence.n_dense), slice(anchors, len(evidence.anchors)))
        used = np.concatenate([np.arange(n_known), n_known + dense])
        penalty = penalties(evidence, n_known, tag_ridge, anchor_ridge)[used]
        measured = np.unique(np.linspace(0, n - 1, min(MEASURED_TAGS, n)).astype(int))
        place = np.arange(len(measured))
        found = []
        for fold in self.folds:
            columns = inverse_columns(fold.gram[np.ix_(used, used)], penalty, measured)
            weights = columns / -columns[measured, place]
            weights[measured, place] = 0.0
            # Not centred: that would add the same to all scores of a tag.
            scores = fold.known @ weights[:n_known] + fold.dense[:, dense] @ weights[n_known:]
            given = chosen_columns(fold.known, measured).toarray() > 0
            found.append(mean_precision(scores, given))
        return float(np.mean(found))


def inverse_columns(gram: FloatArray, penalty: FloatArray, columns: IntArray) -> FloatArray:
    """Return some columns of the inverse of a Gram matrix with a penalty on its diagonal.

    With functions of NumPy alone: unlike those of SciPy, they let other threads work.
    """
    penalised = gram.copy()
    penalised[np.diag_indices_from(gram)] += penalty
    factor = np.linalg.cholesky(penalised)
    found = np.zeros((len(gram), len(columns)))
    found[columns, np.arange(len(columns))] = 1.0
    bands = row_blocks(len(gram), ROWS_AT_ONCE)
    for band in bands:
        found[band] -= factor[band, : band.start] @ found[: band.start]
        found[band] = np.linalg.solve(factor[band, band], found[band])
    for band in reversed(bands):
        found[band] -= factor[band.stop :, band].T @ found[band.stop :]
        found[band] = np.linalg.solve(factor[band, band].T, found[band])
    return found


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
