"""Tags, images and users are clustered together, at a cost that never rises."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from sugartag.anchors.owners import owner_profiles
from sugartag.collection.build import collection_from_arrays
from sugartag.collection.model import Collection
from sugartag.engine import LocalEngine
from sugartag.graph.tag_affinity import count_tags_together
from sugartag.methods.tag_vote import all_tags
from sugartag.methods.ttc.triclusters import ClusterCounts, TriClusters, counted, tricluster

COUNTS = ClusterCounts(3, 5, 2)


def clustered(
    collection: Collection, counts: ClusterCounts = COUNTS, **changes: Any
) -> TriClusters:
    engine = LocalEngine()
    settings = {"block_share": 0.3, "sweeps": 6, "unit_features": True, **changes}
    return tricluster(
        collection,
        all_tags(collection),
        engine.sum(count_tags_together, collection.blocks(), collection),
        owner_profiles(collection, engine=engine),
        counts,
        engine=engine,
        rng=np.random.default_rng(4),
        **settings,
    )


def block_error(collection: Collection, made: TriClusters) -> float:
    """Return the squared error of one number a block, from the whole tensor."""
    tags = all_tags(collection).toarray() > 0
    tensor = np.zeros((collection.n_tags, collection.n_images, collection.n_owners + 1))
    tensor[:, np.arange(collection.n_images), collection.owner] = tags.T
    error = 0.0
    for tag in range(made.tag.max() + 1):
        for image in range(made.image.max() + 1):
            for user in range(made.user.max() + 1):
                chosen = np.ix_(made.tag == tag, made.image == image, made.user == user)
                error += tensor[chosen].var() * tensor[chosen].size
    return error


def blocky_collection(seed: int = 0) -> tuple[Collection, np.ndarray]:
    """Return images that look the same but for noise, of two kinds that only tags tell apart."""
    rng = np.random.default_rng(seed)
    kind = np.repeat([0, 1], 60)
    tags = np.zeros((120, 12), dtype=bool)
    tags[kind == 0, :6] = rng.random((60, 6)) < 0.6
    tags[kind == 1, 6:] = rng.random((60, 6)) < 0.6
    owner = np.where(kind == 0, rng.integers(0, 5, 120), rng.integers(5, 10, 120))
    features = rng.standard_normal((120, 8)).astype(np.float32)
    groups = sparse.csr_array((10, 1), dtype=np.float32)
    made = collection_from_arrays(sparse.csr_array(tags), owner, features=features, groups=groups)
    return made, kind


@pytest.mark.parametrize("block_share", [0.1, 0.5, 0.9])
def test_the_cost_never_rises(block_share, collection):
    costs = np.array(clustered(collection, block_share=block_share).objectives)

    assert len(costs) == 7
    assert (np.diff(costs) <= 1e-9 * costs[0]).all()
    assert costs[-1] < costs[0]


def test_the_cost_of_blocks_is_the_squared_error_of_the_tensor():
    collection, _ = blocky_collection()
    start, end = (clustered(collection, block_share=0.999, sweeps=n) for n in (0, 6))

    errors = [block_error(collection, made) for made in (start, end)]

    explained = all_tags(collection).nnz - errors[0]
    expected = 0.999 * (errors[0] - errors[1]) / explained
    assert start.objectives[0] - end.objectives[-1] == pytest.approx(expected, abs=0.01)


def test_blocks_tell_apart_what_looks_the_same():
    collection, kind = blocky_collection()

    by_looks, by_blocks = (
        clustered(collection, ClusterCounts(2, 2, 2), block_share=share).image
        for share in (0.0, 0.9)
    )

    agreement = [
        max(np.mean(found == kind), np.mean(found != kind)) for found in (by_looks, by_blocks)
    ]
    assert agreement[0] < 0.75
    assert agreement[1] > 0.95


def test_every_cluster_has_members_and_everybody_a_cluster(collection):
    made = clustered(collection, ClusterCounts(20, 60, 30))

    for label, count in (
        (made.tag, collection.n_tags),
        (made.image, collection.n_images),
        (made.user, collection.n_owners + 1),
    ):
        assert len(label) == count
        assert np.bincount(label).min() > 0
    assert len(made.image_centres) == made.image.max() + 1


def test_the_centres_of_images_are_their_mean_features(collection):
    made = clustered(collection, unit_features=False)

    features = collection.rows(slice(0, collection.n_images)).features.astype(np.float64)
    for cluster, centre in enumerate(made.image_centres):
        np.testing.assert_allclose(centre, features[made.image == cluster].mean(axis=0), atol=1e-9)


def test_more_clusters_than_members_do_no_harm():
    collection, _ = blocky_collection()

    made = clustered(collection, ClusterCounts(50, 500, 50))

    assert made.tag.max() < 12
    assert made.user.max() < 11


def test_entries_are_counted_by_all_their_labels():
    counts = counted((np.array([0, 1, 1]), 2), (np.array([2, 0, 0]), 3))

    np.testing.assert_array_equal(counts, [[0, 0, 1], [2, 0, 0]])
