"""How sight is learned: from the chances that all other evidence gives.

An image must not have a say about itself. It would have one not only in the regression that sight
is, but also by way of the chances of images that look like it: the tags it was given speak for the
same tags of those, which then speak for its own. So the images of a fold are judged by what was
learned from chances of which they know nothing: those of a ridge regression without them. Where
only some of many images are looked at, each says so little that the regression is that of all.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from sugartag._typing import FloatArray, IntArray
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, Engine
from sugartag.linalg.logistic import logistic_weights
from sugartag.methods.sugar_plus.census import Census
from sugartag.methods.sugar_plus.fitted import FittedSugarPlus
from sugartag.methods.sugar_plus.images import chosen_images, rows_at
from sugartag.methods.sugar_plus.learning import sample_blocks
from sugartag.methods.sugar_plus.looked_at import SIGHT_FOLDS, LookedAt
from sugartag.methods.sugar_plus.ridge import Ridge
from sugartag.methods.sugar_plus.sight import Odds, Sight
from sugartag.methods.sugar_plus.slips import LEAST
from sugartag.methods.sugar_plus.sums import add_up
from sugartag.methods.sugar_plus.weighing import Heard

PENALTIES, STEPS = (4.0, 32.0), 8
"""Penalties that are tried: the more there is to be seen, the less is enough."""
ROWS_PER_BLOCK = 1_024
"""Images whose chances are told in one step: each step takes its time, however few they are."""
STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""How much of what is special in an image's looks is believed: one of these."""
LEAST_GAIN = 0.001
"""The share by which uses must be explained better, or nothing is looked at."""
TRIED_CELLS = 1 << 20
"""Images x tags that strengths are tried on, about."""


@dataclass(frozen=True, eq=False)
class Told:
    """What images looked at are told from: log odds of all other evidence, and chances."""

    images: IntArray
    """Places among those looked at."""
    odds: FloatArray
    chances: FloatArray


def with_sight(
    fitted: FittedSugarPlus,
    collection: Collection,
    looked_at: LookedAt,
    heard: Heard,
    census: Census,
    *,
    engine: Engine,
) -> FittedSugarPlus:
    """Return the model with sight, if there is anything to be seen; what it means learned anew."""
    if not len(looked_at.directions):
        return fitted
    sights = learned_sights(fitted, collection, looked_at, engine=engine)
    odds = sights[0].by_all.at(heard.by_all)
    explained = Explained.by(heard, odds, fitted.whole.recall)
    rows = [collection.rows(block) for block in sample_blocks(collection)]
    tried = []
    for sight in sights:
        seen = np.concatenate([sight.said(some) for some in rows])
        tried.append(explained.misfits(seen, sight.usual(collection.n_tags)))
    number, strength = best_of(tried)
    if not strength:
        return fitted
    sight = sights[number].weakened(strength)
    seen = np.concatenate([sight.said(some) for some in rows])
    heard = replace(heard, by_all=odds + seen, by_itself=sight.by_itself.at(heard.by_itself) + seen)
    return census.told(replace(fitted, sight=sight), heard, engine=engine)


def learned_sights(
    fitted: FittedSugarPlus, collection: Collection, looked_at: LookedAt, *, engine: Engine
) -> list[Sight]:
    """Learn what images look like from the chances of a fitted model, with each penalty."""
    told = _told_with_all if looked_at.n_images < collection.n_images else _told_by_others
    weights: list[list[FloatArray]] = [[] for _ in PENALTIES]
    for known in told(fitted, collection, looked_at, engine=engine):
        seen = looked_at.seen[known.images]
        for found, penalty in zip(weights, PENALTIES, strict=True):
            learned = logistic_weights(
                seen, known.chances, penalty, STEPS, known=known.odds, threads=engine.threads
            )
            found.append(learned)
    before = Odds.of(fitted.whole), Odds.of(fitted.alone)
    described = looked_at.directions, looked_at.tags
    counts = collection.n_images, looked_at.n_owners
    return [Sight(*described, np.stack(found), *before, *counts) for found in weights]


