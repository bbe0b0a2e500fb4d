"""The completion of [mapped features; tags] in factored form, by alternating ridge regressions.

Z = P Q' with one row of Q an image. The loss of an image is weighted: its features count
``feature``, a given tag 1, an absent one ``absence``. Half the ridge times the squared norms of
both factors is the nuclear norm of Z in another form. A tag also has an offset, which is what the
row of ones under Z is for. Each step has a closed form, so the objective never rises. Features
are mapped by the kernel to landmarks (Nyström).
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy import linalg

from sugartag._rules import Positive, Shape, Within
from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, row_blocks
from sugartag.features.normalise import visual_rows
from sugartag.linalg.distances import squared_distances
from sugartag.linalg.threads import run_parts

SMALLEST_EIGENVALUE = 1e-6
"""Directions of K_LL below this share of the largest hold rounding, not data: left out."""
PAIRS_AT_ONCE = 2_000
"""Rows at most whose distances to each other give the median."""
BAND = 250
"""Rows of these that are compared with all after them in one step."""


@dataclass(frozen=True, eq=False)
class NystromMap:
    """Landmarks, a width, and what turns kernel values into coordinates."""

    landmarks: Annotated[FloatArray, Shape("landmarks", "features")]
    """Landmarks x dimensions, scaled as the rows will be."""
    width: Annotated[float, Positive()]
    """sigma of exp(-d^2 / sigma^2)."""
    whitening: Annotated[FloatArray, Shape("landmarks", "landmarks")]
    """K_LL^(-1/2), landmarks x landmarks."""

    @classmethod
    def of(cls, landmarks: FloatArray, width: float) -> "NystromMap":
        """Prepare the map for these landmarks."""
        kernel = rbf_kernel(landmarks, landmarks, width)
        return cls(landmarks, width, inverse_square_root(kernel))

    @property
    def length(self) -> int:
        """How many numbers a row is mapped to."""
        return len(self.landmarks)

    def kernel(self, rows: FloatArray) -> FloatArray:
        """Return rows x landmarks: the kernel before whitening."""
        return rbf_kernel(rows, self.landmarks, self.width)

    def mapped(self, rows: FloatArray) -> FloatArray:
        """Return rows x landmarks: phi of each row. Rows of any block, seen or new."""
        coordinates: FloatArray = self.kernel(rows) @ self.whitening
        return coordinates


def rbf_kernel(rows: FloatArray, others: FloatArray, width: float) -> FloatArray:
    """Return exp(-d^2 / width^2) of every row and every other."""
    kernel = squared_distances(rows, others)
    kernel /= -(width**2)
    return np.exp(kernel, out=kernel)


def inverse_square_root(matrix: FloatArray) -> FloatArray:
    """Return the symmetric inverse square root of a positive semi-definite matrix.

    Directions that the matrix does not have (twins among landmarks) are mapped to 0.
    """
    values, vectors = linalg.eigh(matrix)
    kept = values > SMALLEST_EIGENVALUE * values[-1]
    root: FloatArray = (vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T
    return root


def median_width(sample: FloatArray, *, threads: int = 1) -> float:
    """Return the median distance between two different rows of a sample; 1 if all are twins."""
    rows = sample[:PAIRS_AT_ONCE].astype(np.float64)

    def to_later_rows(band: slice) -> FloatArray:
        found = squared_distances(rows[band], rows[band.start :])
        return found[np.triu(found, 1) > 0]

    apart = np.concatenate(run_parts(to_later_rows, row_blocks(len(rows), BAND), threads))
    return float(np.sqrt(np.median(apart))) if len(apart) else 1.0


CELLS_AT_ONCE = 1 << 21
"""Numbers gathered in one step of solving for images: 16 MiB."""


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """The non-linear map of features, centred and scaled to the energy of the tags."""

    nystrom: NystromMap
    centre: Annotated[FloatArray, Shape("landmarks")]
    """The mean of the map over the images."""
    scale: float
    unit_features: bool

    def mapped(self, features: FloatArray | None) -> FloatArray:
        """Return rows x landmarks; an image without features is where the average one is."""
        seen = visual_rows(features, self.unit_features)
        rows = self.nystrom.mapped(seen)
        rows -= self.centre
        rows *= self.scale
        rows[~seen.any(axis=1)] = 0.0
        return rows


@dataclass(frozen=True)
class Weights:
    """What each part of the loss counts."""

    feature: Annotated[float, Within(0)]
    absence: Annotated[float, Within(0)]
    ridge: Annotated[float, Within(0)]


@dataclass(frozen=True, eq=False)
class Factors:
    """P: what each coordinate of the map and each tag look like in the latent space."""

    feature: Annotated[FloatArray, Shape("landmarks", "rank")]
    """Landmarks x rank."""
    tag: Annotated[FloatArray, Shape("tags", "rank")]
    """Tags x rank."""
    offset: Annotated[FloatArray, Shape("tags")]
    """One a tag."""

    def predicted(self, images: FloatArray) -> FloatArray:
        """Return images x tags: the tag block of Z."""
        scores: FloatArray = images @ self.tag.T + self.offset
        return scores


@dataclass(frozen=True, eq=False)
class ImageStep:
    """Solves for the latent row of any image: one small ridge regression each.

    What all images share is inverted once; the tags of an image, which count more than those it
    does not have, correct that inverse by a matrix as small as their number.
    """

    factors: Factors
    weights: Weights
    shared: FloatArray
    """Tags x rank: the tags' factors times the inverse that all images share."""
    inverse: FloatArray
    """Rank x rank."""

    @classmethod
    def of(cls, factors: Factors, weights: Weights) -> "ImageStep":
        """Prepare the step for one P."""
        tag, feature = factors.tag, factors.feature
        gram = weights.absence * (tag.T @ tag) + weights.feature * (feature.T @ feature)
        gram += weights.ridge * np.eye(tag.shape[1])
        inverse = linalg.inv(gram)
        inverse = (inverse + inverse.T) / 2
        return cls(factors, weights, tag @ inverse, inverse)

    def images(self, tags: SparseRows, mapped: FloatArray) -> FloatArray:
        """Return images x rank."""
        tag, offset, absence = self.factors.tag, self.factors.offset, self.weights.absence
        target = self.weights.feature * (mapped @ self.factors.feature)
        target += tags.astype(np.float64) @ (tag * (1.0 - (1.0 - absence) * offset)[:, None])
        target -= absence * (offset @ tag)
        rows: FloatArray = target @ self.inverse
        if absence < 1:
            self._correct(rows, tags)
        return rows

    def _correct(self, rows: FloatArray, tags: SparseRows) -> None:
        """Let the given tags of each image count 1 rather than as absent ones do."""
        counts = np.diff(tags.indptr)
        for count in np.unique(counts[counts > 0]).tolist():
            images = np.flatnonzero(counts == count)
            step = max(1, CELLS_AT_ONCE // (count * rows.shape[1]))
            for at in range(0, len(images), step):
                part = images[at : at + step]
                given = tags.indices[tags.indptr[part][:, None] + np.arange(count)]
                rows[part] -= self._correction(rows[part], given)

    def _correction(self, rows: FloatArray, given: IntArray) -> FloatArray:
        factor, shared = self.factors.tag[given], self.shared[given]
        small = factor @ shared.transpose(0, 2, 1)
        place = np.arange(given.shape[1])
        small[:, place, place] += 1.0 / (1.0 - self.weights.absence)
        short = np.linalg.solve(small, factor @ rows[:, :, None])
        correction: FloatArray = (shared.transpose(0, 2, 1) @ short)[:, :, 0]
        return correction


def solve_images(
    block: Block, collection: Collection, feature_map: FeatureMap, step: ImageStep
) -> tuple[FloatArray, FloatArray]:
    """Return the latent rows of one block, and landmarks x rank: their product with the map."""
    rows = collection.rows(block)
    mapped = feature_map.mapped(rows.features)
    images = step.images(rows.tags, mapped)
    return images, mapped.T @ images


def map_times_rows(
    block: Block, collection: Collection, feature_map: FeatureMap, images: FloatArray
) -> FloatArray:
    """Return landmarks x rank: the map of one block times given latent rows."""
    mapped = feature_map.mapped(collection.rows(block).features)
    product: FloatArray = mapped.T @ images[block]
    return product


def sum_map(
    block: Block, collection: Collection, nystrom: NystromMap, unit_features: bool
) -> FloatArray:
    """Return the sum of the map over one block, and in the last place that of its squares."""
    rows = collection.rows(block)
    mapped = nystrom.mapped(visual_rows(rows.features, unit_features)[rows.described])
    return np.append(mapped.sum(axis=0), np.einsum("ij,ij->", mapped, mapped))


def solve_tags(
    block: Block,
    images_of_tag: SparseRows,
    images: FloatArray,
    gram: FloatArray,
    weights: Weights,
) -> FloatArray:
    """Return the factors of some tags and, in the last column, their offsets.

    ``images`` has a last column of ones and ``gram`` is its Gram matrix. The offset is not
    shrunk: it belongs to no part of Z.
    """
    shared = weights.absence * gram
    place = np.arange(len(gram) - 1)
    shared[place, place] += weights.ridge
    systems = np.empty((block.stop - block.start, *gram.shape))
    targets = np.empty((len(systems), len(gram), 1))
    for row, tag in enumerate(range(block.start, block.stop)):
        having = images_of_tag.indices[images_of_tag.indptr[tag] : images_of_tag.indptr[tag + 1]]
        given = images[having]
        systems[row] = shared + (1.0 - weights.absence) * (given.T @ given)
        targets[row, :, 0] = given.sum(axis=0)
    solved: FloatArray = np.linalg.solve(systems, targets)[:, :, 0]
    return solved


def solve_features(product: FloatArray, gram: FloatArray, weights: Weights) -> FloatArray:
    """Return landmarks x rank: the ridge regression of the map on the latent rows."""
    if weights.feature == 0:
        return np.zeros_like(product)
    system = weights.feature * gram + weights.ridge * np.eye(len(gram))
    solved: FloatArray = linalg.solve(system, weights.feature * product.T, assume_a="pos").T
    return solved


def objective(
    factors: Factors,
    images: FloatArray,
    tags: SparseRows,
    weights: Weights,
    *,
    map_energy: float,
    product: FloatArray,
) -> float:
    """Return the weighted loss plus the ridge, without images x tags.

    ``map_energy`` is the sum of squares of the map, ``product`` the map times ``images``.
    """
    gram = images.T @ images
    fit = map_energy - 2 * np.vdot(factors.feature, product)
    fit += np.vdot(factors.feature.T @ factors.feature, gram)
    wide = np.hstack([factors.tag, factors.offset[:, None]])
    ones = np.hstack([images, np.ones((len(images), 1))])
    everywhere = np.vdot(wide.T @ wide, ones.T @ ones)
    row = np.repeat(np.arange(len(images)), np.diff(tags.indptr))
    given = np.einsum("ij,ij->i", ones[row], wide[tags.indices])
    tag_loss = weights.absence * everywhere
    tag_loss += np.sum((1.0 - given) ** 2 - weights.absence * given**2)
    size = sum(np.vdot(part, part) for part in (factors.feature, factors.tag, images))
    return float(0.5 * (weights.feature * fit + tag_loss + weights.ridge * size))
