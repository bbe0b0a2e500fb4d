"""From a method and a collection to a model that can be used and saved."""

import hashlib
import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any, cast

import numpy as np

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.assignment.calibration import Calibration
from sugartag.assignment.rank import top_tags
from sugartag.assignment.thresholds import (
    DIGITS,
    FEWEST_USES,
    NEVER_ADDED,
    NEVER_DOUBTED,
    TagThresholds,
)
from sugartag.collection.align import Catalogue, seen_from
from sugartag.collection.decisions import Decision, decisions_at
from sugartag.collection.digest import collection_digest
from sugartag.collection.model import Collection
from sugartag.collection.rows import other_features
from sugartag.collection.subset import tag_counts, without_truth
from sugartag.collection.texts import Texts
from sugartag.engine.base import Block, Engine, stage
from sugartag.engine.local import on_all_cores
from sugartag.errors import CollectionError, SettingsError
from sugartag.evaluation.calibrate import TOP, calibrate
from sugartag.methods.base import Calibrated, Fitted, Method, Updatable
from sugartag.pipeline.model import Model

logger = logging.getLogger(__name__)

DEFAULT_METHOD = "sugar-plus"
ROWS_PER_BLOCK = 1024
MAX_IMAGES = 10_000
"""Images that thresholds are learned from, about, at most."""


def fit_model(
    method: Method, collection: Collection, *, engine: Engine | None = None, seed: int = 0
) -> Model:
    """Fit the method, learn what its scores mean, and keep the names it was fitted with."""
    engine = engine or on_all_cores()
    collection.require_tags("a fit")
    known = without_truth(collection)
    with stage(engine, f"fitting {method.name}"):
        fitted = method.fit(known, engine=engine, rng=np.random.default_rng(seed))
    with stage(engine, f"calibrating {method.name}"):
        calibration, thresholds = _calibrated(method, fitted, known, engine=engine, seed=seed)
    if summary := evidence_summary(fitted):
        logger.info("%s: %s", method.name, summary)
    return Model(
        method=method,
        fitted=fitted,
        calibration=calibration,
        thresholds=thresholds,
        catalogue=Catalogue.of(known),
        run_id=run_id(method, collection, seed),
        seed=seed,
    )


def evidence_summary(fitted: Fitted) -> str:
    """Return in one line what the evidence is worth; nothing if the method does not say."""
    return fitted.evidence_summary() if isinstance(fitted, Calibrated) else ""


def _calibrated(
    method: Method, fitted: Fitted, collection: Collection, *, engine: Engine, seed: int
) -> tuple[Calibration, TagThresholds]:
    """Return what the scores mean: as the fitted method says, or learned by hiding tags."""
    if isinstance(fitted, Calibrated):
        return Calibration.none_needed(), fitted.thresholds()
    rng = np.random.default_rng([seed, 1])
    calibration = calibrate(method, collection, engine=engine, rng=rng)
    return calibration, learn_thresholds(fitted, calibration, collection, engine=engine)


def update_model(
    model: Model,
    collection: Collection,
    decisions: Sequence[Decision] = (),
    *,
    engine: Engine | None = None,
) -> Model:
    """Add the images of a collection, and people's decisions about them, to a model.

    Nothing is fitted again: settings and whatever else was chosen stay. The collection may hold
    images that the model has, as decisions need; those that did not change do nothing.
    """
    engine = engine or on_all_cores()
    fitted, method = model.fitted, model.method
    if not isinstance(fitted, Updatable):
        raise SettingsError(
            f"the model is one of {method.name}, which cannot be updated; fit on all images instead"
        )
    known = without_truth(collection)
    if fitted.n_features not in {0, known.n_features}:
        raise other_features(known.n_features, fitted.n_features)
    catalogue = extended_catalogue(model.catalogue, known)
    decided = decided_in(decisions, catalogue, known)
    with stage(engine, f"updating {method.name}"):
        more = fitted.updated(method, seen_from(catalogue, known), decided, engine=engine)
    listed = sorted((one.image_id, one.tag, one.right) for one in decisions)
    decided_by = json.dumps([model.run_id, collection_digest(known), listed])
    digest = hashlib.sha256(decided_by.encode())
    return replace(
        model,
        fitted=more,
        thresholds=_updated_thresholds(model.thresholds, more),
        catalogue=catalogue,
        run_id=f"{method.name}-{digest.hexdigest()[:12]}",
    )


