"""The weight of each neighbour, learned from the tags that images have themselves.

A neighbour says of each tag whether its own image has it. What is said about an image is mixed
with weights ``pi`` that sum to 1 over its neighbours; the weights that make the images' own tags
likeliest are found by quasi-Newton steps with a line search, none of which lowers the likelihood.
Given tags and missing ones weigh the same in total, however rare tags are.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy import optimize, special

from sugartag._rules import AnyNumber, Shape
from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.linalg.sparse_rows import row_number_of_entries

DOUBT = 1e-5
"""The probability that a neighbour is wrong about a tag; 1e-5 in the original."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the neighbours of some images say about them, and the tags the images have."""

    image: IntArray
    """Of each (image, neighbour): the image, ascending."""
    rank: IntArray
    """Of each (image, neighbour): 0 for the nearest, and so on."""
    distance: FloatArray
    """Of each (image, neighbour)."""
    vote: IntArray
    """Of each thing said: the (image, neighbour) that said it."""
    pair: IntArray
    """Of each thing said: the (image, tag) that it is about."""
    tag: IntArray
    """Of each (image, tag) that a neighbour named: the tag."""
    given: BoolArray
    """Of each (image, tag) that a neighbour named: whether the image has it."""
    unnamed_given: FloatArray
    """For each tag, how many images have it though no neighbour named it."""
    unnamed_missing: FloatArray
    """For each tag, how many images lack it, as all their neighbours do."""

    @property
    def weight_of_missing(self) -> float:
        """What a missing tag weighs where a given one weighs 1."""
        n_given = np.count_nonzero(self.given) + self.unnamed_given.sum()
        n_missing = np.count_nonzero(~self.given) + self.unnamed_missing.sum()
        return float(n_given / max(n_missing, 1))


def gathered(ballots: SparseRows, voter_tags: SparseRows, own_tags: SparseRows) -> Evidence:
    """Return what neighbours say; a row of ``ballots`` has their distances, nearest first.

    The columns of ``ballots`` are the rows of ``voter_tags``; its rows those of ``own_tags``.
    """
    n_images, n_tags = own_tags.shape
    image = row_number_of_entries(ballots)
    said = voter_tags[ballots.indices]
    vote = row_number_of_entries(said)
    named, pair = np.unique(image[vote] * n_tags + said.indices, return_inverse=True)
    own = np.sort(row_number_of_entries(own_tags) * n_tags + own_tags.indices)
    given = np.isin(named, own, assume_unique=True)
    tag = named % n_tags
    unnamed_given = np.bincount(own % n_tags, minlength=n_tags) - np.bincount(
        tag[given], minlength=n_tags
    )
    unnamed = n_images - np.bincount(tag, minlength=n_tags)
    return Evidence(
        image=image,
        rank=np.arange(len(image)) - ballots.indptr[:-1][image],
        distance=ballots.data.astype(np.float64),
        vote=vote,
        pair=pair,
        tag=tag,
        given=given,
        unnamed_given=unnamed_given.astype(np.float64),
        unnamed_missing=(unnamed - unnamed_given).astype(np.float64),
    )


@dataclass(frozen=True, eq=False)
class Weights:
    """The weights of neighbours, and how they become the probability of a tag."""

    of_rank: Annotated[FloatArray, Shape("_ranks")]
    """Logarithms of the weights by rank, before they are made to sum to 1; all 0 by distance."""
    decay: float
    """theta: weights fall by this factor of e for each unit of distance; 0 by rank."""
    slope: Annotated[FloatArray | None, Shape("tags")] = None
    """alpha: for each tag, how strongly a vote counts; None without sigmoids."""
    offset: Annotated[FloatArray | None, Shape("tags")] = None
    """beta: for each tag, the log-odds of a tag that no neighbour has; None without sigmoids."""
    likelihood: Annotated[float, AnyNumber()] = float("nan")
    """The logarithm of the likelihood reached, for each given tag."""

    def of(self, image: IntArray, rank: IntArray, distance: FloatArray) -> FloatArray:
        """Return pi for each (image, neighbour); images ascend, and their weights sum to 1."""
        if not len(image):
            return np.zeros(0)
        strength = self.of_rank[rank] - self.decay * distance
        starts = np.flatnonzero(np.r_[True, image[1:] != image[:-1]])
        lengths = np.diff(np.append(starts, len(image)))
        strength = strength - np.repeat(np.maximum.reduceat(strength, starts), lengths)
        weight = np.exp(strength)
        shares: FloatArray = weight / np.repeat(np.add.reduceat(weight, starts), lengths)
        return shares

    def probability(self, share: FloatArray) -> FloatArray:
        """Return images x tags of probabilities from the shares of the vote, float32."""
        if self.slope is None or self.offset is None:
            return share
        share *= self.slope.astype(np.float32)
        share += self.offset.astype(np.float32)
        chance: FloatArray = special.expit(share, out=share)
        return chance


