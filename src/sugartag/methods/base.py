"""What a retagging method is: settings that can be fitted, and what fitting gives."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.assignment.thresholds import TagThresholds
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


PartKind: TypeAlias = Literal["looks", "other tag", "similar tag", "neighbour"]
"""Kinds of evidence: the image features, its other tags, what its looks say of tags with a similar
name, and similar images of the same owner."""


@dataclass(frozen=True, slots=True)
class Part:
    """One contribution to the score of a tag."""

    kind: PartKind
    name: str
    """The tag or the image; "" for the rest of the kind together."""
    amount: float
    """What it adds to the score; below 0 it speaks against the tag."""


@dataclass(frozen=True, eq=False)
class Kind:
    """What one kind of evidence contributes to each of some tags in question."""

    name: PartKind
    net: FloatArray
    """The whole contribution to each."""
    start: IntArray
    """Where the named contributions to each begin, and the end of the last."""
    number: IntArray
    """What each named contribution is about: a place in ``names``."""
    amount: FloatArray
    """What each of them adds."""
    names: Sequence[str] = ()

    @classmethod
    def whole(cls, name: PartKind, net: FloatArray) -> "Kind":
        """Return a kind of evidence that is not divided further."""
        nothing = np.zeros(0, dtype=np.int64)
        start = np.zeros(len(net) + 1, dtype=np.int64)
        return cls(name, net, start, nothing, np.zeros(0, dtype=np.float32))

    def parts(self, place: int) -> list[Part]:
        """Return the named contributions to one tag in question."""
        return [Part(self.name, self.names[k], amount) for k, amount in self._pairs(place)]

    def strongest(self, place: int, direction: float, most: int) -> list[Part]:
        """Return the parts that speak most for a tag in question; against it if direction is -1."""
        toward = [pair for pair in self._pairs(place) if direction * pair[1] > 0]
        toward.sort(key=lambda pair: -direction * pair[1])
        return [Part(self.name, self.names[k], amount) for k, amount in toward[:most]]

    def _pairs(self, place: int) -> list[tuple[int, float]]:
        start, number, amount = self._lists
        these = slice(start[place], start[place + 1])
        return list(zip(number[these], amount[these], strict=True))

    @cached_property
    def _lists(self) -> tuple[list[int], list[int], list[float]]:
        """As lists: single items are read faster from these than from arrays."""
        return self.start.tolist(), self.number.tolist(), self.amount.tolist()


@dataclass(frozen=True, eq=False)
class Explanations:
    """What the scores of some tags in question consist of."""

    kinds: tuple[Kind, ...]
    """For each tag in question they add up to ``score``."""
    score: FloatArray
    """How far the prediction lies above the base rate, the tag's own use left out."""
    base_rate: FloatArray
    """The share of images with the tag."""
    judged: BoolArray
    """Whether the evidence predicts the tag well enough to call a use of it wrong."""
    looks_like: tuple[tuple[str, ...], ...]
    """The tags that the looks of each image say most for, the same for all its tags."""
    decided: IntArray
    """1 where a person confirmed the tag, -1 where a person rejected it, else 0."""

    def __len__(self) -> int:
        return len(self.score)

    def parts(self, place: int) -> tuple[Part, ...]:
        """Return all parts of one tag in question; those of a kind end with the rest of it."""
        found: list[Part] = []
        for kind in self.kinds:
            named = kind.parts(place)
            rest = float(kind.net[place]) - sum(part.amount for part in named)
            found += [*named, Part(kind.name, "", rest)] if rest else named
        return tuple(found)


@runtime_checkable
class Explains(Protocol):
    """A fitted method that can say why."""

    def explain(
        self, rows: Rows, row: IntArray, tag: IntArray, catalogue: Catalogue
    ) -> Explanations:
        """Return what the scores of some tags consist of.

        ``row`` is the image of each tag in question, ascending; ``catalogue`` has the names of all
        that the method was fitted on.
        """
        ...


@runtime_checkable
class Calibrated(Protocol):
    """A fitted method that turns its own scores into probabilities."""

    def posterior(self, rows: Rows, scores: FloatArray, row: IntArray, tag: IntArray) -> FloatArray:
        """Return the probability that each tag belongs to the image of its row.

        ``scores`` are what :meth:`Fitted.scores` returned for the rows.
        """
        ...

    def thresholds(self) -> TagThresholds:
        """Return the posterior from which each tag is added, and below which it is doubted."""
        ...

    def evidence_summary(self) -> str:
        """Return in one line what the evidence is worth."""
        ...


@runtime_checkable
class Updatable(Protocol):
    """A fitted method that takes more images and people's decisions without a new fit."""

    @property
    def uses(self) -> FloatArray:
        """How many images have each tag."""
        ...

    @property
    def n_features(self) -> int:
        """How many numbers describe an image; 0 if features are not used."""
        ...

    def updated(
        self, method: Any, collection: Collection, decided: SparseRows, *, engine: Engine
    ) -> "Fitted":
        """Return the model with the images of a collection and with decisions about them.

        The collection is seen from a catalogue that starts with the model's names; ``decided`` is
        images of that catalogue x its tags, 1 where a tag was confirmed and -1 where rejected.
        """
        ...

    def decided_of(self, rows: Rows) -> SparseRows:
        """Return images x tags: 1 where a person confirmed the tag, -1 where rejected."""
        ...


class Method(Protocol):
    """A retagging method: a frozen bag of settings that can be fitted."""

    name: ClassVar[str]
    """What it is called on the command line."""
    summary: ClassVar[str]
    """What it does, in one sentence."""
    fitted_type: ClassVar[type[Any]]
    """What :meth:`fit` returns. A method that needs an optional package also has ``extra``, the
    name of both the package and the extra that brings it."""

    def fit(self, collection: Collection, *, engine: Engine, rng: np.random.Generator) -> Fitted:
        """Learn from the collection. Neither the method nor the collection changes."""
        ...
