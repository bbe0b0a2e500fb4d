"""LSLR: the updates against the literal objective, the partition, and images folded in."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from planted import NEVER_USED, UNTAGGED, accuracy, as_new
from sugartag.collection.model import Collection, Rows
from sugartag.engine import LocalEngine
from sugartag.errors import CollectionError, SettingsError
from sugartag.linalg.sylvester import GraphSylvester
from sugartag.methods.lslr import FittedLocalLowRank, LocalLowRank, parts
from sugartag.methods.lslr.parts import locally_linear, tag_geometry
from sugartag.methods.lslr.steps import (
    Cluster,
    Local,
    Strengths,
    agreement,
    objective,
    updated,
)

STRENGTHS = Strengths(image_geometry=0.8, tag_geometry=0.3, ridge=0.2, consensus=0.6)


def fit(collection: Collection, **settings: object) -> FittedLocalLowRank:
    method = LocalLowRank(**settings)
    return method.fit(collection, engine=LocalEngine(), rng=np.random.default_rng(3))


def everything(collection: Collection) -> Rows:
    return collection.rows(slice(0, collection.n_images))


class Tiny:
    """Two clusters with factors drawn at random, and the objective as it is written down."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.of_tags = GraphSylvester.of(locally_linear(rng.standard_normal((5, 3)), 2, 1e-2))
        self.clusters, self.found = [], []
        for size in (7, 4):
            tags = sparse.csr_array((rng.random((size, 5)) < 0.4).astype(float))
            geometry = locally_linear(rng.standard_normal((size, 3)), 3, 1e-2)
            self.clusters.append(Cluster(tags, GraphSylvester.of(geometry)))
            factors = rng.standard_normal((size, 2)), rng.standard_normal((5, 2))
            self.found.append(Local(*factors))
        self.agreed = agreement(self.found)

    def literal(self, found: list[Local], agreed: np.ndarray) -> float:
        total = 0.0
        for cluster, local in zip(self.clusters, found, strict=True):
            images, tags = local.images, local.tags
            total += np.sum((cluster.tags.toarray() - images @ tags.T) ** 2)
            total += 0.8 * np.trace(images.T @ cluster.geometry.graph.toarray() @ images)
            total += 0.3 * np.trace(tags.T @ self.of_tags.graph.toarray() @ tags)
            total += 0.2 * (np.sum(images**2) + np.sum(tags**2))
            total += 0.6 * np.sum((tags - agreed) ** 2)
        return total


def test_the_objective_is_the_literal_sum():
    tiny = Tiny()

    found = objective(tiny.clusters, tiny.found, tiny.of_tags, tiny.agreed, STRENGTHS)

    assert found == pytest.approx(tiny.literal(tiny.found, tiny.agreed), rel=1e-12)


def test_each_update_is_a_minimiser():
    tiny = Tiny()
    rng = np.random.default_rng(1)
    old, other = tiny.found
    new = updated(tiny.clusters[0], old, tiny.of_tags, tiny.agreed, STRENGTHS)

    def at(images: np.ndarray, tags: np.ndarray) -> float:
        return tiny.literal([Local(images, tags), other], tiny.agreed)

    for _ in range(20):
        of_images, of_tags = rng.standard_normal((7, 2)), rng.standard_normal((5, 2))
        for step in (1e-3, -1e-3):
            moved = new.images + step * of_images
            assert at(moved, old.tags) > at(new.images, old.tags)
            assert at(new.images, new.tags + step * of_tags) > at(new.images, new.tags)


@pytest.mark.parametrize("cluster_size", [100, 1000])
def test_the_objective_never_rises(cluster_size, collection):
    found = fit(
        collection, cluster_size=cluster_size, rank=15, max_iterations=10, tolerance=0.0
    ).objectives

    assert len(found) == 10
    assert np.all(np.diff(found) <= 1e-10 * found[1:])


def test_conjugate_gradients_give_what_eigenvectors_give(collection, monkeypatch):
    exact = fit(collection, cluster_size=150).scores(everything(collection))

    monkeypatch.setattr(parts, "DENSE_CELLS", 0)
    model = fit(collection, cluster_size=150)

    np.testing.assert_allclose(model.scores(everything(collection)), exact, atol=1e-6)


