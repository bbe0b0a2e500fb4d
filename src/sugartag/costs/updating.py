"""What adding images to a model of sugar-plus takes in memory, counted.

The model itself is mapped and not counted, but what is made of it is: it is copied, grown by what
is new, added to and solved again, by the process that leads. The letters are those of
:mod:`sugartag.costs.sugar_plus_shape`.
"""

from collections.abc import Collection as Names
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sugartag._typing import FloatArray
from sugartag.collection.model import Collection
from sugartag.collection.subset import tag_counts
from sugartag.costs.estimate import USUAL_ROWS
from sugartag.costs.limits import Demand
from sugartag.costs.size import Size, size_of
from sugartag.costs.sugar_plus_room import Room
from sugartag.costs.sugar_plus_shape import (
    Shape,
    arranged_bytes,
    band_bytes,
    solving_bytes,
    through_bytes,
)
from sugartag.methods.sugar_plus import SugarPlus
from sugartag.methods.sugar_plus.evidence import MIN_USES
from sugartag.methods.sugar_plus.fitted import FittedSugarPlus
from sugartag.model_folder import Model

BASE_BYTES = 110e6
"""Of a process that has loaded what an update needs: less than what a fit does."""
APART_BYTES = 24e6
"""What comes on top where workers are processes of their own."""
GROWN_COPIES = 3.0
"""Of arrays that grow with images and owners: as grown, as added to, and while that is made."""
NAME_BYTES = 200.0
"""Of each image's id, while images are looked up by it."""
JUDGED_BYTES = 8.0
"""Of each image and tag that are judged in one step: what is said about both."""
PARTS_ADVISED = 10


