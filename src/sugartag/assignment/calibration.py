"""Scores as probabilities: monotone maps learned from tags that were hidden or injected."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sugartag._rules import Rising, Shape, Within
from sugartag._typing import BoolArray, FloatArray

MAX_STEPS = 512
"""Points that a map is stored as, at most."""


@dataclass(frozen=True, eq=False)
class MonotoneMap:
    """A rising function given by points, straight between them and level outside."""

    scores: Annotated[FloatArray, Shape("_points"), Rising()]
    values: Annotated[FloatArray, Shape("_points"), Rising(), Within(0, 1)]

    def validate(self) -> None:
        """Raise ``ValueError`` if there is no point."""
        if not len(self.scores):
            raise ValueError("has no points")

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Return the value at each score."""
        return np.interp(scores, self.scores, self.values).astype(np.float32)

    @classmethod
    def fitted(cls, scores: FloatArray, right: BoolArray) -> "MonotoneMap":
        """Return the rising function nearest the share of right ones at each score."""
        from sklearn.isotonic import IsotonicRegression

        if not len(scores):
            return cls(np.zeros(1), np.zeros(1))
        model = IsotonicRegression(y_min=0.0, y_max=1.0)
        model.fit(scores.astype(np.float64), right.astype(np.float64))
        points, values = model.X_thresholds_, model.y_thresholds_
        kept = np.unique(np.linspace(0, len(points) - 1, MAX_STEPS).astype(int))
        return cls(np.asarray(points)[kept], np.asarray(values)[kept])


@dataclass(frozen=True, eq=False)
class Calibration:
    """What a score means: the probability that the owner would have given the tag."""

    added: MonotoneMap
    """For tags the image does not have."""
    given: MonotoneMap
    """For tags it has: the probability that they are right."""

    @classmethod
    def none_needed(cls) -> "Calibration":
        """Return the calibration of a method that gives probabilities itself."""
        same = MonotoneMap(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
        return cls(same, same)


def unhidden(rate: FloatArray, share: float) -> FloatArray:
    """Turn the rate of hidden tags among tags not given into the probability of being given.

    If a tag was given with probability g and hidden with probability h, then among the pairs that
    are not (or no longer) given the hidden ones have the rate r = gh / (gh + 1 - g); solved for g.
    """
    return rate / np.maximum(rate + share * (1.0 - rate), 1e-12)
