"""A linear probe: one ridge regression of all tags on the features, in closed form.

One pass adds up the products of features with features and with tags, apart for a fifth of the
images. The ridge that predicts this fifth best from the others is found from those sums alone;
then everything is solved with all of them. On request an image that was fitted is scored as if it
had not been there, again in closed form.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import linalg

from sugartag._typing import BoolArray, FloatArray
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Block, Engine
from sugartag.features.normalise import visual_rows
from sugartag.methods.settings import require

HELD_OUT_EVERY = 5
"""One image of so many is held out when the ridge is chosen."""
RIDGES = tuple(float(value) for value in np.round(np.logspace(-6, 2, 33), 12))
"""The ridges tried, for each image: a quarter of a power of ten apart."""
DEFAULT_RIDGE = 0.01
"""The ridge where there are too few images to choose one."""
ROWS_AT_ONCE = 1024
"""Images scored in one step: their scores are in double precision first."""


@dataclass(frozen=True, eq=False)
class Sums:
    """What a pass over images adds up; sums of two sets of images can be added."""

    count: float
    features: FloatArray
    tags: FloatArray
    gram: FloatArray
    """Features x features."""
    cross: FloatArray
    """Features x tags."""

    def __add__(self, other: "Sums") -> "Sums":
        """Return the sums of both sets of images."""
        return Sums(
            self.count + other.count,
            self.features + other.features,
            self.tags + other.tags,
            self.gram + other.gram,
            self.cross + other.cross,
        )

    def centred(self, mean: FloatArray, share: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return both products of features less ``mean`` and tags less ``share``."""
        outer = np.multiply.outer
        gram = self.gram - outer(self.features, mean) - outer(mean, self.features)
        gram += self.count * outer(mean, mean)
        cross = self.cross - outer(self.features, share) - outer(mean, self.tags)
        cross += self.count * outer(mean, share)
        return gram, cross

    @property
    def mean(self) -> FloatArray:
        """The mean of the features."""
        return self.features / max(self.count, 1.0)

    @property
    def share(self) -> FloatArray:
        """The share of the images that have each tag."""
        return self.tags / max(self.count, 1.0)


@dataclass(frozen=True, eq=False)
class SumsApart:
    """The sums of the images to learn from, and of those held out."""

    kept: Sums
    held: Sums

    def __add__(self, other: "SumsApart") -> "SumsApart":
        """Return the sums of both sets of images."""
        return SumsApart(self.kept + other.kept, self.held + other.held)