def _told_by_others(
    fitted: FittedSugarPlus, collection: Collection, looked_at: LookedAt, *, engine: Engine
) -> Iterator[Told]:
    """Yield for each fold what is told of the images outside it, which it knows nothing of."""
    fold = looked_at.folds(SIGHT_FOLDS)
    for one in range(SIGHT_FOLDS):
        left_out = looked_at.position[fold == one]
        known = collection, without_images(fitted, collection, left_out, engine=engine), left_out
        blocks = collection.blocks(ROWS_PER_BLOCK)
        found = list(engine.map(told_of_others, blocks, *known, looked_at.tags))
        yield Told(np.flatnonzero(fold != one), *map(np.concatenate, zip(*found, strict=True)))


def _told_with_all(
    fitted: FittedSugarPlus, collection: Collection, looked_at: LookedAt, *, engine: Engine
) -> Iterator[Told]:
    """Yield for each fold what is told of the images outside it, with those of all images."""
    nobody = np.zeros(0, dtype=np.int64)
    fitted.stay_ready(engine=engine)
    known = collection, fitted, nobody, looked_at.tags
    found = list(engine.map(told_of_others, looked_at.blocks, *known))
    odds, chances = map(np.concatenate, zip(*found, strict=True))
    fold = looked_at.folds(SIGHT_FOLDS)
    for one in range(SIGHT_FOLDS):
        others = np.flatnonzero(fold != one)
        yield Told(others, odds[others], chances[others])


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


def told_of_others(
    block: Block,
    collection: Collection,
    fitted: FittedSugarPlus,
    left_out: IntArray,
    tags: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """Return log odds and chances of some tags: of images of a block that were not left out."""
    rows = collection.rows(block)
    others = rows.at(np.flatnonzero(~np.isin(rows.position, left_out)))
    odds, chances = fitted.odds_and_chances(others)
    return odds[:, tags], chances[:, tags]


@dataclass(frozen=True, eq=False)
class Explained:
    """Uses of tags by some images, to be explained by log odds."""

    odds: FloatArray
    """By all evidence but sight."""
    uses: FloatArray
    """How probably each tag was given for another reason than habit."""
    slips: FloatArray
    recall: float
    every: slice
    """The images that are enough to try it on."""

    @classmethod
    def by(cls, heard: Heard, odds: FloatArray, recall: float) -> "Explained":
        """Return the uses of images that were heard of."""
        every = slice(None, None, max(1, odds.size // TRIED_CELLS))
        uses = np.where(heard.given[every], heard.honest[every], np.float32(0))
        return cls(odds[every], uses, heard.slips.rate, recall, every)

    def misfits(self, seen: FloatArray, usual: FloatArray) -> dict[float, float]:
        """Return how badly uses are explained by so much of what is special in looks.

        ``usual`` is what is said of each tag whatever an image looks like.
        """
        special = seen[self.every] - usual
        return {part: self._misfit(usual + np.float32(part) * special) for part in STRENGTHS}

    def _misfit(self, seen: FloatArray) -> float:
        belongs = expit(self.odds + seen)
        chance = np.clip(self.slips + (self.recall - self.slips) * belongs, LEAST, 1.0 - LEAST)
        losses = self.uses * np.log(chance) + (1.0 - self.uses) * np.log1p(-chance)
        return -float(losses.sum(dtype=np.float64))


def best_of(tried: Sequence[Mapping[float, float]]) -> tuple[int, float]:
    """Return which sight explains uses best, and at which strength: 0 if none earns its place."""
    number, best = min(
        ((number, strength) for number, one in enumerate(tried) for strength in one),
        key=lambda pair: tried[pair[0]][pair[1]],
    )
    blind = min(one[0.0] for one in tried)
    return number, best if tried[number][best] < (1.0 - LEAST_GAIN) * blind else 0.0


def score_images(block: Block, collection: Collection, fitted: FittedSugarPlus) -> FloatArray:
    """Return the probabilities of the images of a block."""
    return fitted.scores(collection.rows(block))
