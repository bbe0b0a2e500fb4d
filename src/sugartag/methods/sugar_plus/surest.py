"""People's recall, told from how often the tags are given that the evidence is surest of.

Of tags that belong for certain the share r is given, r being the recall. But there may be none: the
surest ones belong with 0.8 or 0.99, as the collection has it, and from the surest on fewer and
fewer do. So a line is laid through the shares that are given, step by step of evidence, as long as
they fall little, and the recall is what it has one step above the first. Where the evidence
saturates the line is level; where it does not, the recall is more than the share of any step. Where
shares fall so fast that too few steps are on the line, it is looked closer, in shorter steps. If
there is nothing to lay a line through then either, the surest tags are taken for not nearly
certain: nothing looks surer than it is for want of evidence.
"""

import numpy as np

from sugartag._typing import BoolArray, FloatArray
from sugartag.methods.sugar_plus.evidence_steps import cells_in_steps

STEPS, MOST_STEPS = (0.02, 0.01, 0.005), 25
"""Steps are as long as the first of these shares of the given tags that leaves enough of them on
the line; so many may be on it."""
FEWEST_TAGS = 50
"""Given tags of a step: with fewer it is not looked closer."""
FEWEST_STEPS, UNKNOWN = 4, 0.6
"""Of fewer steps no line is made; their share counts if it is more than this."""
NEARLY, NOTICED = 0.9, 1.5
"""The line ends before a step with less than nearly the share of those before it, by so many
standard errors."""
CERTAIN = 2.5
"""Standard errors from which on the line is not taken for level."""
USUAL_RECALL, RECALL_CELLS = 0.7, 20.0
"""What the recall is taken for where little is known, and how many tags that counts for."""
RECALLS = (0.5, 0.95)
"""Between these the recall is looked for."""


def estimated_recall(
    evidence: FloatArray, given: BoolArray, honest: FloatArray, *, threads: int = 1
) -> float:
    """Return how often tags would be given for which the evidence is overwhelming.

    ``honest`` is, for each tag given, the probability that it was not given by habit.
    """
    if not given.any():
        return USUAL_RECALL
    tags, hits = _surest_steps(evidence, given, honest, threads=threads)
    share, count = _above_the_first(tags, hits), tags.sum()
    found = (count * share + USUAL_RECALL * RECALL_CELLS) / (count + RECALL_CELLS)
    return float(np.clip(found, *RECALLS))


def _surest_steps(
    evidence: FloatArray, given: BoolArray, honest: FloatArray, *, threads: int
) -> tuple[FloatArray, FloatArray]:
    """Return the cells and the hits of the steps that are nearly as sure as the surest."""
    of_given, nothing = evidence[given], np.zeros(evidence.shape[1])
    for length in STEPS:
        edges = np.quantile(of_given, 1.0 - length * np.arange(1, MOST_STEPS + 1))
        found = cells_in_steps(-edges, -evidence, given, honest, nothing, threads=threads)
        tags, hits = found[0, :MOST_STEPS], found[1, :MOST_STEPS]
        count = _nearly_as_sure(tags, hits)
        if count >= FEWEST_STEPS or 0.5 * length * len(of_given) < FEWEST_TAGS:
            break
    return tags[:count], hits[:count]


def _nearly_as_sure(tags: FloatArray, hits: FloatArray) -> int:
    """Return how many steps, from the surest on, have nearly the share of hits of those before."""
    for step in range(1, len(tags)):
        before, here = np.maximum([tags[:step].sum(), tags[step]], 1.0)
        share = hits[:step].sum() / before
        spread = np.sqrt(max(share * (1.0 - share), 0.01) * (1.0 / before + 1.0 / here))
        if hits[step] / here < NEARLY * share - NOTICED * spread:
            return step
    return len(tags)


def _above_the_first(tags: FloatArray, hits: FloatArray) -> float:
    """Return the share of hits one step above the first, by a line through all that falls.

    It is that of least squares, every tag counting the same, or level if it hardly falls.
    """
    count = max(float(tags.sum()), 1.0)
    mean = float(hits.sum()) / count
    if len(tags) < FEWEST_STEPS:
        return max(mean, UNKNOWN)
    step, share = np.arange(1.0, len(tags) + 1.0), hits / np.maximum(tags, 1.0)
    middle = float(tags @ step) / count
    apart = tags * (step - middle)
    spread = max(float(apart @ step), 1.0)
    fall = -float(apart @ share) / spread
    level = fall < CERTAIN * np.sqrt(max(mean * (1.0 - mean), 0.01) / spread)
    return mean if level else mean + fall * middle
