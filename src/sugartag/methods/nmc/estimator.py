"""NMC: completion of the matrix of non-linearly mapped features and tags.

The features go through a kernel map and stand above the tags in one matrix, an image a column.
Where the matrix is of low rank, what an image looks like and which tags it has say the missing
ones. docs/methods/nmc.md tells what is known of the original and what is our reading.
"""

import logging
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np

from sugartag._rules import Shape
from sugartag._typing import FloatArray, SparseRows
from sugartag.anchors.clusters import sampled_features
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Engine, row_blocks, stage, steps
from sugartag.linalg.proximal import singular_start
from sugartag.methods.nmc.convex import (
    ConvexProblem,
    as_shares,
    check_size,
    complete_convex,
    latent_space,
)
from sugartag.methods.nmc.factors import (
    Factors,
    FeatureMap,
    ImageStep,
    NystromMap,
    Weights,
    map_times_rows,
    median_width,
    objective,
    solve_features,
    solve_images,
    solve_tags,
    sum_map,
)
from sugartag.methods.settings import (
    require,
    require_counts,
    require_not_negative,
    require_positive,
)
from sugartag.methods.tag_vote import all_tags

logger = logging.getLogger(__name__)

TAGS_PER_BLOCK = 128


@dataclass(frozen=True, eq=False)
class FittedNonlinearCompletion:
    """The latent space: how features and tags lie in it."""

    gives_whole_sets: ClassVar[bool] = False

    feature_map: FeatureMap
    factors: Factors
    weights: Weights
    completed: Annotated[FloatArray | None, Shape("images", "rank")]
    """Images x rank, for the solver "convex" only: the rows of the images fitted."""
    objectives: Annotated[FloatArray, Shape("_rounds")]
    """The objective after each round; empty for the solver "convex"."""

    @property
    def floor(self) -> float:
        """Zero: the value of a tag that is absent."""
        return 0.0

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return the completed tags of each image; no other image is used, of no owner."""
        features = rows.features_like(self.feature_map.nystrom.landmarks.shape[1])
        mapped = self.feature_map.mapped(features)
        images = ImageStep.of(self.factors, self.weights).images(rows.tags, mapped)
        if self.completed is None:
            return self.factors.predicted(images).astype(np.float32)
        seen = np.flatnonzero(rows.position < len(self.completed))
        images[seen] = self.completed[rows.position[seen]]
        return as_shares(self.factors.predicted(images)).astype(np.float32)


@dataclass(frozen=True)
class NonlinearCompletion:
    """Settings of NMC."""

    name: ClassVar[str] = "nmc"
    summary: ClassVar[str] = "Completes the matrix of kernel-mapped features and tags."
    fitted_type: ClassVar[type[FittedNonlinearCompletion]] = FittedNonlinearCompletion

    landmarks: int = 300
    """p: landmark images of the kernel map; the original's number is not known. 250 to 1,000 are
    equally good on the shipped drawings."""
    kernel_width: float = 1.0
    """sigma of the kernel, in median distances of two landmarks."""
    unit_features: bool = True
    """Scale features to length 1 before they are compared."""
    solver: Literal["factored", "convex"] = "factored"
    """"factored" fits any size; "convex" is the published solver for small collections."""
    rank: int = 128
    """Columns of the factors at most; no more than there are tags. Hidden tags of the shipped
    drawings are found the better the higher it is, up to about this."""
    feature_weight: float = 0.5
    """What the features count beside the tags, both having the same energy; chosen, as are the
    next two, by how well hidden tags are found."""
    absence_weight: float = 0.1
    """w0: what an absent tag counts beside a given one, above 0 and at most 1."""
    ridge: float = 1.0
    """reg: the weight of the nuclear norm of the factored form."""
    max_iterations: int = 10
    """Rounds of "factored", steps a stage of "convex", at most."""
    tolerance: float = 1e-4
    """Relative change that ends the iterations."""
    tag_weight: float = 1.0
    """lambda of "convex": what the mean tag loss counts beside the mean feature loss."""
    nuclear_weight: float = 0.01
    """mu of "convex": the final weight of the nuclear norm, 1 being where nothing is left."""

    def __post_init__(self) -> None:
        require_counts(self, "landmarks", "rank", "max_iterations")
        require_positive(self, "ridge", "tag_weight", "kernel_width")
        require_not_negative(self, "feature_weight", "tolerance")
        require(
            0 < self.absence_weight <= 1,
            f"nmc setting absence_weight is {self.absence_weight}; it must be above 0, at most 1",
        )
        require(
            0 < self.nuclear_weight <= 1,
            f"nmc setting nuclear_weight is {self.nuclear_weight}; it must be above 0, at most 1",
        )

    def fit(
        self, collection: Collection, *, engine: Engine, rng: np.random.Generator
    ) -> FittedNonlinearCompletion:
        """Map the features, complete the matrix."""
        collection.require_features(self.name)
        if self.solver == "convex":
            check_size(
                min(self.landmarks, collection.n_images), collection.n_tags, collection.n_images
            )
        feature_map = _feature_map(self, collection, engine=engine, rng=rng)
        if self.solver == "convex":
            return _fit_convex(self, collection, feature_map, engine=engine)
        return _fit_factored(self, collection, feature_map, engine=engine, rng=rng)


def _feature_map(
    settings: NonlinearCompletion,
    collection: Collection,
    *,
    engine: Engine,
    rng: np.random.Generator,
) -> FeatureMap:
    """Choose landmarks and width, then measure the map's mean and energy in one pass."""
    landmarks = sampled_features(
        collection, settings.landmarks, unit_features=settings.unit_features, rng=rng
    )
    width = median_width(landmarks) * settings.kernel_width
    nystrom = NystromMap.of(landmarks, width)
    sums = engine.sum(sum_map, collection.blocks(), collection, nystrom, settings.unit_features)
    centre = sums[:-1] / collection.n_with_features
    energy = float(sums[-1] - collection.n_with_features * np.vdot(centre, centre))
    n_given = sum(shard.tags.nnz for shard in collection.shards)
    scale = float(np.sqrt(max(n_given, 1) / energy)) if energy > 0 else 1.0
    return FeatureMap(nystrom, centre, scale, settings.unit_features)


