"""Tags, images and users clustered together, so that the tensor falls into blocks.

The tensor of tags, images and owners is approximated by one number a block, and at the same time
the members of a cluster are to be like each other: tags by the tags they stand with, images by
features, users by groups or, without any, by tags. Both costs are squared errors, added with a
share; going through the modes in turn and giving every member the cluster that costs least never
raises their sum. Counts of tags by block are all that is read of the tensor.
"""

import math
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
from sugartag.linalg.sparse_rows import damped_unit_rows, row_number_of_entries

TAGS, IMAGES, USERS = 0, 1, 2
TAG_VECTOR_LENGTH = 16
SAME_COST = 9
"""Costs are compared to so many decimals of the mean cost of a member, so that rounding never
decides between twins."""


@dataclass(frozen=True)
class ClusterCounts:
    """How many clusters of each kind are asked for."""

    tags: int
    images: int
    users: int


@dataclass(frozen=True, eq=False)
class TriClusters:
    """The cluster of every tag, image and user; no cluster is empty."""

    tag: IntArray
    image: IntArray
    user: IntArray
    """Of every owner and, at the end, of nobody."""
    image_centres: FloatArray
    """Clusters x features: what the images of a cluster look like on average."""
    objectives: tuple[float, ...]
    """The cost before the first sweep and after each."""


@dataclass(frozen=True, eq=False)
class Entries:
    """The ones of the tensor: the tag, the image and the user that each joins."""

    members: tuple[IntArray, IntArray, IntArray]


@dataclass(frozen=True, eq=False)
class _Mode:
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
        return len(self.centres)

    @property
    def sizes(self) -> IntArray:
        return np.bincount(self.label, minlength=self.n_clusters)

    @property
    def cost(self) -> float:
        """Squared distances from the centres, in shares of the spread."""
        lengths = np.einsum("ij,ij->i", self.centres, self.centres)
        return float(self.squared - self.sizes @ lengths) / self.spread


Modes = tuple[_Mode, ...]
"""Of tags, of images and of users."""


def counted(*labels: tuple[IntArray, int]) -> FloatArray:
    """Count entries by their labels, each given with the number of values it can have."""
    flat = np.zeros(len(labels[0][0]), dtype=np.int64)
    for label, count in labels:
        flat = flat * count + label
    shape = tuple(count for _, count in labels)
    counts: FloatArray = np.bincount(flat, minlength=math.prod(shape)).astype(np.float64)
    return counts.reshape(shape)


def tricluster(
    collection: Collection,
    tags: SparseRows,
    cooccurrence: SparseRows,
    profiles: SparseRows,
    counts: ClusterCounts,
    *,
    block_share: float,
    sweeps: int,
    unit_features: bool,
    engine: Engine,
    rng: np.random.Generator,
) -> TriClusters:
    """Cluster the tags, the images and the users of a collection.

    ``tags`` is images x tags, ``cooccurrence`` tags x tags, ``profiles`` owners x tags.
    ``block_share`` is how much the blocks of the tensor count beside what members are like.
    """
    entries = _entries(tags, collection.owner)
    modes: Modes = (
        _in_memory(_tag_vectors(cooccurrence, rng=rng), counts.tags, rng=rng),
        _images(collection, counts.images, unit_features, engine=engine, rng=rng),
        _in_memory(_user_vectors(collection, profiles, rng=rng), counts.users, rng=rng),
    )
    alike = 1.0 - block_share
    blocks = _blocks(entries, modes)
    scale = block_share / blocks.energy if blocks.energy > 0 else 0.0

    def cost() -> float:
        error = len(entries.members[TAGS]) - blocks.energy
        return alike * sum(mode.cost for mode in modes) + scale * error

    costs = [cost()]
    for _ in range(sweeps if scale > 0 else 0):
        for number in (IMAGES, USERS, TAGS):
            prices = scale * _block_prices(entries, modes, blocks, number)
            moved = _moved(modes[number], prices, alike, collection, unit_features, engine)
            modes = (*modes[:number], moved, *modes[number + 1 :])
            blocks = _blocks(entries, modes)
        costs.append(cost())
    kept = [_without_empty(mode) for mode in modes]
    return TriClusters(
        tag=kept[TAGS].label,
        image=kept[IMAGES].label,
        user=kept[USERS].label,
        image_centres=kept[IMAGES].centres,
        objectives=tuple(costs),
    )


def _entries(tags: SparseRows, owner: IntArray) -> Entries:
    image = row_number_of_entries(tags)
    return Entries((tags.indices, image, owner[image]))


@dataclass(frozen=True, eq=False)
class _Blocks:
    """The tensor as one number a block: tag clusters x image clusters x user clusters."""

    mean: FloatArray
    sizes: tuple[IntArray, ...]
    """Members of each cluster, by mode."""

    @property
    def energy(self) -> float:
        """The squared length of the approximation: what it explains of the tensor."""
        return float(np.einsum("pqr,p,q,r->", self.mean**2, *self.sizes, optimize=True))


