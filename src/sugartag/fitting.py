"""From a method and a collection to a model that can be used and saved."""

import hashlib
import json
from dataclasses import asdict
from typing import Any, cast

import numpy as np

from sugartag._typing import FloatArray, IntArray
from sugartag.assignment.calibration import Calibration
from sugartag.assignment.rank import top_tags
from sugartag.assignment.thresholds import TagThresholds
from sugartag.collection.align import Catalogue
from sugartag.collection.digest import collection_digest
from sugartag.collection.model import Collection
from sugartag.collection.subset import tag_counts, without_truth
from sugartag.engine.base import Block, Engine
from sugartag.evaluation.calibrate import TOP, calibrate
from sugartag.methods.base import Fitted, Method
from sugartag.model_folder import Model

DEFAULT_METHOD = "sugar-plus"
ROWS_PER_BLOCK = 1024
MAX_IMAGES = 10_000
"""Images that thresholds are learned from, about, at most."""


def fit_model(method: Method, collection: Collection, *, engine: Engine, seed: int) -> Model:
    """Fit the method, learn what its scores mean, and keep the names it was fitted with."""
    known = without_truth(collection)
    if getattr(method, "scores_are_chances", False):
        calibration = Calibration.none_needed()
    else:
        calibration = calibrate(method, known, engine=engine, rng=np.random.default_rng([seed, 1]))
    fitted = method.fit(known, engine=engine, rng=np.random.default_rng(seed))
    return Model(
        method=method,
        fitted=fitted,
        calibration=calibration,
        thresholds=learn_thresholds(fitted, calibration, known, engine=engine),
        catalogue=Catalogue.of(known),
        run_id=run_id(method, collection, seed),
        seed=seed,
    )


def learn_thresholds(
    fitted: Fitted, calibration: Calibration, collection: Collection, *, engine: Engine
) -> TagThresholds:
    """Learn from which chance on each tag is added, and below which it is doubted."""
    blocks = collection.blocks(ROWS_PER_BLOCK)
    every = max(1, -(-collection.n_images // MAX_IMAGES))
    parts = list(engine.map(tell_chances, blocks[::every], collection, fitted, calibration))
    added, given = (
        (
            np.concatenate([part[k][0] for part in parts]),
            np.concatenate([part[k][1] for part in parts]),
        )
        for k in range(2)
    )
    return TagThresholds.learned(added, given, tag_counts(collection))


def tell_chances(
    block: Block, collection: Collection, fitted: Fitted, calibration: Calibration
) -> tuple[tuple[IntArray, FloatArray], tuple[IntArray, FloatArray]]:
    """Return tags and chances of a block: of what could be added, and of what was given."""
    rows = collection.rows(block)
    scores = fitted.scores(rows)
    given = rows.tags.toarray() > 0
    best = top_tags(scores, TOP, allowed=~given).as_rows(scores.shape[1])
    cell = np.nonzero(best.toarray())
    return (
        (cell[1], calibration.added(scores[cell])),
        (np.nonzero(given)[1], calibration.given(scores[given])),
    )


def run_id(method: Method, collection: Collection, seed: int) -> str:
    """Name a run by what decides its outcome: method, settings, seed and data."""
    decided_by = [method.name, asdict(cast("Any", method)), seed, collection_digest(collection)]
    digest = hashlib.sha256(json.dumps(decided_by, sort_keys=True).encode())
    return f"{method.name}-{digest.hexdigest()[:12]}"
