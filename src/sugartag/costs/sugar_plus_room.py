"""What of sugar-plus grows with images and owners: the arrays that an engine makes room for.

They are mapped to scratch files of the process that leads, but for the small ones. Workers that are
processes of their own get what they need of them as numbers, and into their memory. The letters are
those of :mod:`sugartag.costs.sugar_plus_shape`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sugartag.costs.size import OWN_TAGS, Size
from sugartag.costs.sugar_plus_shape import Shape, owner_words, words_each
from sugartag.costs.work import LOOPS_BYTES, Stage
from sugartag.engine.room import SMALL
from sugartag.methods.sugar_plus import SugarPlus
from sugartag.methods.sugar_plus.habit_odds import RATES
from sugartag.methods.sugar_plus.kept_owners import OWNER_CELLS, SCRATCH_CELLS
from sugartag.methods.sugar_plus.remembered import DIRECTIONS


@dataclass(frozen=True)
class Grown:
    """Bytes of arrays that grow with the collection."""

    small: float = 0.0
    """Of those that are not worth a file: they are in memory anyhow."""
    large: float = 0.0
    """Of the others."""

    @classmethod
    def of(cls, *arrays: float) -> "Grown":
        """Return arrays of these sizes."""
        return cls(
            sum(size for size in arrays if size < SMALL),
            sum(size for size in arrays if size >= SMALL),
        )

    def __add__(self, other: "Grown") -> "Grown":
        """Return both together."""
        return Grown(self.small + other.small, self.large + other.large)

    def __mul__(self, times: float) -> "Grown":
        """Return the same so many times."""
        return Grown(self.small * times, self.large * times)

    @property
    def whole(self) -> float:
        """Bytes of all of them."""
        return self.small + self.large


@dataclass(frozen=True)
class Room:
    """What there is room made for in a fit, by what it is for."""

    given: Grown
    """Tags as they were given."""
    trusted: Grown
    """How far each is trusted, where they are."""
    words: Grown
    """Title words of all images, while these are added up."""
    totals: Grown
    """Sums over the images of each owner."""
    products: Grown
    """What those are multiplied to, while given tags are judged."""
    described: Grown
    """Images in short, in their order, until they are arranged."""
    look_alikes: Grown
    """The same by owner."""
    thought: Grown
    """Of each given tag: what content says, its chance, how probably it is a habit."""
    habits: Grown
    """Of each owner and tag: uses, and what they say for a habit of each rate."""
    spare: Grown
    """Room that totals and habits leave empty: there is some for each given tag, not each pair."""
    dense: Grown
    """The dense columns of all images, where all workers see what one of them has kept."""

    @classmethod
    def of(cls, method: SugarPlus, size: Size, shape: Shape, *, apart: bool = False) -> "Room":
        """Return what a fit makes room for; ``apart`` if workers are processes of their own."""
        n, given, owners, pairs = shape.n, size.given, float(size.owners), size.owner_tags
        place = bytes_of_a_place(size)
        words, own_words = n * words_each(size, shape), owner_words(size, shape)
        return cls(
            given=Grown.of(4.0 * given, place * given, place * n),
            trusted=Grown.of(4.0 * given),
            words=Grown.of(4.0 * words, place * words, place * n) if words else Grown(),
            totals=Grown.of(4.0 * shape.D * owners, 8.0 * pairs, place * pairs, place * owners)
            + Grown.of(8.0 * own_words, place * own_words),
            products=Grown.of(4.0 * shape.D * owners, 4.0 * pairs, 4.0 * own_words),
            described=_described(method, size, place),
            look_alikes=_look_alikes(method, size, place),
            thought=Grown.of(4.0 * given) * 3.0,
            habits=Grown.of(8.0 * len(RATES) * pairs, 8.0 * pairs, place * pairs, place * owners),
            spare=Grown(0.0, (8.0 * (2.0 + len(RATES)) + 2.0 * place) * max(0.0, given - pairs)),
            dense=Grown() if apart else Grown.of(4.0 * n * shape.D),
        )

    @property
    def learned(self) -> Grown:
        """What a round of the regression leaves to the next."""
        return self.thought + self.habits + self.look_alikes

    @property
    def fitted(self) -> Grown:
        """What a fitted model consists of."""
        return self.given + self.totals + self.look_alikes + self.habits


def stage_with(name: str, there: Grown, *, held: float, **parts: Any) -> Stage:
    """Return a stage during which some arrays are there that grow with the collection."""
    held += there.small
    return Stage(name, loaded=LOOPS_BYTES, held=held, grown=there.large, **parts)


def bytes_of_a_place(size: Size) -> float:
    """Return the bytes of a number that says where something is stored."""
    return 8.0 if size.given + size.title_words > np.iinfo(np.int32).max else 4.0


def kept_owners(size: Size, shape: Shape, *, apart: bool = False) -> float:
    """Return how many owners' sums are kept ready before a whole collection is scored.

    ``apart``, it is a few, in memory.
    """
    return min(float(size.owners), (OWNER_CELLS if apart else SCRATCH_CELLS) / shape.T)


def kept_room(size: Size, shape: Shape) -> Grown:
    """Return the bytes of the owners' sums that are kept ready."""
    owners = kept_owners(size, shape)
    return Grown.of(4.0 * owners * shape.T, 4.0 * owners * (shape.W + shape.D))


def remembered(method: SugarPlus, size: Size) -> float:
    """Return the images that are remembered."""
    return min(float(size.images), float(size.owners) * method.history)


def _described(method: SugarPlus, size: Size, place: float) -> Grown:
    images = remembered(method, size)
    tags, tokens = _entries(size, images)
    return Grown.of(
        4.0 * min(DIRECTIONS, size.features) * images,
        *(4.0 * tags, place * tags, place * images),
        *(4.0 * tokens, place * tokens, place * images),
    )


def _look_alikes(method: SugarPlus, size: Size, place: float) -> Grown:
    images = remembered(method, size)
    tags, tokens = _entries(size, images)
    own = OWN_TAGS * tokens
    return Grown.of(
        4.0 * min(DIRECTIONS, size.features) * images,
        *(4.0 * tags, place * tags, place * images),
        *(8.0 * own, place * own, 4.0 * tokens, place * tokens),
    )


def _entries(size: Size, images: float) -> tuple[float, float]:
    """Return the tags of so many images, and their tags and words."""
    share = images / size.images
    return size.given * share, (size.given + size.title_words) * share
