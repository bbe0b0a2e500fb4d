"""What an image looks like as a whole: a logistic regression of each tag on its features.

Anchors and ridge regression say little more than to which of some hundred kinds an image belongs.
Here every feature has a say, and a tag that is sure already is not made surer. It is learned from
the chances that everything else gives, so it has no truth either. So that no image has a say about
itself, owners are in as many folds as there are regressions, and the images of each are judged by
the one that did not see them; new images by the mean of all.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sugartag._typing import FloatArray, IntArray
from sugartag.collection.model import Rows
from sugartag.linalg.compiled import compiled, fit_together, read_only
from sugartag.methods.sugar_plus.looked_at import SIGHT_FOLDS, Directions, folds_of


@dataclass(frozen=True, eq=False)
class Sight:
    """What images look like, and what that says about tags."""

    directions: Directions
    tags: IntArray
    """Those of which something is said."""
    weights: FloatArray
    """Folds x directions and, last, ones x these, float32: of the images of all other folds."""
    share: FloatArray
    """The mean chance of each of them, float32."""
    strength: float
    """How much what is said counts beside other evidence."""
    n_images: int
    """Images that folds are of: rows from here on are new."""
    n_owners: int
    """Owners that folds are of."""

    def add_to(self, said: FloatArray, rows: Rows) -> None:
        """Add what images look like to what is said about images x tags."""
        seen = self.directions.of(rows)
        fit_together(self.weights.shape == (SIGHT_FOLDS, seen.shape[1], len(self.tags)))
        fit_together(self.tags.shape == self.share.shape)
        fit_together(0 <= self.tags.min(initial=0) <= self.tags.max(initial=0) < said.shape[1])
        tags, share = read_only(self.tags.astype(np.int64)), read_only(self.share)
        fold = np.where(rows.position < self.n_images, self._folds(rows), SIGHT_FOLDS)
        for number in np.unique(fold):
            chosen = np.flatnonzero(fold == number)
            weights = self._mean if number == SIGHT_FOLDS else self.weights[number]
            margin = seen[chosen] @ weights
            add_chances(read_only(margin), tags, share, self.strength, chosen, said)

    def said(self, rows: Rows) -> FloatArray:
        """Return what images look like says about images x tags."""
        found = np.zeros(rows.tags.shape, dtype=np.float32)
        self.add_to(found, rows)
        return found

    def _folds(self, rows: Rows) -> IntArray:
        return folds_of(rows.owner, rows.position, self.n_owners, SIGHT_FOLDS)

    @cached_property
    def _mean(self) -> FloatArray:
        mean: FloatArray = self.weights.mean(axis=0, dtype=np.float32)
        return mean


@compiled
def add_chances(
    margin: FloatArray,
    tags: IntArray,
    share: FloatArray,
    strength: float,
    place: IntArray,
    said: FloatArray,
) -> None:
    """Add the chances of some tags, less their shares, to some rows of what is said."""
    one, times = np.float32(1), np.float32(strength)
    for row in range(len(place)):
        for number in range(len(tags)):
            chance = one / (one + np.exp(-margin[row, number]))
            said[place[row], tags[number]] += times * (chance - share[number])
