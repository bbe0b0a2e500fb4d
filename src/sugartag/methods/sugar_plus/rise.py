"""People's recall, told from where the share of tags they give levels off.

The more speaks for a tag, the more often it is given, up to the recall r: of tags that belong for
certain that share is given. But nothing may be certain: the surest tags belong with 0.6 or with
0.99, as the collection has it. So the shares y that are given, step by step of evidence e, are
explained by a logistic curve,

    y = s + (r - s) b,    b = 1 / (1 + exp(-(i + k e))),

s being slips: whether it has begun to bend at the top says how far from the recall it is. The curve
need only hold where a tag is as probable as not, more or less; below, evidence of many kinds is
mixed. So it is laid through the steps in which at least a third of the recall is given and the
one before them, where it comes from; as they depend on the recall, that goes to and fro until they
stay. Where so many images are counted that fewer steps are enough to tell the recall, the higher
ones alone do: the less the curve must hold for, the better it does.

The recall is the mean of those that are tried, weighed by how well they explain the shares and how
usual they are, and half a standard deviation more: the higher it is, the less is added, and to add
what is wrong is worse. The curve is not the truth, so that its likelihood counts for half.
"""

from dataclasses import dataclass

import numpy as np

from sugartag._typing import BoolArray, FloatArray
from sugartag.methods.sugar_plus.evidence_steps import cells_in_steps

STEPS = 50
"""Steps of evidence, with equally many given tags in each."""
FEWEST_TAGS = 200
"""With fewer given tags there is nothing to lay a curve through."""
FEWEST_STEPS = 6
"""That the curve is laid through."""
RISEN = 0.33
"""The share of the recall that is given in all of them but the first."""
HIGHER, TOLD_WELL = (0.5, 0.7), 0.015
"""Shares that are enough where the recall is told from there to within such a deviation."""
TOP_STEPS = 3
"""What is given in so many is the first guess of the recall."""
RECALLS = np.arange(0.2, 0.98, 0.0025)
"""The recalls that are tried."""
USUAL_RECALL, SPREAD = 0.6, 0.1
"""What people's recall usually is, give or take."""
LIKELIHOOD_SHARE = 0.5
CAUTION = 0.5
"""Standard deviations by which the recall is taken to be higher than its mean."""
ROUNDS = 6
"""How often the steps are chosen anew, at most."""
NEWTON_STEPS, CLOSE, FARTHEST = 30, 1e-6, 1.0
LEAST = 1e-6
TINY_RIDGE = 1e-9