@dataclass(frozen=True)
class Update(Demand):
    """An update as it is asked for, and who does it."""

    method: SugarPlus
    known_images: int
    """Of the model as it is."""
    added: Size
    """Of the collection."""
    whole: Size
    """Of all images of the model to be."""
    shape: Shape
    """Of the model to be; what it says of an image is that of those added."""
    is_again: bool
    """Whether the model has some of the images."""
    rounds: int
    """Times that the images are added: twice if they have tags that the model knew nothing of."""
    workers: int = 1
    apart: bool = False

    @classmethod
    def of(
        cls, model: Model, collection: Collection, *, workers: int = 1, apart: bool = False
    ) -> "Update | None":
        """Return the update of a model with a collection; None if it is not of sugar-plus."""
        fitted, method = model.fitted, model.method
        if not (isinstance(fitted, FittedSugarPlus) and isinstance(method, SugarPlus)):
            return None
        added, before = size_of(collection), model.catalogue
        images = _together(before.ids, collection.ids)
        new = images - len(before.ids)
        whole = replace(
            added,
            images=images,
            tags=_together(before.tag_names, collection.tag_names),
            owners=_together(before.owner_names, collection.owner_names),
            given=fitted.trusted.nnz + added.tags_each * new,
            title_words=added.words_each * images,
        )
        earlier, uses = _uses(model, fitted, collection)
        return cls(
            method,
            len(before.ids),
            added,
            whole,
            _shape(fitted, added, whole, _promoted(fitted, method, uses)),
            is_again=new < added.images,
            rounds=2 if (uses[earlier == 0] > 0).any() else 1,
            workers=workers,
            apart=apart,
        )

    @property
    def name(self) -> str:
        """What is done."""
        return "an update"

    @property
    def extent(self) -> str:
        """What is added to what."""
        return f"{self.added.images:,} images and a model of {self.known_images:,}"

    @property
    def last_resort(self) -> str:
        """The model has to be held, however few images are added."""
        return ": it is the model that is large"

    def largest_process(self, rows: int = USUAL_ROWS) -> float:
        """Return the bytes of the process that needs most."""
        block = self._block(rows)
        if self.apart:
            # The process that leads has packed what it sends, a worker what it was sent.
            leading = self._held + self._solving + self.rounds * self._shared
            return BASE_BYTES + APART_BYTES + max(leading, 2.0 * self._shared + block)
        # Images are judged and added first, then all is solved; threads keep what they had.
        return BASE_BYTES + self._held + max(self._solving, block) + (self.workers - 1) * block

    def alternatives(self) -> Iterator[tuple[str, "Update"]]:
        """Yield other ways to do the same."""
        if self.workers > 1 and not self.apart:
            yield "--workers 1", replace(self, workers=1)
        if self.added.images >= PARTS_ADVISED:
            yield f"{PARTS_ADVISED} updates, each with a part of the images", self._part()

    def _part(self) -> "Update":
        """Return the last of some updates with as many images each: the model has the others."""
        images = -(-self.added.images // PARTS_ADVISED)
        share = images / self.added.images
        added = replace(self.added, images=images, given=self.added.given * share)
        return replace(self, added=added)

    @property
    def _held(self) -> float:
        """Models that are there while another is made, and what grows with images and owners."""
        shape, room = self.shape, Room.of(self.method, self.whole, self.shape)
        models = self.rounds * (shape.sums + shape.ridge) + self.is_again * shape.sums
        features = self.added.images * self.added.features * self.added.feature_bytes
        return (
            models
            + GROWN_COPIES * (room.fitted + room.trusted).whole
            + NAME_BYTES * self.whole.images
            # Of images that the model has, those that changed are copied out of their shards.
            + self.is_again * features
        )

    @property
    def _solving(self) -> float:
        """The new sums, what of them is solved, the inverse, and the weights."""
        bands = self.workers * band_bytes(self.whole, self.shape)
        return self.shape.sums + solving_bytes(self.whole, self.shape) + bands

    @property
    def _shared(self) -> float:
        """What a worker must have that is a process of its own: the model."""
        room = Room.of(self.method, self.whole, self.shape)
        return self.shape.sums + self.shape.ridge + (room.given + room.totals).whole

    def _block(self, rows: int) -> float:
        """Return what a worker takes for its block: to judge some of it, or to add it up."""
        shape, images = self.shape, min(rows, self.added.images)
        answer = shape.mixed + 8.0 * shape.D**2
        entries = arranged_bytes(images * (self.added.tags_each + self.added.words_each))
        adding = images * (self.added.features * 12.0 + shape.D * 16.0) + entries + 3.0 * answer
        step = min(shape.step, images)
        judging = JUDGED_BYTES * step * shape.T + through_bytes(self.whole, shape, step)
        return max(judging, adding)


def _together(known: Names[str], more: Names[str]) -> int:
    """Return how many names there are in both together."""
    new = set(more)
    return len(known) + len(new) - sum(name in new for name in known)


def _uses(
    model: Model, fitted: FittedSugarPlus, collection: Collection
) -> tuple[FloatArray, FloatArray]:
    """Return how often each tag is used in the model, and will be at most; new tags are last."""
    before = model.catalogue.tag_names
    place = {name: number for number, name in enumerate(before)}
    for name in collection.tag_names:
        place.setdefault(name, len(place))
    earlier = np.pad(fitted.ridge.sums.given, (0, len(place) - len(before)))
    uses = earlier.copy()
    uses[[place[name] for name in collection.tag_names]] += tag_counts(collection)
    return earlier, uses


def _promoted(fitted: FittedSugarPlus, method: SugarPlus, uses: FloatArray) -> int:
    """Return how many tags become columns, because they are now used enough."""
    outside = np.setdiff1d(np.arange(len(uses)), fitted.evidence.predictor)
    room = max(0, method.max_predictors - len(fitted.evidence.predictor))
    return min(room, int(np.count_nonzero(uses[outside] >= MIN_USES)))


def _shape(fitted: FittedSugarPlus, added: Size, whole: Size, promoted: int) -> Shape:
    """Return the letters of the model to be."""
    evidence = fitted.evidence
    return Shape(
        n=whole.images,
        T=whole.tags,
        P=len(evidence.predictor) + promoted,
        W=len(evidence.words),
        A=len(evidence.anchors),
        S=evidence.taste.shape[1],
        k=added.tags_each + (added.words_each if len(evidence.words) else 0.0),
        rows=min(USUAL_ROWS, added.images),
        G=0.0,
        L=0.0,
        X=0.0,
        V=0.0,
        Q=0.0,
    )
