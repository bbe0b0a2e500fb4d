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

from sugartag._typing import FloatArray, IntArray
from sugartag.changes.catalogue import Catalogue
from sugartag.changes.matches import Lookup, Match
from sugartag.errors import SettingsError

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
        (n,) = catalogue.one("SELECT coalesce(max(image), 0) + 1 FROM images")
        number = catalogue.run_number(run)
        parsed = _Parser(query)
        lookup = Lookup(catalogue, number, n, parsed.score)
        match = parsed.parse()(lookup)
        exists = lookup.everything()
        found = np.flatnonzero(match.found & exists)
        given = np.flatnonzero(match.given & exists)
        page = _best(found, match.probability[found], offset + limit)[offset:]
        places = (np.searchsorted(given, page) + 1).tolist()
        names = lookup.names(page.tolist())
        hits = [
            Hit(image, names[image], p, is_given, place if is_given else None)
            for image, p, is_given, place in zip(
                page.tolist(),
                match.probability[page].tolist(),
                match.given[page].tolist(),
                places,
                strict=True,
            )
        ]
    return Found(tuple(hits), len(found))


def _best(images: IntArray, probability: FloatArray, count: int) -> IntArray:
    """Return the most probable images, of those that are equally probable the first ones."""
    if count < len(images):
        least = np.partition(probability, len(images) - count)[len(images) - count]
        likely = probability >= least
        images, probability = images[likely], probability[likely]
    return images[np.argsort(-probability, kind="stable")][:count]


_Term = Callable[[Lookup], Match]

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
        sql = f"SELECT image FROM proposals WHERE run = ? AND action = '{action}'"
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
