"""One score from the views: their mean, comparable across tags, with the image's own tags added.

Predictions of unlike tags are spread unlike; each tag's are divided by a power of its standard
deviation. A tag that the image has adds more the better its uses are borne out by the views: by
how much the prediction at its uses lies above that elsewhere, and never less than its spread.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sugartag._rules import Positive, Shape
from sugartag._typing import FloatArray, SparseRows
from sugartag.linalg.sparse_rows import row_number_of_entries

TINY = 1e-3
"""Added to spreads: what is not predicted at all is not made large."""
USUAL_USES = 5
"""Tags used more often say what a usual spread and a usual lift are."""
PRIOR_USES = 10.0
"""The usual lift counts like this many uses of a tag."""
LEVEL_POWER = 0.25
"""Excesses over the deviation to this power mean the same for all tags, as far as one number can:
fixed on real collections with hidden tags, by how many of the surest tags were the hidden ones."""


@dataclass(frozen=True, eq=False)
class Spread:
    """Additive sums of leave-one-out predictions, less the base rate, over some images."""

    count: float
    total: FloatArray
    squares: FloatArray
    at_uses: FloatArray
    """The sum over the images that have the tag."""
    uses: FloatArray

    def __add__(self, other: "Spread") -> "Spread":
        """Return the sums of both sets of images."""
        return Spread(
            self.count + other.count,
            self.total + other.total,
            self.squares + other.squares,
            self.at_uses + other.at_uses,
            self.uses + other.uses,
        )

    @classmethod
    def of(cls, excess: FloatArray, tags: SparseRows) -> "Spread":
        """Return the sums of some images."""
        values = excess[row_number_of_entries(tags), tags.indices]
        n_tags = tags.shape[1]
        return cls(
            float(len(excess)),
            excess.sum(axis=0, dtype=np.float64),
            np.einsum("ij,ij->j", excess, excess, dtype=np.float64),
            np.bincount(tags.indices, weights=values, minlength=n_tags).astype(np.float64),
            np.bincount(tags.indices, minlength=n_tags).astype(np.float64),
        )

    @property
    def deviation(self) -> FloatArray:
        """The standard deviation of each tag's predictions."""
        mean = self.total / max(self.count, 1.0)
        variance = self.squares / max(self.count, 1.0) - mean**2
        found: FloatArray = np.sqrt(np.maximum(variance, 0.0) + TINY**2)
        return found

    @property
    def lift(self) -> FloatArray:
        """How far predictions at a tag's uses lie above those elsewhere, shrunk to the usual."""
        elsewhere = (self.total - self.at_uses) / np.maximum(self.count - self.uses, 1.0)
        raw = np.maximum(self.at_uses / np.maximum(self.uses, 1.0) - elsewhere, 0.0)
        usual = float(np.median(raw[self._usual])) if self._usual.any() else 0.0
        found: FloatArray = (self.uses * raw + PRIOR_USES * usual) / (self.uses + PRIOR_USES)
        return found

    @property
    def _usual(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        found: np.ndarray[tuple[int], np.dtype[np.bool_]] = self.uses > USUAL_USES
        return found

    def usual_deviation(self) -> float:
        """Return the median deviation of the tags used more than a few times."""
        usual = self.deviation[self._usual]
        return float(np.median(usual)) if len(usual) else float(np.median(self.deviation))


@dataclass(frozen=True, eq=False)
class Scale:
    """What excesses are multiplied by, and what an own tag adds, for each tag."""

    factor: Annotated[FloatArray, Shape("tags"), Positive()]
    own: Annotated[FloatArray, Shape("tags")]
    level: Annotated[FloatArray, Shape("tags"), Positive()]
    """What an excess is multiplied by before it is calibrated."""

    @classmethod
    def of(cls, spread: Spread, *, power: float, own_weight: float) -> "Scale":
        """Derive both from the spread of the predictions."""
        relative = spread.deviation / spread.usual_deviation()
        factor = relative**-power
        own = own_weight * np.maximum(spread.lift, spread.deviation) * factor
        level = relative**-LEVEL_POWER
        return cls(factor.astype(np.float32), own.astype(np.float32), level.astype(np.float32))

    def widened(self, n_tags: int) -> "Scale":
        """Return the scale with usual values for tags that are new."""
        more = n_tags - len(self.factor)
        own = float(np.median(self.own)) if len(self.own) else 0.0
        return Scale(
            np.pad(self.factor, (0, more), constant_values=1.0),
            np.pad(self.own, (0, more), constant_values=own),
            np.pad(self.level, (0, more), constant_values=1.0),
        )
