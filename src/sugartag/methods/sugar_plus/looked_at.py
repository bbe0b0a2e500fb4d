"""The images that are looked at as a whole, the directions they differ in, and their folds.

What is learned from whole images takes time for every one of them, so of a large collection only
some are looked at, all over it. So that no image has a say about itself, owners are dealt into
folds, and the images of each fold, looked at or not, are judged by what was learned from others.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from threadpoolctl import threadpool_limits

from sugartag._typing import FloatArray, IntArray
from sugartag.collection.model import Collection, Rows
from sugartag.collection.subset import tag_counts
from sugartag.engine.base import Block, blocks_all_over
from sugartag.methods.sugar_plus.likeness import compared_features

SUBJECT_FOLDS, SIGHT_FOLDS = 3, 6
"""Folds that subjects, and sight, are learned in. Sight also needs a regression for each, and the
more there are, the less each one misses."""
IMAGES = 1 << 14
"""That are looked at, at most."""
CELLS = 1 << 23
"""Images x tags that are looked at, at most: the tags most used."""
ROWS_PER_BLOCK = 512
FEWEST_OWNERS = 10
"""With fewer, images are in folds one by one."""
FEWEST_IMAGES = 100
"""That each fold needs to learn from."""
MOST_DIRECTIONS = 128
SPREAD = 8.0
"""Root of the mean squared length of images along all directions together."""
ROUNDING = 1e-9
"""Images whose squared features differ by no more, relatively, are all the same."""


@dataclass(frozen=True, eq=False)
class Directions:
    """The directions in which images differ most, the first one most of all."""

    middle: FloatArray
    """Of all images: features, float32."""
    axes: FloatArray
    """Features x directions, float32."""
    unit_features: bool

    def of(self, rows: Rows) -> FloatArray:
        """Return images x directions and, last, ones."""
        found = np.ones((len(rows), self.axes.shape[1] + 1), dtype=np.float32)
        if len(self.middle):
            features = rows.features_like(len(self.middle))
            compared = compared_features(features, self.unit_features)
            np.matmul(compared - self.middle, self.axes, out=found[:, :-1])
        return found

    def first(self, count: int) -> "Directions":
        """Return so many of them, or all if there are fewer."""
        axes = np.ascontiguousarray(self.axes[:, :count])
        middle = self.middle if axes.shape[1] else self.middle[:0]
        return Directions(middle, axes, self.unit_features)

    @classmethod
    def differing(cls, features: FloatArray, unit_features: bool) -> "Directions":
        """Return those in which images differ most, the images being so long along all of them.

        There are none if images do not differ, but for rounding.
        """
        compared = compared_features(features, unit_features)
        middle = compared.mean(axis=0, dtype=np.float64).astype(np.float32)
        centred, n = compared - middle, compared.shape[1]
        # Of so small a matrix more threads make nothing faster, and where cores are busy much
        # slower.
        with threadpool_limits(1):
            size, vectors = linalg.eigh(
                (centred.T @ centred).astype(np.float64),
                subset_by_index=(max(0, n - MOST_DIRECTIONS), n - 1),
            )
        differing = float(size.sum())
        if differing <= ROUNDING * float(np.square(compared, dtype=np.float64).sum()):
            return cls.none(unit_features)
        length = np.sqrt(differing / len(features))
        axes = np.ascontiguousarray(vectors[:, ::-1] * (SPREAD / length), dtype=np.float32)
        return cls(middle, axes, unit_features)

    @classmethod
    def none(cls, unit_features: bool) -> "Directions":
        """Return no direction at all: nothing is to be seen."""
        return cls(np.zeros(0, np.float32), np.zeros((0, 0), np.float32), unit_features)

    def __len__(self) -> int:
        return int(self.axes.shape[1])


@dataclass(frozen=True, eq=False)
class LookedAt:
    """The images that are looked at."""

    blocks: tuple[Block, ...]
    """Where they are."""
    tags: IntArray
    """The tags that are looked at one by one, ascending."""
    owner: IntArray
    position: IntArray
    n_owners: int
    """Owners that are dealt into folds; 0 where images are, one by one."""
    directions: Directions
    seen: FloatArray
    """Images x directions and, last, ones."""

    @classmethod
    def of(cls, collection: Collection, unit_features: bool) -> "LookedAt | None":
        """Look at a collection; None where there are too few images."""
        blocks = blocks_all_over(collection.blocks(ROWS_PER_BLOCK), IMAGES // ROWS_PER_BLOCK)
        rows = [collection.rows(block) for block in blocks]
        owner, position = (
            np.concatenate([getattr(some, name) for some in rows]) for name in ("owner", "position")
        )
        n_owners = collection.n_owners if len(np.unique(owner)) >= FEWEST_OWNERS else 0
        in_folds = np.bincount(folds_of(owner, position, n_owners, SUBJECT_FOLDS))
        if len(owner) - in_folds.max() < FEWEST_IMAGES:
            return None
        features = [some.features for some in rows if some.features is not None]
        directions = (
            Directions.differing(np.concatenate(features), unit_features)
            if collection.n_features
            else Directions.none(unit_features)
        )
        seen = np.concatenate([directions.of(some) for some in rows])
        tags = most_used(tag_counts(collection), collection.n_images)
        return cls(blocks, tags, owner, position, n_owners, directions, seen)

    @property
    def n_images(self) -> int:
        """How many there are."""
        return len(self.position)

    def folds(self, count: int) -> IntArray:
        """Return which of so many folds each image is in."""
        return folds_of(self.owner, self.position, self.n_owners, count)


def folds_of(owner: IntArray, position: IntArray, n_owners: int, count: int) -> IntArray:
    """Return the fold of each image: that of its owner, if anybody knows who that is."""
    found: IntArray = np.where(owner < n_owners, owner, position) % count
    return found


def most_used(uses: IntArray, n_images: int) -> IntArray:
    """Return the tags that so many images are looked at for, the most used ones, ascending."""
    order = np.argsort(-uses, kind="stable")
    return np.sort(order[: tags_looked_at(len(uses), n_images)])


def tags_looked_at(n_tags: int, n_images: int) -> int:
    """Return for how many tags a collection of so many images is looked at."""
    return min(n_tags, CELLS // max(images_looked_at(n_images), 1))


def images_looked_at(n_images: int) -> int:
    """Return how many images of so many are looked at."""
    return min(n_images, IMAGES)
