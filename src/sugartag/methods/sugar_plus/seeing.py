"""How sight is learned: from the chances that all other evidence gives.

An image must not have a say about itself. It would have one not only in the regression that sight
is, but also by way of the chances of images that look like it: the tags it was given speak for the
same tags of those, which then speak for its own. So the images of a fold are judged by what was
learned from chances of which they know nothing: those of a ridge regression without them. Where
only some of many images are looked at, each says so little that the regression is that of all.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sugartag._typing import FloatArray, IntArray
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, Engine
from sugartag.linalg.logistic import logistic_weights
from sugartag.methods.sugar_plus.fitted import FittedSugarPlus
from sugartag.methods.sugar_plus.images import chosen_images, rows_at
from sugartag.methods.sugar_plus.learning import sample_blocks
from sugartag.methods.sugar_plus.looked_at import SIGHT_FOLDS, LookedAt
from sugartag.methods.sugar_plus.recall import recall_by_odds
from sugartag.methods.sugar_plus.ridge import Ridge
from sugartag.methods.sugar_plus.sight import Sight
from sugartag.methods.sugar_plus.sums import add_up
from sugartag.methods.sugar_plus.weighing import Heard, chosen_strength

PENALTY, STEPS = 1.0, 8
ROWS_PER_BLOCK = 1_024
"""Images whose chances are told in one step: each step takes its time, however few they are."""
STRENGTHS = (0.0, 0.125, 0.25, 0.5, 1.0, 2.0)


def with_sight(
    fitted: FittedSugarPlus,
    collection: Collection,
    looked_at: LookedAt,
    heard: Heard,
    *,
    engine: Engine,
) -> FittedSugarPlus:
    """Return the model with sight, if there is anything to be seen; what it means learned anew."""
    if not len(looked_at.directions):
        return fitted
    sight = learned_sight(fitted, collection, looked_at, engine=engine)
    blocks = sample_blocks(collection)
    seen = np.concatenate([sight.said(collection.rows(block)) for block in blocks])
    known = heard.by_all, heard.given, heard.honest, heard.slips
    strength = chosen_strength(STRENGTHS, seen, *known, threads=engine.threads)
    if not strength:
        return fitted
    recall = recall_by_odds(heard, seen, sight, threads=engine.threads)
    seen *= np.float32(strength)
    heard = heard.plus(seen, seen)
    return replace(
        fitted,
        sight=replace(sight, strength=strength),
        whole=heard.whole(recall, threads=engine.threads),
        of_strangers=heard.alone(recall, threads=engine.threads),
    )


def learned_sight(
    fitted: FittedSugarPlus, collection: Collection, looked_at: LookedAt, *, engine: Engine
) -> Sight:
    """Learn what images look like from the chances of a fitted model, at full strength."""
    told = _told_with_all if looked_at.n_images < collection.n_images else _told_by_others
    fold, weights, total = looked_at.folds(SIGHT_FOLDS), [], np.zeros(len(looked_at.tags))
    for one, chances in enumerate(told(fitted, collection, looked_at, engine=engine)):
        seen = looked_at.seen[fold != one]
        weights.append(logistic_weights(seen, chances, PENALTY, STEPS, threads=engine.threads))
        total += chances.sum(axis=0, dtype=np.float64)
    return Sight(
        looked_at.directions,
        looked_at.tags,
        np.stack(weights),
        (total / ((SIGHT_FOLDS - 1) * len(fold))).astype(np.float32),
        1.0,
        collection.n_images,
        looked_at.n_owners,
    )


def _told_by_others(
    fitted: FittedSugarPlus, collection: Collection, looked_at: LookedAt, *, engine: Engine
) -> Iterator[FloatArray]:
    """Yield for each fold the chances of the images outside it, of which it knows nothing."""
    fold = looked_at.folds(SIGHT_FOLDS)
    for one in range(SIGHT_FOLDS):
        left_out = looked_at.position[fold == one]
        known = collection, without_images(fitted, collection, left_out, engine=engine), left_out
        blocks = collection.blocks(ROWS_PER_BLOCK)
        found = engine.map(chances_of_others, blocks, *known, looked_at.tags)
        yield np.concatenate(list(found))


def _told_with_all(
    fitted: FittedSugarPlus, collection: Collection, looked_at: LookedAt, *, engine: Engine
) -> Iterator[FloatArray]:
    """Yield for each fold the chances of the images outside it, told with those of all images."""
    nobody = np.zeros(0, dtype=np.int64)
    fitted.get_ready(engine=engine)
    known = collection, fitted, nobody, looked_at.tags
    chances = np.concatenate(list(engine.map(chances_of_others, looked_at.blocks, *known)))
    fold = looked_at.folds(SIGHT_FOLDS)
    for one in range(SIGHT_FOLDS):
        yield chances[fold != one]


def without_images(
    fitted: FittedSugarPlus, collection: Collection, images: IntArray, *, engine: Engine
) -> FittedSugarPlus:
    """Return the model, ready to score, with a regression without some images, ascending."""
    if not len(images):
        return fitted
    ridge, evidence = fitted.ridge, fitted.evidence
    own = chosen_images(collection, images)
    theirs = add_up(own, evidence, rows_at(fitted.trusted, images), engine=engine)
    penalty = fitted.choice.penalties(evidence)
    rest = Ridge.solved(
        ridge.sums + -theirs, evidence, penalty, ridge.owner_variance, threads=engine.threads
    )
    found = replace(fitted, ridge=replace(rest, left_out=len(images)))
    found.get_ready(engine=engine)
    return found


def chances_of_others(
    block: Block,
    collection: Collection,
    fitted: FittedSugarPlus,
    left_out: IntArray,
    tags: IntArray,
) -> FloatArray:
    """Return the probabilities of some tags of those images of a block that were not left out."""
    rows = collection.rows(block)
    others = rows.at(np.flatnonzero(~np.isin(rows.position, left_out)))
    return fitted.scores(others)[:, tags]


def score_images(block: Block, collection: Collection, fitted: FittedSugarPlus) -> FloatArray:
    """Return the probabilities of the images of a block."""
    return fitted.scores(collection.rows(block))
