"""TTC1 and TTC2: tri-clustering, then the completion of each sub-tensor, alone or together.

The original could not be read in full: docs/methods/ttc1.md and ttc2.md say what is known of it
and what is reconstructed.
"""

import logging
import time
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.anchors.owners import owner_profiles
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, Engine, row_blocks
from sugartag.graph.collection_affinity import collection_affinity, count_tags_together
from sugartag.linalg.threads import run_parts
from sugartag.methods.settings import require
from sugartag.methods.tag_prior import images_with_each_tag
from sugartag.methods.tag_vote import all_tags
from sugartag.methods.triclusters import ClusterCounts, TriClusters, tricluster
from sugartag.methods.ttc_fitted import FittedTTC
from sugartag.methods.ttc_model import Factors, Loss, Weights
from sugartag.methods.ttc_parts import (
    Graphs,
    Layout,
    all_sub_tensors,
    build_graphs,
    one_sub_tensor,
)
from sugartag.methods.ttc_solver import complete
from sugartag.methods.ttc_start import warm_start

logger = logging.getLogger(__name__)

SUB_TENSORS_PER_BLOCK = 8


@dataclass(frozen=True)
class TTC1:
    """Settings of TTC1; the original's are not known, save where a field says so."""

    name: ClassVar[str] = "ttc1"
    summary: ClassVar[str] = "Tri-clustered sub-tensors, each completed with factors of its own."
    fitted_type: ClassVar[type[FittedTTC]] = FittedTTC
    shares_factors: ClassVar[bool] = False

    tag_clusters: int | None = None
    """C_t: clusters of tags."""
    image_clusters: int | None = None
    """C_i"""
    user_clusters: int | None = None
    """C_u"""
    block_share: float = 0.3
    """bs"""
    cluster_sweeps: int = 5
    """cs"""
    tag_rank: int = 10
    """rT"""
    image_rank: int = 10
    """rI"""
    user_rank: int = 3
    """rU"""
    ridge: float = 0.3
    """lam"""
    smoothness: float = 1.0
    """mg"""
    neighbours: int = 20
    """k"""
    links_per_tag: int = 10
    """lt"""
    cooccurrence_weight: float = 0.9
    """a1"""
    taxonomy_weight: float = 0.1
    """a2"""
    loss: Literal["posts", "full"] = "posts"
    """loss"""
    collapse: Literal["owner", "sum"] = "owner"
    """collapse"""
    prior_weight: float = 0.1
    """pw"""
    max_sweeps: int = 20
    """ms"""
    tolerance: float = 1e-3
    """tol"""
    unit_features: bool = True
    """uf"""

    def fit(self, collection: Collection, *, engine: Engine, rng: np.random.Generator) -> FittedTTC:
        """Cluster tags, images and users; complete the sub-tensors that they cut out."""
        collection.require_features(self.name)
        began = time.perf_counter()
        tags = all_tags(collection).astype(np.float64)
        profiles = owner_profiles(collection, engine=engine)
        clusters = self._clusters(collection, tags, profiles, engine=engine, rng=rng)
        layout = Layout.of(clusters, collection.owner)
        t1 = time.perf_counter()
        graphs = self._graphs(collection, layout, profiles, engine=engine)
        logger.info("clusters %.1f graphs %.1f", t1 - began, time.perf_counter() - t1)
        parts = tuple(sparse.csr_array(tags[:, rows]) for rows in layout.tag_rows)
        job = _Job(self, layout, graphs, parts, collection.owner, int(rng.integers(2**31)))
        made = _together(job, collection, engine) if self.shares_factors else _apart(job, collection, engine)
        logger.info("done %.1f", time.perf_counter() - began)
        share = images_with_each_tag(collection, engine) / collection.n_images
        return FittedTTC(
            collection=collection,
            shares_factors=self.shares_factors,
            tag_cluster=clusters.tag,
            image_cluster=clusters.image,
            user_cluster=clusters.user,
            image_centres=clusters.image_centres,
            pair_of_clusters=layout.pair_table(),
            prior=self.prior_weight * share,
            ridge=self.ridge,
            smoothness=self.smoothness,
            neighbours=self.neighbours,
            unit_features=self.unit_features,
            sums_users=self.collapse == "sum",
            **made,
        )

    def _clusters(self, collection, tags, profiles, *, engine, rng) -> TriClusters:
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

    def cluster_counts(self, collection: Collection) -> ClusterCounts:
        auto = lambda n, per, most: max(1, min(most, round(n / per)))
        return ClusterCounts(
            self.tag_clusters or auto(collection.n_tags, 500, 10),
            self.image_clusters or auto(collection.n_images, 2000, 40),
            self.user_clusters or auto(collection.n_owners, 1000, 12),
        )

    def _graphs(self, collection, layout, profiles, *, engine) -> Graphs:
        affinity = collection_affinity(
            collection,
            cooccurrence_weight=self.cooccurrence_weight,
            taxonomy_weight=self.taxonomy_weight,
            links_per_tag=self.links_per_tag,
            engine=engine,
        )
        by_pair = self.loss == "posts" and not self.shares_factors
        groups = layout.image_rows
        if by_pair:
            groups = tuple(np.flatnonzero(layout.image_pair == n) for n in range(layout.n_pairs))
        return build_graphs(
            collection, layout, affinity, profiles, groups,
            neighbours=self.neighbours, unit_features=self.unit_features, engine=engine,
        )