@dataclass(frozen=True, eq=False)
class LikelihoodProblem:
    """The likelihood as a function of one vector: ranks or decay, then the sigmoids.

    The sigmoid of a tag is a common one plus its own deviation, held back by ``shrinkage``: a tag
    with few uses would otherwise have an infinitely steep one.
    """

    evidence: Evidence
    n_ranks: int
    by_rank: bool
    sigmoids: bool
    shrinkage: float = 1.0

    @property
    def n_tags(self) -> int:
        """How many tags there are."""
        return len(self.evidence.unnamed_given)

    def start(self) -> FloatArray:
        """Return equal weights by rank, or a decay that fits the distances; flat sigmoids."""
        first = np.zeros(self.n_ranks)
        if not self.by_rank:
            spread = float(np.mean(self.evidence.distance)) if len(self.evidence.distance) else 1.0
            first = np.array([-np.log(spread if spread > 0 else 1.0)])
        if not self.sigmoids:
            return first
        return np.concatenate([first, [5.0, -2.0], np.zeros(2 * self.n_tags)])

    def weights(self, vector: FloatArray) -> Weights:
        """Return what the vector stands for."""
        of_rank = vector[: self.n_ranks] if self.by_rank else np.zeros(self.n_ranks)
        decay = 0.0 if self.by_rank else float(np.exp(vector[0]))
        if not self.sigmoids:
            return Weights(of_rank, decay)
        common, own = self._sigmoid_parts(vector)
        return Weights(of_rank, decay, common[0] + own[0], common[1] + own[1])

    def value_and_slope(self, vector: FloatArray) -> tuple[float, FloatArray]:
        """Return minus the log-likelihood, held back, and its gradient."""
        known, weights = self.evidence, self.weights(vector)
        belief = weights.of(known.image, known.rank, known.distance)
        share = _sums(known.pair, belief[known.vote], len(known.tag))
        if weights.slope is None or weights.offset is None:
            total, by_share = self._mixture(share)
            rest: FloatArray = np.zeros(0)
        else:
            total, by_share, rest = self._through_sigmoids(vector, weights, share)
        by_vote = _sums(known.vote, by_share[known.pair], len(belief))
        expected = _sums(known.image, belief * by_vote, 0)
        by_strength = belief * (by_vote - expected[known.image])
        if self.by_rank:
            first = _sums(known.rank, by_strength, self.n_ranks)
        else:
            first = np.array([-weights.decay * float(by_strength @ known.distance)])
        return -total, -np.concatenate([first, rest])

    def _mixture(self, share: FloatArray) -> tuple[float, FloatArray]:
        known, missing = self.evidence, self.evidence.weight_of_missing
        chance = DOUBT + (1 - 2 * DOUBT) * share
        total = np.log(chance[known.given]).sum() + missing * np.log1p(-chance[~known.given]).sum()
        total += np.log(DOUBT) * known.unnamed_given.sum()
        total += missing * np.log1p(-DOUBT) * known.unnamed_missing.sum()
        slope = (1 - 2 * DOUBT) * np.where(known.given, 1 / chance, -missing / (1 - chance))
        return float(total), slope

    def _through_sigmoids(
        self, vector: FloatArray, weights: Weights, share: FloatArray
    ) -> tuple[float, FloatArray, FloatArray]:
        """Return the likelihood, its slope by share, and by the numbers of the sigmoids."""
        known, missing = self.evidence, self.evidence.weight_of_missing
        slope, offset = np.asarray(weights.slope), np.asarray(weights.offset)
        odds = slope[known.tag] * share + offset[known.tag]
        total = special.log_expit(odds[known.given]).sum()
        total += missing * special.log_expit(-odds[~known.given]).sum()
        by_odds = np.where(known.given, special.expit(-odds), -missing * special.expit(odds))
        total += known.unnamed_given @ special.log_expit(offset)
        total += missing * known.unnamed_missing @ special.log_expit(-offset)
        by_slope = _sums(known.tag, by_odds * share, self.n_tags)
        by_offset = _sums(known.tag, by_odds, self.n_tags)
        by_offset += known.unnamed_given * special.expit(-offset)
        by_offset -= missing * known.unnamed_missing * special.expit(offset)
        own = self._sigmoid_parts(vector)[1]
        total -= self.shrinkage / 2 * float(np.square(own).sum())
        by_common = [by_slope.sum(), by_offset.sum()]
        by_own = np.concatenate([by_slope, by_offset]) - self.shrinkage * own.ravel()
        return float(total), by_odds * slope[known.tag], np.concatenate([by_common, by_own])

    def _sigmoid_parts(self, vector: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the common slope and offset, and the deviations of each tag: 2 x tags."""
        end = len(vector) - 2 * self.n_tags
        return vector[end - 2 : end], vector[end:].reshape(2, self.n_tags)


def learned_weights(
    problem: LikelihoodProblem, max_iterations: int
) -> tuple[Weights, tuple[float, ...]]:
    """Return the likeliest weights, and the log-likelihood before and after each step."""
    start = problem.start()
    n_given = max(
        np.count_nonzero(problem.evidence.given) + problem.evidence.unnamed_given.sum(), 1
    )

    def scaled(vector: FloatArray) -> tuple[float, FloatArray]:
        value, slope = problem.value_and_slope(vector)
        return value / n_given, slope / n_given

    path = [-scaled(start)[0]]

    def note(intermediate_result: optimize.OptimizeResult) -> None:
        path.append(-float(intermediate_result.fun))

    found = optimize.minimize(
        scaled,
        start,
        jac=True,
        method="L-BFGS-B",
        callback=note,
        options={"maxiter": max_iterations, "ftol": 1e-9, "gtol": 1e-7},
    )
    made = problem.weights(found.x)
    best = Weights(made.of_rank, made.decay, made.slope, made.offset, -float(found.fun))
    return best, tuple(path)


def _sums(group: IntArray, values: FloatArray, n_groups: int) -> FloatArray:
    """Return the sum of the values of each group, float64, added in their order."""
    # Without values numpy counts, and counts are integers.
    return np.bincount(group, values, minlength=n_groups).astype(np.float64, copy=False)
