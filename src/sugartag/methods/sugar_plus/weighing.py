"""What all evidence together says: how much each part of it counts, and what that means."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sugartag._typing import BoolArray, FloatArray
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, row_blocks
from sugartag.linalg.threads import run_parts
from sugartag.methods.sugar_plus.belief import Belief, learned_belief
from sugartag.methods.sugar_plus.evidence_steps import ROWS_AT_ONCE
from sugartag.methods.sugar_plus.learning import Sample
from sugartag.methods.sugar_plus.rise import Rise
from sugartag.methods.sugar_plus.slips import Slips
from sugartag.methods.sugar_plus.subjects import Subjects

ALIKE_SHARE = 0.5
"""Of the weight of look-alikes that is believed: owners repeat their mistakes, too."""
MOST_WEIGHT = 8.0
"""Of any part of the evidence, beside content."""
FEWEST_USES = 100
"""Given tags of owners with several images that are enough to learn weights from."""


@dataclass(frozen=True, eq=False)
class About:
    """What the subjects of some images say about all their tags, at full strength."""

    by_all: FloatArray
    by_itself: FloatArray
    """The owners' other images not asked."""

    @classmethod
    def of(cls, subjects: Subjects, collection: Collection, blocks: Sequence[Block]) -> "About":
        """Return what they say about the images of some blocks."""
        rows = [collection.rows(block) for block in blocks]
        return cls(
            np.concatenate([subjects.said(some) for some in rows]),
            np.concatenate([subjects.said(some, strangers_only=True) for some in rows]),
        )


@dataclass(frozen=True, eq=False)
class Heard:
    """What is said about all tags of some images, and which of them people gave."""

    by_all: FloatArray
    """By all evidence."""
    by_itself: FloatArray
    """By what is known of the image itself."""
    given: BoolArray
    honest: FloatArray
    """How probably each given tag was no habit."""
    slips: Slips

    def slipping(self, share: FloatArray) -> "Heard":
        """Return the same with slips told from all of this, too.

        ``share`` is the share of all images that have each tag.
        """
        later = Slips.learned(self.by_all, self.given, self.honest, share)
        return replace(self, slips=self.slips.between(later))

    def plus(self, to_all: FloatArray, to_itself: FloatArray) -> "Heard":
        """Return the same with more said."""
        return replace(self, by_all=self.by_all + to_all, by_itself=self.by_itself + to_itself)

    def whole(self, rise: Rise | None = None, *, threads: int = 1) -> Belief:
        """Learn what all of it means; ``rise`` is told from more images, if there are more."""
        known = self.given, self.honest, self.slips
        return learned_belief(self.by_all, *known, rise=rise, threads=threads)

    def alone(self, recall: float | None = None, *, threads: int = 1) -> Belief:
        """Learn what that means which is known of the image itself."""
        known = self.given, self.honest, self.slips, recall
        return learned_belief(self.by_itself, *known, threads=threads)


@dataclass(frozen=True)
class Weights:
    """How much each part of the evidence counts beside content."""

    alike: float = 0.0
    interest: float = 0.0
    subjects: float = 0.0

    @classmethod
    def learned(
        cls,
        sample: Sample,
        honest: FloatArray,
        about: About | None,
        *,
        alike: bool,
        interests: bool,
        threads: int = 1,
    ) -> "Weights":
        """Learn those of the parts that are wanted and there."""
        parts = {"alike": sample.alike} if alike else {}
        parts |= {"interest": sample.interest} if interests else {}
        parts |= {"subjects": about.by_all} if about is not None else {}
        weight = learned_weights(sample, honest, list(parts.values()), threads=threads)
        found = cls(**dict(zip(parts, weight, strict=True)))
        return replace(found, alike=ALIKE_SHARE * found.alike)

    def heard(self, sample: Sample, about: About | None, honest: FloatArray, slips: Slips) -> Heard:
        """Return what all parts together say."""
        said = sample.content + self.alike * sample.alike + self.interest * sample.interest
        found = Heard(said, sample.content, sample.given, honest, slips)
        if about is None or not self.subjects:
            return found
        return found.plus(self.subjects * about.by_all, self.subjects * about.by_itself)

    def __str__(self) -> str:
        return (
            f"look-alikes {self.alike:.2f}, interests {self.interest:.2f}, "
            f"subjects {self.subjects:.2f}"
        )


def learned_weights(
    sample: Sample, honest: FloatArray, parts: Sequence[FloatArray], *, threads: int = 1
) -> list[float]:
    """Return the weights of some parts of the evidence beside content, by least squares.

    They are learned from images whose owner has others.
    """
    told = sample.told
    nothing = [0.0] * len(parts)
    if np.count_nonzero(sample.given[told]) < FEWEST_USES:
        return nothing
    mean = honest[told].mean(axis=0)

    def products(some: slice) -> FloatArray:
        mine = told[some]
        columns = [part[some][mine] for part in (sample.content, *parts)]
        wanted = honest[some][mine] - mean
        numbers = np.stack([*columns, wanted], dtype=np.float64).reshape(len(parts) + 2, -1)
        return numbers @ numbers.T

    gram = np.sum(run_parts(products, row_blocks(len(told), ROWS_AT_ONCE), threads), axis=0)
    among = gram[:-1, :-1]
    among[np.diag_indices_from(among)] += 1e-9 * max(float(np.trace(among)), 1e-9)
    weight = np.linalg.solve(among, gram[:-1, -1])
    if weight[0] <= 0:
        return nothing
    beside: list[float] = np.clip(weight[1:] / weight[0], 0.0, MOST_WEIGHT).tolist()
    return beside
