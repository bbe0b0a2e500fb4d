"""Members of one kind that are clustered: tags, images or users, and what they are like."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.anchors.clusters import image_clusters, k_means_centres, nearest_centres
from sugartag.anchors.owners import owner_vectors
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, Engine
from sugartag.features.normalise import visual_rows
from sugartag.linalg.distances import squared_distances
from sugartag.linalg.sparse_rows import damped_unit_rows

TAG_VECTOR_LENGTH = 16
SAME_COST = 9
"""Costs are compared to this many decimals of what a member costs on average, so that rounding
never decides between twins."""


@dataclass(frozen=True, eq=False)
class Mode:
    """The members of one kind, what they are like, and the clusters they are in."""

    vectors: FloatArray | None
    """Members x dimensions; None for images, whose features are read by block."""
    label: IntArray
    centres: FloatArray
    spread: float
    """Squared distances of all vectors from their mean, added up: what costs are measured in."""
    squared: float
    """Squared lengths of all vectors, added up."""

    @property
    def n_clusters(self) -> int:
        """How many clusters there are, empty ones included."""
        return len(self.centres)

    @property
    def sizes(self) -> IntArray:
        """How many members each cluster has."""
        return np.bincount(self.label, minlength=self.n_clusters)

    @property
    def cost(self) -> float:
        """Squared distances from the centres, in shares of the spread."""
        lengths = np.einsum("ij,ij->i", self.centres, self.centres)
        return float(self.squared - self.sizes @ lengths) / self.spread


def moved(
    mode: Mode,
    prices: FloatArray,
    alike: float,
    collection: Collection,
    unit_features: bool,
    engine: Engine,
) -> Mode:
    """Return the mode with every member in the cluster that costs least."""
    n_members = len(mode.label)
    weight, prices = alike / mode.spread * n_members, prices * n_members
    if mode.vectors is not None:
        label, sums = _cheapest(mode.vectors, mode.centres, weight, prices)
    else:
        shared = (collection, unit_features, mode.centres, weight, prices)
        parts = list(engine.map(find_cheapest_clusters, collection.blocks(), *shared))
        label = np.concatenate([part[0] for part in parts])
        sums = np.sum([part[1] for part in parts], axis=0)
    return _with_labels(mode, label, sums)


def find_cheapest_clusters(
    block: Block,
    collection: Collection,
    unit_features: bool,
    centres: FloatArray,
    weight: float,
    prices: FloatArray,
) -> tuple[IntArray, FloatArray]:
    """Return the cheapest cluster of each image of a block, and the feature sums of clusters."""
    features = visual_rows(collection.rows(block).features, unit_features)
    return _cheapest(features, centres, weight, prices[block])


def _cheapest(
    vectors: FloatArray, centres: FloatArray, weight: float, prices: FloatArray
) -> tuple[IntArray, FloatArray]:
    costs = weight * squared_distances(vectors, centres) + prices
    label = np.round(costs, SAME_COST).argmin(axis=1)
    return label, _sums_by_label(vectors, label, len(centres))


def _sums_by_label(vectors: FloatArray, label: IntArray, count: int) -> FloatArray:
    shape = (count, len(label))
    chosen = sparse.csr_array((np.ones(len(label)), (label, np.arange(len(label)))), shape=shape)
    sums: FloatArray = chosen @ vectors
    return sums


def _with_labels(mode: Mode, label: IntArray, sums: FloatArray) -> Mode:
    """Return the mode with new labels; the centre of a cluster left by all stays where it was."""
    sizes = np.bincount(label, minlength=mode.n_clusters)[:, None]
    centres = np.where(sizes > 0, sums / np.maximum(sizes, 1), mode.centres)
    return replace(mode, label=label, centres=centres)


def mode_in_memory(vectors: FloatArray, count: int, *, rng: np.random.Generator) -> Mode:
    """Cluster members by their vectors alone, to start with."""
    centres = k_means_centres(vectors, count, rng=rng)
    label, _ = nearest_centres(vectors, centres)
    squared = float(np.vdot(vectors, vectors))
    spread = squared - len(vectors) * float(np.sum(vectors.mean(axis=0) ** 2))
    mode = Mode(vectors, label, centres, _above_zero(spread), squared)
    return _with_labels(mode, label, _sums_by_label(vectors, label, len(centres)))


def mode_of_images(
    collection: Collection,
    count: int,
    unit_features: bool,
    *,
    engine: Engine,
    rng: np.random.Generator,
) -> Mode:
    """Cluster the images by their features alone, to start with."""
    found = image_clusters(collection, count, unit_features=unit_features, engine=engine, rng=rng)
    shared = (collection, unit_features, found.label, len(found.centres))
    parts = list(engine.map(add_up_features, collection.blocks(), *shared))
    sums = np.sum([part[0] for part in parts], axis=0)
    squared = float(sum(part[1] for part in parts))
    spread = squared - float(np.sum(sums.sum(axis=0) ** 2)) / collection.n_images
    mode = Mode(None, found.label, found.centres, _above_zero(spread), squared)
    return _with_labels(mode, found.label, sums)


def add_up_features(
    block: Block, collection: Collection, unit_features: bool, label: IntArray, count: int
) -> tuple[FloatArray, float]:
    """Return the feature sums of clusters over a block, and the sum of all squares."""
    features = visual_rows(collection.rows(block).features, unit_features)
    return _sums_by_label(features, label[block], count), float(np.vdot(features, features))


def _above_zero(spread: float) -> float:
    return spread if spread > 0 else 1.0


def tag_vectors(cooccurrence: SparseRows, *, rng: np.random.Generator) -> FloatArray:
    """Return a short vector per tag: of the tags it stands with."""
    from sklearn.utils.extmath import randomized_svd

    length = min(TAG_VECTOR_LENGTH, cooccurrence.shape[0])
    seed = int(rng.integers(2**31))
    with threadpool_limits(1):
        left, values, _ = randomized_svd(damped_unit_rows(cooccurrence), length, random_state=seed)
    return np.asarray(left * values)


def user_vectors(
    collection: Collection, profiles: SparseRows, *, rng: np.random.Generator
) -> FloatArray:
    """Return a short vector per owner; nobody is like the average owner."""
    vectors = owner_vectors(collection.groups, profiles, rng=rng)
    return np.vstack([vectors, vectors.mean(axis=0)])


def without_empty(mode: Mode) -> Mode:
    """Return the mode with its clusters numbered anew, without those that nobody is in."""
    kept, label = np.unique(mode.label, return_inverse=True)
    return replace(mode, label=label, centres=mode.centres[kept])