@dataclass(frozen=True)
class Rise:
    """How the probability that a tag belongs rises with the evidence, and people's recall."""

    recall: float
    start: float
    """The evidence from which on the curve holds."""
    intercept: float
    slope: float
    spread: float
    """Standard deviation of the recall, as it is told."""

    def at(self, evidence: FloatArray) -> FloatArray:
        """Return the probability that tags belong."""
        found: FloatArray = _logistic(self.intercept + self.slope * evidence)
        return found


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps of evidence, the weakest first."""

    cells: FloatArray
    hits: FloatArray
    """How many of the cells are given, habits aside."""
    slips: FloatArray
    """How often tags are given by slip there."""
    evidence: FloatArray

    def __getitem__(self, some: slice) -> "Steps":
        return Steps(self.cells[some], self.hits[some], self.slips[some], self.evidence[some])

    def __len__(self) -> int:
        return len(self.cells)

    @classmethod
    def of(
        cls,
        evidence: FloatArray,
        given: BoolArray,
        honest: FloatArray,
        slips: FloatArray,
        *,
        threads: int = 1,
    ) -> "Steps":
        """Put all cells into steps with equally many given tags."""
        edges = step_edges(evidence, given)
        return cls.counted(cells_in_steps(edges, evidence, given, honest, slips, threads=threads))

    @classmethod
    def counted(cls, counts: FloatArray) -> "Steps":
        """Return those of which cells, hits, their slips and their evidence were added up."""
        cells, hits, slips, evidence = counts[:, counts[0] > 0]
        return cls(cells, hits, slips / cells, evidence / cells)


def step_edges(evidence: FloatArray, given: BoolArray) -> FloatArray:
    """Return where steps with equally many given tags end, but for the last."""
    return np.unique(np.quantile(evidence[given], np.arange(1, STEPS) / STEPS))


def told_rise(
    evidence: FloatArray,
    given: BoolArray,
    honest: FloatArray,
    slips: FloatArray,
    recall: float | None = None,
    *,
    threads: int = 1,
) -> Rise | None:
    """Return how what is given rises with the evidence; None where that cannot be told.

    ``honest`` is, for each tag given, the probability that it was not given by habit; ``slips``
    how often each tag is given by chance; ``recall`` people's recall, if it is known.
    """
    if np.count_nonzero(given) < FEWEST_TAGS:
        return None
    return rise_through(Steps.of(evidence, given, honest, slips, threads=threads), recall)


def rise_through(steps: Steps, recall: float | None = None) -> Rise | None:
    """Return the rise that all steps tell; None where it cannot be told."""
    if len(steps) < FEWEST_STEPS:
        return None
    risen, spread = _told_recall(steps) if recall is None else (recall, 0.0)
    upper = steps[first_risen(steps, RISEN * risen) :]
    ((intercept, slope),), _ = fitted_curves(upper, np.array([risen]))
    if not slope > 0:
        return None
    return Rise(risen, float(upper.evidence[0]), float(intercept), float(slope), spread)


def _told_recall(steps: Steps) -> tuple[float, float]:
    """Return people's recall and its spread, as the highest steps say that tell it well.

    Where none do, all that are risen tell it.
    """
    told = recall_above(steps, RISEN)
    for share in HIGHER:
        higher = recall_above(steps, share)
        if higher[1] < TOLD_WELL:
            told = higher
    return told


def recall_above(steps: Steps, share: float) -> tuple[float, float]:
    """Return the recall that those steps tell in which such a share of it is given, and its spread.

    That goes to and fro until the steps stay.
    """
    recall, spread, tried = top_share(steps), np.inf, list[int]()
    while len(tried) < ROUNDS and (first := first_risen(steps, share * recall)) not in tried:
        tried.append(first)
        _, likelihood = fitted_curves(steps[first:], RECALLS)
        mean, spread = mean_recall(RECALLS, LIKELIHOOD_SHARE * likelihood)
        recall = min(mean + CAUTION * spread, float(RECALLS[-1]))
    return recall, spread


def top_share(steps: Steps) -> float:
    """Return the share that is given in the last steps."""
    return float(steps.hits[-TOP_STEPS:].sum() / steps.cells[-TOP_STEPS:].sum())


def first_risen(steps: Steps, share: float) -> int:
    """Return the last step before those in which at least a share is given."""
    from scipy.optimize import isotonic_regression

    shares = isotonic_regression(steps.hits / steps.cells, weights=steps.cells).x
    before = int(np.searchsorted(shares, share)) - 1
    return min(max(before, 0), len(steps) - FEWEST_STEPS)


def mean_recall(recalls: FloatArray, likelihood: FloatArray) -> tuple[float, float]:
    """Return the mean recall by how likely each is and how usual, and the standard deviation."""
    weight = likelihood - 0.5 * np.square((recalls - USUAL_RECALL) / SPREAD)
    weight = np.exp(weight - weight.max())
    weight /= weight.sum()
    mean = float(weight @ recalls)
    return mean, float(np.sqrt(weight @ np.square(recalls - mean)))


def fitted_curves(steps: Steps, recalls: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the likeliest intercept and slope for each recall, and the logarithm of how likely.

    By Fisher's scoring, for all recalls at once, the evidence being scaled.
    """
    middle, spread = steps.evidence.mean(), max(float(steps.evidence.std()), LEAST)
    scaled = (steps.evidence - middle) / spread
    columns = np.stack([np.ones_like(scaled), scaled])
    height = np.maximum(recalls[:, None] - steps.slips, LEAST)
    curve = np.tile([0.0, 1.0], (len(recalls), 1))
    for _ in range(NEWTON_STEPS):
        belongs, chance = chances(curve @ columns, steps.slips, height)
        rise = height * belongs * (1.0 - belongs)
        spent = chance * (1.0 - chance)
        gradient = ((steps.hits - steps.cells * chance) * rise / spent) @ columns.T
        weight = steps.cells * np.square(rise) / spent
        information = np.einsum("in,rn,jn->rij", columns, weight, columns, optimize=True)
        information += TINY_RIDGE * steps.cells.sum() * np.eye(2)
        step = np.linalg.solve(information, gradient[..., None])[..., 0]
        step *= np.minimum(1.0, FARTHEST / np.maximum(np.abs(step).max(axis=1), LEAST))[:, None]
        curve += step
        if np.abs(step).max() < CLOSE:
            break
    _, chance = chances(curve @ columns, steps.slips, height)
    missed = steps.cells - steps.hits
    likelihood = np.log(chance) @ steps.hits + np.log1p(-chance) @ missed
    slope = curve[:, 1] / spread
    return np.column_stack([curve[:, 0] - slope * middle, slope]), likelihood


def chances(
    margin: FloatArray, slips: FloatArray, height: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the probability that tags belong, and that they are given.

    ``height`` is by how much the recall is above the slips.
    """
    belongs = _logistic(margin)
    return belongs, np.clip(slips + height * belongs, LEAST, 1.0 - LEAST)


def _logistic(margin: FloatArray) -> FloatArray:
    found: FloatArray = 1.0 / (1.0 + np.exp(-np.clip(margin, -30.0, 30.0)))
    return found
