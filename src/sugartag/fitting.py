"""From a method and a collection to a model that can be used and saved."""

import hashlib
import json
from dataclasses import asdict
from typing import Any, cast

import numpy as np

from sugartag.collection.align import Catalogue
from sugartag.collection.digest import collection_digest
from sugartag.collection.model import Collection
from sugartag.collection.subset import without_truth
from sugartag.engine.base import Engine
from sugartag.evaluation.calibrate import calibrate
from sugartag.methods.base import Method
from sugartag.model_folder import Model

DEFAULT_METHOD = "sugar-plus"


def fit_model(method: Method, collection: Collection, *, engine: Engine, seed: int) -> Model:
    """Fit the method, learn what its scores mean, and keep the names it was fitted with."""
    known = without_truth(collection)
    calibration = calibrate(method, known, engine=engine, rng=np.random.default_rng([seed, 1]))
    return Model(
        method=method,
        fitted=method.fit(known, engine=engine, rng=np.random.default_rng(seed)),
        calibration=calibration,
        catalogue=Catalogue.of(known),
        run_id=run_id(method, collection, seed),
        seed=seed,
    )


def run_id(method: Method, collection: Collection, seed: int) -> str:
    """Name a run by what decides its outcome: method, settings, seed and data."""
    decided_by = [method.name, asdict(cast("Any", method)), seed, collection_digest(collection)]
    digest = hashlib.sha256(json.dumps(decided_by, sort_keys=True).encode())
    return f"{method.name}-{digest.hexdigest()[:12]}"
