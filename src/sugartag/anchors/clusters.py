"""Cluster centres of images and of owners, and how far everybody is from their own centre."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sugartag._typing import BoolArray, FloatArray, IntArray
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, Engine, row_blocks
from sugartag.features.normalise import visual_rows
from sugartag.linalg.compiled import compiled
from sugartag.linalg.distances import squared_distances
from sugartag.linalg.threads import run_parts

SAMPLE_SIZE = 20_000
"""Centres are found on a sample of this many rows: more do not move them."""
SAME_DISTANCE = 10
"""Squared distances are compared to this many decimals of the centres' squared length, so that
rounding never decides between twins, not even between those at a centre."""
READ_AT_ONCE = 1_000
"""Rows of a sample that a thread reads in one step."""
ASSIGNED_AT_ONCE = 1_250
"""Rows that a thread compares with centres in one step; sums are rounded as they are cut."""
HARDLY_MOVED = 1e-4
"""Centres stay when their squared moves together are this share of the mean variance."""
MOST_MOVES = 300


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
    sample = sampled_features(
        collection, SAMPLE_SIZE, unit_features=unit_features, rng=rng, threads=engine.threads
    )
    centres = k_means_centres(sample, count, rng=rng, threads=engine.threads)
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
    collection: Collection,
    count: int,
    *,
    unit_features: bool,
    rng: np.random.Generator,
    threads: int = 1,
) -> FloatArray:
    """Return the features of ``count`` images drawn without replacement, or of all if fewer.

    Images without features are not drawn.
    """
    chosen = np.sort(rng.permutation(np.flatnonzero(collection.described))[:count])
    found = np.empty((len(chosen), collection.n_features))

    def read(some: slice) -> None:
        found[some] = visual_rows(collection.features_at(chosen[some]), unit_features)

    run_parts(read, row_blocks(len(chosen), READ_AT_ONCE), threads)
    return found


def k_means_centres(
    rows: FloatArray, count: int, *, rng: np.random.Generator, threads: int = 1
) -> FloatArray:
    """Return at most ``count`` centres of the rows; the same ones whatever the thread count."""
    # Added to 0, nothing has a sign.
    distinct = len({row.tobytes() for row in rows[: 4 * count + 1000] + 0.0})
    seed = int(rng.integers(2**31))
    seeds = k_means_seeds(rows, min(count, distinct), seed, threads=threads)
    middle = rows.mean(axis=0)
    centred = rows - middle
    found: FloatArray = settled_centres(centred, centred[seeds], threads=threads) + middle
    return found


def k_means_seeds(rows: FloatArray, count: int, seed: int, *, threads: int = 1) -> IntArray:
    """Return the rows that k-means++ begins with: drawn by their distance to those before.

    They are those of scikit-learn with the same seed, but for rounding.
    """
    drawn = np.random.RandomState(seed)
    n, trials = len(rows), 2 + int(np.log(count))
    found = np.empty(count, dtype=np.int64)
    found[0] = drawn.choice(n, p=np.full(n, 1.0 / n))
    nearest = np.full(n, np.inf, dtype=rows.dtype)
    # What is said of a row does not depend on where the rows are cut.
    parts = row_blocks(n, -(-n // threads))
    with ThreadPoolExecutor(threads) as pool:
        nearest = _nearer_by(rows, found[:1], nearest, parts, pool)[0]
        for place in range(1, count):
            passed = np.cumsum(nearest, dtype=np.float64)
            tried = np.searchsorted(passed, drawn.uniform(size=trials) * passed[-1])
            tried = np.minimum(tried, n - 1)
            squared = _nearer_by(rows, tried, nearest, parts, pool)
            best = int(squared.sum(axis=1, dtype=np.float64).argmin())
            nearest, found[place] = squared[best], tried[best]
    return found


def _nearer_by(
    rows: FloatArray,
    tried: IntArray,
    nearest: FloatArray,
    parts: tuple[slice, ...],
    pool: ThreadPoolExecutor,
) -> FloatArray:
    """Return tried x rows: how far a row's nearest seed would be with each of those tried."""
    squared, seeds = np.empty((len(tried), len(rows)), dtype=rows.dtype), rows[tried]

    def fill(part: slice) -> None:
        squared_to_nearest(rows[part], seeds, nearest[part], squared[:, part])

    others = [pool.submit(fill, part) for part in parts[1:]]
    fill(parts[0])
    for other in others:
        other.result()
    return squared


