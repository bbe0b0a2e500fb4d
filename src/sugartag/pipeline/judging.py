"""The verdicts of a model against what is right, where that is known.

It is known of synthetic collections, and of tags that were hidden from a collection or put into it
before the model was fitted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from sugartag._typing import BoolArray, IntArray, SparseRows
from sugartag.collection.model import Collection
from sugartag.collection.subset import hide_tags, inject_tags
from sugartag.engine.base import Block, Engine
from sugartag.errors import CollectionError
from sugartag.evaluation.verdicts import Said, VerdictCounts, count_verdicts
from sugartag.pipeline.changes import Change
from sugartag.pipeline.model import Model
from sugartag.pipeline.propose import Thresholds, propose

CANDIDATES = 20
"""Tags of each image that are judged though they may not be added: the best it does not have."""
SAID = {"add": Said.ADD, "keep": Said.KEEP, "doubt": Said.DOUBT}


@dataclass(frozen=True, eq=False)
class Answers:
    """Which tags are right, for the tags of which that is known."""

    pairs: IntArray
    """Row * tags + tag of each right one, ascending."""
    tag_names: tuple[str, ...]
    """The tags that can be judged; of others nobody knows whether they are right."""
    n_images: int

    @classmethod
    def of_truth(cls, collection: Collection) -> "Answers":
        """Take the concepts of a truth for the tags of the same names."""
        if not collection.has_truth:
            raise CollectionError("the collection has no truth to judge by; import it with --truth")
        return cls._of(collection.truth_of(_all_of(collection)), collection.concept_names)

    @classmethod
    def of_tags(cls, collection: Collection) -> "Answers":
        """Take the given tags for right, all others for wrong."""
        return cls._of(collection.tags_of(_all_of(collection)), collection.tag_names)

    @classmethod
    def _of(cls, right: SparseRows, names: tuple[str, ...]) -> "Answers":
        width = len(names)
        return cls(_pairs(right, np.arange(width), width), names, right.shape[0])

    def about(self, tag_names: Sequence[str]) -> "Answers":
        """Return what is right of some of the tags."""
        kept = np.isin(self.tag_names, tag_names)
        row, tag = np.divmod(self.pairs, len(self.tag_names))
        names = tuple(name for name, known in zip(self.tag_names, kept, strict=True) if known)
        new = np.cumsum(kept) - 1
        among = kept[tag]
        return Answers(row[among] * len(names) + new[tag[among]], names, self.n_images)

    def are_right(self, row: IntArray, tag: IntArray) -> BoolArray:
        """Tell for each row and number of a tag whether it is right."""
        return np.isin(row * len(self.tag_names) + tag, self.pairs)


@dataclass(frozen=True, eq=False)
class Disturbed:
    """A collection with some tags hidden and some wrong ones added, and what was there before."""

    collection: Collection
    answers: Answers


def disturb(
    collection: Collection, *, hidden_share: float, injected_rate: float, seed: int
) -> Disturbed:
    """Hide a share of the given tags and add wrong ones for each that is left."""
    hidden = hide_tags(collection, hidden_share, seed)
    injected = inject_tags(hidden.collection, injected_rate, seed)
    return Disturbed(injected.collection, Answers.of_tags(collection))


def judge(
    model: Model,
    collection: Collection,
    answers: Answers,
    *,
    engine: Engine,
    thresholds: Thresholds | None = None,
) -> VerdictCounts:
    """Count how good the verdicts on a collection are.

    ``answers`` are about the same images in the same order. Only tags that can be judged count;
    verdicts on others are left out. Probabilities are those of change sets, of four digits.
    """
    if answers.n_images != collection.n_images:
        raise CollectionError(
            f"the answers are about {answers.n_images} images and the collection has "
            f"{collection.n_images}; pass those of the same images"
        )
    asked = thresholds or Thresholds()
    # This way every candidate has its probability; which of them would be added is known below.
    lenient = replace(asked, top=max(asked.top, CANDIDATES), add=0.0)
    number = {name: place for place, name in enumerate(answers.tag_names)}
    row = {image: place for place, image in enumerate(collection.ids)}
    parts = propose(model, collection, engine=engine, thresholds=lenient)
    limits = asked.of_each_tag(model).add
    add_from = dict(zip(model.catalogue.tag_names, limits.tolist(), strict=True))
    counted = (_counted(part, asked.top, add_from, answers, row, number) for part in parts)
    return reduce(add, counted, _unsaid(missing=_missing(collection, answers, number)))


def _counted(
    changes: Sequence[Change],
    top: int,
    add_from: dict[str, float],
    answers: Answers,
    row_of: dict[str, int],
    number_of: dict[str, int],
) -> VerdictCounts:
    row = np.array([row_of[one.image_id] for one in changes], dtype=np.int64)
    probability = np.array([one.score for one in changes], dtype=np.float64)
    said = np.array([SAID[one.action] for one in changes], dtype=np.int64)
    # The additions of an image come first, the best of them before the others.
    place = np.arange(len(row)) - np.searchsorted(row, row)
    limit = np.array([add_from[one.tag] for one in changes], dtype=np.float64)
    unsaid = (said == Said.ADD) & ((place >= top) | (probability < limit))
    said = np.where(unsaid, Said.NOTHING, said)
    tag = np.array([number_of.get(one.tag, len(number_of)) for one in changes], dtype=np.int64)
    known = tag < len(number_of)
    right = answers.are_right(row[known], tag[known])
    return count_verdicts(probability[known], said[known], right, missing=0)


def _unsaid(*, missing: int) -> VerdictCounts:
    """Return the counts of no verdict at all."""
    probability, said, right = np.empty(0), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_)
    return count_verdicts(probability, said, right, missing=missing)


def _missing(collection: Collection, answers: Answers, number: dict[str, int]) -> int:
    """Return how many right tags the images lack."""
    names = collection.tag_names
    column = np.array([number.get(name, len(number)) for name in names], dtype=np.int64)
    given = _pairs(collection.tags_of(_all_of(collection)), column, len(number))
    return int(np.count_nonzero(~np.isin(answers.pairs, given)))


def _pairs(rows: SparseRows, column: IntArray, width: int) -> IntArray:
    """Return row * width + column of every entry, ascending; columns beyond the width are none."""
    row, entry = rows.nonzero()
    found = column[entry]
    kept = found < width
    return np.sort(row[kept].astype(np.int64) * width + found[kept])


def _all_of(collection: Collection) -> Block:
    return slice(0, collection.n_images)
