"""TTC1 and TTC2: tri-clustering, then completion of the sub-tensors, each alone or all together.

The original could not be read in full. docs/methods/ttc1.md and docs/methods/ttc2.md say what is
known of it, what is reconstructed, and how certain that is.
"""

import logging
import math
import time
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy import sparse

from sugartag._typing import SparseRows
from sugartag.anchors.owners import owner_profiles
from sugartag.collection.model import Collection
from sugartag.engine.base import Engine, stage
from sugartag.graph.tag_affinity import collection_affinity, count_tags_together
from sugartag.methods.settings import require, require_not_negative
from sugartag.methods.tag_prior import images_with_each_tag
from sugartag.methods.tag_vote import all_tags
from sugartag.methods.ttc.completion import Completed, Job, complete_apart, complete_together
from sugartag.methods.ttc.fitted import FittedTTC
from sugartag.methods.ttc.model import Weights
from sugartag.methods.ttc.parts import Graphs, Layout, build_graphs
from sugartag.methods.ttc.triclusters import ClusterCounts, TriClusters, tricluster

logger = logging.getLogger(__name__)

LARGE = ClusterCounts(tags=10, images=40, users=12)
"""Clusters of a collection as large as the paper's, and at most."""
LARGE_SIZE = ClusterCounts(tags=5_000, images=250_000, users=50_000)
"""Members of such a collection; a smaller one has fewer clusters, by the root of its size."""


