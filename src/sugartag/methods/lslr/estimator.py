"""LSLR: locality sensitive low-rank completion of tags.

The images are cut into clusters; the tags of each cluster are a product of two small factors that
keep the local geometry of images and of tags; the clusters' tag factors are drawn to each other.
docs/methods/lslr.md tells what is known of the original and what is our reading.
"""

import logging
import math
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, ClassVar

import numpy as np

from sugartag._rules import Shape, Within
from sugartag._typing import BoolArray, FloatArray, IntArray
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Engine, row_blocks, steps
from sugartag.features.normalise import visual_rows
from sugartag.linalg.neighbours import nearest_rows
from sugartag.linalg.proximal import singular_start
from sugartag.methods.lslr.parts import Partition, image_geometry, make_partition, tag_geometry
from sugartag.methods.lslr.steps import (
    Cluster,
    Local,
    Strengths,
    agreement,
    objective,
    reconstruction_weights,
    update_clusters,
)
from sugartag.methods.settings import require_counts, require_not_negative, require_positive
from sugartag.methods.tag_vote import all_tags

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class FittedLocalLowRank:
    """The factors of every cluster, and where other images belong."""

    gives_whole_sets: ClassVar[bool] = False

    collection: Collection
    """The images fitted, whose features say who is near to a new one."""
    partition: Partition
    image_factors: Annotated[FloatArray, Shape("images", "rank")]
    """W: images x rank, in the order of the collection."""
    tag_factors: Annotated[FloatArray, Shape("clusters", "tags", "rank")]
    """H: clusters x tags x rank."""
    strengths: Strengths
    image_neighbours: Annotated[int, Within(1, 1_000_000)]
    local_ridge: Annotated[float, Within(0)]
    objectives: Annotated[FloatArray, Shape("_rounds")]
    """The objective after each round."""

    @property
    def floor(self) -> float:
        """Zero: the value of a tag that is absent."""
        return 0.0

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return the completed tags of each image, from its own cluster's factors.

        Images not fitted, those without tags and, with ``strangers_only``, those of known owners
        are put together from their neighbours, of whom none then has the same owner.
        """
        rows.features_of_all(self.collection.n_features, "lslr")
        cluster = self.partition.clusters_of(rows.features)
        seen = (rows.position < len(self.image_factors)) & (np.diff(rows.tags.indptr) > 0)
        if strangers_only:
            seen &= rows.owner == self.collection.nobody
        scores = np.empty(rows.tags.shape, dtype=np.float32)
        for number in np.unique(cluster).tolist():
            part = np.flatnonzero(cluster == number)
            images = np.empty((len(part), self.image_factors.shape[1]))
            known = seen[part]
            images[known] = self.image_factors[rows.position[part[known]]]
            images[~known] = self._folded_in(rows, part[~known], number, strangers_only)
            scores[part] = images @ self.tag_factors[number].T
        return scores

    def _folded_in(
        self, rows: Rows, part: IntArray, cluster: int, strangers_only: bool
    ) -> FloatArray:
        """Return W of images from their own tags and from those near to them, H fixed."""
        near, weights = self._neighbours(rows, part, cluster, strangers_only)
        members = np.append(self.partition.members(cluster), 0)
        expected = np.einsum("ij,ijr->ir", weights, self.image_factors[members[near]])
        pull, ridge = self.strengths.image_geometry, self.strengths.ridge
        tags, tag_factors = rows.tags[part].astype(np.float64), self.tag_factors[cluster]
        eye = np.eye(tag_factors.shape[1])
        target = tags @ tag_factors + pull * expected
        images = np.linalg.solve(tag_factors.T @ tag_factors + (pull + ridge) * eye, target.T).T
        # Nothing is known of the tags of an image that has none: only its neighbours speak.
        untagged = np.diff(tags.indptr) == 0
        images[untagged] = expected[untagged]
        return np.asarray(images)

    def _neighbours(
        self, rows: Rows, part: IntArray, cluster: int, strangers_only: bool
    ) -> tuple[IntArray, FloatArray]:
        """Return the nearest members of a cluster, none of them barred, and their weights."""
        collection, unit = self.collection, self.partition.unit_features
        members = self.partition.members(cluster)
        queries = visual_rows(rows.features, unit)[part]
        others = visual_rows(collection.features_at(members), unit)
        own, theirs = rows.position[part], members
        if strangers_only:
            own = _owner_labels(rows.owner[part], rows.position[part], collection.nobody)
            theirs = _owner_labels(collection.owner[members], members, collection.nobody)
        near = nearest_rows(
            queries.astype(np.float32),
            [others.astype(np.float32)],
            self.image_neighbours,
            query_labels=own,
            row_labels=theirs,
        ).index
        return near, reconstruction_weights(queries, others, near, ridge=self.local_ridge)


@dataclass(frozen=True)
class LocalLowRank:
    """Settings of LSLR."""

    name: ClassVar[str] = "lslr"
    summary: ClassVar[str] = "Low-rank tags of each cluster of images, true to local geometry."
    fitted_type: ClassVar[type[FittedLocalLowRank]] = FittedLocalLowRank

    cluster_size: int = 500
    """n_k: images a cluster has on average; the original's number is not known. How this
    and the weights below were chosen is in docs/methods/lslr.md."""
    expectation_ridge: float = 1.0
    """Ridge of the regression that expects tags from features, for the partition."""
    unit_features: bool = True
    """Scale features to length 1 before they are compared."""
    rank: int = 80
    """r: columns of the factors at most; no more than there are tags."""
    image_neighbours: int = 20
    """Images that one is put together from."""
    tag_neighbours: int = 8
    """Tags that one is put together from."""
    local_ridge: float = 0.01
    """Ridge of the reconstruction weights, in shares of the local Gram matrix's trace."""
    image_geometry: float = 10.0
    """a: how strictly image factors keep the geometry of images."""
    tag_geometry: float = 0.5
    """b: how strictly tag factors keep the geometry of tags."""
    ridge: float = 0.3
    """g: weight of the squared factors."""
    consensus: float = 1.0
    """eta: how strongly the clusters' tag factors are drawn to their mean."""
    max_iterations: int = 20
    """Rounds of updates at most."""
    tolerance: float = 1e-4
    """Relative change of the objective that ends the rounds."""

    def __post_init__(self) -> None:
        counts = ("cluster_size", "rank", "image_neighbours", "tag_neighbours", "max_iterations")
        require_counts(self, *counts)
        require_positive(self, "expectation_ridge", "local_ridge", "ridge")
        require_not_negative(self, "image_geometry", "tag_geometry", "consensus", "tolerance")

    def fit(
        self, collection: Collection, *, engine: Engine, rng: np.random.Generator
    ) -> FittedLocalLowRank:
        """Cut the images into clusters and factorise the tags of all of them together."""
        collection.require_features(self.name, of_all=True)
        collection.require_tags(self.name)
        partition = make_partition(
            collection,
            math.ceil(collection.n_images / self.cluster_size),
            expectation_ridge=self.expectation_ridge,
            unit_features=self.unit_features,
            engine=engine,
            rng=rng,
        )
        strengths = Strengths(self.image_geometry, self.tag_geometry, self.ridge, self.consensus)
        found, objectives = _factorised(
            self, collection, partition, strengths, engine=engine, rng=rng
        )
        image_factors = np.empty((collection.n_images, found[0].images.shape[1]))
        image_factors[partition.order] = np.concatenate([local.images for local in found])
        return FittedLocalLowRank(
            collection=collection,
            partition=partition,
            image_factors=image_factors,
            tag_factors=np.stack([local.tags for local in found]),
            strengths=strengths,
            image_neighbours=self.image_neighbours,
            local_ridge=self.local_ridge,
            objectives=np.array(objectives),
        )


