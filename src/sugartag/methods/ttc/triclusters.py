"""Tags, images and users clustered together, so that the tensor falls into blocks.

The tensor of tags, images and owners is approximated by one number a block, and at the same time
the members of a cluster are to be like each other: tags by the tags they stand with, images by
features, users by groups or, without any, by tags. Both costs are squared errors, added with a
share; going through the modes in turn and giving every member the cluster that costs least never
raises their sum. Counts of tags by block are all that is read of the tensor.
"""

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.collection.model import Collection
from sugartag.engine.base import Engine
from sugartag.linalg.sparse_rows import row_number_of_entries
from sugartag.methods.ttc.tricluster_modes import (
    Mode,
    mode_in_memory,
    mode_of_images,
    moved,
    tag_vectors,
    user_vectors,
    without_empty,
)

TAGS, IMAGES, USERS = 0, 1, 2


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
    """Of every owner and, at the end, of the unknown owner."""
    image_centres: FloatArray
    """Clusters x features: what the images of a cluster look like on average."""
    objectives: tuple[float, ...]
    """The cost before the first sweep and after each."""


@dataclass(frozen=True, eq=False)
class Entries:
    """The ones of the tensor: the tag, the image and the user that each joins."""

    members: tuple[IntArray, IntArray, IntArray]


Modes: TypeAlias = tuple[Mode, ...]
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
        mode_in_memory(tag_vectors(cooccurrence, rng=rng), counts.tags, rng=rng),
        mode_of_images(collection, counts.images, unit_features, engine=engine, rng=rng),
        mode_in_memory(user_vectors(collection, profiles, rng=rng), counts.users, rng=rng),
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
            changed = moved(modes[number], prices, alike, collection, unit_features, engine)
            modes = (*modes[:number], changed, *modes[number + 1 :])
            blocks = _blocks(entries, modes)
        costs.append(cost())
    kept = [without_empty(mode) for mode in modes]
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
        prices: FloatArray = lengths - 2.0 * met
        return prices
    # An image has one owner, so only one user cluster counts: images x tag clusters will do.
    counts = counted(member, labels[0])
    met = np.zeros((len(counts), len(mean)))
    user_label = np.zeros(len(counts), dtype=np.int64)
    user_label[entries.members[IMAGES]] = labels[1][0]
    for cluster in range(modes[USERS].n_clusters):
        rows = np.flatnonzero(user_label == cluster)
        met[rows] = counts[rows] @ mean[:, :, cluster].T
    by_owner: FloatArray = lengths - 2.0 * met
    return by_owner
