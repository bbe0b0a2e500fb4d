"""Principal components of the features, whitened in part.

A component is divided by the standard deviation of the images along it, to a power from 0 to 1: 0
leaves distances as they are, 1 makes all components count the same (whitening), 0.5 is
half-whitening. An image without features, whose row is all zeros, has no part in the mean and the
components, and is where the average image is.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy import linalg

from sugartag._rules import Shape
from sugartag._typing import FloatArray
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, Engine
from sugartag.errors import SettingsError
from sugartag.features.normalise import visual_rows

LEAST_VARIANCE = 1e-10
"""Components with a smaller share of the largest variance are left out."""
ROUNDING = 1e-12
"""So are those with a smaller share of the mean square length: they are rounding errors."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over the images that have features; those of two sets of images can be added."""

    count: float
    total: FloatArray
    """The sum of the features."""
    products: FloatArray
    """Features x features: the sum of their products."""

    def __add__(self, other: "Moments") -> "Moments":
        """Return the sums of both sets of images."""
        return Moments(
            self.count + other.count, self.total + other.total, self.products + other.products
        )

    @classmethod
    def of(cls, features: FloatArray) -> "Moments":
        """Return the sums of some rows, in double precision; rows of zeros do not count."""
        rows = features.astype(np.float64, copy=False)
        return cls(float(np.count_nonzero(rows.any(axis=1))), rows.sum(axis=0), rows.T @ rows)

    @property
    def mean(self) -> FloatArray:
        """The mean of the features."""
        return self.total / max(self.count, 1.0)

    @property
    def covariance(self) -> FloatArray:
        """The mean product of the features less their means."""
        found: FloatArray = self.products / max(self.count, 1.0)
        found -= np.multiply.outer(self.mean, self.mean)
        return found


@dataclass(frozen=True, eq=False)
class Whitening:
    """A linear map of features to principal components; the mean square length becomes 1."""

    mean: Annotated[FloatArray, Shape("features")]
    projection: Annotated[FloatArray, Shape("features", "components")]
    """Features x components."""

    @classmethod
    def of_moments(cls, moments: Moments, components: int, power: float) -> "Whitening":
        """Return the map to the main components, divided by their deviation to this power."""
        if components < 1 or not 0 <= power <= 1:
            raise SettingsError(
                f"{components} components and power {power}; give one or more, and from 0 to 1"
            )
        sizes, vectors = linalg.eigh(moments.covariance)
        variance, vectors = sizes[::-1][:components], vectors[:, ::-1][:, :components]
        square = np.trace(moments.products) / max(moments.count, 1.0)
        kept = variance > max(LEAST_VARIANCE * variance[0], ROUNDING * square)
        if not kept.any():  # All images look the same.
            return cls(moments.mean, np.zeros((len(sizes), 1)))
        variance, vectors = variance[kept], vectors[:, kept]
        # Either sign is an eigenvector: take the one whose largest part is positive.
        largest = np.abs(vectors).argmax(axis=0)
        vectors = vectors * np.sign(vectors[largest, np.arange(len(variance))])
        length = np.sqrt(np.sum(variance ** (1.0 - power)))
        return cls(moments.mean, vectors * (variance ** (-power / 2.0) / length))

    @property
    def n_components(self) -> int:
        """How many numbers describe an image now."""
        return int(self.projection.shape[1])

    def transform(self, features: FloatArray) -> FloatArray:
        """Return images x components, in double precision; rows of zeros become zeros."""
        rows = features.astype(np.float64, copy=False)
        found: FloatArray = (rows - self.mean) @ self.projection
        found[~rows.any(axis=1)] = 0.0
        return found


def whitening_of(
    collection: Collection, components: int, power: float, *, unit_features: bool, engine: Engine
) -> Whitening:
    """Return the map to the main components of a collection, from one pass over its features."""
    moments = engine.sum(feature_moments, collection.blocks(), collection, unit_features)
    return Whitening.of_moments(moments, components, power)


def feature_moments(block: Block, collection: Collection, unit_features: bool) -> Moments:
    """Return the sums of one block; ``unit_features`` scales each image to length 1 before."""
    return Moments.of(visual_rows(collection.rows(block).features, unit_features))
