"""Which images have a tag, an owner or a title: the terms that a search is made of."""

import json
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sugartag._typing import BoolArray, FloatArray, IntArray
from sugartag.changes.catalogue import Catalogue

LIKELY = 0.5
"""A tag that nobody gave counts from this probability on, if the query names no other."""
_PLACES = 10**9
"""Probabilities are compared in steps of one over this."""
_PACKED = f"(image << 30) + CAST(probability * {_PLACES} + 0.5 AS INTEGER)"
"""An image and its probability in one number: the latter needs less than 30 bits."""


@dataclass(frozen=True, eq=False, slots=True)
class Match:
    """For every image: whether it is found, how probably, and whether by given tags."""

    found: BoolArray
    probability: FloatArray
    given: BoolArray

    def __and__(self, other: "Match") -> "Match":
        return Match(
            self.found & other.found,
            self.probability * other.probability,
            self.given & other.given,
        )

    def __or__(self, other: "Match") -> "Match":
        return Match(
            self.found | other.found,
            np.maximum(self.probability, other.probability),
            self.given | other.given,
        )

    def __invert__(self) -> "Match":
        return Match(~self.found, 1 - self.probability, ~self.given)


@dataclass(frozen=True, eq=False)
class Lookup:
    """Looks up the images of single terms."""

    catalogue: Catalogue
    run: int | None
    n: int
    score: float | None

    def images(self, sql: str, *values: object) -> BoolArray:
        """Return which images a query lists."""
        found = np.zeros(self.n, dtype=np.bool_)
        found[self.numbers("image", f"FROM ({sql})", *values)] = True
        return found

    def numbers(self, column: str, rest: str, *values: object) -> IntArray:
        """Return a column of whole numbers.

        SQLite makes one text of it: so Python's lock is taken once, and not for each of what may
        be 100,000 rows, while all other reviewers wait for it.
        """
        (text,) = self.catalogue.one(f"SELECT group_concat({column}) {rest}", values)
        return np.fromstring(text or "", dtype=np.int64, sep=",")

    def everything(self) -> BoolArray:
        """Return which images there are: their numbers begin with 1, and none is ever removed."""
        found = np.ones(self.n, dtype=np.bool_)
        found[0] = False
        return found

    def fact(self, sql: str, *values: object) -> Match:
        """Return images for which something certainly holds."""
        return self.certain(self.images(sql, *values))

    @staticmethod
    def certain(found: BoolArray) -> Match:
        """Return images for which something certainly holds."""
        return Match(found, found.astype(np.float64), found)

    def tag(self, name: str) -> Match:
        """Return the images that have a tag, in whatever case it is written."""
        tags = self._tags_called(name)
        given = self.images(f"SELECT image FROM image_tags WHERE tag IN ({tags})")
        probability: FloatArray = given.astype(np.float64)
        if self.run is not None:
            where = f"FROM proposals WHERE run = {self.run} AND tag IN ({tags})"
            images, shares = _unpacked(self.numbers(_PACKED, where))
            probability[images] = 0.0
            np.maximum.at(probability, images, shares)
        where = f"FROM decided WHERE tag IN ({tags}) AND verdict IN ('accept', 'reject')"
        decided = self.numbers("2 * image + (verdict = 'accept')", where)
        probability[decided >> 1] = given[decided >> 1] = decided & 1
        if self.score is not None:
            return Match(probability >= self.score, probability, given)
        return Match(given | (probability >= LIKELY), probability, given)

    def _tags_called(self, name: str) -> str:
        """Return the numbers of the tags of this name, and of those that stand for it or imply it.

        A name that ends in ``*`` stands for all that begin so.
        """
        pattern = name.casefold()
        begins = pattern.endswith("*")
        tags = {
            number
            for number, other in self._names
            if other == pattern or (begins and other.startswith(pattern[:-1]))
        }
        waiting = list(tags)
        pairs = self.catalogue.all(
            "SELECT tag, stands_for FROM aliases UNION ALL SELECT tag, implies FROM implications"
        )
        while waiting:
            wanted = waiting.pop()
            new = {tag for tag, other in pairs if other == wanted} - tags
            tags |= new
            waiting += new
        return ",".join(map(str, sorted(tags)))

    @cached_property
    def _names(self) -> list[tuple[int, str]]:
        """The numbers and names of all tags, read once for all words of a query."""
        (text,) = self.catalogue.one("SELECT json_group_array(json_array(tag, name)) FROM tags")
        return [(number, name.casefold()) for number, name in json.loads(text)]

    def names(self, images: list[int]) -> dict[int, str]:
        """Return the ids of some images."""
        marks = ",".join(map(str, images))
        sql = f"SELECT image, image_id FROM images WHERE image IN ({marks})"
        return dict(self.catalogue.all(sql))


def _unpacked(packed: IntArray) -> tuple[IntArray, FloatArray]:
    """Return the images and their probabilities."""
    return packed >> 30, (packed & ((1 << 30) - 1)) / _PLACES
