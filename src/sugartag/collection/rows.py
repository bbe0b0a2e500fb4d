"""Some images of a collection: as a block function gets them, and as they are stored."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sugartag._rules import Below, Shape, Within
from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.collection.texts import Texts
from sugartag.errors import CollectionError

LARGEST_FEATURE = 1e15
"""Sums of squares of numbers this large still fit a float32, whatever the dimensions."""


@dataclass(frozen=True, eq=False)
class Rows:
    """A run of images, in memory, as a block function gets them."""

    tags: SparseRows
    """Images x tags, 1 where the owner gave the tag; float32."""
    owner: IntArray
    """The owner's index; the number of owners itself where the owner is not known."""
    features: FloatArray | None
    """Images x dimensions, float32."""
    position: IntArray
    """Row in the collection that a method was fitted on; its number of images if it was not there.
    """
    titles: Texts | None = None
    """What the owner called each image; None where nobody says."""
    has_features: BoolArray | None = None
    """Which images have features, the rows of the others being zeros; None where all have."""

    def __len__(self) -> int:
        return len(self.owner)

    def at(self, chosen: IntArray) -> "Rows":
        """Return some of the rows, in the order given."""
        titles = self.titles
        return Rows(
            tags=self.tags[chosen],
            owner=self.owner[chosen],
            features=None if self.features is None else self.features[chosen],
            position=self.position[chosen],
            titles=None if titles is None else Texts.of(titles[i] for i in chosen.tolist()),
            has_features=None if self.has_features is None else self.has_features[chosen],
        )

    @property
    def described(self) -> BoolArray:
        """Which images have features; none where the collection has none."""
        if self.features is None:
            return np.zeros(len(self), dtype=np.bool_)
        if self.has_features is None:
            return np.ones(len(self), dtype=np.bool_)
        return self.has_features

    def features_like(self, n_features: int) -> FloatArray:
        """Return the features, zeros for images that have none.

        Raise if a model's have another number of them an image.
        """
        found = 0 if self.features is None else self.features.shape[1]
        if self.features is None or found != n_features:
            raise other_features(found, n_features)
        return self.features

    def features_of_all(self, n_features: int, needed_for: str) -> FloatArray:
        """Return the features, or raise if an image has none, or another number of them."""
        features = self.features_like(n_features)
        lacking = len(self) - int(np.count_nonzero(self.described))
        require_all_described(needed_for, lacking, len(self))
        return features


@dataclass(frozen=True, eq=False)
class Shard:
    """Some consecutive images of a collection, as they are stored."""

    ids: Annotated[Texts, Shape("_rows")]
    owner: Annotated[IntArray, Shape("_rows"), Below("owners+1")]
    tags: Annotated[SparseRows, Shape("_rows", "tags")]
    features: Annotated[
        FloatArray | None, Shape("_rows", "features"), Within(-LARGEST_FEATURE, LARGEST_FEATURE)
    ] = None
    truth: Annotated[SparseRows | None, Shape("_rows", "concepts")] = None
    paths: Annotated[Texts | None, Shape("_rows")] = None
    titles: Annotated[Texts | None, Shape("_rows")] = None
    position: Annotated[IntArray | None, Shape("_rows")] = None
    """Where the images stand in another collection, if this one is seen from there."""
    has_features: Annotated[BoolArray | None, Shape("_rows")] = None
    """Which images have features; None where all have that ``features`` holds."""

    def __len__(self) -> int:
        return len(self.owner)

    def described(self, part: slice = slice(None)) -> BoolArray:
        """Return which of the images have features."""
        if self.has_features is not None:
            return self.has_features[part]
        return np.full(len(self.owner[part]), self.features is not None)

    def positions(self, part: slice, start: int) -> IntArray:
        """Return where some of the images stand; ``start`` is where the first of all does."""
        if self.position is not None:
            return self.position[part]
        return np.arange(start + part.start, start + part.stop)


def other_features(n_features: int, wanted: int) -> CollectionError:
    """Return the error that images are not described by as many numbers as those of a model."""
    return CollectionError(
        f"these images have {n_features or 'no'} feature numbers each, the model's have {wanted}; "
        "describe both with the same encoder"
    )


def require_all_described(needed_for: str, n_lacking: int, n_images: int) -> None:
    """Raise if some images have no features."""
    if n_lacking:
        raise CollectionError(
            f"{needed_for} needs the features of every image, and {n_lacking:,} of {n_images:,} "
            "have none; mend the files that sugartag embed lists, leave these images out, or take "
            "another method, such as sugar-plus"
        )