@compiled
def squared_to_nearest(
    rows: FloatArray, seeds: FloatArray, nearest: FloatArray, squared: FloatArray
) -> None:
    """Set seeds x rows: their squared distance, or that to the nearest so far if it is less."""
    for row in range(len(rows)):
        for seed in range(len(seeds)):
            total = rows.dtype.type(0)
            for place in range(rows.shape[1]):
                apart = rows[row, place] - seeds[seed, place]
                total += apart * apart
            squared[seed, row] = min(total, nearest[row])


def settled_centres(rows: FloatArray, centres: FloatArray, *, threads: int = 1) -> FloatArray:
    """Return the centres moved to the mean of the rows nearest to them until they hardly move.

    They are those of scikit-learn's ``KMeans``, but for rounding.
    """
    tolerance = HARDLY_MOVED * rows.var(axis=0).mean()
    apart = np.empty((len(rows), len(centres)), dtype=rows.dtype)
    label, moved = np.full(len(rows), len(centres)), np.arange(len(centres))
    for _ in range(MOST_MOVES):
        before, old = label, centres
        label, sums = _assigned(rows, old, moved, apart, threads)
        centres = _means(rows, old, label, sums)
        shift = np.square(centres - old).sum(axis=1)
        moved = np.flatnonzero(shift)
        if np.array_equal(label, before) or shift.sum() <= tolerance:
            break
    return centres


def _assigned(
    rows: FloatArray, centres: FloatArray, moved: IntArray, apart: FloatArray, threads: int
) -> tuple[IntArray, FloatArray]:
    """Return the nearest centre of each row, and the sums of the rows by centre.

    Rows x centres ``apart`` is half the squared distance, less what is the same for all centres.
    It is kept, and made anew only for the centres that moved.
    """
    some = centres[moved]
    half = np.einsum("ij,ij->i", some, some) / 2

    def assign(part: slice) -> tuple[IntArray, FloatArray]:
        apart[part, moved] = half - rows[part] @ some.T
        label, n = apart[part].argmin(axis=1), part.stop - part.start
        whose = np.ones(n, dtype=rows.dtype), label, np.arange(n + 1)
        return label, sparse.csc_array(whose, shape=(len(centres), n)) @ rows[part]

    found = run_parts(assign, row_blocks(len(rows), ASSIGNED_AT_ONCE), threads)
    sums = sum((sums for _, sums in found), np.zeros(centres.shape))
    return np.concatenate([label for label, _ in found]), sums


def _means(rows: FloatArray, centres: FloatArray, label: IntArray, sums: FloatArray) -> FloatArray:
    """Return the mean of the rows of each centre; one without rows moves to the farthest row."""
    counts = np.bincount(label, minlength=len(centres))
    empty = np.flatnonzero(counts == 0)
    if len(empty):
        apart = np.square(rows - centres[label]).sum(axis=1)
        far = np.argsort(-apart, kind="stable")[: len(empty)]
        np.subtract.at(sums, label[far], rows[far])
        np.subtract.at(counts, label[far], 1)
        sums[empty], counts[empty] = rows[far], 1
    means = sums / np.maximum(counts, 1)[:, None]
    return np.where(counts[:, None] > 0, means, centres).astype(rows.dtype)


def nearest_in_group(
    group: IntArray, distance: FloatArray, count: int, allowed: BoolArray
) -> IntArray:
    """Return, ascending, the ``count`` nearest allowed rows of every group; ties by row."""
    rows = np.flatnonzero(allowed)
    order = rows[np.lexsort((rows, distance[rows], group[rows]))]
    sizes = np.unique(group[order], return_counts=True)[1]
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(order[np.arange(len(order)) - starts < count])
