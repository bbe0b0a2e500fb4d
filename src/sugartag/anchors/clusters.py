"""Cluster centres of images and of owners, and how far everybody is from their own centre."""

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from sugartag._typing import FloatArray, IntArray
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, Engine
from sugartag.features.normalise import visual_rows
from sugartag.linalg.distances import squared_distances

SAMPLE_SIZE = 20_000
"""Centres are found on a sample of so many rows: more do not move them."""
SAME_DISTANCE = 10
"""Squared distances are compared to so many decimals of the centres' squared length, so that
rounding never decides between twins, not even between those at a centre."""


@dataclass(frozen=True, eq=False)
class Clusters:
    """Centres, and for every row its nearest centre and the distance to it."""

    centres: FloatArray
    label: IntArray
    distance: FloatArray


def image_clusters(
    collection: Collection,
    count: int,
    *,
    unit_features: bool,
    engine: Engine,
    rng: np.random.Generator,
) -> Clusters:
    """Cluster the images by their features; the pass over all of them is by blocks."""
    sample = sampled_features(collection, SAMPLE_SIZE, unit_features=unit_features, rng=rng)
    centres = k_means_centres(sample, count, rng=rng)
    parts = list(
        engine.map(find_nearest_centres, collection.blocks(), collection, centres, unit_features)
    )
    label = np.concatenate([part[0] for part in parts])
    return Clusters(centres, label, np.concatenate([part[1] for part in parts]))


def find_nearest_centres(
    block: Block, collection: Collection, centres: FloatArray, unit_features: bool
) -> tuple[IntArray, FloatArray]:
    """Return the nearest centre of each image of a block, and the distance to it."""
    return nearest_centres(visual_rows(collection.rows(block).features, unit_features), centres)


def owner_clusters(vectors: FloatArray, count: int, *, rng: np.random.Generator) -> Clusters:
    """Cluster the owners by their vectors."""
    chosen = np.sort(rng.permutation(len(vectors))[:SAMPLE_SIZE])
    centres = k_means_centres(vectors[chosen], count, rng=rng)
    return Clusters(centres, *nearest_centres(vectors, centres))


def nearest_centres(rows: FloatArray, centres: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return each row's nearest centre and the distance to it."""
    size = float(np.einsum("ij,ij->", centres, centres)) / len(centres) or 1.0
    distances = np.sqrt(np.round(squared_distances(rows, centres) / size, SAME_DISTANCE) * size)
    label = distances.argmin(axis=1)
    return label, np.take_along_axis(distances, label[:, None], axis=1)[:, 0]


def sampled_features(
    collection: Collection, count: int, *, unit_features: bool, rng: np.random.Generator
) -> FloatArray:
    """Return the features of ``count`` images drawn without replacement, or of all if fewer."""
    chosen = np.sort(rng.permutation(collection.n_images)[:count])
    return visual_rows(collection.features_at(chosen), unit_features)


def k_means_centres(rows: FloatArray, count: int, *, rng: np.random.Generator) -> FloatArray:
    """Return at most ``count`` centres of the rows; the same ones whatever the thread count."""
    from sklearn.cluster import KMeans

    distinct = len(np.unique(rows[: 4 * count + 1000], axis=0))
    count, seed = min(count, distinct), int(rng.integers(2**31))
    with threadpool_limits(1):
        single = rows.dtype == np.float32
        start = rows[k_means_seeds(rows, count, seed)] if single else "k-means++"
        model = KMeans(count, n_init=1, init=start, random_state=seed)
        return np.asarray(model.fit(rows).cluster_centers_)


def k_means_seeds(rows: FloatArray, count: int, seed: int) -> IntArray:
    """Return the rows that k-means++ begins with: each far from those before it, by chance.

    As scikit-learn does it with the same seed, which however takes all distances in double
    precision if they are asked for in single: that made up most of the time of all of k-means.
    """
    from sklearn.utils import check_random_state

    drawn = check_random_state(seed)
    n, trials = len(rows), 2 + int(np.log(count))
    length = np.einsum("ij,ij->i", rows, rows)
    found = np.empty(count, dtype=np.int64)
    found[0] = drawn.choice(n, p=np.full(n, 1.0 / n))
    nearest = _squared_to(rows, length, found[:1])[:, 0]
    for place in range(1, count):
        passed = np.cumsum(nearest, dtype=np.float64)
        tried = np.searchsorted(passed, drawn.uniform(size=trials) * passed[-1])
        tried = np.minimum(tried, n - 1)
        squared = np.minimum(_squared_to(rows, length, tried), nearest[:, None])
        best = int(squared.sum(axis=0, dtype=np.float64).argmin())
        nearest, found[place] = squared[:, best], tried[best]
    return found


def _squared_to(rows: FloatArray, length: FloatArray, chosen: IntArray) -> FloatArray:
    """Return the squared distances of all rows to some of them."""
    squared: FloatArray = rows @ rows[chosen].T
    squared *= -2.0
    squared += length[:, None]
    squared += length[chosen]
    return np.maximum(squared, 0.0, out=squared)
