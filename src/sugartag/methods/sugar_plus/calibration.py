"""From scores to posterior probabilities and thresholds.

What is calibrated is the level of a tag: its leave-one-out excess over the base rate, made
comparable across tags. Of a given tag the noise model says how probably it is wrong. Of any other
tag: let g be the rate at which tags of this level are given, and rho the recall, the rate at which
right tags are given. Then the tag is right with p = g / rho, and right although it was not given
with (1 - rho) p / (1 - rho p). As in Elkan and Noto (2008), rho is read off the surest tags, which
are taken to be right with :data:`SUREST_RIGHT`; no p is higher. That holds only where the rate has
levelled off: if it still rises towards the surest, they are not yet sure, and a high recall is
assumed, so that next to nothing is added. All this needs levels that are alike for given and
missing tags, which is why a given tag is predicted as if the image did not have it. Of an image
without any tag nobody left this one out: it is right with p, and g is learned from levels that
images would have if nobody had tagged them. Ranks come from the scores and not from the posterior,
so a flat piece of a curve ties no two images.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from sugartag._rules import Within
from sugartag._typing import BoolArray, FloatArray, IntArray
from sugartag.assignment.calibration import MonotoneMap
from sugartag.assignment.thresholds import NEVER_ADDED, NEVER_DOUBTED, TagThresholds
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, Engine, blocks_all_over
from sugartag.methods.sugar_plus._kernels import count_between
from sugartag.methods.sugar_plus.ensemble import Scale, Spread
from sugartag.methods.sugar_plus.noise_model import LEAST_USES, QUANTILES, NoiseModel
from sugartag.methods.sugar_plus.views import Views

IMAGES, ROWS_PER_BLOCK = 12_000, 500
"""Images that calibration looks at, at most, spread evenly over the collection in blocks."""
CELLS = 24_000_000
"""Levels held at once, at most."""
UNTAGGED_SHARE = 4
"""One in this many of these images is also looked at as if nobody had tagged it."""
CURVE_POINTS = 200
TAILS = (50, 100, 200, 400, 800)
"""The surest given tags, counted, that the recall is read off: the tail with the highest rate."""
SUREST_RIGHT = 0.92
LEVELLED_OFF, LEAST_TAILS = 0.75, 4
"""The rate has levelled off if that of the longest tail is at least this share of the median one,
and there are this many tails."""
LEAST_RECALL, MOST_RECALL = 0.2, 0.999
LEAST_UNSURE = 0.8
"""The lowest recall assumed where the rate has not levelled off."""
SURE = 0.999
ADD_FROM, DOUBT_BELOW = 0.75, 0.3
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
    """g: how often a tag of this level is given."""
    untagged_rate: MonotoneMap
    """The same for levels that leave the tags of the image out."""
    recall: Annotated[float, Within(0, 1)]
    """rho."""
    noise: NoiseModel
    worth: Worth

    def posterior(
        self,
        tag: IntArray,
        level: FloatArray,
        *,
        given: BoolArray,
        untagged: BoolArray,
        decided: FloatArray,
    ) -> FloatArray:
        """Return the probability that each tag belongs to its image; what a person said stands."""
        rate = np.where(untagged, self.untagged_rate(level), self.given_rate(level))
        right = np.minimum(rate.astype(np.float64) / self.recall, SUREST_RIGHT)
        found = (1.0 - self.recall) * right / (1.0 - self.recall * right)
        found = np.where(untagged, right, found)
        if given.any():
            found[given] = 1.0 - self.noise.probability_wrong(tag[given], level[given])
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
    spread, looks = parts[0].spread, parts[0].looks
    for part in parts[1:]:
        spread, looks = spread + part.spread, looks + part.looks
    scale = Scale.of(spread, power=power, own_weight=own_weight)
    levels = Levels.of([part.as_given for part in parts], scale)
    untagged = Levels.of([part.as_untagged for part in parts], scale)
    rate = views.base_rate
    worth = Worth(explained(looks, rate), explained(spread, rate))
    return scale, fit_calibrator(levels, untagged, worth)


@dataclass(frozen=True, eq=False)
class Levels:
    """Images x tags, and the places where a tag was given."""

    values: FloatArray
    row: IntArray
    tag: IntArray

    @classmethod
    def of(cls, parts: Sequence["Levels"], scale: Scale) -> "Levels":
        """Join the excesses of blocks and make them comparable."""
        starts = np.cumsum([0, *(len(part.values) for part in parts[:-1])])
        values = np.concatenate([part.values for part in parts])
        values *= scale.level
        rows = [part.row + start for part, start in zip(parts, starts, strict=True)]
        return cls(values, np.concatenate(rows), np.concatenate([part.tag for part in parts]))

    @property
    def at_given(self) -> FloatArray:
        """The levels of the given tags."""
        found: FloatArray = self.values[self.row, self.tag]
        return found


def fit_calibrator(levels: Levels, untagged: Levels, worth: Worth) -> Calibrator:
    """Learn from the levels of a sample, as its images are and as if nobody had tagged them."""
    at_given = levels.at_given
    return Calibrator(
        given_rate=given_rates(levels.values, at_given),
        untagged_rate=given_rates(untagged.values, untagged.at_given),
        recall=recall_of(levels),
        noise=NoiseModel.fit(_quantiles(levels.values), levels.tag, at_given, looks=worth.looks),
        worth=worth,
    )


@dataclass(frozen=True, eq=False)
class Predicted:
    """The leave-one-out excesses of a block of images."""

    as_given: Levels
    as_untagged: Levels
    """Some of the images as if nobody had tagged them."""
    spread: Spread
    looks: Spread
    """The same of the visual view alone."""


def predict_sample(block: Block, collection: Collection, views: Views) -> Predicted:
    """Predict the tags of a block of images that were fitted."""
    rows = collection.rows(block)
    left = views.leaving_out(rows)
    excess = views.excess_of(left)
    looks = Spread.of(views.visual_excess(left), rows.tags)
    tagged = np.flatnonzero(np.diff(rows.tags.indptr))
    some = rows.at(tagged[::UNTAGGED_SHARE])
    return Predicted(
        Levels(excess, *rows.tags.nonzero()),
        Levels(views.untagged_excess(views.leaving_out(some)), *some.tags.nonzero()),
        Spread.of(excess, rows.tags),
        looks,
    )


def explained(spread: Spread, rate: FloatArray) -> float:
    """Return the share of the variance of all given tags that predictions explain, never below 0.

    With e the excess, y the tag and r the base rate, the sum of (y - r)^2 - (y - r - e)^2 over that
    of (y - r)^2.
    """
    gained = 2.0 * (spread.at_uses - rate * spread.total) - spread.squares
    variance = spread.uses * (1.0 - 2.0 * rate) + spread.count * rate**2
    return max(float(gained.sum() / max(variance.sum(), 1e-9)), 0.0)


def given_rates(levels: FloatArray, at_given: FloatArray) -> MonotoneMap:
    """Return how often tags of each level are given."""
    from sklearn.isotonic import IsotonicRegression

    if not len(at_given):
        return MonotoneMap(np.zeros(1), np.zeros(1))
    edges = np.unique(np.quantile(at_given, np.linspace(0.0, 1.0, CURVE_POINTS)))
    given = np.bincount(np.searchsorted(edges, at_given, side="right"), minlength=len(edges) + 1)
    every = count_between(levels, edges)
    centre = np.concatenate([[edges[0]], (edges[1:] + edges[:-1]) / 2.0, [edges[-1]]])
    kept = every > 0
    rate = IsotonicRegression(y_min=0.0, y_max=1.0).fit_transform(
        centre[kept], given[kept] / every[kept], sample_weight=every[kept]
    )
    return MonotoneMap(centre[kept], np.asarray(rate))


def recall_of(levels: Levels) -> float:
    """Return the recall: the given rate of the surest tags, as if nearly all were right."""
    descending = np.sort(levels.at_given)[::-1]
    tails = [count for count in TAILS if count <= len(descending) // 4]
    if not tails:
        return MOST_RECALL
    above = [np.count_nonzero(levels.values >= descending[count - 1]) for count in tails]
    rates = np.array(tails) / np.maximum(above, 1)
    levelled_off = len(tails) >= LEAST_TAILS and rates[-1] >= LEVELLED_OFF * np.median(rates)
    least = LEAST_RECALL if levelled_off else LEAST_UNSURE
    return float(np.clip(rates.max() / SUREST_RIGHT, least, MOST_RECALL))


def _quantiles(levels: FloatArray) -> FloatArray:
    """Return tags x points: the quantiles of each tag's levels over the images."""
    some = levels[:: max(1, len(levels) // 2_000)]
    points = np.linspace(0.0, 1.0, QUANTILES)
    found = np.empty((levels.shape[1], QUANTILES), dtype=np.float32)
    for start in range(0, levels.shape[1], 256):
        tags = slice(start, start + 256)
        found[tags] = np.quantile(some[:, tags], points, axis=0).T
    return found
