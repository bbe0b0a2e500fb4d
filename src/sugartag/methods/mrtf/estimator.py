"""MRTF: a Tucker tensor of users, images and tags, fitted to rank an image's tags above others.

After Sang, Liu and Xu (2011), who call it RMTF. docs/methods/mrtf.md says what is theirs and what
is not.
"""

import logging
import time
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from sugartag._typing import SparseRows
from sugartag.collection.model import Collection
from sugartag.engine.base import Engine, stage
from sugartag.linalg.knn_graph import KnnGraph
from sugartag.linalg.laplacian import laplacian
from sugartag.linalg.sparse_rows import strongest_per_row
from sugartag.linalg.tucker import Tucker
from sugartag.methods.mrtf.fitted import Collapse, FittedRankingFactorisation
from sugartag.methods.mrtf.graphs import tag_graph, user_graph
from sugartag.methods.mrtf.start import Ranks, Start, random_start, smoothed_tags, warm_start
from sugartag.methods.mrtf.training import Descent, Laplacians, Loss, Objective, Penalties, Posts
from sugartag.methods.near_images import NearImages, image_graph
from sugartag.methods.settings import (
    require,
    require_counts,
    require_not_negative,
    require_positive,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RankingFactorisation:
    """Settings of MRTF; symbols are the original's, and so are values where it says so."""

    name: ClassVar[str] = "mrtf"
    summary: ClassVar[str] = "A tensor of users, images and tags, factored to rank the tags given."
    fitted_type: ClassVar[type[FittedRankingFactorisation]] = FittedRankingFactorisation

    user_rank: int = 16
    """r_U: numbers that describe a user; the original, as remembered, has 50."""
    image_rank: int = 100
    """r_I: numbers that describe an image; the original, as remembered, has 250."""
    tag_rank: int = 100
    """r_T: numbers that describe a tag; the original, as remembered, has 250."""
    smoothness: float = 0.01
    """α, the weight of the three graphs; 0.01 in the original, as remembered."""
    ridge: float = 0.001
    """β, the weight of the factors' size; 0.001 in the original, as remembered."""
    loss: Loss = "log_sigmoid"
    """f: what a wrong order costs. The original has the sigmoid itself, which forgives what is
    far wrong."""
    wrong_tags: int = 5
    """Tags drawn for each tag given, to be ranked below it; the original takes all."""
    related_tags: int = 5
    """N_T: the tags nearest to one given are not taken for wrong; the original has no number."""
    epochs: int = 3
    """Passes over the images; more of them learn the tags given by heart."""
    batch_size: int = 128
    """Images in one step of Adam."""
    learning_rate: float = 0.001
    """How far Adam moves a number in a step; Adam's usual value."""
    learns_tags: bool = True
    """Let the tag factors move as the others do; held at the start, images are ranked better by a
    tag, and lists of tags get worse."""
    start: Literal["smoothed", "random"] = "smoothed"
    """Start at the tags of each image and its neighbours, or anywhere; the original is silent."""
    own_share: float = 0.5
    """How much of the smoothed tags is the image's own; the rest is the neighbours'."""
    start_scale: float = 4.0
    """The score that a smoothed tag of 1 starts with; the loss is flat beyond a few."""
    start_noise: float = 0.1
    """How much users differ at the start; with a random start, how large all factors are."""
    collapse: Collapse = "owner"
    """Whose tags an image gets: its owner's, the mean user's, or, as in the original, the sum
    over the latent user dimension."""
    neighbours: int = 20
    """Images that each is linked to; the original links all pairs."""
    unit_features: bool = True
    """Scale features to length 1 before they are compared."""
    links_per_user: int = 50
    """Strongest links kept an owner; the original keeps all."""
    links_per_tag: int = 10
    """Strongest links kept a tag; the original keeps all."""
    cooccurrence_weight: float = 0.9
    """λ_c: tags used together, in the tag graph; 0.9 in the original, as remembered."""
    taxonomy_weight: float = 0.1
    """λ_s: Lin's similarity, in the tag graph; 0.1 in the original, as remembered."""

    def __post_init__(self) -> None:
        counts = ("user_rank", "image_rank", "tag_rank", "wrong_tags", "batch_size", "neighbours")
        require_counts(self, *counts, "links_per_user", "links_per_tag")
        amounts = ("smoothness", "ridge", "related_tags", "epochs", "start_noise")
        require_not_negative(self, *amounts, "cooccurrence_weight", "taxonomy_weight")
        require_positive(self, "learning_rate", "start_scale")
        require(
            0 <= self.own_share <= 1,
            f"mrtf setting own_share is {self.own_share}; it must be from 0 to 1",
        )
        require(
            self.cooccurrence_weight + self.taxonomy_weight <= 1,
            "mrtf settings cooccurrence_weight and taxonomy_weight must not add up to more than 1",
        )

    def fit(
        self, collection: Collection, *, engine: Engine, rng: np.random.Generator
    ) -> FittedRankingFactorisation:
        """Build the graphs, start from smoothed tags, and let Adam put the tags in order."""
        collection.require_features(self.name)
        began = time.perf_counter()
        graph = image_graph(
            collection, self.neighbours, unit_features=self.unit_features, engine=engine
        )
        objective = build_objective(self, collection, graph, engine=engine)
        logger.info("graphs of %d images: %.1f s", collection.n_images, time.perf_counter() - began)
        # One BLAS thread: thousands of steps would make another model of another last bit.
        with threadpool_limits(1):
            start = _start(self, objective.posts.tags, graph, collection.n_owners, rng=rng)
            factors = _descended(self, objective, start, engine=engine, rng=rng)
        is_warm = self.start == "smoothed"
        return FittedRankingFactorisation(
            factors=factors,
            near=NearImages(collection, self.neighbours, graph.bandwidth, self.unit_features),
            projection=self.own_share * self.start_scale * start.projection,
            neighbour_share=1.0 - self.own_share if is_warm else 1.0,
            collapse=self.collapse,
        )


def build_objective(
    settings: RankingFactorisation, collection: Collection, graph: KnnGraph, *, engine: Engine
) -> Objective:
    """Set up what the factors are fitted to."""
    tags = collection.tags_of(slice(0, collection.n_images)).astype(np.float64)
    tags.sort_indices()
    affinity = tag_graph(
        collection,
        cooccurrence_weight=settings.cooccurrence_weight,
        taxonomy_weight=settings.taxonomy_weight,
        links_per_tag=settings.links_per_tag,
        engine=engine,
    )
    nobody = sparse.csr_array((1, collection.n_groups))
    groups = sparse.csr_array(sparse.vstack([collection.groups, nobody], format="csr"))
    related = strongest_per_row(affinity, settings.related_tags)
    return Objective(
        posts=Posts(tags, collection.owner, barred_tags(tags, related)),
        laplacians=Laplacians(
            users=laplacian(user_graph(groups, settings.links_per_user)),
            images=laplacian(graph.affinity),
            tags=laplacian(affinity),
        ),
        penalties=Penalties(settings.smoothness, settings.ridge),
        loss=settings.loss,
    )


def barred_tags(tags: SparseRows, related: SparseRows) -> SparseRows:
    """Return images x tags, 1 where a tag was given or is related to one that was."""
    barred = sparse.csr_array(tags + tags @ related)
    barred.data[:] = 1.0
    barred.sort_indices()
    return barred


def _start(
    settings: RankingFactorisation,
    tags: SparseRows,
    graph: KnnGraph,
    n_owners: int,
    *,
    rng: np.random.Generator,
) -> Start:
    ranks = Ranks(settings.user_rank, settings.image_rank, settings.tag_rank)
    noise = settings.start_noise
    if settings.start == "random":
        return random_start(tags.shape, n_owners, ranks, noise=noise, rng=rng)
    smoothed = smoothed_tags(
        tags, graph.affinity, own_share=settings.own_share, scale=settings.start_scale
    )
    return warm_start(smoothed, n_owners, ranks, noise=noise, rng=rng)


def _descended(
    settings: RankingFactorisation,
    objective: Objective,
    start: Start,
    *,
    engine: Engine,
    rng: np.random.Generator,
) -> Tucker:
    began = time.perf_counter()
    descent = Descent(
        epochs=settings.epochs,
        batch_size=settings.batch_size,
        rate=settings.learning_rate,
        n_wrong=settings.wrong_tags,
        learns_tags=settings.learns_tags,
    )
    with stage(engine, "descending", settings.epochs) as epochs:
        factors = descent.run(objective, start.factors, rng, epochs.advance)
    shape = factors.core.shape
    logger.info("%d epochs, core %s: %.1f s", settings.epochs, shape, time.perf_counter() - began)
    return factors
