"""What an image looks like as a whole: a logistic regression of each tag on its features.

Anchors and ridge regression say little more than to which of some hundred kinds an image belongs.
Here every feature has a say, and a tag that is sure already is not made surer. It is learned from
the chances that everything else gives, so it has no truth either. So that no image has a say about
itself, owners are in as many folds as there are regressions, and the images of each are judged by
the one that did not see them; new images by the mean of all.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sugartag._typing import FloatArray, IntArray
from sugartag.collection.model import Rows
from sugartag.linalg.compiled import compiled, fit_together, read_only
from sugartag.methods.sugar_plus.likeness import compared_features

FOLDS = 3
NEVER = np.float32(-30)
"""What a regression says of a tag of which it knows nothing: that it has a chance of 0."""


@dataclass(frozen=True, eq=False)
class Directions:
    """The directions in which images differ most."""

    middle: FloatArray
    """Of all images: features, float32."""
    axes: FloatArray
    """Features x directions, float32."""
    unit_features: bool

    def of(self, rows: Rows) -> FloatArray:
        """Return images x directions and, last, ones."""
        features = compared_features(rows.features_like(len(self.middle)), self.unit_features)
        found = np.ones((len(rows), self.axes.shape[1] + 1), dtype=np.float32)
        np.matmul(features - self.middle, self.axes, out=found[:, :-1])
        return found


@dataclass(frozen=True, eq=False)
class Sight:
    """What images look like, and what that says about tags."""

    directions: Directions
    weights: FloatArray
    """Folds x directions and, last, ones x tags, float32: of the images of all other folds."""
    share: FloatArray
    """The mean chance of each tag, float32."""
    strength: float
    """How much what is said counts beside other evidence."""
    n_images: int
    """Images that folds are of: rows from here on are new."""
    n_owners: int
    """Owners that folds are of."""

    def add_to(self, said: FloatArray, rows: Rows) -> None:
        """Add what images look like to what is said about images x tags."""
        seen = self.directions.of(rows)
        fit_together(said.shape == (len(rows), len(self.share)))
        fit_together(self.weights.shape == (FOLDS, seen.shape[1], len(self.share)))
        fold = np.where(rows.position < self.n_images, self._folds(rows), FOLDS)
        for number in np.unique(fold):
            chosen = np.flatnonzero(fold == number)
            weights = self._mean if number == FOLDS else self.weights[number]
            margin = seen[chosen] @ weights
            add_chances(read_only(margin), read_only(self.share), self.strength, chosen, said)

    def said(self, rows: Rows) -> FloatArray:
        """Return what images look like says about images x tags."""
        found = np.zeros((len(rows), len(self.share)), dtype=np.float32)
        self.add_to(found, rows)
        return found

    def for_tags(self, n_tags: int) -> "Sight":
        """Return the same for more tags, of which nothing is said."""
        more = n_tags - len(self.share)
        weights = np.pad(self.weights, ((0, 0), (0, 0), (0, more)))
        weights[:, -1, len(self.share) :] = NEVER
        return replace(self, weights=weights, share=np.pad(self.share, (0, more)))

    def _folds(self, rows: Rows) -> IntArray:
        return folds_of(rows.owner, rows.position, self.n_owners)

    @cached_property
    def _mean(self) -> FloatArray:
        mean: FloatArray = self.weights.mean(axis=0, dtype=np.float32)
        return mean


def folds_of(owner: IntArray, position: IntArray, n_owners: int) -> IntArray:
    """Return the fold of each image: that of its owner, if anybody knows who that is."""
    found: IntArray = np.where(owner < n_owners, owner, position) % FOLDS
    return found


@compiled
def add_chances(
    margin: FloatArray, share: FloatArray, strength: float, place: IntArray, said: FloatArray
) -> None:
    """Add the chances at some margins, less the shares of tags, to some rows of what is said."""
    one, times = np.float32(1), np.float32(strength)
    for row in range(len(place)):
        for tag in range(len(share)):
            chance = one / (one + np.exp(-margin[row, tag]))
            said[place[row], tag] += times * (chance - share[tag])
