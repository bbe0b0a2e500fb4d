"""sugar-plus: its settings, and the stages of its fit."""

import logging
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sugartag._typing import FloatArray, SparseRows
from sugartag.collection.decisions import nothing_decided
from sugartag.collection.model import Collection
from sugartag.engine.base import Engine, stage
from sugartag.linalg.sparse_rows import GrowingRows
from sugartag.methods.settings import require, require_not_negative, require_positive
from sugartag.methods.sugar_plus.blocks import Blocks, TagBlock, VisualBlock
from sugartag.methods.sugar_plus.calibration import calibrate
from sugartag.methods.sugar_plus.model import FittedSugarPlus
from sugartag.methods.sugar_plus.neighbours import find_neighbours
from sugartag.methods.sugar_plus.statistics import accumulate, series_weights
from sugartag.methods.sugar_plus.tag_names import name_similarities
from sugartag.methods.sugar_plus.views import Views, ViewWeights

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SugarPlus:
    """Settings of sugar-plus; their defaults were chosen on real collections, and none is tuned."""

    name: ClassVar[str] = "sugar-plus"
    summary: ClassVar[str] = "Ridge views of looks and other tags, calibrated; the default."
    fitted_type: ClassVar[type[FittedSugarPlus]] = FittedSugarPlus

    components: int = 256
    """Principal components of the features, at most; 0 leaves features out."""
    whitening: float = 0.25
    """Components are divided by their standard deviation to this power; 1 is full whitening."""
    visual_penalty: float = 100.0
    """Ridge penalty of the components in the visual view."""
    joint_penalty: float = 60.0
    """Ridge penalty of the components in the joint view."""
    tag_penalty: float = 5.0
    """Ridge penalty of other tags in the joint view."""
    max_predictors: int = 4_000
    """Tags that predict others, at most: the most used; 0 leaves other tags out."""
    visual_share: float = 0.5
    """Weight of the visual view; the joint view has the rest."""
    name_similarity: float = 0.3
    """What the looks of tags with a similar name count."""
    name_prior: float = 0.1
    """The weight that a tag is expected to have for one of the same meaning; data overrides it."""
    neighbour_weight: float = 0.05
    """Weight of the owner's similar images; 0 leaves them out."""
    neighbour_width: float = 0.5
    """Kernel width of the owner's similar images, in median distances."""
    history: int = 200
    """Images of each owner kept for that, at most."""
    series_weighting: bool = True
    """Count the frames of a series (one owner, the same three or more tags) as one image."""
    own_weight: float = 2.0
    """What a given tag adds to its own score, in units of how well its uses are predicted."""
    spread_power: float = 0.5
    """Scores of a tag are divided by the standard deviation of its predictions to this power."""

    def __post_init__(self) -> None:
        counts = ("components", "max_predictors", "history")
        weights = ("name_similarity", "name_prior", "neighbour_weight", "own_weight")
        require_not_negative(self, *counts, *weights)
        require_positive(self, "visual_penalty", "joint_penalty", "tag_penalty", "neighbour_width")
        for name in ("whitening", "visual_share", "spread_power"):
            value = getattr(self, name)
            require(
                0 <= value <= 1,
                f"{self.name} setting {name} is {value}; it must be from 0 to 1",
            )

    def fit(
        self, collection: Collection, *, engine: Engine, rng: np.random.Generator
    ) -> FittedSugarPlus:
        """Fit in six stages; nothing is drawn at random."""
        labels = given_tags(collection, engine)
        weight = self.image_weights(labels, collection)
        blocks = self.blocks(labels, collection, engine=engine)
        views = self.views(blocks, weight, collection, engine=engine)
        with stage(engine, "calibrating"):
            scale, calibrator = calibrate(
                views,
                collection,
                power=self.spread_power,
                own_weight=self.own_weight,
                engine=engine,
            )
        found = FittedSugarPlus(views, scale, calibrator, labels, nothing_decided(labels.shape))
        logger.info("sugar-plus: %s", found.evidence_summary())
        return found

    def image_weights(self, labels: SparseRows, collection: Collection) -> FloatArray:
        """Return what each image counts in the regressions."""
        if not self.series_weighting:
            return np.ones(collection.n_images, dtype=np.float32)
        return series_weights(labels, collection.owner)

    def blocks(self, labels: SparseRows, collection: Collection, *, engine: Engine) -> Blocks:
        """Learn the feature blocks."""
        uses = np.bincount(labels.indices, minlength=collection.n_tags).astype(np.float64)
        visual = VisualBlock.fit(
            collection,
            components=self.components,
            whitening=self.whitening,
            penalty=self.joint_penalty,
            engine=engine,
        )
        return Blocks(TagBlock.fit(uses, self.max_predictors, self.tag_penalty), visual)

    def views(
        self, blocks: Blocks, weight: FloatArray, collection: Collection, *, engine: Engine
    ) -> Views:
        """Add up the statistics, solve both ridges, gather names and neighbours."""
        statistics = accumulate(collection, blocks, weight, engine=engine)
        with stage(engine, "comparing the names of tags"):
            similarity = name_similarities(collection.tag_names, statistics.uses)
        with stage(engine, "finding neighbours"):
            neighbours = find_neighbours(
                collection,
                blocks.visual,
                history=self.history if self.neighbour_weight else 0,
                width=self.neighbour_width,
                engine=engine,
            )
        weights = ViewWeights(
            self.visual_share,
            self.visual_penalty,
            self.name_similarity if blocks.visual.width else 0.0,
            self.name_prior,
            self.neighbour_weight,
        )
        with stage(engine, "solving the regressions"):
            return Views.solve(
                statistics,
                blocks,
                weights,
                similarity=similarity,
                neighbours=neighbours,
                image_weight=weight,
            )


def given_tags(collection: Collection, engine: Engine) -> SparseRows:
    """Return the tags of all images, float32 ones, in room that may be a file."""
    found = GrowingRows(
        collection.n_tags, collection.n_images, 8 * collection.n_images, np.float32, engine.room
    )
    for block in collection.blocks():
        found.take(collection.tags_of(block))
    return found.rows()