def _blocks(entries: Entries, modes: Modes) -> _Blocks:
    labels = [mode.label[at] for mode, at in zip(modes, entries.members, strict=True)]
    counts = counted(*((label, mode.n_clusters) for label, mode in zip(labels, modes, strict=True)))
    sizes = tuple(mode.sizes for mode in modes)
    cells = np.einsum("p,q,r->pqr", *(size.astype(np.float64) for size in sizes))
    return _Blocks(counts / np.maximum(cells, 1.0), sizes)


def _block_prices(entries: Entries, modes: Modes, blocks: _Blocks, number: int) -> FloatArray:
    """Return members x clusters: the squared error of the blocks there, but for a constant."""
    others = [n for n in (TAGS, USERS, IMAGES) if n != number]
    mean = blocks.mean.transpose(number, *others)
    sizes = [blocks.sizes[n] for n in others]
    lengths = np.einsum("kab,a,b->k", mean**2, *sizes, optimize=True)
    member = (entries.members[number], len(modes[number].label))
    labels = [(modes[n].label[entries.members[n]], modes[n].n_clusters) for n in others]
    if number != IMAGES:
        counts = counted(member, *labels)
        met = counts.reshape(len(counts), -1) @ mean.reshape(len(mean), -1).T
        return np.subtract(lengths, 2.0 * met)
    # An image has one owner, so only one user cluster counts: images x tag clusters will do.
    counts = counted(member, labels[0])
    met = np.zeros((len(counts), len(mean)))
    user_label = np.zeros(len(counts), dtype=np.int64)
    user_label[entries.members[IMAGES]] = labels[1][0]
    for cluster in range(modes[USERS].n_clusters):
        rows = np.flatnonzero(user_label == cluster)
        met[rows] = counts[rows] @ mean[:, :, cluster].T
    return np.subtract(lengths, 2.0 * met)


def _moved(
    mode: _Mode,
    prices: FloatArray,
    alike: float,
    collection: Collection,
    unit_features: bool,
    engine: Engine,
) -> _Mode:
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


def _with_labels(mode: _Mode, label: IntArray, sums: FloatArray) -> _Mode:
    """Return the mode with new labels; the centre of a cluster left by all stays where it was."""
    sizes = np.bincount(label, minlength=mode.n_clusters)[:, None]
    centres = np.where(sizes > 0, sums / np.maximum(sizes, 1), mode.centres)
    return replace(mode, label=label, centres=centres)


def _in_memory(vectors: FloatArray, count: int, *, rng: np.random.Generator) -> _Mode:
    centres = k_means_centres(vectors, count, rng=rng)
    label, _ = nearest_centres(vectors, centres)
    squared = float(np.vdot(vectors, vectors))
    spread = squared - len(vectors) * float(np.sum(vectors.mean(axis=0) ** 2))
    mode = _Mode(vectors, label, centres, _above_zero(spread), squared)
    return _with_labels(mode, label, _sums_by_label(vectors, label, len(centres)))


def _images(
    collection: Collection,
    count: int,
    unit_features: bool,
    *,
    engine: Engine,
    rng: np.random.Generator,
) -> _Mode:
    found = image_clusters(collection, count, unit_features=unit_features, engine=engine, rng=rng)
    shared = (collection, unit_features, found.label, len(found.centres))
    parts = list(engine.map(add_up_features, collection.blocks(), *shared))
    sums = np.sum([part[0] for part in parts], axis=0)
    squared = float(sum(part[1] for part in parts))
    spread = squared - float(np.sum(sums.sum(axis=0) ** 2)) / collection.n_images
    mode = _Mode(None, found.label, found.centres, _above_zero(spread), squared)
    return _with_labels(mode, found.label, sums)


def add_up_features(
    block: Block, collection: Collection, unit_features: bool, label: IntArray, count: int
) -> tuple[FloatArray, float]:
    """Return the feature sums of clusters over a block, and the sum of all squares."""
    features = visual_rows(collection.rows(block).features, unit_features)
    return _sums_by_label(features, label[block], count), float(np.vdot(features, features))


def _above_zero(spread: float) -> float:
    return spread if spread > 0 else 1.0


def _tag_vectors(cooccurrence: SparseRows, *, rng: np.random.Generator) -> FloatArray:
    """Return a short vector per tag: of the tags it stands with."""
    from sklearn.utils.extmath import randomized_svd

    length = min(TAG_VECTOR_LENGTH, cooccurrence.shape[0])
    seed = int(rng.integers(2**31))
    with threadpool_limits(1):
        left, values, _ = randomized_svd(damped_unit_rows(cooccurrence), length, random_state=seed)
    return np.asarray(left * values)


def _user_vectors(
    collection: Collection, profiles: SparseRows, *, rng: np.random.Generator
) -> FloatArray:
    """Return a short vector per owner; nobody is like the average owner."""
    vectors = owner_vectors(collection.groups, profiles, rng=rng)
    return np.vstack([vectors, vectors.mean(axis=0)])


def _without_empty(mode: _Mode) -> _Mode:
    kept, label = np.unique(mode.label, return_inverse=True)
    return replace(mode, label=label, centres=mode.centres[kept])
