"""Icons sorted into categories by people: categories are no tags, their words are.

A category is scored by the mean score of the tags that are words of its name. Icons that nobody
sorted into a category are learned from and are in no ranking.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from comparison.word_scores import fitted_word_scores, resampled_interval
from sugartag._typing import BoolArray, FloatArray, IntArray
from sugartag.collection.model import Collection
from sugartag.collection.subset import without_truth
from sugartag.engine.base import Engine
from sugartag.errors import CollectionError
from sugartag.evaluation.ranking import average_precision, average_precision_rows
from sugartag.methods.base import Method

SHORTEST_WORD = 2
"""Shorter words of a category's name stand for nothing."""
JOINING = frozenset({"and", "or"})
"""Words that only join others."""


def category_words(name: str) -> tuple[str, ...]:
    """Return the words of a category's name, in lower case."""
    words = re.split(r"[\W_]+", name.lower())
    kept = [word for word in words if len(word) >= SHORTEST_WORD and word not in JOINING]
    return tuple(dict.fromkeys(kept))


def tag_of_word(word: str, number: Mapping[str, int]) -> int | None:
    """Return the tag that is the word or, without one, its singular or plural form."""
    return next((number[form] for form in word_forms(word) if form in number), None)


def word_forms(word: str) -> Iterator[str]:
    """Yield the word itself, then what its singular and its plural may be."""
    yield word
    for ending, other in (("s", ""), ("es", ""), ("ies", "y")):
        if word.endswith(ending):
            yield word.removesuffix(ending) + other
    yield word + "s"
    yield word + "es"
    if word.endswith("y"):
        yield word.removesuffix("y") + "ies"


def category_tags(name: str, number: Mapping[str, int]) -> IntArray:
    """Return the tags that stand for a category; ``number`` is the number of each tag."""
    found = [tag_of_word(word, number) for word in category_words(name)]
    return np.array(sorted({tag for tag in found if tag is not None}), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class CategoryRound:
    """Ranks the icons of some category for each, and the categories for each such icon."""

    collection: Collection
    """Its truth are the categories."""

    @cached_property
    def given(self) -> Collection:
        """What methods learn from."""
        return without_truth(self.collection)

    @cached_property
    def tags(self) -> Mapping[int, IntArray]:
        """The tags of each category that has any."""
        number = {name: tag for tag, name in enumerate(self.collection.tag_names)}
        names = enumerate(self.collection.concept_names)
        found = {category: category_tags(name, number) for category, name in names}
        kept = {category: tags for category, tags in found.items() if len(tags)}
        if not kept:
            raise CollectionError("no word of any category is a tag; check the truth")
        return kept

    @cached_property
    def _truth(self) -> BoolArray:
        """Images x all categories."""
        truth: BoolArray = self.collection.truth_of(slice(0, self.collection.n_images)).toarray()
        return truth > 0

    def counts(self) -> dict[str, int]:
        """Return how much of everything there is."""
        given = self.collection
        return {
            "images": given.n_images,
            "tags": given.n_tags,
            "owners": given.n_owners,
            "features": given.n_features,
            "categories": len(self.tags),
            "categorised images": int(self._truth.any(axis=1).sum()),
        }

    def measure(
        self, method: Method, *, engine: Engine, rng: np.random.Generator, replicates: int
    ) -> dict[str, Any]:
        """Fit the method and return its precisions, what it cost, and intervals."""
        sets = list(self.tags.values())
        found = fitted_word_scores(method, self.given, sets, engine=engine, rng=rng)
        by_category, by_icon = self.precisions(found.scores)
        aware, aware_by_icon = self.precisions(found.strangers)
        measured: dict[str, Any] = {
            "map": float(np.nanmean(by_category)),
            "miap": float(np.nanmean(by_icon)),
            "author_aware": {
                "map": float(np.nanmean(aware)),
                "miap": float(np.nanmean(aware_by_icon)),
            },
            **found.cost,
        }
        if not np.isnan(by_category).any():
            measured["by_item"] = by_category.tolist()
            if replicates:
                measured["intervals"] = {"map": list(resampled_interval(by_category, replicates))}
        return measured

    def precisions(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the average precision of each category and of each icon that has one.

        ``scores`` is images x categories with tags. NaN where nothing is to be found: an icon
        whose only categories have no tags.
        """
        ranked = self._truth.any(axis=1)
        truth, scores = self._truth[ranked][:, list(self.tags)], scores[ranked]
        columns = zip(scores.T, truth.T, strict=True)
        by_category = np.array([average_precision(column, here) for column, here in columns])
        return by_category, average_precision_rows(scores, truth)
