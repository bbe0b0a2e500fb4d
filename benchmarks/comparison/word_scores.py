"""Scores of what has no tag of its own: the mean score of the tags that stand for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sugartag._typing import FloatArray, IntArray
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, Engine
from sugartag.errors import SettingsError
from sugartag.evaluation.bootstrap import interval
from sugartag.evaluation.cost import Meter
from sugartag.methods.base import Fitted, Method

ROWS_PER_BLOCK = 1024


@dataclass(frozen=True, eq=False)
class WordScores:
    """What a fitted method says of every image and set of tags, and what that cost."""

    scores: FloatArray
    """Images x sets."""
    strangers: FloatArray
    """The same without evidence from the image's own owner."""
    cost: dict[str, Any]


def fitted_word_scores(
    method: Method,
    given: Collection,
    sets: Sequence[IntArray],
    *,
    engine: Engine,
    rng: np.random.Generator,
) -> WordScores:
    """Fit the method and score every image for every set of tags."""
    with Meter() as fitting:
        fitted = method.fit(given, engine=engine, rng=rng)
    with Meter() as scoring:
        scores = mean_tag_scores(fitted, given, sets, engine=engine)
    cost = {
        "fit_seconds": fitting.seconds,
        "score_seconds": scoring.seconds,
        "peak_rss_mb": max(fitting.peak_rss_mb, scoring.peak_rss_mb),
    }
    strangers = mean_tag_scores(fitted, given, sets, engine=engine, strangers_only=True)
    return WordScores(scores, strangers, cost)


def mean_tag_scores(
    fitted: Fitted,
    given: Collection,
    sets: Sequence[IntArray],
    *,
    engine: Engine,
    strangers_only: bool = False,
) -> FloatArray:
    """Return images x sets: the mean score of the tags of each set, 0 where it has none."""
    share = np.zeros((given.n_tags, len(sets)))
    for column, tags in enumerate(sets):
        share[tags, column] = 1.0 / max(1, len(tags))
    used = np.flatnonzero(share.any(axis=1))

    def score(block: Block) -> FloatArray:
        scores = fitted.scores(given.rows(block), strangers_only=strangers_only)
        means: FloatArray = scores[:, used].astype(np.float64) @ share[used]
        return means

    found = np.concatenate(list(engine.map(score, given.blocks(ROWS_PER_BLOCK))))
    if np.isnan(found).any():
        raise SettingsError("the scores of some tags are not all numbers; change the settings")
    return found


def resampled_interval(values: FloatArray, replicates: int) -> tuple[float, float]:
    """Return the 95 % interval of the mean when the values are drawn again, as often as they are.

    The same values are drawn in each replicate whoever asks.
    """
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(values), size=(replicates, len(values)))
    return interval(values[drawn].mean(axis=1))
