"""What a retagging method is: settings that can be fitted, and what fitting gives."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np

from sugartag._typing import FloatArray, IntArray
from sugartag.collection.align import Catalogue
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Engine


class Fitted(Protocol):
    """What a method learned. It never changes, so it can be shared and scored from anywhere.

    Implementations are frozen dataclasses whose fields are arrays, sparse arrays, plain values
    or collections: that is all a model folder stores.
    """

    gives_whole_sets: ClassVar[bool]
    """True where the answer is a set of tags rather than a ranking (the original tags)."""

    @property
    def floor(self) -> float:
        """Tags are predicted above this score: that of a tag of which nothing is known, or more."""
        ...

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return images x tags, float32: the higher, the likelier the tag belongs.

        The images may be ones the method was fitted on, new ones of known owners, or new ones
        of unknown owners. ``strangers_only`` leaves out the evidence of neighbours and anchors
        that belong to the image's own owner.
        """
        ...


PartKind: TypeAlias = Literal[
    "own tag",
    "title word",
    "anchor",
    "subject",
    "sight",
    "groups",
    "itself",
    "interest",
    "look-alike",
]


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that speaks for a tag, or against it."""

    kind: PartKind
    name: str
    """The tag, the word, the anchor, the image; "" for all others of the kind together."""
    amount: float
    """What it adds to the evidence; below 0 it speaks against the tag."""
    tags: tuple[str, ...] = ()
    """What images like it, or about it, are tagged, if it is an anchor or a subject."""


@dataclass(frozen=True, eq=False)
class Kind:
    """What one kind of evidence adds to each of some tags in question."""

    name: PartKind
    net: FloatArray
    """To each in all."""
    start: IntArray
    """Where the parts of each that are told apart begin, and the end of the last."""
    number: IntArray
    """What each of these parts is about: a place in ``names``."""
    amount: FloatArray
    """What each of them adds."""
    names: Sequence[str] = ()
    tags: Sequence[tuple[str, ...]] = ()
    """What images are tagged that are like each of the things named, or about them, if these are
    anchors or subjects."""

    def parts(self, place: int) -> list[Part]:
        """Return the parts told apart of one tag in question."""
        return [self._part(*pair) for pair in self._pairs(place)]

    def strongest(self, place: int, direction: float, most: int) -> list[Part]:
        """Return the parts that speak most for a tag in question; against it if direction is -1."""
        toward = [pair for pair in self._pairs(place) if direction * pair[1] > 0]
        toward.sort(key=lambda pair: -direction * pair[1])
        return [self._part(*pair) for pair in toward[:most]]

    def _pairs(self, place: int) -> list[tuple[int, float]]:
        start, number, amount = self._lists
        told = slice(start[place], start[place + 1])
        return list(zip(number[told], amount[told], strict=True))

    @cached_property
    def _lists(self) -> tuple[list[int], list[int], list[float]]:
        """Lists: one after the other, their items are read faster than those of arrays."""
        return self.start.tolist(), self.number.tolist(), self.amount.tolist()

    def _part(self, number: int, amount: float) -> Part:
        tags = self.tags[number] if self.tags else ()
        return Part(self.name, self.names[number], amount, tags)


@dataclass(frozen=True, eq=False)
class Explanations:
    """What there is to say about some tags in question, and what is made of it."""

    kinds: tuple[Kind, ...]
    """Of each tag in question they add up to the evidence."""
    evidence: FloatArray
    prior: FloatArray
    """The probability that each tag belongs, as far as the evidence says."""
    recall: FloatArray
    """The probability that each tag is given if it belongs."""
    slip: FloatArray
    """The probability that each tag is given where it does not belong as far as evidence says."""
    slip_wrong: FloatArray
    """The share of such uses that are wrong; the others belong though nothing says so."""
    habit: FloatArray
    """The probability that the owner gives it whatever the image shows."""
    decided: IntArray
    """1 where somebody said that the tag is right, -1 where wrong, 0 where nobody said anything:
    what was said stands, whatever the evidence."""

    def __len__(self) -> int:
        return len(self.evidence)

    def parts(self, place: int) -> tuple[Part, ...]:
        """Return all parts of one tag in question; those of a kind end with all others of it."""
        found: list[Part] = []
        for kind in self.kinds:
            told = kind.parts(place)
            rest = float(kind.net[place]) - sum(part.amount for part in told)
            found += [*told, Part(kind.name, "", rest)] if rest else told
        return tuple(found)


@runtime_checkable
class Explains(Protocol):
    """A fitted method that can say why."""

    def explain(
        self, rows: Rows, row: IntArray, tag: IntArray, catalogue: Catalogue
    ) -> Explanations:
        """Return why some tags are thought to belong, or not.

        ``row`` is the image of each tag in question, ascending; ``catalogue`` has the names of all
        that the method was fitted on.
        """
        ...


@runtime_checkable
class GetsReady(Protocol):
    """A fitted method that can make once what scoring many images needs."""

    def get_ready(self, *, engine: Engine) -> None:
        """Make it. What is scored stays the same, and takes less time."""
        ...


def get_ready(fitted: Fitted, *, engine: Engine) -> None:
    """Let a fitted method make ready what it can, before a whole collection is scored."""
    # Workers that are elsewhere would be sent all of it.
    if engine.shares_memory and isinstance(fitted, GetsReady):
        fitted.get_ready(engine=engine)


class Method(Protocol):
    """A retagging method: a frozen bag of settings that can be fitted."""

    name: ClassVar[str]
    """What it is called on the command line."""
    summary: ClassVar[str]
    """What it does, in one sentence."""
    fitted_type: ClassVar[type[Any]]
    """What :meth:`fit` returns. A method that needs an optional package also has ``extra``, the
    name of both the package and the extra that brings it; one whose scores are the chances that
    tags belong says so with ``scores_are_chances``."""

    def fit(self, collection: Collection, *, engine: Engine, rng: np.random.Generator) -> Fitted:
        """Learn from the collection. Neither the method nor the collection changes."""
        ...
