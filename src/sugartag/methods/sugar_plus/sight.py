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
from sugartag.methods.sugar_plus.looked_at import SIGHT_FOLDS, Directions, folds_of

NEVER = np.float32(-30)
"""What a regression says of a tag of which it knows nothing: that it has a chance of 0."""


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
        fit_together(self.weights.shape == (SIGHT_FOLDS, seen.shape[1], len(self.share)))
        fold = np.where(rows.position < self.n_images, self._folds(rows), SIGHT_FOLDS)
        for number in np.unique(fold):
            chosen = np.flatnonzero(fold == number)
            weights = self._mean if number == SIGHT_FOLDS else self.weights[number]
            margin = seen[chosen] @ weights
            add_chances(read_only(margin), read_only(self.share), self.strength, chosen, said)

    def said(self, rows: Rows) -> FloatArray:
        """Return what images look like says about images x tags."""
        found = np.zeros((len(rows), len(self.share)), dtype=np.float32)
        self.add_to(found, rows)
        return found

    def for_tags(self, n_tags: int) -> "Sight":
        """Return the same for more tags, of which nothing is said."""
        return self.at_tags(np.arange(len(self.share)), n_tags)

    def at_tags(self, tags: IntArray, n_tags: int) -> "Sight":
        """Return the same with its tags in other places; nothing is said of the others."""
        weights = np.zeros((*self.weights.shape[:2], n_tags), dtype=np.float32)
        weights[:, -1], weights[:, :, tags] = NEVER, self.weights
        share = np.zeros(n_tags, dtype=np.float32)
        share[tags] = self.share
        return replace(self, weights=weights, share=share)

    def _folds(self, rows: Rows) -> IntArray:
        return folds_of(rows.owner, rows.position, self.n_owners, SIGHT_FOLDS)

    @cached_property
    def _mean(self) -> FloatArray:
        mean: FloatArray = self.weights.mean(axis=0, dtype=np.float32)
        return mean


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