def test_every_image_is_in_the_cluster_it_is_assigned_to(collection):
    partition = fit(collection, cluster_size=100).partition
    cluster = partition.clusters_of(everything(collection).features)

    np.testing.assert_array_equal(np.sort(partition.order), np.arange(collection.n_images))
    assert partition.n_clusters > 3
    for number in range(partition.n_clusters):
        np.testing.assert_array_equal(partition.members(number), np.flatnonzero(cluster == number))


def test_scores_of_fitted_images_are_the_product_of_their_factors(collection):
    model = fit(collection, cluster_size=200)
    rows = everything(collection)
    cluster = model.partition.clusters_of(rows.features)

    expected = np.einsum("ir,itr->it", model.image_factors, model.tag_factors[cluster])

    tagged = np.arange(collection.n_images) != UNTAGGED
    tagged &= np.diff(rows.tags.indptr) > 0
    np.testing.assert_allclose(model.scores(rows)[tagged], expected[tagged], atol=1e-5)


def test_a_new_image_is_the_ridge_of_its_tags_and_its_neighbours(collection):
    model = fit(collection, cluster_size=1000, image_neighbours=1)
    rows = as_new(collection.rows(slice(10, 11)), collection)
    tag_factors = model.tag_factors[0]
    twin = model.image_factors[10]
    given = rows.tags.toarray()[0]
    pull, ridge = model.strengths.image_geometry, model.strengths.ridge

    found = model.scores(rows)[0]

    # Seen as new, the image's nearest neighbour is itself.
    size = tag_factors.shape[1]
    system = tag_factors.T @ tag_factors + (pull + ridge) * np.eye(size)
    expected = tag_factors @ np.linalg.solve(system, tag_factors.T @ given + pull * twin)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_new_images_are_scored_nearly_as_well_as_fitted_ones(collection):
    model = fit(collection)
    rows = everything(collection)

    seen = accuracy(model.scores(rows), collection)
    strangers = accuracy(model.scores(rows, strangers_only=True), collection)

    assert seen[0] > 0.7
    assert strangers[0] > 0.6


def test_strangers_are_all_that_an_image_without_tags_may_ask(collection):
    model = fit(collection, cluster_size=1000)
    rows = collection.rows(slice(20, 21))
    bare = replace(rows, tags=sparse.csr_array(rows.tags.shape, dtype=np.float32))
    own = np.flatnonzero(collection.owner == rows.owner[0])
    changed = model.image_factors.copy()
    changed[own] += 100.0

    other = replace(model, image_factors=changed)

    alone = model.scores(bare, strangers_only=True)
    np.testing.assert_array_equal(other.scores(bare, strangers_only=True), alone)


def test_a_tag_that_nobody_used_has_no_neighbours(collection):
    geometry = tag_geometry(
        collection, 8, 1e-2, engine=LocalEngine(), rng=np.random.default_rng(0)
    ).graph.toarray()

    assert geometry[NEVER_USED, NEVER_USED] == 1
    assert np.count_nonzero(geometry[NEVER_USED]) == 1
    np.testing.assert_allclose(fit(collection).tag_factors[:, NEVER_USED], 0, atol=1e-12)


def test_clusters_of_a_few_images_do_no_harm(collection):
    model = fit(collection, cluster_size=5, max_iterations=1)

    assert np.isfinite(model.scores(everything(collection))).all()


def test_other_features_than_the_fitted_ones_are_refused(collection):
    rows = everything(collection)

    with pytest.raises(CollectionError, match="the model's have 48"):
        fit(collection).scores(replace(rows, features=None))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("cluster_size", 0),
        ("rank", 0),
        ("image_neighbours", 0),
        ("tag_neighbours", 0),
        ("max_iterations", 0),
        ("expectation_ridge", 0.0),
        ("local_ridge", 0.0),
        ("ridge", 0.0),
        ("image_geometry", -1.0),
        ("tag_geometry", -1.0),
        ("consensus", -1.0),
        ("tolerance", -1.0),
    ],
)
def test_impossible_settings_are_refused(setting, value):
    with pytest.raises(SettingsError, match=f"lslr setting {setting} is"):
        LocalLowRank(**{setting: value})
