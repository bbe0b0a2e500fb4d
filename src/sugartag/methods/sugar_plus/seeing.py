"""How sight is learned: from the chances that all other evidence gives.

That takes images x tags x directions for every step, which is why only collections are looked at
of which a good part can be: in larger ones there are images enough for the ridge regression.
"""

from dataclasses import replace

import numpy as np
from scipy import linalg
from threadpoolctl import threadpool_limits

from sugartag._typing import BoolArray, FloatArray
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, Engine
from sugartag.linalg.logistic import logistic_weights
from sugartag.methods.sugar_plus.belief import deviance, learned_belief
from sugartag.methods.sugar_plus.fitted import FittedSugarPlus
from sugartag.methods.sugar_plus.learning import Sample, sample_blocks
from sugartag.methods.sugar_plus.likeness import compared_features
from sugartag.methods.sugar_plus.sight import FOLDS, Directions, Sight, folds_of

CELLS, IMAGES = 1 << 23, 1 << 15
"""Images x tags, and images, that are looked at, at most."""
LEAST_PART = 0.2
"""Of the images; where fewer can be looked at, none are."""
ROWS_PER_BLOCK = 256
FEWEST_OWNERS = 10
"""With fewer, images are in folds one by one."""
FEWEST_IMAGES = 100
"""That each regression needs."""
MOST_DIRECTIONS = 128
SPREAD = 8.0
"""Root of the mean squared length of images along all directions together."""
ROUNDING = 1e-9
"""Images whose squared features differ by no more, relatively, are all the same."""
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
    sample: Sample,
    honest: FloatArray,
    *,
    engine: Engine,
) -> FittedSugarPlus:
    """Return the model with sight, if there is anything to be seen; what it means learned anew."""
    sight, threads = learned_sight(fitted, collection, engine=engine), engine.threads
    if sight is None:
        return fitted
    blocks = sample_blocks(collection)
    seen = np.concatenate([sight.said(collection.rows(block)) for block in blocks])
    content, given = sample.content, sample.given
    said = content + fitted.alike_weight * sample.alike + fitted.interest_weight * sample.interest
    slips = fitted.manners.alone.slips
    known = given, honest, slips
    strength = chosen_strength(said, seen, *known, threads=threads)
    if not strength:
        return fitted
    seen *= np.float32(strength)
    return replace(
        fitted,
        sight=replace(sight, strength=strength),
        whole=learned_belief(said + seen, *known, threads=threads),
        of_strangers=learned_belief(content + seen, *known, threads=threads),
    )


def learned_sight(
    fitted: FittedSugarPlus, collection: Collection, *, engine: Engine
) -> Sight | None:
    """Learn what images look like from the chances of a fitted model, at full strength."""
    blocks = blocks_looked_at(collection)
    rows = [collection.rows(block) for block in blocks]
    owner, position = (
        np.concatenate([getattr(some, name) for some in rows] or [np.zeros(0, dtype=np.int64)])
        for name in ("owner", "position")
    )
    n_owners = collection.n_owners if len(np.unique(owner)) >= FEWEST_OWNERS else 0
    fold = folds_of(owner, position, n_owners)
    if len(fold) - np.bincount(fold, minlength=FOLDS).max() < FEWEST_IMAGES:
        return None
    directions = _directions(
        np.concatenate([some.features for some in rows if some.features is not None]),
        fitted.evidence.unit_features,
    )
    if directions is None:
        return None
    seen = np.concatenate([directions.of(some) for some in rows])
    chances = np.concatenate(list(engine.map(score_images, blocks, collection, fitted)))
    weights = [
        logistic_weights(
            seen[fold != one], chances[fold != one], PENALTY, STEPS, threads=engine.threads
        )
        for one in range(FOLDS)
    ]
    return Sight(
        directions,
        np.stack(weights),
        chances.mean(axis=0),
        1.0,
        collection.n_images,
        n_owners,
    )


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


def blocks_looked_at(collection: Collection) -> tuple[Block, ...]:
    """Return blocks all over the collection; none where there is nothing to see, or too much."""
    blocks = collection.blocks(ROWS_PER_BLOCK)
    wanted = wanted_blocks(collection.n_tags, len(blocks))
    if collection.n_features == 0 or not wanted:
        return ()
    chosen = np.unique(np.linspace(0, len(blocks) - 1, wanted).astype(int))
    return tuple(blocks[number] for number in chosen)


def wanted_blocks(n_tags: int, n_blocks: int) -> int:
    """Return how many blocks are looked at of so many; 0 if too few of them could be."""
    most = min(CELLS // max(n_tags, 1), IMAGES) // ROWS_PER_BLOCK
    return min(most, n_blocks) if most >= LEAST_PART * n_blocks else 0


def score_images(block: Block, collection: Collection, fitted: FittedSugarPlus) -> FloatArray:
    """Return the probabilities of the images of a block."""
    return fitted.scores(collection.rows(block))


def _directions(features: FloatArray, unit_features: bool) -> Directions | None:
    """Return those in which images differ most, the images being so long along all of them.

    None if images do not differ, but for rounding.
    """
    compared = compared_features(features, unit_features)
    middle = compared.mean(axis=0, dtype=np.float64).astype(np.float32)
    centred, n = compared - middle, compared.shape[1]
    # Of so small a matrix more threads make nothing faster, and where cores are busy much slower.
    with threadpool_limits(1):
        size, vectors = linalg.eigh(
            (centred.T @ centred).astype(np.float64),
            subset_by_index=(max(0, n - MOST_DIRECTIONS), n - 1),
        )
    differing = float(size.sum())
    if differing <= ROUNDING * float(np.square(compared, dtype=np.float64).sum()):
        return None
    length = np.sqrt(differing / len(features))
    axes = np.ascontiguousarray(vectors[:, ::-1] * (SPREAD / length), dtype=np.float32)
    return Directions(middle, axes, unit_features)
