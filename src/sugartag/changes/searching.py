"""Searching a catalogue: ``beach AND NOT (people OR blurry) owner:anna score>0.6 is:untagged``.

An image has a tag if somebody gave it, or if the model proposes it from a probability of one half
on (``score>0.6`` asks for more, of given tags too). What is found is ranked by probability: the
product of what AND joins, the larger of what OR joins, one minus it after NOT. Beside it stands
where an image would rank by the given tags alone.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from sugartag._typing import BoolArray, FloatArray, IntArray
from sugartag.changes.catalogue import Catalogue
from sugartag.errors import SettingsError

LIKELY = 0.5
"""A tag that nobody gave counts from this probability on, if the query names no other."""
LONGEST_QUERY = 1000
MOST_TERMS = 50
_TOKEN = re.compile(r'\s*(\(|\)|(?:\w+:)?"[^"]*"|[^\s()]+)')
_SCORE = re.compile(r"score(>=?)(\d*\.?\d+)$")
_KINDS = ("tag", "owner", "group", "is", "title")
_IS = ("untagged", "tagged", "proposed", "doubted")


@dataclass(frozen=True, slots=True)
class Hit:
    """An image that a query finds."""

    image: int
    image_id: str
    probability: float
    by_given_tags: bool
    """Whether the tags that were given are enough to find it."""
    original_rank: int | None
    """Its place among the images that the given tags find, from 1; None if it is none of them."""


@dataclass(frozen=True, slots=True)
class Found:
    """The best hits, and how many there are."""

    hits: tuple[Hit, ...]
    total: int


def search(
    catalogue: Catalogue,
    query: str,
    *,
    run: str | None = None,
    offset: int = 0,
    limit: int = 60,
) -> Found:
    """Return the images that a query finds, the most probable first."""
    with catalogue.reading():
        n, count = catalogue.one("SELECT coalesce(max(image), 0) + 1, count(*) FROM images")
        number = catalogue.run_number(run)
        parsed = _Parser(query)
        evaluation = _Evaluation(catalogue, number, n, parsed.score)
        match = parsed.parse()(evaluation)
        exists = evaluation.everything(whole=count == n - 1)
        found = np.flatnonzero(match.found & exists)
        given = np.flatnonzero(match.given & exists)
        order = found[np.argsort(-match.probability[found], kind="stable")]
        ranks = dict(zip(given.tolist(), range(1, len(given) + 1), strict=True))
        page = order[offset : offset + limit].tolist()
        names = evaluation.names(page)
        hits = [
            Hit(image, names[image], float(p), image in ranks, ranks.get(image))
            for image, p in zip(page, match.probability[page].tolist(), strict=True)
        ]
    return Found(tuple(hits), len(found))


@dataclass(frozen=True, eq=False, slots=True)
class _Match:
    """For every image: whether it is found, how probably, and whether by given tags."""

    found: BoolArray
    probability: FloatArray
    given: BoolArray

    def __and__(self, other: "_Match") -> "_Match":
        return _Match(
            self.found & other.found,
            self.probability * other.probability,
            self.given & other.given,
        )

    def __or__(self, other: "_Match") -> "_Match":
        return _Match(
            self.found | other.found,
            np.maximum(self.probability, other.probability),
            self.given | other.given,
        )

    def __invert__(self) -> "_Match":
        return _Match(~self.found, 1 - self.probability, ~self.given)


_Term = Callable[["_Evaluation"], _Match]


@dataclass(frozen=True, eq=False)
class _Evaluation:
    """Looks up the images of single terms."""

    catalogue: Catalogue
    run: int | None
    n: int
    score: float | None

    def images(self, sql: str, *values: object) -> BoolArray:
        """Return which images a query lists."""
        found = np.zeros(self.n, dtype=np.bool_)
        found[[row[0] for row in self.catalogue.all(sql, values)]] = True
        return found

    def everything(self, *, whole: bool = False) -> BoolArray:
        """Return which images there are; ``whole`` if every number from 1 on is one of them."""
        if not whole:
            return self.images("SELECT image FROM images")
        found = np.ones(self.n, dtype=np.bool_)
        found[0] = False
        return found

    def fact(self, sql: str, *values: object) -> _Match:
        """Return images for which something certainly holds."""
        return self.certain(self.images(sql, *values))

    @staticmethod
    def certain(found: BoolArray) -> _Match:
        """Return images for which something certainly holds."""
        return _Match(found, found.astype(np.float64), found)

    def tag(self, name: str) -> _Match:
        """Return the images that have a tag, in whatever case it is written."""
        tags = self._tags_called(name)
        given = self.images(f"SELECT image FROM image_tags WHERE tag IN ({tags})")
        probability: FloatArray = given.astype(np.float64)
        if self.run is not None:
            rows = self.catalogue.all(
                f"SELECT image, probability FROM proposals WHERE run = {self.run} "
                f"AND tag IN ({tags})"
            )
            places: IntArray = np.array([row[0] for row in rows], dtype=np.int64)
            probability[places] = 0.0
            np.maximum.at(probability, places, [row[1] for row in rows])
        verdicts = self.catalogue.all(
            f"SELECT image, verdict = 'accept' FROM decided WHERE tag IN ({tags}) "
            "AND verdict IN ('accept', 'reject')"
        )
        for image, right in verdicts:
            probability[image], given[image] = float(right), bool(right)
        if self.score is not None:
            return _Match(probability >= self.score, probability, given)
        return _Match(given | (probability >= LIKELY), probability, given)

    def _tags_called(self, name: str) -> str:
        """Return the numbers of the tags of this name, and of those that stand for it or imply it.

        A name that ends in ``*`` stands for all that begin so.
        """
        pattern = name.casefold()
        begins = pattern.endswith("*")
        tags = {
            number
            for number, other in self.catalogue.all("SELECT tag, name FROM tags")
            if other.casefold() == pattern or (begins and other.casefold().startswith(pattern[:-1]))
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

    def names(self, images: list[int]) -> dict[int, str]:
        """Return the ids of some images."""
        marks = ",".join(map(str, images))
        sql = f"SELECT image, image_id FROM images WHERE image IN ({marks})"
        return dict(self.catalogue.all(sql))


_OWNED = "SELECT image FROM images WHERE owner IN "
_FACTS = {
    "owner": f"{_OWNED}(SELECT owner FROM owners WHERE name = ? COLLATE NOCASE)",
    "group": f'{_OWNED}(SELECT m.owner FROM memberships m JOIN groups USING ("group") '
    "WHERE name = ? COLLATE NOCASE)",
    "title": "SELECT image FROM images WHERE instr(lower(title), lower(?)) > 0",
}


@dataclass
class _Parser:
    """Turns the text of a query into a term, by recursive descent."""

    query: str
    score: float | None = None
    _tokens: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if len(self.query) > LONGEST_QUERY:
            raise SettingsError(f"a query may have {LONGEST_QUERY} characters; shorten it")
        for token in _tokens_of(self.query):
            if score := _SCORE.match(token):
                self.score = float(score[2])
            else:
                self._tokens.append(token)
        if len(self._tokens) > MOST_TERMS:
            raise SettingsError(f"a query may have {MOST_TERMS} words; shorten it")
        self._tokens.reverse()

    def parse(self) -> _Term:
        """Return the whole query as one term."""
        if not self._tokens:
            return lambda images: images.certain(images.everything())
        term = self._either()
        if self._tokens:
            raise SettingsError(f"the query has a ')' too many: {self.query!r}")
        return term

    def _either(self) -> _Term:
        term = self._both()
        while self._next_is("OR"):
            self._tokens.pop()
            term = _or(term, self._both())
        return term

    def _both(self) -> _Term:
        term = self._single()
        while self._tokens and not self._next_is("OR") and not self._next_is(")"):
            if self._next_is("AND"):
                self._tokens.pop()
            term = _and(term, self._single())
        return term

    def _single(self) -> _Term:
        token = self._tokens.pop() if self._tokens else ""
        if token == "NOT":
            inner = self._single()
            return lambda images: ~inner(images)
        if token == "(":
            inner = self._either()
            if not self._next_is(")"):
                raise SettingsError(f"the query lacks a ')': {self.query!r}")
            self._tokens.pop()
            return inner
        if token in {"", "AND", "OR", ")"}:
            what = f"before {token!r}" if token else "at its end"
            raise SettingsError(f"the query lacks a word {what}: {self.query!r}")
        return _word(token)

    def _next_is(self, token: str) -> bool:
        return bool(self._tokens) and self._tokens[-1] == token


def _and(first: _Term, second: _Term) -> _Term:
    return lambda images: first(images) & second(images)


def _or(first: _Term, second: _Term) -> _Term:
    return lambda images: first(images) | second(images)


def _word(token: str) -> _Term:
    kind, colon, rest = token.partition(":")
    if not colon or kind not in _KINDS:
        kind, rest = "tag", token
    value = rest.strip('"')
    if kind == "tag":
        return lambda images: images.tag(value)
    if kind == "is":
        return _is(value)
    return lambda images: images.fact(_FACTS[kind], value)


def _is(value: str) -> _Term:
    if value not in _IS:
        raise SettingsError(f"is: takes one of {', '.join(_IS)}, not {value!r}")
    if value in {"proposed", "doubted"}:
        action = "add" if value == "proposed" else "doubt"
        sql = f"SELECT DISTINCT image FROM proposals WHERE run = ? AND action = '{action}'"
        return lambda images: images.fact(sql, images.run or 0)
    sql = "SELECT image FROM images WHERE n_tags = 0"
    if value == "tagged":
        return lambda images: ~images.fact(sql)
    return lambda images: images.fact(sql)


def _tokens_of(query: str) -> Iterator[str]:
    place = 0
    while place < len(query.rstrip()):
        found = _TOKEN.match(query, place)
        if found is None:
            raise SettingsError(f"the query cannot be read from {query[place:][:30]!r} on")
        yield found[1]
        place = found.end()