def _factorised(
    settings: LocalLowRank,
    collection: Collection,
    partition: Partition,
    strengths: Strengths,
    *,
    engine: Engine,
    rng: np.random.Generator,
) -> tuple[list[Local], list[float]]:
    """Start every cluster at the singular vectors of all tags, then alternate."""
    tags = all_tags(collection).astype(np.float64)
    images, of_each_tag = singular_start(tags, settings.rank, rng=rng)
    each = row_blocks(partition.n_clusters, 1)
    near = (settings.image_neighbours, settings.local_ridge)
    geometries = chain.from_iterable(engine.map(image_geometry, each, collection, partition, *near))
    members = [partition.members(number) for number in range(partition.n_clusters)]
    clusters = [
        Cluster(tags[part], geometry) for part, geometry in zip(members, geometries, strict=True)
    ]
    found = [Local(images[part], of_each_tag) for part in members]
    of_tags = tag_geometry(
        collection, settings.tag_neighbours, settings.local_ridge, engine=engine, rng=rng
    )
    agreed, objectives = agreement(found), list[float]()
    for _ in steps(engine, "alternating", settings.max_iterations):
        shared = (clusters, found, of_tags, agreed, strengths)
        found = list(chain.from_iterable(engine.map(update_clusters, each, *shared)))
        agreed = agreement(found)
        objectives.append(objective(clusters, found, of_tags, agreed, strengths))
        logger.info("lslr: objective %.6g", objectives[-1])
        fall = np.inf if len(objectives) < 2 else objectives[-2] - objectives[-1]
        if fall <= settings.tolerance * objectives[-1]:
            break
    return found, objectives


def _owner_labels(owner: IntArray, image: IntArray, nobody: int) -> IntArray:
    """Return a number for each owner; images without one each count as an owner of their own."""
    of_nobody: BoolArray = owner == nobody
    return np.where(of_nobody, nobody + 1 + image, owner)
