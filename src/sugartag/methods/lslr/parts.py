"""The parts LSLR works on: which images belong together, and the geometry of images and tags.

Images are compared in a learned representation: their features beside the tags that a ridge
regression expects from the features. The expected tags are turned to their principal directions,
which keeps every distance between them and leaves a few numbers an image.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import aslinearoperator

from sugartag._rules import Below, Rising, Shape
from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.anchors.clusters import (
    SAMPLE_SIZE,
    k_means_centres,
    nearest_centres,
    sampled_features,
)
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, Engine
from sugartag.features.normalise import visual_rows
from sugartag.graph.tag_affinity import count_tags_together
from sugartag.linalg.distances import unit_rows
from sugartag.linalg.neighbours import nearest_rows
from sugartag.linalg.proximal import largest_singular_parts, singular_parts
from sugartag.linalg.sylvester import DENSE_LIMIT, GraphSylvester
from sugartag.methods.lslr.steps import (
    geometry_matrix,
    reconstruction_matrix,
    reconstruction_weights,
)

DIRECTIONS = 64
"""Principal directions of the expected tags, and of tags by the company they keep."""
DENSE_CELLS = 1 << 26
"""Numbers at most in the eigenvectors of all clusters together: 512 MiB."""


@dataclass(frozen=True, eq=False)
class Partition:
    """Which cluster an image belongs to, for the images fitted and for any other."""

    projection: Annotated[FloatArray, Shape("features", "directions")]
    """Dimensions x directions: from features to expected tags."""
    centres: Annotated[FloatArray, Shape("clusters", "_axes")]
    order: Annotated[IntArray, Shape("images"), Below("images")]
    """The images fitted, cluster by cluster."""
    ends: Annotated[IntArray, Shape("clusters+1"), Rising(0, "images")]
    """Where each cluster begins in the order; one number more than there are clusters."""
    unit_features: bool

    def validate(self) -> None:
        """Raise ``ValueError`` unless centres lie where images do: features, then directions."""
        if not len(self.centres) or self.centres.shape[1] != sum(self.projection.shape):
            raise ValueError(f"has centres of shape {self.centres.shape}")

    def members(self, cluster: int) -> IntArray:
        """Return the images of a cluster, ascending."""
        return self.order[self.ends[cluster] : self.ends[cluster + 1]]

    @property
    def n_clusters(self) -> int:
        """How many clusters there are."""
        return len(self.ends) - 1

    def clusters_of(self, features: FloatArray | None) -> IntArray:
        """Return the cluster of each row."""
        rows = represented(visual_rows(features, self.unit_features), self.projection)
        return nearest_centres(rows, self.centres)[0]


def represented(rows: FloatArray, projection: FloatArray) -> FloatArray:
    """Return features beside expected tags, each scaled to length 1."""
    return np.hstack([unit_rows(rows), unit_rows(rows @ projection)])


def make_partition(
    collection: Collection,
    n_clusters: int,
    *,
    expectation_ridge: float,
    unit_features: bool,
    engine: Engine,
    rng: np.random.Generator,
) -> Partition:
    """Learn the representation and cluster the images in it; clusters left empty are dropped."""
    projection = _expected_tags(collection, expectation_ridge, unit_features, engine)
    sample = sampled_features(collection, SAMPLE_SIZE, unit_features=unit_features, rng=rng)
    centres = k_means_centres(represented(sample, projection), n_clusters, rng=rng)
    whole = Partition(projection, centres, np.array([]), np.array([]), unit_features)
    label = np.concatenate(list(engine.map(find_clusters, collection.blocks(), collection, whole)))
    occupied, label = np.unique(label, return_inverse=True)
    return Partition(
        projection,
        centres[occupied],
        np.argsort(label, kind="stable"),
        np.concatenate([[0], np.cumsum(np.bincount(label))]),
        unit_features,
    )


def find_clusters(block: Block, collection: Collection, partition: Partition) -> IntArray:
    """Return the cluster of each image of a block."""
    return partition.clusters_of(collection.rows(block).features)


def _expected_tags(
    collection: Collection, ridge: float, unit_features: bool, engine: Engine
) -> FloatArray:
    """Return dimensions x directions: B = (X'X + ridge I)^-1 X'Y in its principal directions."""
    sums = engine.sum(sum_products, collection.blocks(), collection, unit_features)
    n_features = len(sums)
    gram, product = sums[:, :n_features], sums[:, n_features:]
    factor = linalg.cholesky(gram + ridge * np.eye(n_features))
    regression = linalg.cho_solve((factor, False), product)
    # With the Cholesky factor R of the Gram matrix, XB and RB have nearly the same right vectors.
    found = singular_parts(factor @ regression)
    return np.asarray(regression @ found.right[:, :DIRECTIONS])


def sum_products(block: Block, collection: Collection, unit_features: bool) -> FloatArray:
    """Return [X'X, X'Y] of one block: dimensions x (dimensions + tags)."""
    rows = collection.rows(block)
    features = visual_rows(rows.features, unit_features)
    by_tag = (rows.tags.astype(np.float64).T @ features).T
    return np.hstack([features.T @ features, by_tag])


def image_geometry(
    block: Block,
    collection: Collection,
    partition: Partition,
    n_neighbours: int,
    local_ridge: float,
) -> list[GraphSylvester]:
    """Return the locally linear geometry of some clusters, ready to solve with."""
    found = []
    is_small = float(np.sum(np.diff(partition.ends).astype(np.float64) ** 2)) <= DENSE_CELLS
    for cluster in range(block.start, block.stop):
        members = partition.members(cluster)
        features = visual_rows(collection.features_at(members), partition.unit_features)
        geometry = locally_linear(features, n_neighbours, local_ridge)
        found.append(GraphSylvester.of(geometry, dense_limit=DENSE_LIMIT if is_small else 0))
    return found


def locally_linear(rows: FloatArray, n_neighbours: int, local_ridge: float) -> SparseRows:
    """Return M of some rows, each put together from its nearest others."""
    single, numbers = rows.astype(np.float32), np.arange(len(rows))
    near = nearest_rows(
        single, [single], n_neighbours, query_labels=numbers, row_labels=numbers
    ).index
    weights = reconstruction_weights(rows, rows, near, ridge=local_ridge)
    return geometry_matrix(reconstruction_matrix(near, weights, n_others=len(rows)))


def tag_geometry(
    collection: Collection,
    n_neighbours: int,
    local_ridge: float,
    *,
    engine: Engine,
    rng: np.random.Generator,
) -> GraphSylvester:
    """Return the geometry of tags, which are compared by the images that have them.

    Vectors whose inner products are the cosines of two tags' images come from the counts of how
    often tags meet. A tag that nobody used is put together from nothing, and no other from it.
    """
    counts = engine.sum(count_tags_together, collection.blocks(), collection).astype(np.float64)
    uses = counts.diagonal()
    used = np.flatnonzero(uses > 0)
    scale = sparse.diags_array(1.0 / np.sqrt(uses[used]))
    cosine = sparse.csr_array(scale @ counts[used][:, used] @ scale)
    parts = largest_singular_parts(aslinearoperator(cosine), min(DIRECTIONS, len(used)), rng=rng)
    vectors = parts.left * np.sqrt(parts.values)
    small = sparse.coo_array(locally_linear(vectors, n_neighbours, local_ridge))
    row, column = used[small.row], used[small.col]
    unused = np.setdiff1d(np.arange(collection.n_tags), used)
    whole = sparse.csr_array(
        (
            np.concatenate([small.data, np.ones(len(unused))]),
            (np.concatenate([row, unused]), np.concatenate([column, unused])),
        ),
        shape=counts.shape,
    )
    return GraphSylvester.of(whole)