@dataclass(frozen=True, eq=False)
class FittedLinearProbe:
    """One weight for each feature and tag."""

    gives_whole_sets: ClassVar[bool] = False

    weights: FloatArray
    """Features x tags."""
    mean: FloatArray
    """The mean of the features."""
    share: FloatArray
    """The share of the images that have each tag."""
    scale: FloatArray
    """What the excess over its share is divided by, for each tag."""
    inverse: FloatArray | None
    """Features x features: the inverse of the Gram matrix with the ridge; None where fitted images
    are scored as they were fitted."""
    n_images: int
    """Images fitted."""
    ridge: float
    """The ridge used, for each image."""
    unit_features: bool
    """Whether features are scaled to length 1."""

    @property
    def floor(self) -> float:
        """Zero: as likely as the share of the tag among all images says."""
        return 0.0

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return how much likelier each tag is than on average; no neighbour is asked."""
        features = rows.features_like(len(self.mean))
        found_scores = np.empty((len(rows), len(self.share)), dtype=np.float32)
        for start in range(0, len(rows), ROWS_AT_ONCE):
            part = slice(start, min(start + ROWS_AT_ONCE, len(rows)))
            centred = visual_rows(features[part], self.unit_features) - self.mean
            excess = centred @ self.weights
            if self.inverse is not None:
                self._leave_out(rows, part, centred, excess)
            found_scores[part] = excess / self.scale
        return found_scores

    def _leave_out(self, rows: Rows, part: slice, centred: FloatArray, excess: FloatArray) -> None:
        """Change the excess of fitted images to what the others say of them."""
        fitted = np.flatnonzero(rows.position[part] < self.n_images)
        pull = np.einsum("ij,ij->i", centred[fitted] @ np.asarray(self.inverse), centred[fitted])
        pull = np.minimum(pull + 1.0 / self.n_images, 1.0 - 1e-9)[:, None]
        own = rows.tags[part][fitted].toarray() - self.share
        excess[fitted] = (excess[fitted] - pull * own) / (1.0 - pull)


@dataclass(frozen=True)
class LinearProbe:
    """Predicts every tag from the features, linearly."""

    name: ClassVar[str] = "linear-probe"
    summary: ClassVar[str] = "Every tag predicted linearly from the features, by one ridge."
    fitted_type: ClassVar[type[FittedLinearProbe]] = FittedLinearProbe

    ridge: float | None = None
    """lambda, for each image. None takes the one of 33 between 1e-6 and 100 that predicts the tags
    of a fifth of the images best from the others."""
    balance: float = 0.0
    """How much a rare tag is lifted: the excess over a tag's share is divided by its standard
    deviation to this power. 0 ranks by probability beyond the share; 1 counts in deviations.
    Hidden tags are found again as well by 0 as by 0.5, and worse by 1."""
    leave_one_out: bool = False
    """Score an image that was fitted as if it had not been. Otherwise it pulls its own scores
    towards the tags it has, as in any probe; hidden tags are found again as well either way."""
    unit_features: bool = True
    """Scale the features of each image to length 1."""

    def __post_init__(self) -> None:
        require(
            self.ridge is None or self.ridge > 0,
            f"{self.name} setting ridge is {self.ridge}; it must be above 0, or none",
        )
        require(
            0 <= self.balance <= 1,
            f"{self.name} setting balance is {self.balance}; give a number from 0 to 1",
        )

    def fit(
        self, collection: Collection, *, engine: Engine, rng: np.random.Generator
    ) -> FittedLinearProbe:
        """Add up the products in one pass and solve for all tags at once."""
        collection.require_features(self.name)
        apart = engine.sum(add_products, collection.blocks(), collection, self.unit_features)
        ridge = chosen_ridge(apart) if self.ridge is None else self.ridge
        sums = apart.kept + apart.held
        gram, cross = sums.centred(sums.mean, sums.share)
        gram[np.diag_indices_from(gram)] += ridge * sums.count
        inverse = linalg.inv(gram)
        return FittedLinearProbe(
            weights=inverse @ cross,
            mean=sums.mean,
            share=sums.share,
            scale=deviations(sums) ** self.balance,
            inverse=inverse if self.leave_one_out else None,
            n_images=collection.n_images,
            ridge=ridge,
            unit_features=self.unit_features,
        )


def add_products(block: Block, collection: Collection, unit_features: bool) -> SumsApart:
    """Return the sums of one block, those of every fifth image apart."""
    rows = collection.rows(block)
    held = np.arange(block.start, block.stop) % HELD_OUT_EVERY == 0
    features = visual_rows(rows.features, unit_features)
    return SumsApart(_sums(rows, features, ~held), _sums(rows, features, held))


def _sums(rows: Rows, features: FloatArray, chosen: BoolArray) -> Sums:
    some, tags = features[chosen], rows.tags[np.flatnonzero(chosen)].astype(np.float64)
    return Sums(
        float(np.count_nonzero(chosen)),
        some.sum(axis=0),
        np.bincount(tags.indices, minlength=tags.shape[1]).astype(np.float64),
        some.T @ some,
        np.ascontiguousarray((tags.T @ some).T),
    )


def deviations(sums: Sums) -> FloatArray:
    """Return the standard deviation of each tag, never below that of one use."""
    least = 1.0 / max(sums.count, 2.0)
    share = np.clip(sums.share, least, 1.0 - least)
    return np.sqrt(share * (1.0 - share))


def chosen_ridge(apart: SumsApart) -> float:
    """Return the ridge, for each image, that predicts the tags of the images held out best."""
    if apart.held.count < 2:
        return DEFAULT_RIDGE
    errors = held_out_errors(apart, RIDGES)
    # Rounded, lest the last bit decide between ridges that are equally good.
    best = np.flatnonzero(np.round(errors, 12) == np.round(errors, 12).min())[-1]
    return RIDGES[int(best)]


def held_out_errors(apart: SumsApart, ridges: tuple[float, ...]) -> FloatArray:
    """Return the squared error of predicting the images held out, for each ridge.

    Every tag counts the same: errors are measured in its own variance. What all ridges have in
    common is left out, so that the error of predicting nothing but the shares is 0.
    """
    kept, held = apart.kept, apart.held
    mean, share = kept.mean, kept.share
    gram, cross = kept.centred(mean, share)
    held_gram, held_cross = held.centred(mean, share)
    sizes, vectors = linalg.eigh(gram)
    inverse_variance = 1.0 / np.square(deviations(kept + held))
    turned = vectors.T @ cross
    weighted = turned * inverse_variance
    agreement = np.einsum("ij,ij->i", weighted, vectors.T @ held_cross)
    size = (weighted @ turned.T) * (vectors.T @ held_gram @ vectors)
    shrink = 1.0 / (np.maximum(sizes, 0.0) + kept.count * np.array(ridges)[:, None])
    errors: FloatArray = np.einsum("ri,ij,rj->r", shrink, size, shrink) - 2.0 * shrink @ agreement
    return errors / (held.count * len(share))
