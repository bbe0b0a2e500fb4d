"""People's recall where images are looked at: told from several kinds of evidence at once.

A curve through the sum of all evidence (see :mod:`rise`) takes it that a tag is as probable as
another with the same sum. It is not: what subjects, sight and all else say is not on one scale, and
means another thing for a tag that is often right than for a rare one. Tags of unlike chances in one
step of evidence flatten the curve, as a recall does that is reached. So each kind of evidence has a
weight of its own here, and one that changes with how usual the tag is:

    given = s + (r - s) b,    log odds of b = c + sum of weights x (kinds, n, kinds x n),

n being the logarithm of the mean chance of the tag by sight, and the kinds what subjects say, what
all else says, and the log odds of sight: its chances end where sight is sure, while the share of
tags that belong goes on rising. For each recall r the likeliest weights are found, on those pairs
of image and tag for which as much speaks as where a fifth of the recall is given. As these depend
on the recall, that goes to and fro until they stay.

Pairs are not independent of each other, nor is this the truth: likelihoods count for a quarter.
Where the evidence is weak, weights of so many kinds can make any bend, and now and then the recall
comes out far too low. The curve through the sum errs, too, but often elsewhere: the mean of both is
taken.
"""

import numpy as np
from scipy.special import logit

from sugartag._typing import BoolArray, FloatArray
from sugartag.methods.sugar_plus.rise import (
    LEAST,
    ROUNDS,
    TINY_RIDGE,
    Steps,
    chances,
    first_risen,
    mean_recall,
    told_rise,
    top_share,
)
from sugartag.methods.sugar_plus.sight import Sight
from sugartag.methods.sugar_plus.weighing import Heard, chosen_strength

LEAST_CHANCE, LEAST_SPREAD = 1e-4, 1e-3
PROPORTIONS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
"""How much log odds count, if for 1 they are spread as widely as the other evidence."""
RISEN = 0.2
"""The share of the recall that is given, at least, where as much speaks for a tag."""
RECALLS = np.linspace(0.2, 0.98, 27)
"""The recalls that are tried."""
LIKELIHOOD_SHARE = 0.25
MOST_CELLS = 1 << 16
"""Pairs of image and tag that weights are learned from, at most."""
NEWTON_STEPS, CLOSE, FARTHEST = 30, 1e-4, 1.0


def recall_by_odds(
    heard: Heard, seen: FloatArray, sight: Sight, *, threads: int = 1
) -> float | None:
    """Return the recall; None where it cannot be told.

    ``heard`` is all other evidence, ``seen`` what sight says at full strength.
    """
    tags = sight.tags
    given, honest, slips = heard.given[:, tags], heard.honest[:, tags], heard.slips.of(tags)
    said = heard.by_all[:, tags]
    odds = logit(np.clip(seen[:, tags] + sight.share, LEAST_CHANCE, 1.0 - LEAST_CHANCE))
    spread = float(odds[given].std()) if given.any() else 0.0
    if spread < LEAST_SPREAD:
        return None
    odds *= np.float32(said[given].std() / spread)
    known = said, given, honest, slips
    odds *= np.float32(chosen_strength(PROPORTIONS, odds, *known, threads=threads))
    evidence = said + odds
    curve = told_rise(evidence, given, honest, slips.rate, threads=threads)
    if curve is None:
        return None
    about = np.zeros_like(said) if heard.about is None else heard.about[:, tags]
    usual = np.log(np.maximum(sight.share, LEAST_CHANCE))
    told = evidence, [said - about, about, odds], usual, given, honest, slips.rate
    return 0.5 * (curve.recall + recall_by_kinds(*told, threads=threads))


def recall_by_kinds(
    evidence: FloatArray,
    kinds: list[FloatArray],
    usual: FloatArray,
    given: BoolArray,
    honest: FloatArray,
    slips: FloatArray,
    *,
    threads: int = 1,
) -> float:
    """Return the recall that kinds of evidence tell, each with a weight of its own.

    ``evidence`` is their sum, by which images x tags are chosen; ``usual`` says how usual each tag
    is, ``slips`` how often it is given by chance.
    """
    steps = Steps.of(evidence, given, honest, slips, threads=threads)

    def likelihoods_above(least: float) -> FloatArray:
        """Return how likely what is given is for each recall, where so much speaks for tags."""
        cells = np.flatnonzero(evidence >= least)
        some = cells[:: -(-len(cells) // MOST_CELLS)]
        tag = some % len(usual)
        columns = columns_of([kind.take(some) for kind in kinds], usual[tag])
        uses = np.where(given.take(some), honest.take(some), 0.0)
        share = len(some) / len(cells)
        return likelihoods(columns, uses, slips[tag], RECALLS) / share

    recall, tried = top_share(steps), list[int]()
    while len(tried) < ROUNDS and (first := first_risen(steps, RISEN * recall)) not in tried:
        tried.append(first)
        likelihood = likelihoods_above(float(steps.evidence[first]))
        recall = float(RECALLS[likelihood.argmax()])
    mean, _ = mean_recall(RECALLS, LIKELIHOOD_SHARE * likelihood)
    return mean


def columns_of(kinds: list[FloatArray], usual: FloatArray) -> FloatArray:
    """Return what log odds are made of: ones, kinds of evidence, how usual tags are, products."""
    scaled = [_scaled(kind) for kind in kinds]
    usual = _scaled(usual)
    products = [_scaled(kind * usual) for kind in scaled]
    return np.stack([np.ones(len(usual)), *scaled, usual, *products], axis=1)


def _scaled(values: FloatArray) -> FloatArray:
    values = values.astype(np.float64)
    values -= values.mean()
    values /= max(float(values.std()), LEAST)
    return values


def likelihoods(
    columns: FloatArray, uses: FloatArray, slips: FloatArray, recalls: FloatArray
) -> FloatArray:
    """Return the logarithm of how likely uses are for each recall, by the likeliest weights.

    By Fisher's scoring, from the highest recall down, as the curve is least steep for that.
    """
    weights, found = np.zeros(columns.shape[1]), np.empty(len(recalls))
    ridge = TINY_RIDGE * len(columns) * np.eye(columns.shape[1])
    for number in np.argsort(-recalls):
        height = np.maximum(recalls[number] - slips, LEAST)
        for _ in range(NEWTON_STEPS):
            belongs, chance = chances(columns @ weights, slips, height)
            rise = height * belongs * (1.0 - belongs)
            spent = chance * (1.0 - chance)
            gradient = ((uses - chance) * rise / spent) @ columns
            information = (columns * (np.square(rise) / spent)[:, None]).T @ columns
            step = np.linalg.solve(information + ridge, gradient)
            step *= min(1.0, FARTHEST / max(float(np.abs(step).max()), LEAST))
            weights = weights + step
            if np.abs(step).max() < CLOSE:
                break
        _, chance = chances(columns @ weights, slips, height)
        found[number] = uses @ np.log(chance) + (1.0 - uses) @ np.log1p(-chance)
    return found