@dataclass(frozen=True)
class TTC2(TTC1):
    name: ClassVar[str] = "ttc2"
    summary: ClassVar[str] = "Tri-clustered sub-tensors, completed together with shared factors."
    shares_factors: ClassVar[bool] = True


@dataclass(frozen=True, eq=False)
class _Job:
    settings: TTC1
    layout: Layout
    graphs: Graphs
    tags: tuple[SparseRows, ...]
    owner: IntArray
    seed: int

    @property
    def ranks(self):
        s = self.settings
        return (s.tag_rank, s.image_rank, s.user_rank)


def _together(job, collection, engine):
    s, layout = job.settings, job.layout
    known = all_sub_tensors(layout, job.graphs, job.tags, job.owner, loss=s.loss)
    rng = np.random.default_rng(job.seed)
    def run(_):
        start = warm_start(known, ranks=job.ranks, rng=rng)
        return start
    [start] = run_parts(run, [slice(0, 1)], 1)
    weights = Weights(s.ridge, s.smoothness, s.loss, engine.threads)
    fit = complete(known, start, weights, max_sweeps=s.max_sweeps, tolerance=s.tolerance)
    logger.info("objectives %s", fit.objectives)
    f = fit.factors
    tag_factors = np.zeros((1, collection.n_tags, s.tag_rank))
    for rows, part in zip(layout.tag_rows, f.tags):
        tag_factors[0, rows] = part
    n_t = len(job.tags)
    cores = f.cores.reshape(layout.n_pairs, -1, n_t, s.tag_rank).transpose(2, 0, 1, 3)
    mean_user = np.zeros((1, layout.n_pairs, s.user_rank))
    n_users = np.zeros(layout.n_pairs, np.int64)
    for pair in range(layout.n_pairs):
        users = np.unique(known.owner[known.posts(pair)])
        mean_user[0, pair] = f.users[users].mean(axis=0)
        n_users[pair] = len(users)
    return dict(tag_factors=tag_factors, image_factors=f.images[None], user_key=np.arange(collection.n_owners+1),
        user_factors=f.users[None], mean_user=mean_user, n_users=n_users, cores=np.ascontiguousarray(cores), objective=fit.objectives[-1])


def _apart(job, collection, engine):
    s, layout = job.settings, job.layout
    n_t, n_p = len(job.tags), layout.n_pairs
    key, n_users = np.unique(layout.image_pair * (collection.n_owners + 1) + job.owner), None
    key_pair = key // (collection.n_owners + 1)
    n_users = np.bincount(key_pair, minlength=n_p)
    key_starts = np.concatenate([[0], np.cumsum(n_users)])
    tag_factors = np.zeros((n_p, collection.n_tags, s.tag_rank))
    image_factors = np.zeros((n_t, collection.n_images, s.image_rank))
    user_factors = np.zeros((n_t, len(key), s.user_rank))
    mean_user = np.zeros((n_t, n_p, s.user_rank))
    cores = np.zeros((n_t, n_p, s.user_rank * s.image_rank, s.tag_rank))
    total = 0.0
    blocks = row_blocks(n_t * n_p, SUB_TENSORS_PER_BLOCK)
    number = 0
    for part in engine.map(complete_sub_tensors, blocks, job):
        for fit, images, users in part:
            cluster, pair = divmod(number, n_p)
            f = fit.factors
            own = np.flatnonzero(layout.image_pair == pair)
            owners = np.unique(job.owner[own])
            tag_factors[pair, layout.tag_rows[cluster]] = f.tags[0]
            image_factors[cluster, own] = f.images[np.searchsorted(images, own)]
            e = f.users[np.searchsorted(users, owners)]
            user_factors[cluster, key_starts[pair]:key_starts[pair + 1]] = e
            mean_user[cluster, pair] = e.mean(axis=0)
            cores[cluster, pair] = f.cores[0]
            total += fit.objectives[-1]
            number += 1
    return dict(tag_factors=tag_factors, image_factors=image_factors, user_key=key, user_factors=user_factors,
        mean_user=mean_user, n_users=n_users, cores=cores, objective=total)


def complete_sub_tensors(block: Block, job: _Job):
    return run_parts(lambda part: [_one(number, job) for number in range(part.start, part.stop)], [block], 1)[0]


def _one(number, job):
    s = job.settings
    cluster, pair = divmod(number, job.layout.n_pairs)
    known, images, users = one_sub_tensor(job.layout, job.graphs, job.tags, job.owner, cluster, pair, loss=s.loss)
    rng = np.random.default_rng([job.seed, number])
    start = warm_start(known, ranks=job.ranks, rng=rng)
    fit = complete(known, start, Weights(s.ridge, s.smoothness, s.loss), max_sweeps=s.max_sweeps, tolerance=s.tolerance)
    return fit, images, users