def _updated_thresholds(before: TagThresholds, fitted: Fitted) -> TagThresholds:
    if isinstance(fitted, Calibrated):
        return fitted.thresholds()
    if isinstance(fitted, Updatable):
        return extended_thresholds(before, fitted.uses)
    return before


def extended_catalogue(catalogue: Catalogue, collection: Collection) -> Catalogue:
    """Return the names of the catalogue, and after them those that the collection has besides."""
    return Catalogue(
        catalogue.tag_names + tuple(_others(catalogue.tag_names, collection.tag_names)),
        _extended(catalogue.owner_names, collection.owner_names),
        _extended(catalogue.ids, collection.ids),
    )


def decided_in(
    decisions: Sequence[Decision], catalogue: Catalogue, collection: Collection
) -> SparseRows:
    """Return the decisions as images x tags of a catalogue that has all of the collection."""
    there = set(collection.ids)
    image = {name: number for number, name in enumerate(catalogue.ids) if name in there}
    tag = {name: number for number, name in enumerate(catalogue.tag_names)}
    for one in decisions:
        if one.image_id not in image:
            raise CollectionError(
                f"{one.where}: image {one.image_id!r} is not in the collection; "
                "update with a collection that has it"
            )
        if one.tag not in tag:
            raise CollectionError(
                f"{one.where}: neither the model nor the collection has the tag {one.tag!r}; "
                "check the spelling, or leave the row out"
            )
    return decisions_at(
        np.array([image[one.image_id] for one in decisions], dtype=np.int64),
        np.array([tag[one.tag] for one in decisions], dtype=np.int64),
        [one.right for one in decisions],
        (len(catalogue.ids), len(catalogue.tag_names)),
    )


def extended_thresholds(thresholds: TagThresholds, uses: FloatArray) -> TagThresholds:
    """Return thresholds for all tags: those of the model and, for tags now used enough, the median.

    ``uses`` says how many images have each tag.
    """
    more = len(uses) - len(thresholds.add)
    add = np.pad(thresholds.add, (0, more), constant_values=NEVER_ADDED)
    doubt = np.pad(thresholds.doubt, (0, more), constant_values=NEVER_DOUBTED)
    unset = (add == NEVER_ADDED) & (doubt == NEVER_DOUBTED)
    new = unset & (uses >= FEWEST_USES)
    usual = [float(np.median(part[~unset])) for part in (add, doubt)] if not unset.all() else []
    if usual:
        add, doubt = np.where(new, usual[0], add), np.where(new, usual[1], doubt)
    return TagThresholds(np.round(add, DIGITS), np.round(doubt, DIGITS))


def _extended(known: Texts, names: Texts) -> Texts:
    return Texts.joined([known, Texts.of(_others(known, names))])


def _others(known: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return the names that are not among the known ones."""
    there = set(known)
    return [name for name in names if name not in there]


def learn_thresholds(
    fitted: Fitted, calibration: Calibration, collection: Collection, *, engine: Engine
) -> TagThresholds:
    """Learn the probability from which each tag is added, and below which it is doubted."""
    blocks = collection.blocks(ROWS_PER_BLOCK)
    every = max(1, -(-collection.n_images // MAX_IMAGES))
    parts = list(engine.map(probabilities_of, blocks[::every], collection, fitted, calibration))
    added, given = (
        (
            np.concatenate([part[k][0] for part in parts]),
            np.concatenate([part[k][1] for part in parts]),
        )
        for k in range(2)
    )
    return TagThresholds.learned(added, given, tag_counts(collection))


def probabilities_of(
    block: Block, collection: Collection, fitted: Fitted, calibration: Calibration
) -> tuple[tuple[IntArray, FloatArray], tuple[IntArray, FloatArray]]:
    """Return tags and probabilities of a block: of what could be added, and of what was given."""
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
