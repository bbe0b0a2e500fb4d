"""A linear probe: one ridge regression of all tags on the features, in closed form.

One pass adds up the products of features with features and with tags, apart for the images of some
owners, about a fifth of all. The ridge that predicts these best from the others is found from those
sums alone; then everything is solved with all of them. An image that was fitted is scored as if it
had not been there, again in closed form, and its own tags are added with a weight of their own.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from scipy import linalg

from sugartag._rules import Positive, Shape, Within
from sugartag._typing import FloatArray
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Engine
from sugartag.features.normalise import visual_rows
from sugartag.methods.linear_probe.sums import (
    Sums,
    add_products,
    chosen_ridge,
    deviations,
    owners_held_out,
    whitened_directions,
)
from sugartag.methods.own_tags import add_own_tags
from sugartag.methods.settings import require, require_not_negative, require_shares

ROWS_AT_ONCE = 1024
"""Images scored in one step: their scores are in double precision first."""


@dataclass(frozen=True, eq=False)
class FittedLinearProbe:
    """One weight for each feature and tag."""

    gives_whole_sets: ClassVar[bool] = False

    weights: Annotated[FloatArray, Shape("features", "tags")]
    """Features x tags."""
    mean: Annotated[FloatArray, Shape("features")]
    """The mean of the features."""
    share: Annotated[FloatArray, Shape("tags"), Within(0, 1)]
    """The share of the images that have each tag."""
    scale: Annotated[FloatArray, Shape("tags"), Positive()]
    """What the excess over its share is divided by, for each tag."""
    inverse: Annotated[FloatArray | None, Shape("features", "features")]
    """Features x features: the inverse of the Gram matrix with the ridge; None where fitted images
    are scored as they were fitted."""
    n_images: Annotated[int, Within("images", "images")]
    """Images fitted."""
    n_seen: Annotated[int, Within(1, "images")]
    """Of these, images that have features."""
    ridge: Annotated[float, Within(0)]
    """The ridge used, for each image."""
    own_weight: float
    """What a tag of the image itself adds."""
    unit_features: bool
    """Whether features are scaled to length 1."""

    @property
    def floor(self) -> float:
        """Zero: as likely as the share of the tag among all images says."""
        return 0.0

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return how much likelier each tag is than on average; no neighbour is asked.

        The tags that the image has are then raised. Without features only these are.
        """
        features = rows.features_like(len(self.mean))
        found_scores = np.empty((len(rows), len(self.share)), dtype=np.float32)
        for start in range(0, len(rows), ROWS_AT_ONCE):
            part = slice(start, min(start + ROWS_AT_ONCE, len(rows)))
            centred = visual_rows(features[part], self.unit_features) - self.mean
            excess = centred @ self.weights
            if self.inverse is not None:
                self._leave_out(rows, part, centred, excess)
            excess[~rows.described[part]] = 0.0
            found_scores[part] = excess / self.scale
        add_own_tags(found_scores, rows, self.own_weight)
        return found_scores

    def _leave_out(self, rows: Rows, part: slice, centred: FloatArray, excess: FloatArray) -> None:
        """Change the excess of fitted images to what the others say of them."""
        fitted = np.flatnonzero(rows.position[part] < self.n_images)
        pull = np.einsum("ij,ij->i", centred[fitted] @ np.asarray(self.inverse), centred[fitted])
        pull = np.minimum(pull + 1.0 / self.n_seen, 1.0 - 1e-9)[:, None]
        own = rows.tags[part][fitted].toarray() - self.share
        excess[fitted] = (excess[fitted] - pull * own) / (1.0 - pull)


@dataclass(frozen=True)
class LinearProbe:
    """Predicts every tag from the features, linearly, and adds the image's own tags."""

    name: ClassVar[str] = "linear-probe"
    summary: ClassVar[str] = (
        "Every tag predicted from the features by ridge regression, own tags on top."
    )
    fitted_type: ClassVar[type[FittedLinearProbe]] = FittedLinearProbe

    ridge: float | None = None
    """lambda, for each image. None takes the one of 33 between 1e-6 and 100 that predicts the tags
    of some owners' images, about a fifth of all, best from the others."""
    balance: float = 0.0
    """How much a rare tag is lifted: the excess over a tag's share is divided by its standard
    deviation to this power. 0 ranks by probability beyond the share; 1 counts in deviations.
    Hidden tags are found again as well by 0 as by 0.5, and worse by 1."""
    own_weight: float = 0.1
    """What an image's own tag adds to its score, which is a probability beyond the share."""
    whitening: float = 0.5
    """Principal components of the features are divided by their standard deviation to this power:
    0 leaves them, 0.5 is half-whitening, 1 makes all count the same to the ridge."""
    leave_one_out: bool = True
    """Score an image that was fitted as if it had not been. Otherwise it pulls its own scores
    towards the tags it has, as in any probe, and these count twice beside ``own_weight``."""
    unit_features: bool = True
    """Scale the features of each image to length 1."""

    def __post_init__(self) -> None:
        require(
            self.ridge is None or self.ridge > 0,
            f"{self.name} setting ridge is {self.ridge}; it must be above 0, or none",
        )
        require_shares(self, "balance", "whitening")
        require_not_negative(self, "own_weight")

    def fit(
        self, collection: Collection, *, engine: Engine, rng: np.random.Generator
    ) -> FittedLinearProbe:
        """Add up the products in one pass and solve for all tags at once."""
        collection.require_features(self.name)
        owners = owners_held_out(collection)
        blocks = collection.blocks()
        apart = engine.sum(add_products, blocks, collection, self.unit_features, owners)
        mean = (apart.kept + apart.held).mean
        directions = None
        if self.whitening > 0:
            directions = whitened_directions(apart.kept + apart.held, self.whitening)
            apart = apart.projected(directions)
        ridge = chosen_ridge(apart) if self.ridge is None else self.ridge
        sums = apart.kept + apart.held
        weights, inverse = solved(sums, ridge, directions)
        return FittedLinearProbe(
            weights=weights,
            mean=mean,
            share=sums.share,
            scale=deviations(sums) ** self.balance,
            inverse=inverse if self.leave_one_out else None,
            n_images=collection.n_images,
            n_seen=collection.n_with_features,
            ridge=ridge,
            own_weight=self.own_weight,
            unit_features=self.unit_features,
        )


def solved(
    sums: Sums, ridge: float, directions: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return the weights and the inverse of the Gram matrix with the ridge, for raw features.

    ``directions`` is what the features of the sums were projected to.
    """
    gram, cross = sums.centred(sums.mean, sums.share)
    gram[np.diag_indices_from(gram)] += ridge * sums.count
    inverse = linalg.inv(gram)
    weights = inverse @ cross
    if directions is None:
        return weights, inverse
    return directions @ weights, directions @ inverse @ directions.T