@dataclass(frozen=True)
class TTC1:
    """Settings of TTC1; the original's values are not known, save where a field names them."""

    name: ClassVar[str] = "ttc1"
    summary: ClassVar[str] = "Tri-clustered sub-tensors, each completed with factors of its own."
    fitted_type: ClassVar[type[FittedTTC]] = FittedTTC
    shares_factors: ClassVar[bool] = False

    tag_clusters: int | None = None
    """C_t; None takes 10 for 5,000 tags and fewer by the root of their number."""
    image_clusters: int | None = None
    """C_i; None takes 40 for 250,000 images and fewer by the root of their number."""
    user_clusters: int | None = None
    """C_u; None takes 12 for 50,000 owners and fewer by the root of their number."""
    block_share: float = 0.1
    """How much the blocks of the tensor count in clustering, beside what members are like; hidden
    tags are found again best by small shares."""
    cluster_sweeps: int = 5
    """Times that tags, images and users are given new clusters in turn."""
    factors: Literal["learned", "kernel"] = "learned"
    """Learn B, C and E, or take the leading eigenvectors of kernels of the three graphs for them
    and learn the core alone, the reading "regularized by a tensor kernel"."""
    tag_rank: int = 40
    """Columns of B. Hidden tags are found again the better the more, up to the time it takes."""
    image_rank: int = 40
    """Columns of C."""
    user_rank: int = 2
    """Columns of E: one that all users share, and one to tell them apart; more changed nothing."""
    ridge: float = 0.3
    """λ: weight of the squared entries of cores and factors; chosen by finding hidden tags."""
    smoothness: float = 10.0
    """μ: weight of the three graph terms; chosen by finding hidden tags."""
    neighbours: int = 5
    """Images and users that each is linked with, inside its cluster; 5 found hidden tags again
    better than 10 or 20."""
    links_per_tag: int = 10
    """Strongest affinities kept a tag."""
    cooccurrence_weight: float = 0.9
    """a₁ of the tag affinity; 0.9 in the original."""
    taxonomy_weight: float = 0.1
    """a₂ of the tag affinity; 0.1 in the original."""
    loss: Literal["posts", "full"] = "posts"
    """Fit the tags of each image at its owner only, or every cell of the tensor, mostly zeros."""
    collapse: Literal["owner", "sum"] = "owner"
    """Read the tensor at the image's owner, or summed over the users its cluster meets there."""
    prior_weight: float = 0.1
    """What a tag's share of all images adds to its score, for sub-tensors that know nothing."""
    max_sweeps: int = 20
    """Times that cores and factors are improved in turn, at most."""
    tolerance: float = 1e-3
    """Relative fall of the objective that ends the sweeps."""
    unit_features: bool = True
    """Scale the features of each image to length 1 before comparing them."""

    def __post_init__(self) -> None:
        clusters = ("tag_clusters", "image_clusters", "user_clusters")
        counts = ("tag_rank", "image_rank", "user_rank", "neighbours", "links_per_tag")
        for name in (*clusters, *counts, "max_sweeps"):
            value = getattr(self, name)
            require(
                value is None or value >= 1,
                f"{self.name} setting {name} is {value}; it must be at least 1",
            )
        weights = ("smoothness", "prior_weight", "cooccurrence_weight", "taxonomy_weight")
        require_not_negative(self, *weights, "tolerance", "cluster_sweeps")
        require(self.ridge > 0, f"{self.name} setting ridge is {self.ridge}; it must be above 0")
        require(
            0 <= self.block_share < 1,
            f"{self.name} setting block_share is {self.block_share}; it must be below 1, from 0 up",
        )

    def fit(self, collection: Collection, *, engine: Engine, rng: np.random.Generator) -> FittedTTC:
        """Cluster tags, images and users; complete the sub-tensors that they cut out."""
        collection.require_features(self.name, of_all=True)
        collection.require_owners(self.name)
        began = time.perf_counter()
        tags = all_tags(collection).astype(np.float64)
        profiles = owner_profiles(collection, engine=engine)
        with stage(engine, "clustering"):
            clusters = self._clusters(collection, tags, profiles, engine=engine, rng=rng)
        layout = Layout.of(clusters, collection.owner)
        clustered = time.perf_counter()
        job = Job(
            layout=layout,
            graphs=self._graphs(collection, layout, profiles, engine=engine),
            tags=tuple(sparse.csr_array(tags[:, rows]) for rows in layout.tag_rows),
            owner=collection.owner,
            n_owners=collection.n_owners,
            ranks=(self.tag_rank, self.image_rank, self.user_rank),
            weights=Weights(self.ridge, self.smoothness, self.loss, self._threads(engine)),
            learns_factors=self.factors == "learned",
            max_sweeps=self.max_sweeps,
            tolerance=self.tolerance,
            seed=int(rng.integers(2**31)),
        )
        linked = time.perf_counter()
        with stage(engine, "completing the tensor"):
            together = self.shares_factors
            made = complete_together(job) if together else complete_apart(job, engine=engine)
        logger.info(
            "%s: %d tag clusters x %d pairs of image and user clusters; clusters %.1f s, graphs "
            "%.1f s, completion %.1f s, objective %.6g",
            self.name,
            job.n_clusters,
            layout.n_pairs,
            clustered - began,
            linked - clustered,
            time.perf_counter() - linked,
            made.objective,
        )
        return self._fitted(collection, layout, made, engine)

    def cluster_counts(self, collection: Collection) -> ClusterCounts:
        """Return how many clusters of each kind a collection gets."""
        return ClusterCounts(
            self.tag_clusters or _by_size(collection.n_tags, LARGE.tags, LARGE_SIZE.tags),
            self.image_clusters or _by_size(collection.n_images, LARGE.images, LARGE_SIZE.images),
            self.user_clusters or _by_size(collection.n_owners, LARGE.users, LARGE_SIZE.users),
        )

    def _threads(self, engine: Engine) -> int:
        """Return the threads of one completion: all where there is one, else the engine's job."""
        return engine.threads if self.shares_factors else 1

    def _clusters(
        self,
        collection: Collection,
        tags: SparseRows,
        profiles: SparseRows,
        *,
        engine: Engine,
        rng: np.random.Generator,
    ) -> TriClusters:
        return tricluster(
            collection,
            tags,
            engine.sum(count_tags_together, collection.blocks(), collection),
            profiles,
            self.cluster_counts(collection),
            block_share=self.block_share,
            sweeps=self.cluster_sweeps,
            unit_features=self.unit_features,
            engine=engine,
            rng=rng,
        )

    def _graphs(
        self, collection: Collection, layout: Layout, profiles: SparseRows, *, engine: Engine
    ) -> Graphs:
        affinity = collection_affinity(
            collection,
            cooccurrence_weight=self.cooccurrence_weight,
            taxonomy_weight=self.taxonomy_weight,
            links_per_tag=self.links_per_tag,
            engine=engine,
        )
        by_pair = self.loss == "posts" and not self.shares_factors
        return build_graphs(
            collection,
            layout,
            affinity,
            profiles,
            layout.images_of_pairs() if by_pair else layout.image_rows,
            neighbours=self.neighbours,
            unit_features=self.unit_features,
            engine=engine,
        )

    def _fitted(
        self, collection: Collection, layout: Layout, made: Completed, engine: Engine
    ) -> FittedTTC:
        share = images_with_each_tag(collection, engine) / collection.n_images
        return FittedTTC(
            collection=collection,
            shares_factors=self.shares_factors,
            tag_cluster=layout.clusters.tag,
            image_cluster=layout.clusters.image,
            user_cluster=layout.clusters.user,
            image_centres=layout.clusters.image_centres,
            pair_of_clusters=layout.pair_table(),
            tag_factors=made.tag_factors,
            image_factors=made.image_factors,
            user_key=made.user_key,
            user_factors=made.user_factors,
            mean_user=made.mean_user,
            n_users=made.n_users,
            cores=made.cores,
            prior=self.prior_weight * share,
            ridge=self.ridge,
            smoothness=self.smoothness,
            neighbours=self.neighbours,
            unit_features=self.unit_features,
            sums_users=self.collapse == "sum",
            objective=made.objective,
        )


@dataclass(frozen=True)
class TTC2(TTC1):
    """Settings of TTC2, the same as those of TTC1."""

    name: ClassVar[str] = "ttc2"
    summary: ClassVar[str] = "Tri-clustered sub-tensors, completed together with shared factors."
    fitted_type: ClassVar[type[FittedTTC]] = FittedTTC
    shares_factors: ClassVar[bool] = True


def _by_size(members: int, most: int, size: int) -> int:
    """Return the clusters of this many members: ``most`` at ``size``, falling with the root."""
    return max(1, min(most, round(most * math.sqrt(members / size))))
