"""What the collection itself decides: the ridges, how wide the likeness is, how many anchors.

Owners, with all their images, are held out of a sample, and the choice is what predicts their tags
best. Tags that an owner repeats from image to image cannot help there: only what holds between
strangers can.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sugartag._typing import FloatArray
from sugartag.collection.model import Collection
from sugartag.engine.base import Engine, row_blocks
from sugartag.linalg.threads import run_parts
from sugartag.methods.sugar_plus.evidence import USUAL_WIDTH, Evidence
from sugartag.methods.sugar_plus.held_out import Trial, TrialAtWidth, penalties

TAG_RIDGES = (20.0, 5.0, 80.0, 1.0, 300.0)
ANCHOR_RIDGES = (0.3, 0.03, 3.0)
KERNEL_WIDTHS = (USUAL_WIDTH, 0.8)
"""Each from the most usual on: where nothing can be told, the first is taken."""
FEWER_ANCHORS = (2, 4)
"""Parts of the anchors that are tried: a half, a quarter."""
NOTICED = 1.01
"""How many times as precise fewer anchors have to be: less is chance."""


@dataclass(frozen=True)
class Choice:
    """What was chosen, or set."""

    kernel_width: float
    tag_ridge: float
    anchor_ridge: float
    anchors: int
    """How many, the first of those that there are."""
    precision: float
    """With which the tags of held-out owners were found: mean average precision."""

    def penalties(self, evidence: Evidence) -> FloatArray:
        """Return the penalty of each column."""
        return penalties(evidence, evidence.n_sparse, self.tag_ridge, self.anchor_ridge)


@dataclass(frozen=True)
class Fixed:
    """What is set already; None is to be chosen."""

    kernel_width: float | None
    tag_ridge: float | None
    anchor_ridge: float | None


def choose(
    fixed: Fixed,
    collection: Collection,
    evidence: Evidence,
    owner_variance: float,
    *,
    engine: Engine,
    rng: np.random.Generator,
) -> Choice:
    """Choose what is not set, one after the other: the tags' ridge, then the anchors' part.

    Anchors are as they were found, each far from those before it: the first half of them is spread
    as widely as all are.
    """
    trial = Trial.drawn(collection, evidence, owner_variance, engine=engine, rng=rng)
    widths = (fixed.kernel_width,) if fixed.kernel_width else KERNEL_WIDTHS
    tag_ridges = (fixed.tag_ridge,) if fixed.tag_ridge else TAG_RIDGES
    anchor_ridges = (fixed.anchor_ridge,) if fixed.anchor_ridge else ANCHOR_RIDGES
    if not len(evidence.anchors):
        widths, anchor_ridges = widths[:1], anchor_ridges[:1]
    one_each, threads = row_blocks(len(widths), 1), engine.threads
    at_widths = run_parts(lambda one: trial.at(widths[int(one.start)]), one_each, threads)
    anchors = len(evidence.anchors)
    usual = [Tried(at_widths[0], one, anchor_ridges[0], anchors) for one in tag_ridges]
    best = _best(usual, Measured(usual[0], -1.0), threads)
    by_looks = [
        best.tried._replace(at=at, anchor_ridge=r) for at in at_widths for r in anchor_ridges
    ]
    # The first of them is the best of those before.
    best = _best(by_looks[1:], best, threads)
    counts = [anchors // part for part in FEWER_ANCHORS if anchors >= part]
    fewer = [best.tried._replace(anchors=count) for count in counts]
    found, precision = _best(fewer, best, threads, NOTICED)
    ridges = found.tag_ridge, found.anchor_ridge
    return Choice(found.at.width, *ridges, found.anchors, round(precision, 6))


class Tried(NamedTuple):
    """What is tried on held-out owners."""

    at: TrialAtWidth
    tag_ridge: float
    anchor_ridge: float
    anchors: int


class Measured(NamedTuple):
    """How well something does that was tried."""

    tried: Tried
    precision: float


def _best(tried: Sequence[Tried], best: Measured, threads: int, times: float = 1.0) -> Measured:
    """Return the best: of what comes later, what is more than so many times as precise."""

    def measure(some: slice) -> list[Measured]:
        return [Measured(one, one.at.precision(*one[1:])) for one in tried[some]]

    for (measured,) in run_parts(measure, row_blocks(len(tried), 1), threads):
        if measured.precision > times * best.precision:
            best = measured
    return best
