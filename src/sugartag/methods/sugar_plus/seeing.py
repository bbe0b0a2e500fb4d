"""How sight is learned: from the chances that all other evidence gives."""

from dataclasses import replace

import numpy as np

from sugartag._typing import BoolArray, FloatArray, IntArray
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, Engine
from sugartag.linalg.logistic import logistic_weights
from sugartag.methods.sugar_plus.belief import deviance, learned_belief
from sugartag.methods.sugar_plus.fitted import FittedSugarPlus
from sugartag.methods.sugar_plus.learning import sample_blocks
from sugartag.methods.sugar_plus.looked_at import FOLDS, LookedAt
from sugartag.methods.sugar_plus.sight import Sight
from sugartag.methods.sugar_plus.weighing import Heard

PENALTY, STEPS = 1.0, 8
STRENGTHS = (0.0, 0.125, 0.25, 0.5, 1.0, 2.0)
TRIED_CELLS = 1 << 20
"""Images x tags that strengths are tried on, about."""
STRENGTH_SHARE = 0.375
"""Of the strength that explains given tags best: people's mistakes look like something, too, and
additions that look right to both regressions are not as sure as both say."""


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
    known = heard.given, heard.honest, heard.slips
    strength = chosen_strength(heard.by_all, seen, *known, threads=engine.threads)
    if not strength:
        return fitted
    seen *= np.float32(strength)
    heard = heard.plus(seen, seen)
    return replace(
        fitted,
        sight=replace(sight, strength=strength),
        whole=heard.whole(threads=engine.threads),
        of_strangers=heard.alone(threads=engine.threads),
    )


def learned_sight(
    fitted: FittedSugarPlus, collection: Collection, looked_at: LookedAt, *, engine: Engine
) -> Sight:
    """Learn what images look like from the chances of a fitted model, at full strength."""
    seen, fold, tags = looked_at.seen, looked_at.fold, looked_at.tags
    known = collection, fitted, tags
    chances = np.concatenate(list(engine.map(chances_of_images, looked_at.blocks, *known)))
    weights = [
        logistic_weights(
            seen[fold != one], chances[fold != one], PENALTY, STEPS, threads=engine.threads
        )
        for one in range(FOLDS)
    ]
    found = Sight(
        looked_at.directions,
        np.stack(weights),
        chances.mean(axis=0),
        1.0,
        collection.n_images,
        looked_at.n_owners,
    )
    return found.at_tags(tags, collection.n_tags)


def chosen_strength(
    said: FloatArray,
    seen: FloatArray,
    given: BoolArray,
    honest: FloatArray,
    slips: FloatArray,
    *,
    threads: int = 1,
) -> float:
    """Return how much sight counts beside what else is said, by how well both explain uses."""
    some = slice(None, None, max(1, said.size // TRIED_CELLS))
    said, seen, given, honest = said[some], seen[some], given[some], honest[some]
    found = {}
    for strength in STRENGTHS:
        both = said + np.float32(strength) * seen
        belief = learned_belief(both, given, honest, slips, threads=threads)
        found[strength] = deviance(belief, both, given, honest, threads=threads)
    return STRENGTH_SHARE * min(found, key=lambda strength: found[strength])


def chances_of_images(
    block: Block, collection: Collection, fitted: FittedSugarPlus, tags: IntArray
) -> FloatArray:
    """Return the probabilities of some tags of the images of a block."""
    return score_images(block, collection, fitted)[:, tags]


def score_images(block: Block, collection: Collection, fitted: FittedSugarPlus) -> FloatArray:
    """Return the probabilities of the images of a block."""
    return fitted.scores(collection.rows(block))
