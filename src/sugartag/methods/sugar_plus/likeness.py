"""How alike images and anchors are: exp(-d^2 / sigma^2), many images at a time."""

from dataclasses import dataclass

import numpy as np

from sugartag._typing import FloatArray
from sugartag.engine.base import row_blocks
from sugartag.linalg.compiled import compiled, fit_together, read_only

IMAGES_AT_ONCE = 512
"""Images compared with the anchors in one step: what is made of them stays in the cache."""


def likeness(features: FloatArray, anchors: FloatArray, width: float) -> FloatArray:
    """Return images x anchors: exp(-d^2 / sigma^2) in single precision."""
    kernel = Kernel.of(anchors, width)
    found = np.empty((len(features), len(anchors)), dtype=np.float32)
    for some in row_blocks(len(features), IMAGES_AT_ONCE):
        found[some] = kernel.at(features[some], False)
    return found


@dataclass(frozen=True, eq=False)
class Kernel:
    """Anchors made ready to be compared with images.

    Distances are taken from the middle of the anchors, which keeps the products small:
    -d^2 / sigma^2 is 2 x a / sigma^2 less the sizes of both, |x|^2 / sigma^2 and |a|^2 / sigma^2.
    """

    middle: FloatArray
    """Of the anchors."""
    directions: FloatArray
    """Features x anchors: 2 a / sigma^2."""
    size: FloatArray
    """|a|^2 / sigma^2 of each anchor."""
    scale: np.float32
    """1 / sigma^2."""

    @classmethod
    def of(cls, anchors: FloatArray, width: float) -> "Kernel":
        """Do once what is the same for all images."""
        middle, scale = anchors.mean(axis=0), np.float32(1.0 / width**2)
        centred = anchors - middle
        size = np.einsum("ij,ij->i", centred, centred) * scale
        return cls(middle, np.ascontiguousarray(centred.T) * (2 * scale), size, scale)

    def at(self, features: FloatArray, unit_features: bool) -> FloatArray:
        """Return images x anchors: exp(-d^2 / sigma^2)."""
        given = read_only(features.astype(np.float32, copy=False))
        rows, size = np.empty(given.shape, np.float32), np.empty(len(given), np.float32)
        fit_together(given.shape[1:] == self.middle.shape)
        centre_rows(given, unit_features, read_only(self.middle), rows, size)
        size *= self.scale
        found: FloatArray = rows @ self.directions
        take_sizes_off(found, size, read_only(self.size))
        return np.exp(found, out=found)


@compiled
def centre_rows(
    features: FloatArray,
    to_length_one: bool,
    middle: FloatArray,
    rows: FloatArray,
    size: FloatArray,
) -> None:
    """Write features as they are compared, less the middle, and their squared lengths then."""
    for row in range(len(features)):
        scale, squared = np.float32(1), np.float32(0)
        if to_length_one:
            total = 0.0
            for place in range(len(middle)):
                value = np.float64(features[row, place])
                total += value * value
            if total > 0:
                scale = np.float32(1.0 / np.sqrt(total))
        for place in range(len(middle)):
            apart = features[row, place] * scale - middle[place]
            rows[row, place] = apart
            squared += apart * apart
        size[row] = squared


@compiled
def take_sizes_off(found: FloatArray, of_row: FloatArray, of_column: FloatArray) -> None:
    """Take the sizes of rows and columns off; what is left is at most 0."""
    for row in range(len(found)):
        for column in range(len(of_column)):
            left = found[row, column] - of_row[row] - of_column[column]
            found[row, column] = min(left, np.float32(0))


def compared_features(features: FloatArray, unit_features: bool) -> FloatArray:
    """Return features as they are compared, float32."""
    rows = features.astype(np.float32)
    if unit_features:
        length = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
        rows /= np.where(length > 0, length, 1.0).astype(np.float32)[:, None]
    return rows
