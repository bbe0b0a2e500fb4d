"""From predictions to posterior probabilities and thresholds.

Of a given tag the noise model says how probably it is wrong. Of any other tag: let g be the rate at
which tags with this leave-one-out prediction are given, and rho the recall, the rate at which right
tags are given. Then the tag is right with p = g / rho, and right although it was not given with
(1 - rho) p / (1 - rho p). As in Elkan and Noto (2008), rho is read off the surest predictions,
which are taken to be right with :data:`SUREST_RIGHT`. Ranks come from the scores and not from the
posterior, so a flat piece of the curve ties no two images.
"""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from sugartag._rules import Within
from sugartag._typing import BoolArray, FloatArray, IntArray
from sugartag.assignment.calibration import MonotoneMap
from sugartag.assignment.thresholds import NEVER_ADDED, NEVER_DOUBTED, TagThresholds
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, Engine, blocks_all_over
from sugartag.methods.sugar_plus.ensemble import Scale, Spread
from sugartag.methods.sugar_plus.noise_model import LEAST_USES, QUANTILES, NoiseModel
from sugartag.methods.sugar_plus.views import Views

IMAGES, ROWS_PER_BLOCK = 12_000, 500
"""Images that calibration looks at, at most, spread evenly over the collection in blocks."""
CELLS = 48_000_000
"""Predictions held at once, at most."""
CURVE_POINTS = 200
TAILS = (50, 100, 200, 400, 800)
"""The surest given tags, counted, that the recall is read off: the tail with the highest rate."""
SUREST_RIGHT = 0.92
LEAST_RECALL, MOST_RECALL = 0.3, 0.999
SURE = 0.999
ADD_FROM, DOUBT_BELOW = 0.7, 0.3
"""Fixed on real collections with hidden and injected tags, for 80 % of verdicts to be right."""


@dataclass(frozen=True)
class Worth:
    """The share of the variance of given tags that leave-one-out predictions explain."""

    looks: float
    everything: float


@dataclass(frozen=True, eq=False)
class Calibrator:
    """What a prediction means."""

    given_rate: MonotoneMap
    """g: how often a tag with this prediction is given."""
    recall: Annotated[float, Within(0, 1)]
    """rho."""
    noise: NoiseModel
    worth: Worth

    def posterior(
        self,
        tag: IntArray,
        predicted: FloatArray,
        *,
        given: BoolArray,
        untagged: BoolArray,
        decided: FloatArray,
    ) -> FloatArray:
        """Return the probability that each tag belongs to its image; what a person said stands.

        Of an image without any tag nobody left this one out, so that says nothing against it.
        """
        rate = self.given_rate(predicted).astype(np.float64)
        right = np.minimum(rate / self.recall, 1.0)
        found = (1.0 - self.recall) * right / np.maximum(1.0 - self.recall * right, 1e-9)
        found = np.where(untagged, right, found)
        if given.any():
            found[given] = 1.0 - self.noise.probability_wrong(tag[given], predicted[given])
        found[decided > 0], found[decided < 0] = 1.0, 0.0
        return np.clip(found, 1.0 - SURE, SURE).astype(np.float32)

    def thresholds(self, uses: FloatArray) -> TagThresholds:
        """Return where a posterior becomes a verdict; of rare tags nothing is said."""
        rare = uses < LEAST_USES
        return TagThresholds(
            np.where(rare, NEVER_ADDED, ADD_FROM), np.where(rare, NEVER_DOUBTED, DOUBT_BELOW)
        )

    def widened(self, n_tags: int) -> "Calibrator":
        """Return the calibrator beside tags that are new."""
        return replace(self, noise=self.noise.widened(n_tags))

    def summary(self, *, has_features: bool) -> str:
        """Return in one line what the evidence is worth."""
        looks = f"looks explain {self.worth.looks:.0%} of the tags" if has_features else "no looks"
        line = f"{looks}, everything together {self.worth.everything:.0%}"
        if self.noise.wrong.max() <= 1.0 - DOUBT_BELOW:
            return f"{line}: no doubts will be made; better features would help"
        return f"{line}; about {self.noise.wrong_share:.0%} of the given tags look wrong"


