"""What a linear probe adds up in its pass over the images, and the ridge found from that."""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from sugartag._typing import BoolArray, FloatArray
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Block
from sugartag.features.normalise import visual_rows
from sugartag.features.whitening import Moments, Whitening

HELD_OUT_EVERY = 5
"""One image of this many is held out when the ridge is chosen."""
LARGEST_OWNER = 0.1
"""The share of the images that an owner held out has at most."""
RIDGES = tuple(float(value) for value in np.round(np.logspace(-6, 2, 33), 12))
"""The ridges tried, for each image: a quarter of a power of ten apart."""
DEFAULT_RIDGE = 0.01
"""The ridge where there are too few images to choose one."""


@dataclass(frozen=True, eq=False)
class Sums:
    """What a pass over images adds up; sums of two sets of images can be added."""

    count: float
    seen: float
    """Images that have features."""
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
            self.seen + other.seen,
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

    def projected(self, directions: FloatArray) -> "Sums":
        """Return the sums of the features projected: ``directions`` is features x directions."""
        return Sums(
            self.count,
            self.seen,
            self.features @ directions,
            self.tags,
            directions.T @ self.gram @ directions,
            directions.T @ self.cross,
        )

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

    def projected(self, directions: FloatArray) -> "SumsApart":
        """Return the sums of the features projected."""
        return SumsApart(self.kept.projected(directions), self.held.projected(directions))


def whitened_directions(sums: Sums, power: float) -> FloatArray:
    """Return features x directions: all principal components, whitened to this power.

    The mean square length of the features stays what it is, so that ridges can be compared.
    """
    moments = Moments(sums.seen, sums.features, sums.gram)
    whitening = Whitening.of_moments(moments, len(sums.features), power)
    length = float(np.sqrt(max(np.trace(moments.covariance), 0.0)))
    directions: FloatArray = whitening.projection * length
    return directions


def owners_held_out(collection: Collection) -> BoolArray | None:
    """Return which owners are held out when the ridge is chosen: about a fifth of owned images.

    Images of one owner often show the same and share their tags, so they are all held out or none.
    Owners come in a fixed random order, those with more than a tenth of the images left out. None
    where too few images are left: then single images are held out.
    """
    everyone = collection.n_owners + 1
    counts = sum(np.bincount(shard.owner, minlength=everyone) for shard in collection.shards)
    images = np.asarray(counts)[:-1]
    order = np.random.default_rng(0).permutation(len(images))
    order = order[images[order] <= LARGEST_OWNER * images.sum()]
    reached = np.cumsum(images[order])
    chosen = order[reached <= images.sum() / HELD_OUT_EVERY]
    if images[chosen].sum() < LARGEST_OWNER * images.sum():
        return None
    held = np.zeros(len(images), dtype=np.bool_)
    held[chosen] = True
    return held


def add_products(
    block: Block, collection: Collection, unit_features: bool, owners: BoolArray | None
) -> SumsApart:
    """Return the sums of one block, those of the images held out apart; without features, none.

    ``owners`` says which owners are; of images without an owner every fifth is.
    """
    rows = collection.rows(block)
    held = np.arange(block.start, block.stop) % HELD_OUT_EVERY == 0
    if owners is not None:
        held = np.where(rows.owner < len(owners), np.append(owners, False)[rows.owner], held)
    features, described = visual_rows(rows.features, unit_features), rows.described
    kept, apart = ~held & described, held & described
    return SumsApart(_sums(rows, features, kept), _sums(rows, features, apart))


def _sums(rows: Rows, features: FloatArray, chosen: BoolArray) -> Sums:
    some, tags = features[chosen], rows.tags[np.flatnonzero(chosen)].astype(np.float64)
    return Sums(
        float(np.count_nonzero(chosen)),
        float(np.count_nonzero(some.any(axis=1))),
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
