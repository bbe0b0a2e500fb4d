"""What an image looks like as a whole: what its features add to the log odds of each tag.

Anchors and ridge regression say little more than to which of some hundred kinds an image belongs.
Here every feature has a say, beside all that is known without it: what all other evidence says is
turned into log odds, and a logistic regression of each tag on the features adds to them. A tag that
is sure already is not made surer, and what other evidence has said is not said again. It is learned
from the chances that everything else gives, so it has no truth either. So that no image has a say
about itself, owners are in as many folds as there are regressions, and the images of each are
judged by the one that did not see them; new images by the mean of all.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import logit

from sugartag._typing import FloatArray, IntArray
from sugartag.collection.model import Rows
from sugartag.linalg.compiled import compiled, fit_together, read_only
from sugartag.methods.sugar_plus.belief import Belief
from sugartag.methods.sugar_plus.looked_at import SIGHT_FOLDS, Directions, folds_of

LEAST_CHANCE, MOST_CHANCE = 1e-4, 0.99
"""No other evidence is taken to be surer than that."""
LEAST_EVIDENCE, LEAST_RISE = 1e-3, 1.0


@dataclass(frozen=True, eq=False)
class Odds:
    """What evidence means in log odds."""

    low: float
    step: float
    """They are written down at low, low + step, low + 2 step, ..."""
    values: FloatArray
    """Ascending, float32."""

    @classmethod
    def of(cls, belief: Belief) -> "Odds":
        """Return those of a belief."""
        chance = np.clip(belief.belongs.astype(np.float64), LEAST_CHANCE, MOST_CHANCE)
        return cls(belief.low, belief.step, logit(chance).astype(np.float32))

    def take_place(self, said: FloatArray) -> None:
        """Put log odds in the place of what is said, float32."""
        fit_together(len(self.values) > 1 and self.step > 0 and np.isfinite(self.low))
        look_up(np.float32(self.low), np.float32(1.0 / self.step), read_only(self.values), said)

    def at(self, said: FloatArray) -> FloatArray:
        """Return the log odds of what is said."""
        found = said.astype(np.float32)
        self.take_place(found.reshape(1, -1) if found.ndim == 1 else found)
        return found

    def rise(self, said: FloatArray) -> FloatArray:
        """Return by how much log odds rise for as much evidence, from none to what is said."""
        far = np.where(np.abs(said) < LEAST_EVIDENCE, LEAST_EVIDENCE, said)
        rise = (self.at(far) - self.at(np.zeros_like(far))) / far
        return np.maximum(rise, LEAST_RISE)


@dataclass(frozen=True, eq=False)
class Sight:
    """What images look like, and what that says about tags."""

    directions: Directions
    tags: IntArray
    """Those of which something is said."""
    weights: FloatArray
    """Folds x directions and, last, ones x these, float32: of the images of all other folds."""
    by_all: Odds
    """What all other evidence means."""
    by_itself: Odds
    """What that means which is known of the image itself."""
    n_images: int
    """Images that folds are of: rows from here on are new."""
    n_owners: int
    """Owners that folds are of."""

    def complete(self, said: FloatArray, rows: Rows, *, strangers_only: bool = False) -> None:
        """Turn what is said about images x tags, in place, into the log odds of all evidence."""
        before = self.by_itself if strangers_only else self.by_all
        before.take_place(said)
        self.add_to(said, rows)

    def add_to(self, odds: FloatArray, rows: Rows) -> None:
        """Add what images look like to the log odds of images x tags."""
        seen = self.directions.of(rows)
        fit_together(self.weights.shape == (SIGHT_FOLDS, seen.shape[1], len(self.tags)))
        fit_together(0 <= self.tags.min(initial=0) <= self.tags.max(initial=0) < odds.shape[1])
        tags = read_only(self.tags.astype(np.int64))
        fold = np.where(rows.position < self.n_images, self._folds(rows), SIGHT_FOLDS)
        for number in np.unique(fold):
            chosen = np.flatnonzero(fold == number)
            weights = self._mean if number == SIGHT_FOLDS else self.weights[number]
            add_margins(read_only(seen[chosen] @ weights), tags, chosen, odds)

    def said(self, rows: Rows) -> FloatArray:
        """Return what images look like adds to the log odds of images x tags."""
        found = np.zeros(rows.tags.shape, dtype=np.float32)
        self.add_to(found, rows)
        return found

    def weakened(self, strength: float) -> "Sight":
        """Return the same with so much of what is special in an image's looks."""
        weights = self.weights.copy()
        weights[:, :-1] *= np.float32(strength)
        return replace(self, weights=weights)

    def usual(self, n_tags: int) -> FloatArray:
        """Return what is added to the log odds of each of all tags, whatever an image looks like.

        Directions are told from the middle of all images.
        """
        found = np.zeros(n_tags, dtype=np.float32)
        found[self.tags] = self._mean[-1]
        return found

    def _folds(self, rows: Rows) -> IntArray:
        return folds_of(rows.owner, rows.position, self.n_owners, SIGHT_FOLDS)

    @cached_property
    def _mean(self) -> FloatArray:
        mean: FloatArray = self.weights.mean(axis=0, dtype=np.float32)
        return mean


@compiled
def add_margins(margin: FloatArray, tags: IntArray, place: IntArray, odds: FloatArray) -> None:
    """Add what is said of some tags to some rows of log odds."""
    for row in range(len(place)):
        for number in range(len(tags)):
            odds[place[row], tags[number]] += margin[row, number]


@compiled
def look_up(low: np.float32, per_step: np.float32, values: FloatArray, said: FloatArray) -> None:
    """Put the values of a curve in the place of where they are asked for."""
    last = np.float32(len(values) - 1.001)
    for row in range(said.shape[0]):
        for column in range(said.shape[1]):
            place = min(max((said[row, column] - low) * per_step, np.float32(0)), last)
            step = np.int32(place)
            begin = values[step]
            said[row, column] = begin + (place - np.float32(step)) * (values[step + 1] - begin)