def calibrate(
    views: Views, collection: Collection, *, power: float, own_weight: float, engine: Engine
) -> tuple[Scale, Calibrator]:
    """Learn scale and calibration from leave-one-out predictions of a sample of the images."""
    images = min(IMAGES, max(CELLS // max(collection.n_tags, 1), ROWS_PER_BLOCK))
    blocks = blocks_all_over(collection.blocks(ROWS_PER_BLOCK), images // ROWS_PER_BLOCK)
    parts = list(engine.map(predict_sample, blocks, collection, views))
    excess = np.concatenate([part.excess for part in parts])
    spread, looks = parts[0].spread, parts[0].looks
    for part in parts[1:]:
        spread, looks = spread + part.spread, looks + part.looks
    rate = views.base_rate
    worth = Worth(explained(looks, rate), explained(spread, rate))
    starts = np.cumsum([0, *(len(part.excess) for part in parts[:-1])])
    row = np.concatenate([part.row + start for part, start in zip(parts, starts, strict=True)])
    tag = np.concatenate([part.tag for part in parts])
    excess += rate
    scale = Scale.of(spread, power=power, own_weight=own_weight)
    return scale, fit_calibrator(excess, row, tag, worth)


def fit_calibrator(predicted: FloatArray, row: IntArray, tag: IntArray, worth: Worth) -> Calibrator:
    """Learn from predictions, images x tags, and the places where a tag was given."""
    at_given = predicted[row, tag]
    curve, recall = given_rates(predicted, at_given)
    return Calibrator(curve, recall, NoiseModel.fit(_quantiles(predicted), tag, at_given), worth)


@dataclass(frozen=True, eq=False)
class Predicted:
    """The leave-one-out predictions of a block of images."""

    excess: FloatArray
    row: IntArray
    tag: IntArray
    """Where tags were given."""
    spread: Spread
    looks: Spread
    """The same of the visual view alone."""


def predict_sample(block: Block, collection: Collection, views: Views) -> Predicted:
    """Predict the tags of a block of images that were fitted."""
    rows = collection.rows(block)
    row, tag = rows.tags.nonzero()
    excess = views.excess(rows)
    looks = Spread.of(views.visual_excess(views.leaving_out(rows)), rows.tags)
    return Predicted(excess, row, tag, Spread.of(excess, rows.tags), looks)


def explained(spread: Spread, rate: FloatArray) -> float:
    """Return the share of the variance of all given tags that predictions explain, never below 0.

    With e the excess, y the tag and r the base rate, the sum of (y - r)^2 - (y - r - e)^2 over that
    of (y - r)^2.
    """
    gained = 2.0 * (spread.at_uses - rate * spread.total) - spread.squares
    variance = spread.uses * (1.0 - 2.0 * rate) + spread.count * rate**2
    return max(float(gained.sum() / max(variance.sum(), 1e-9)), 0.0)


def given_rates(predicted: FloatArray, at_given: FloatArray) -> tuple[MonotoneMap, float]:
    """Return how often tags are given by their prediction, and the recall this shows."""
    from sklearn.isotonic import IsotonicRegression

    if not len(at_given):
        return MonotoneMap(np.zeros(1), np.zeros(1)), MOST_RECALL
    edges = np.unique(np.quantile(at_given, np.linspace(0.0, 1.0, CURVE_POINTS)))
    given = np.bincount(np.searchsorted(edges, at_given, side="right"), minlength=len(edges) + 1)
    every = _counts_between(predicted, edges)
    centre = np.concatenate([[edges[0]], (edges[1:] + edges[:-1]) / 2.0, [edges[-1]]])
    kept = every > 0
    rate = IsotonicRegression(y_min=0.0, y_max=1.0).fit_transform(
        centre[kept], given[kept] / every[kept], sample_weight=every[kept]
    )
    return MonotoneMap(centre[kept], np.asarray(rate)), recall_of(predicted, at_given)


def recall_of(predicted: FloatArray, at_given: FloatArray) -> float:
    """Return the recall: the given rate of the surest predictions, as if nearly all were right."""
    descending = np.sort(at_given)[::-1]
    tails = [count for count in TAILS if count <= len(descending) // 4]
    if not tails:
        return MOST_RECALL
    least = descending[np.array(tails) - 1]
    above = [int(np.count_nonzero(predicted >= value)) for value in least]
    rate = max(count / max(every, 1) for count, every in zip(tails, above, strict=True))
    return float(np.clip(rate / SUREST_RIGHT, LEAST_RECALL, MOST_RECALL))


def _counts_between(values: FloatArray, edges: FloatArray) -> FloatArray:
    """Return how many values lie below the first edge, between any two, and above the last."""
    found = np.zeros(len(edges) + 1)
    for start in range(0, len(values), 512):
        place = np.searchsorted(edges, values[start : start + 512].ravel(), side="right")
        found += np.bincount(place, minlength=len(edges) + 1)
    return found


def _quantiles(predicted: FloatArray) -> FloatArray:
    """Return tags x points: the quantiles of each tag's predictions over the images."""
    some = predicted[:: max(1, len(predicted) // 2_000)]
    points = np.linspace(0.0, 1.0, QUANTILES)
    found = np.empty((predicted.shape[1], QUANTILES), dtype=np.float32)
    for start in range(0, predicted.shape[1], 256):
        tags = slice(start, start + 256)
        found[tags] = np.quantile(some[:, tags], points, axis=0).T
    return found