def _fit_factored(
    settings: NonlinearCompletion,
    collection: Collection,
    feature_map: FeatureMap,
    *,
    engine: Engine,
    rng: np.random.Generator,
) -> FittedNonlinearCompletion:
    """Alternate between images and tags, starting at the singular vectors of the tags."""
    tags = all_tags(collection).astype(np.float64)
    images_of_tag: SparseRows = tags.T.tocsr()
    weights = Weights(settings.feature_weight, settings.absence_weight, settings.ridge)
    images, _ = singular_start(tags, settings.rank, rng=rng)
    blocks, shared = collection.blocks(), (collection, feature_map)
    product = engine.sum(map_times_rows, blocks, *shared, images)
    found: list[float] = []
    for _ in steps(engine, "alternating", settings.max_iterations):
        factors = _solve_factors(images, product, images_of_tag, weights, engine=engine)
        step = ImageStep.of(factors, weights)
        parts = list(engine.map(solve_images, blocks, *shared, step))
        images = np.concatenate([part[0] for part in parts])
        product = np.sum([part[1] for part in parts], axis=0)
        found.append(
            objective(factors, images, tags, weights, map_energy=float(tags.nnz), product=product)
        )
        logger.info("nmc: objective %.6g", found[-1])
        if len(found) > 1 and found[-2] - found[-1] <= settings.tolerance * found[-1]:
            break
    return FittedNonlinearCompletion(feature_map, factors, weights, None, np.array(found))


def _solve_factors(
    images: FloatArray,
    product: FloatArray,
    images_of_tag: SparseRows,
    weights: Weights,
    *,
    engine: Engine,
) -> Factors:
    wide = np.hstack([images, np.ones((len(images), 1))])
    gram = wide.T @ wide
    blocks = row_blocks(images_of_tag.shape[0], TAGS_PER_BLOCK)
    solved = np.concatenate(
        list(engine.map(solve_tags, blocks, images_of_tag, wide, gram, weights))
    )
    feature = solve_features(product, gram[:-1, :-1], weights)
    return Factors(feature, np.ascontiguousarray(solved[:, :-1]), solved[:, -1].copy())


def _fit_convex(
    settings: NonlinearCompletion,
    collection: Collection,
    feature_map: FeatureMap,
    *,
    engine: Engine,
) -> FittedNonlinearCompletion:
    """Complete the whole matrix; its singular vectors are the latent space of new images."""
    everything = collection.rows(slice(0, collection.n_images))
    given = everything.tags.toarray().T > 0
    problem = ConvexProblem(
        mapped=feature_map.mapped(everything.features).T,
        sign=np.where(given, 1.0, -1.0),
        weight=np.where(given, 1.0, settings.absence_weight),
        tag_weight=settings.tag_weight,
    )
    with stage(engine, "completing the matrix"):
        completed = complete_convex(
            problem,
            nuclear_weight=settings.nuclear_weight,
            max_iterations=settings.max_iterations,
            tolerance=settings.tolerance,
        )
    space = latent_space(problem, completed)
    return FittedNonlinearCompletion(
        feature_map=replace(
            feature_map, centre=feature_map.centre + space.map_centre / feature_map.scale
        ),
        factors=space.factors,
        weights=replace(space.weights, absence=settings.absence_weight),
        completed=space.images,
        objectives=np.array([]),
    )
