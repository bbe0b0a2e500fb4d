"""Learn what a method's scores mean, from tags hidden from it and wrong ones given to it."""

from dataclasses import dataclass, replace

import numpy as np

from sugartag._typing import BoolArray, FloatArray
from sugartag.assignment.calibration import Calibration, MonotoneMap, unhidden
from sugartag.assignment.rank import top_tags
from sugartag.collection.model import Collection
from sugartag.collection.subset import Hidden, Injected, hide_tags, inject_tags
from sugartag.engine.base import Block, Engine
from sugartag.methods.base import Fitted, Method

HIDDEN_SHARE = 0.2
INJECTED_RATE = 0.25
"""As if one given tag in five were wrong: what "doubt" is measured against."""
TOP = 20
"""Suggestions come from the best few tags of an image, so the map is learned on those."""
MAX_IMAGES = 50_000
ROWS_PER_BLOCK = 1024


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Scores of (image, tag) pairs and whether the tag is right."""

    added: FloatArray
    added_right: BoolArray
    given: FloatArray
    given_right: BoolArray

    def __add__(self, other: "_Pairs") -> "_Pairs":
        return _Pairs(
            np.concatenate([self.added, other.added]),
            np.concatenate([self.added_right, other.added_right]),
            np.concatenate([self.given, other.given]),
            np.concatenate([self.given_right, other.given_right]),
        )


def calibrate(
    method: Method, collection: Collection, *, engine: Engine, rng: np.random.Generator
) -> Calibration:
    """Fit the method once more, on disturbed tags, and see how often each score was right."""
    seed = int(rng.integers(2**31))
    hidden = hide_tags(collection, HIDDEN_SHARE, seed)
    injected = inject_tags(hidden.collection, INJECTED_RATE, seed)
    fitted = method.fit(injected.collection, engine=engine, rng=rng)
    blocks = collection.blocks(ROWS_PER_BLOCK)
    every = max(1, -(-collection.n_images // MAX_IMAGES))
    pairs = engine.sum(compare_scores, blocks[::every], fitted, hidden, injected)
    added = MonotoneMap.fitted(pairs.added, pairs.added_right)
    return Calibration(
        added=replace(added, values=unhidden(added.values, HIDDEN_SHARE)),
        given=MonotoneMap.fitted(pairs.given, pairs.given_right),
    )


def compare_scores(block: Block, fitted: Fitted, hidden: Hidden, injected: Injected) -> _Pairs:
    """Score one block and look up which tags were hidden and which injected."""
    rows = injected.collection.rows(block)
    scores = fitted.scores(rows)
    given = rows.tags.toarray() > 0
    best = top_tags(scores, TOP, allowed=~given).as_rows(scores.shape[1]).toarray()
    was_hidden = hidden.hidden_of(block).toarray() > 0
    was_injected = injected.injected_of(block).toarray() > 0
    # A wrong tag drawn at random may be one that was hidden, and so be right.
    genuine = ~was_injected | was_hidden
    return _Pairs(scores[best], was_hidden[best], scores[given], genuine[given])
