"""LR: tags as a matrix of low rank and sparse errors, smooth over images and tags (2010).

docs/methods/lr.md says what is known of the original and where this form of it departs.
"""

import logging
import time
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from scipy import sparse

from sugartag._rules import AnyNumber, Shape, Within
from sugartag._typing import FloatArray, SparseRows
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Engine
from sugartag.graph.tag_affinity import collection_affinity
from sugartag.linalg.laplacian import degrees, inverse_roots, laplacian
from sugartag.linalg.proximal import soft_threshold
from sugartag.methods.lr.steps import (
    Decomposition,
    LowRankProblem,
    largest_singular_value,
    minimised,
)
from sugartag.methods.near_images import NearImages, image_graph
from sugartag.methods.settings import require, require_counts, require_not_negative

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class FittedLowRank:
    """The low-rank part, and what gives an image that was not fitted its row of it."""

    gives_whole_sets: ClassVar[bool] = False

    near: NearImages
    image_factors: Annotated[FloatArray, Shape("images", "rank")]
    """Images x rank: left singular vectors times the roots of the singular values."""
    tag_factors: Annotated[FloatArray, Shape("tags", "rank")]
    """Tags x rank: right singular vectors times the same roots."""
    image_degree: Annotated[FloatArray, Shape("images")]
    """The strength of all links of each fitted image."""
    tag_roughness: Annotated[FloatArray, Shape("rank", "rank")]
    """Rank x rank: L_T between the tag factors."""
    nuclear_weight: Annotated[float, Within(0)]
    """μ."""
    error_threshold: Annotated[float, Within(0)]
    """τ = μ λ1."""
    image_smoothness: Annotated[float, Within(0)]
    """a = μ λ2."""
    tag_smoothness: Annotated[float, Within(0)]
    """b = μ λ2."""
    new_image_updates: Annotated[int, Within(0, 100_000)]
    iterations: int
    change: Annotated[float, AnyNumber()]
    """How much the last step of the fit changed the low-rank part, relatively."""

    @property
    def floor(self) -> float:
        """Zero: what the low-rank part gives a tag that it does not know."""
        return 0.0

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return the rows of A; for others than the fitted images, with all the rest held fixed.

        With ``strangers_only`` every image of a known owner is judged as if it were another,
        linked to the images of other owners.
        """
        factors = np.zeros((len(rows), self.image_factors.shape[1]))
        settled = self.near.is_settled(rows, strangers_only=strangers_only)
        factors[settled] = self.image_factors[rows.position[settled]]
        others = np.setdiff1d(np.arange(len(rows)), settled)
        if len(others):
            some = rows.at(others)
            links = self.near.links(some, strangers_only=strangers_only)
            factors[others] = self.folded_in(some.tags, links)
        found: FloatArray = factors @ self.tag_factors.T
        return found.astype(np.float32)

    def folded_in(self, tags: SparseRows, links: SparseRows) -> FloatArray:
        """Return the factors of images with these tags, linked so to the fitted images.

        By turns the errors for given factors and the factors for given errors, both exactly. A
        fitted image with its links of the fit has the factors of the fit for its fixed point.
        """
        degree = np.asarray(links.sum(axis=1), dtype=np.float64).ravel()
        near = sparse.diags_array(inverse_roots(degree)) @ links
        near = near @ sparse.diags_array(inverse_roots(self.image_degree))
        pull = self.image_smoothness * (near @ self.image_factors) * self._sizes
        given = tags.astype(np.float64).toarray()
        factors = np.zeros_like(pull)
        linked = degree > 0
        for _ in range(self.new_image_updates):
            left = given - factors @ self.tag_factors.T
            kept = given - soft_threshold(left, self.error_threshold)
            wanted = kept @ self.tag_factors + pull
            for group, smoothness in ((linked, self.image_smoothness), (~linked, 0.0)):
                factors[group] = np.linalg.solve(self._system(smoothness), wanted[group].T).T
        return factors

    @property
    def _sizes(self) -> FloatArray:
        """The singular values, which are the squared lengths of the factors."""
        sizes: FloatArray = np.einsum("ij,ij->j", self.tag_factors, self.tag_factors)
        return sizes

    def _system(self, smoothness: float) -> FloatArray:
        diagonal = (1.0 + smoothness) * self._sizes + self.nuclear_weight
        system: FloatArray = np.diag(diagonal) + self.tag_smoothness * self.tag_roughness
        return system


@dataclass(frozen=True)
class LowRank:
    """Settings of LR; how they make up the original's three weights stands in its page."""

    name: ClassVar[str] = "lr"
    summary: ClassVar[str] = "Low rank and sparse errors, smooth over like images and tags."
    fitted_type: ClassVar[type[FittedLowRank]] = FittedLowRank

    nuclear_share: float = 0.1
    """μ, the weight of the nuclear norm, as a share of that at which nothing is left."""
    error_threshold: float = 0.5
    """μ λ1: what differs more from the tags given is an error."""
    image_smoothness: float = 0.3
    """μ λ2 for images that look alike."""
    tag_smoothness: float = 0.03
    """μ λ2 for tags that belong together; the original has one weight for both."""
    neighbours: int = 15
    """Images each is linked to."""
    unit_features: bool = True
    """Scale features to length 1 before they are compared."""
    cooccurrence_weight: float = 0.9
    """The share of tags used together in the tag graph."""
    taxonomy_weight: float = 0.1
    """The share of Lin's similarity in the tag graph."""
    links_per_tag: int = 10
    """Strongest links kept a tag."""
    max_rank: int = 300
    """Singular values kept at most: a cap for the sake of time, which 100 makes costly in accuracy.
    What the nuclear norm leaves is often fewer."""
    max_iterations: int = 60
    """Steps at most."""
    tolerance: float = 1e-3
    """Relative change of the low-rank part that ends the steps."""
    new_image_updates: int = 20
    """Updates of an image that was not fitted."""

    def __post_init__(self) -> None:
        require_counts(self, "neighbours", "max_rank", "max_iterations", "new_image_updates")
        weights = ("image_smoothness", "tag_smoothness", "cooccurrence_weight", "taxonomy_weight")
        require_not_negative(self, *weights, "links_per_tag", "tolerance")
        require(
            0 < self.nuclear_share < 1,
            f"lr setting nuclear_share is {self.nuclear_share}; it must be between 0 and 1",
        )
        require(
            self.error_threshold > 0,
            f"lr setting error_threshold is {self.error_threshold}; at 0 all would be errors",
        )

    def fit(
        self, collection: Collection, *, engine: Engine, rng: np.random.Generator
    ) -> FittedLowRank:
        """Link what is alike, then split the tags into the low-rank part and errors."""
        collection.require_features(self.name)
        began = time.perf_counter()
        graph = image_graph(
            collection, self.neighbours, unit_features=self.unit_features, engine=engine
        )
        problem = self._problem(collection, graph.affinity, engine=engine, rng=rng)
        found = minimised(
            problem,
            max_rank=self.max_rank,
            max_iterations=self.max_iterations,
            tolerance=self.tolerance,
            engine=engine,
            rng=rng,
        )
        logger.info(
            "lr: rank %d after %d steps, last change %.1e, %.1f s",
            found.parts.rank,
            found.iterations,
            found.change,
            time.perf_counter() - began,
        )
        near = NearImages(collection, self.neighbours, graph.bandwidth, self.unit_features)
        return self._fitted(found, problem, near, degrees(graph.affinity))

    def _problem(
        self,
        collection: Collection,
        affinity: SparseRows,
        *,
        engine: Engine,
        rng: np.random.Generator,
    ) -> LowRankProblem:
        given = collection.tags_of(slice(0, collection.n_images)).astype(np.float64)
        tags = collection_affinity(
            collection,
            cooccurrence_weight=self.cooccurrence_weight,
            taxonomy_weight=self.taxonomy_weight,
            links_per_tag=self.links_per_tag,
            engine=engine,
        )
        largest = self.error_threshold * largest_singular_value(given, rng=rng)
        return LowRankProblem(
            given=given,
            image_roughness=laplacian(affinity),
            tag_roughness=laplacian(tags),
            nuclear_weight=self.nuclear_share * largest,
            error_threshold=self.error_threshold,
            image_smoothness=self.image_smoothness,
            tag_smoothness=self.tag_smoothness,
        )

    def _fitted(
        self,
        found: Decomposition,
        problem: LowRankProblem,
        near: NearImages,
        image_degree: FloatArray,
    ) -> FittedLowRank:
        roots = np.sqrt(found.parts.values)
        tag_factors = found.parts.right * roots
        return FittedLowRank(
            near=near,
            image_factors=found.parts.left * roots,
            tag_factors=tag_factors,
            image_degree=image_degree,
            tag_roughness=tag_factors.T @ (problem.tag_roughness @ tag_factors),
            nuclear_weight=problem.nuclear_weight,
            error_threshold=problem.error_threshold,
            image_smoothness=problem.image_smoothness,
            tag_smoothness=problem.tag_smoothness,
            new_image_updates=self.new_image_updates,
            iterations=found.iterations,
            change=found.change,
        )
