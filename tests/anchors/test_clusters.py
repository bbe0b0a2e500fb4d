import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans, kmeans_plusplus
from threadpoolctl import threadpool_limits

from planted import OF_NOBODY, resharded
from sugartag.anchors import clusters
from sugartag.anchors.clusters import nearest_in_group
from sugartag.anchors.cocluster import spectral_coclusters
from sugartag.anchors.owners import owner_profiles, owner_vectors
from sugartag.collection.model import Collection
from sugartag.engine import LocalEngine

BLOBS = 10.0 * np.eye(4, 6)


def blobs(rng: np.random.Generator, per_blob: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows around four far points, and the point each is around."""
    around = np.repeat(np.arange(4), per_blob)
    return BLOBS[around] + 0.1 * rng.normal(size=(len(around), 6)), around


def image_clusters(collection, engine, *, count=5, unit_features=True):
    return clusters.image_clusters(
        collection,
        count,
        unit_features=unit_features,
        engine=engine,
        rng=np.random.default_rng(1),
    )


def assert_same_clusters(found: clusters.Clusters, expected: clusters.Clusters) -> None:
    np.testing.assert_array_equal(found.label, expected.label)
    np.testing.assert_array_equal(found.distance, expected.distance)
    np.testing.assert_array_equal(found.centres, expected.centres)


def test_centres_are_those_of_the_blobs(rng):
    rows, around = blobs(rng, 50)

    found = clusters.k_means_centres(rows, 4, rng=rng)

    expected = np.array([rows[around == blob].mean(axis=0) for blob in range(4)])
    order = np.argsort(found.argmax(axis=1))
    np.testing.assert_allclose(found[order], expected, atol=1e-9)


def test_there_are_no_more_centres_than_distinct_rows(rng):
    rows = np.repeat(BLOBS[:3], 20, axis=0)

    assert len(clusters.k_means_centres(rows, 8, rng=rng)) == 3


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_centres_are_the_same_to_the_last_bit_whatever_the_threads(rng, kind):
    rows = rng.normal(size=(6000, 40)).astype(kind)

    with threadpool_limits(2):
        two = clusters.k_means_centres(rows, 20, rng=np.random.default_rng(1), threads=3)
    with threadpool_limits(1):
        one = clusters.k_means_centres(rows, 20, rng=np.random.default_rng(1))

    np.testing.assert_array_equal(two, one)


def test_everybody_is_with_the_nearest_centre(rng):
    rows, centres = rng.normal(size=(40, 3)), rng.normal(size=(5, 3))

    label, distance = clusters.nearest_centres(rows, centres)

    lengths = np.linalg.norm(rows[:, None] - centres[None], axis=2)
    np.testing.assert_array_equal(label, lengths.argmin(axis=1))
    np.testing.assert_allclose(distance, lengths.min(axis=1), atol=1e-9)


@pytest.mark.parametrize("size", [1.0, 1e3])
@pytest.mark.parametrize("away", [0.0, 1.0])
def test_rows_that_are_alike_are_equally_far_wherever_they_stand(size, away, rng):
    rows = np.repeat(size * rng.normal(size=(1, 48)), 2000, axis=0)
    centres = size * rng.normal(size=(40, 48))
    centres[7] = rows[0] + away

    _, distance = clusters.nearest_centres(rows, centres)
    parts = [clusters.nearest_centres(rows[i : i + 7], centres)[1] for i in range(0, 70, 7)]

    assert len(np.unique(np.concatenate([distance, *parts]))) == 1
    np.testing.assert_allclose(distance, np.sqrt(48) * away, atol=1e-5 * size)


@pytest.mark.parametrize("unit_features", [True, False])
def test_image_clusters_say_where_every_image_is(unit_features, collection, engine):
    found = image_clusters(collection, engine, unit_features=unit_features)

    rows = collection.shards[0].features.astype(float)
    if unit_features:
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    lengths = np.linalg.norm(rows[:, None] - found.centres[None], axis=2)
    np.testing.assert_array_equal(found.label, lengths.argmin(axis=1))
    np.testing.assert_allclose(found.distance, lengths.min(axis=1), atol=1e-8)


@pytest.mark.parametrize("rows_per_block", [1, 37, 599])
def test_image_clusters_do_not_depend_on_blocks(rows_per_block, collection, engine, monkeypatch):
    expected = image_clusters(collection, engine)
    cut = Collection.blocks

    monkeypatch.setattr(Collection, "blocks", lambda self: cut(self, rows_per_block))

    assert_same_clusters(image_clusters(collection, engine), expected)


def test_image_clusters_do_not_depend_on_shards_or_workers(collection, engine):
    expected = image_clusters(collection, engine)

    found = image_clusters(resharded(collection, 1, 250, 251), LocalEngine(workers=2))

    assert_same_clusters(found, expected)


def test_centres_are_found_on_a_sample_but_all_images_get_one(collection, engine, monkeypatch):
    monkeypatch.setattr(clusters, "SAMPLE_SIZE", 50)

    sample = clusters.sampled_features(
        collection, 50, unit_features=False, rng=np.random.default_rng(1)
    )
    found = image_clusters(collection, engine, unit_features=False)

    expected = {row.tobytes() for row in collection.shards[0].features.astype(float)}
    assert sample.shape == (50, 48)
    assert {row.tobytes() for row in sample} < expected
    assert len(found.label) == 600


def test_a_sample_is_the_same_however_it_is_read(collection, monkeypatch):
    one, three = (
        clusters.sampled_features(
            collection, 50, unit_features=True, rng=np.random.default_rng(1), threads=threads
        )
        for threads in (1, 3)
    )
    monkeypatch.setattr(clusters, "READ_AT_ONCE", 7)
    cut = clusters.sampled_features(
        collection, 50, unit_features=True, rng=np.random.default_rng(1), threads=3
    )

    np.testing.assert_array_equal(one, three)
    np.testing.assert_allclose(cut, one, rtol=1e-12)


def test_owner_profiles_count_the_images_with_a_tag(collection):
    profiles = owner_profiles(collection, engine=LocalEngine(workers=2)).toarray()

    expected = np.zeros((collection.n_owners + 1, collection.n_tags))
    np.add.at(expected, collection.owner, collection.tags_of(slice(0, 600)).toarray())
    assert expected[collection.nobody].sum() > 0
    np.testing.assert_array_equal(profiles, expected[:-1])
    assert collection.owner[OF_NOBODY] == collection.nobody


def test_owners_of_the_same_groups_are_alike_whatever_their_tags(rng):
    groups = sparse.csr_array(np.repeat(np.eye(3), 4, axis=0))
    profiles = sparse.csr_array(rng.integers(0, 5, (12, 7)))

    vectors = owner_vectors(groups, profiles, rng=rng)

    cosines = _cosines(vectors)
    np.testing.assert_allclose(cosines, np.kron(np.eye(3), np.ones((4, 4))), atol=1e-8)


def test_owners_without_groups_are_told_apart_by_their_tags(rng):
    groups = np.zeros((12, 3))
    groups[:4, 0] = 1
    tastes = np.repeat(np.eye(2, 6), [6, 6], axis=0)
    profiles = sparse.csr_array(tastes)

    vectors = owner_vectors(sparse.csr_array(groups), profiles, rng=rng)

    cosines = _cosines(vectors)
    np.testing.assert_allclose(cosines[:4, 4:], 0, atol=1e-8)
    np.testing.assert_allclose(cosines[4, 5], 1, atol=1e-8)
    np.testing.assert_allclose(cosines[4, 6:], 0, atol=1e-8)


def _cosines(vectors: np.ndarray) -> np.ndarray:
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return units @ units.T


def test_the_nearest_of_each_group_are_taken_and_ties_go_by_row():
    group = np.array([1, 0, 1, 1, 0, 1, 2])
    distance = np.array([3.0, 1.0, 2.0, 2.0, 1.0, 2.0, 9.0])
    allowed = np.array([True, True, True, True, True, True, False])

    np.testing.assert_array_equal(nearest_in_group(group, distance, 2, allowed), [1, 2, 3, 4])
    np.testing.assert_array_equal(nearest_in_group(group, distance, 1, allowed), [1, 2])


def test_coclusters_are_the_blocks_of_an_association(rng):
    association = np.array([[9.0, 0.0], [0.0, 7.0], [8.0, 1.0], [0.0, 6.0], [5.0, 0.0]])

    rows, columns = spectral_coclusters(association, rng=rng)

    assert rows[0] == rows[2] == rows[4] == columns[0]
    assert rows[1] == rows[3] == columns[1]
    assert columns[0] != columns[1]


def test_one_row_or_column_is_one_cocluster(rng):
    rows, columns = spectral_coclusters(np.ones((1, 5)), rng=rng)

    assert rows.tolist() == [0]
    assert columns.tolist() == [0] * 5


@pytest.mark.parametrize("count", [1, 2, 40])
def test_seeds_in_single_precision_are_those_of_scikit_learn_in_double(rng, count):
    rows = rng.normal(size=(500, 8))

    found = clusters.k_means_seeds(rows.astype(np.float32), count, 7)

    np.testing.assert_array_equal(found, kmeans_plusplus(rows, count, random_state=7)[1])


def test_centres_of_single_precision_are_as_good_as_those_of_double(rng):
    rows, _ = blobs(rng, 30)

    found = clusters.k_means_centres(rows.astype(np.float32), 4, rng=rng)

    distance = np.linalg.norm(found[:, None] - BLOBS, axis=2)
    assert found.dtype == np.float32
    assert sorted(distance.argmin(axis=1)) == [0, 1, 2, 3]
    assert distance.min(axis=1).max() < 0.1


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_distances_to_seeds_are_those_written_out(rng, kind):
    rows, seeds = rng.normal(size=(30, 11)).astype(kind), rng.normal(size=(4, 11)).astype(kind)
    nearest = rng.uniform(5.0, 40.0, 30).astype(kind)
    found, slowly = np.empty((4, 30), dtype=kind), np.empty((4, 30), dtype=kind)

    clusters.squared_to_nearest(rows, seeds, nearest, found)
    clusters.squared_to_nearest.py_func(rows, seeds, nearest, slowly)

    apart = np.square(seeds[:, None] - rows).sum(axis=2)
    np.testing.assert_allclose(found, np.minimum(apart, nearest), rtol=1e-5)
    np.testing.assert_allclose(slowly, found, rtol=1e-5)


def drawn_rows(kind: str) -> np.ndarray:
    rng = np.random.default_rng(5)
    if kind == "blobs":
        return rng.normal(size=(60, 20))[rng.integers(60, size=3000)] + rng.normal(size=(3000, 20))
    return rng.gamma(0.3, size=(3000, 12)) if kind == "skewed" else rng.normal(size=(3000, 30))


@pytest.mark.parametrize("kind", ["blobs", "skewed", "noise"])
def test_centres_settle_where_those_of_scikit_learn_do(kind):
    rows = drawn_rows(kind)
    start = rows[:40]

    found = clusters.settled_centres(rows, start, threads=2)

    expected = KMeans(40, n_init=1, init=start, random_state=0).fit(rows)
    np.testing.assert_allclose(found, expected.cluster_centers_, atol=1e-9)


def test_a_centre_without_rows_moves_to_the_farthest_row():
    rows = np.array([[0.0], [1.0], [2.0], [3.0], [9.0]])
    start = np.array([[2.0], [100.0], [200.0]])

    found = clusters.settled_centres(rows, start)

    expected = KMeans(3, n_init=1, init=start, random_state=0).fit(rows)
    assert sorted(found.ravel()) == pytest.approx(sorted(expected.cluster_centers_.ravel()))
    assert found.max() == 9.0


def test_more_centres_than_distinct_rows_settle_all_the_same():
    rows = np.repeat(BLOBS[:2], 5, axis=0)

    found = clusters.settled_centres(rows, rows[:4])

    assert {tuple(row) for row in found} == {tuple(row) for row in BLOBS[:2]}
