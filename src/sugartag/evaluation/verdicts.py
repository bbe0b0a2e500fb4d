"""Whether verdicts hold: are probabilities calibrated, are additions and doubts right.

A verdict is a probability, an action on the tag, and whether the tag is right. All counts are of
blocks of verdicts and add up: those of a collection are the sum of those of its blocks.
"""

from dataclasses import dataclass
from enum import IntEnum
from statistics import NormalDist

import numpy as np

from sugartag._typing import BoolArray, FloatArray, IntArray
from sugartag.errors import CollectionError, SettingsError
from sugartag.evaluation.fscore import ChangeCounts

BINS = 10
"""Ranges of probability that are compared with how often they came true."""


class Said(IntEnum):
    """What is said of one tag of one image."""

    NOTHING = 0
    """The tag is not given and not added: its probability is too low, or others were better."""
    ADD = 1
    KEEP = 2
    DOUBT = 3


@dataclass(frozen=True, eq=False)
class Reliability:
    """How often tags were right, by ranges of their probability, all equally wide."""

    count: IntArray
    """Tags in each range."""
    total_chance: FloatArray
    """The sum of their probabilities."""
    right: IntArray
    """How many of them are right."""

    def __add__(self, other: "Reliability") -> "Reliability":
        """Return the counts of the tags of both."""
        if self.count.shape != other.count.shape:
            message = (
                f"counts in {len(self.count)} and {len(other.count)} ranges do not add up; "
                "count both in as many"
            )
            raise CollectionError(message)
        return Reliability(
            self.count + other.count,
            self.total_chance + other.total_chance,
            self.right + other.right,
        )

    @property
    def edges(self) -> FloatArray:
        """Where the ranges begin, and where the last one ends."""
        return np.linspace(0.0, 1.0, len(self.count) + 1)

    def mean_chance(self) -> FloatArray:
        """Return the mean probability in each range; NaN in a range without tags."""
        return _shares(self.total_chance, self.count)

    def share_right(self) -> FloatArray:
        """Return the share of right tags in each range; NaN in a range without tags."""
        return _shares(self.right, self.count)

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return Wilson's interval of the share of right tags: 0 to 1 in a range without tags."""
        return wilson_interval(self.right, self.count, level)

    def error(self) -> float:
        """Return the expected calibration error; NaN without tags.

        The distance of mean probability and share of right tags, averaged over the ranges, each
        counting by its number of tags.
        """
        tags = int(self.count.sum())
        distance = np.abs(self.total_chance - self.right).sum()
        return float(distance) / tags if tags else np.nan


@dataclass(frozen=True, eq=False)
class VerdictCounts:
    """How good the verdicts on some images are."""

    added: Reliability
    """Of the tags that were added."""
    given: Reliability
    """Of the given tags, kept and doubted."""
    below: Reliability
    """Of the best candidates that were not added: they have a probability, and no verdict."""
    changes: ChangeCounts
    """Additions, and doubts as removals."""

    def __add__(self, other: "VerdictCounts") -> "VerdictCounts":
        """Return the counts of the verdicts of both."""
        return VerdictCounts(
            self.added + other.added,
            self.given + other.given,
            self.below + other.below,
            self.changes + other.changes,
        )

    @property
    def verdicts(self) -> Reliability:
        """Of all tags that have a verdict."""
        return self.added + self.given

    def measures(self) -> dict[str, float]:
        """Return what is reported, by name; NaN where there is nothing to measure it on."""
        return {
            "add_precision": self.changes.add_precision(),
            "add_recall": self.changes.add_recall(),
            "remove_precision": self.changes.remove_precision(),
            "remove_recall": self.changes.remove_recall(),
            "ece": self.verdicts.error(),
            "ece_added": self.added.error(),
            "ece_given": self.given.error(),
            "ece_below": self.below.error(),
        }


def count_verdicts(
    chance: FloatArray, said: IntArray, right: BoolArray, *, missing: int, bins: int = BINS
) -> VerdictCounts:
    """Count verdicts, one entry of each array for each.

    ``said`` holds numbers of :class:`Said`. ``missing`` is how many right tags the images lack,
    whether anything was said of them or not: what there was to add.
    """
    _check(chance, said, right)
    added, doubted, unsaid = (said == word for word in (Said.ADD, Said.DOUBT, Said.NOTHING))
    given = doubted | (said == Said.KEEP)
    return VerdictCounts(
        added=count_chances(chance[added], right[added], bins=bins),
        given=count_chances(chance[given], right[given], bins=bins),
        below=count_chances(chance[unsaid], right[unsaid], bins=bins),
        changes=ChangeCounts(
            added=int(np.count_nonzero(added)),
            rightly_added=int(np.count_nonzero(added & right)),
            missing=missing,
            removed=int(np.count_nonzero(doubted)),
            rightly_removed=int(np.count_nonzero(doubted & ~right)),
            wrong=int(np.count_nonzero(given & ~right)),
        ),
    )


def count_chances(chance: FloatArray, right: BoolArray, *, bins: int = BINS) -> Reliability:
    """Count tags by ranges of their probability; the last range includes 1."""
    if bins < 1:
        raise SettingsError(f"probabilities are counted in {bins} ranges; ask for 1 or more")
    exact = chance.astype(np.float64)
    place = np.minimum((exact * bins).astype(np.int64), bins - 1)
    return Reliability(
        count=np.bincount(place, minlength=bins),
        total_chance=np.bincount(place, exact, minlength=bins).astype(np.float64),
        right=np.bincount(place[right], minlength=bins),
    )


def wilson_interval(
    hits: IntArray, count: IntArray, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Return the lower and upper ends of Wilson's interval of each share; 0 and 1 of nothing."""
    if not 0.0 < level < 1.0:
        raise SettingsError(f"the level is {level}; pass a share between 0 and 1, such as 0.95")
    z = NormalDist().inv_cdf((1.0 + level) / 2.0)
    n = np.maximum(count, 1).astype(np.float64)
    share = hits / n
    middle = (share + z**2 / (2.0 * n)) / (1.0 + z**2 / n)
    half = z / (1.0 + z**2 / n) * np.sqrt(share * (1.0 - share) / n + (z / (2.0 * n)) ** 2)
    known = count > 0
    low = np.where(known, np.maximum(middle - half, 0.0), 0.0)
    return low, np.where(known, np.minimum(middle + half, 1.0), 1.0)


def _check(chance: FloatArray, said: IntArray, right: BoolArray) -> None:
    if not chance.shape == said.shape == right.shape or chance.ndim != 1:
        message = (
            f"probabilities, verdicts and answers have shapes {chance.shape}, {said.shape} and "
            f"{right.shape}; pass one of each for every tag"
        )
        raise CollectionError(message)
    impossible = ~((chance >= 0.0) & (chance <= 1.0))
    if impossible.any():
        first = float(chance[impossible][0])
        raise CollectionError(f"a probability is {first}; pass numbers from 0 to 1")
    unknown = ~np.isin(said, list(Said))
    if unknown.any():
        first_word = int(said[unknown][0])
        raise CollectionError(f"a verdict is {first_word}; pass numbers of Said")


def _shares(part: FloatArray | IntArray, whole: IntArray) -> FloatArray:
    found = np.full(whole.shape, np.nan)
    np.divide(part, whole, out=found, where=whole > 0)
    return found
