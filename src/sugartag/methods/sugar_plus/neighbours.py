"""Same-owner neighbours: what else this person tagged that looks like this.

A kernel-weighted mean of the tags of the owner's similar images, shrunk towards nothing:
sum_j k(i, j) y_j / (sum_j k(i, j) + 1), with an RBF kernel whose width is a share of the median
distance between images. Frames of the same series, which share all tags, have no vote on each
other. At most ``history`` images of each owner are kept as the reference set.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from scipy import sparse

from sugartag._rules import Below, Positive, Rising, Shape
from sugartag._typing import BoolArray, FloatArray, IntArray, Room, SparseRows
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Block, Engine
from sugartag.linalg.sparse_rows import (
    GrowingRows,
    entries_between,
    row_number_of_entries,
    same_places,
)
from sugartag.methods.sugar_plus._kernels import squared_distances
from sugartag.methods.sugar_plus.blocks import VisualBlock
from sugartag.methods.sugar_plus.statistics import SERIES_TAGS, Hashes, set_hashes

COMPONENTS = 64
"""Leading visual components that neighbours are compared by."""
LEAST_KERNEL = 0.05
"""A smaller kernel value counts as none."""
IMAGES_AT_ONCE = 16_384


@dataclass(frozen=True, eq=False)
class ReferenceImages:
    """Images as neighbours: who owns them, how they look, what they are tagged."""

    image: Annotated[IntArray, Shape("reference images"), Below("images")]
    """Position in the collection fitted."""
    owner: Annotated[IntArray, Shape("reference images"), Below("owners")]
    codes: Annotated[FloatArray, Shape("reference images", "_codes")]
    """Leading visual components."""
    tags: Annotated[SparseRows, Shape("reference images", "tags")]

    def __len__(self) -> int:
        return len(self.image)

    def at(self, chosen: IntArray, room: Room = np.zeros) -> "ReferenceImages":
        """Return some of the images, in the order given, in room that may be a file."""
        codes = room((len(chosen), self.codes.shape[1]), np.float32)
        uses = int(np.diff(self.tags.indptr)[chosen].sum())
        tags = GrowingRows(self.tags.shape[1], len(chosen), uses, np.float32, room)
        for start in range(0, len(chosen), IMAGES_AT_ONCE):
            some = chosen[start : start + IMAGES_AT_ONCE]
            codes[start : start + len(some)] = self.codes[some]
            tags.take(sparse.csr_array(self.tags[some]))
        return ReferenceImages(self.image[chosen], self.owner[chosen], codes, tags.rows())

    def joined(self, other: "ReferenceImages") -> "ReferenceImages":
        """Return the images of both, whose tags may be from vocabularies of unlike size."""
        width = max(self.tags.shape[1], other.tags.shape[1])
        tags = [_widened(part.tags, width) for part in (self, other)]
        return ReferenceImages(
            np.concatenate([self.image, other.image]),
            np.concatenate([self.owner, other.owner]),
            np.concatenate([self.codes, other.codes]),
            sparse.csr_array(sparse.vstack(tags, format="csr")),
        )


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The reference set, by owner."""

    start: Annotated[IntArray, Shape("owners+1"), Rising(0, "reference images")]
    """Where the images of each owner start, and the end of the last."""
    reference: ReferenceImages
    width: Annotated[float, Positive()]
    """Kernel width, in units of the components."""

    def validate(self) -> None:
        """Raise ``ValueError`` if there are reference images that cannot be compared."""
        if len(self.reference) and not self.reference.codes.shape[1]:
            raise ValueError("has reference images without components")

    @classmethod
    def of(
        cls,
        images: ReferenceImages,
        *,
        n_owners: int,
        history: int,
        width: float,
        room: Room = np.zeros,
    ) -> "Neighbours":
        """Keep the first ``history`` images of each known owner."""
        order = np.lexsort((images.image, images.owner))
        order = order[images.owner[order] < n_owners]
        owner = images.owner[order]
        rank = np.arange(len(order)) - np.searchsorted(owner, owner)
        kept = order[rank < history]
        start = np.searchsorted(images.owner[kept], np.arange(n_owners + 1))
        return cls(start, images.at(kept, room), width)

    @property
    def n_owners(self) -> int:
        """How many owners there are."""
        return len(self.start) - 1

    def shares(self, rows: Rows, components: FloatArray) -> SparseRows:
        """Return images x reference images: the weight of each in the mean.

        ``components`` are the visual components of the images; the leading ones are compared.
        """
        kernel = self._kernel(rows, components[:, : self.reference.codes.shape[1]])
        total = np.asarray(kernel.sum(axis=1)).ravel() + 1.0
        shares = kernel.data / total[row_number_of_entries(kernel)]
        return same_places(shares.astype(np.float32), kernel)

    def votes(self, rows: Rows, components: FloatArray) -> SparseRows:
        """Return images x tags: the shrunken kernel-weighted mean of the neighbours' tags."""
        if not len(self.reference):
            return _empty(len(rows), self.reference.tags.shape[1])
        return sparse.csr_array(self.shares(rows, components) @ self.reference.tags)

    @cached_property
    def _present(self) -> BoolArray:
        """Which reference images have features."""
        return _present(self.reference.codes)

    @cached_property
    def _tag_sets(self) -> Hashes:
        """A hash of the tags of each reference image."""
        return set_hashes(self.reference.tags)

    def _kernel(self, rows: Rows, codes: FloatArray) -> SparseRows:
        """Return images x reference images: kernel values between images of one owner."""
        row, other = self._pairs(rows)
        apart = squared_distances(codes, row, self.reference.codes, other)
        value = np.exp(-apart / np.float32(self.width**2))
        present = _present(codes)[row] & self._present[other]
        kept = (value >= LEAST_KERNEL) & present
        shape = (len(rows), len(self.reference))
        return sparse.csr_array((value[kept], (row[kept], other[kept])), shape=shape)

    def _pairs(self, rows: Rows) -> tuple[IntArray, IntArray]:
        """Return the rows and reference images of one owner that may vote on each other."""
        owner = rows.owner.astype(np.int64)
        at = np.where(owner < self.n_owners, owner, 0)
        last = np.where(owner < self.n_owners, self.start[np.minimum(at + 1, self.n_owners)], 0)
        first = np.minimum(self.start[at], last)
        row, other = entries_between(first, last)
        mine, theirs = set_hashes(rows.tags), self._tag_sets
        in_series = np.diff(rows.tags.indptr) >= SERIES_TAGS
        same = in_series[row] & (mine[row] == theirs[other])
        allowed = ~same & (self.reference.image[other] != rows.position[row])
        return row[allowed], other[allowed]


def leading(visual: VisualBlock) -> VisualBlock:
    """Return the block of the components that neighbours are compared by."""
    return VisualBlock(visual.mean, visual.projection[:, :COMPONENTS], visual.penalty)


def find_neighbours(
    collection: Collection, visual: VisualBlock, *, history: int, width: float, engine: Engine
) -> Neighbours:
    """Describe all images and keep the reference set; ``width`` is in median distances."""
    n_owners, n_tags = collection.n_owners, collection.n_tags
    if not history or not visual.width or not n_owners:
        nothing = np.zeros(0, dtype=np.int64)
        codes = np.zeros((0, 0), dtype=np.float32)
        none = ReferenceImages(nothing, nothing, codes, _empty(0, n_tags))
        return Neighbours(np.zeros(n_owners + 1, dtype=np.int64), none, 1.0)
    few = leading(visual)
    parts = engine.map(describe_images, collection.blocks(), collection, few, history)
    images = Gathered(collection.n_images, few.width, n_tags, engine)
    for part in parts:
        images.take(part)
    found = images.found()
    scale = median_distance(found.codes)
    return Neighbours.of(
        found, n_owners=n_owners, history=history, width=width * scale, room=engine.room
    )


def describe_images(
    block: Block, collection: Collection, visual: VisualBlock, history: int
) -> ReferenceImages:
    """Return the images of a block as neighbours, at most ``history`` of each known owner.

    Images without features are nobody's neighbours.
    """
    rows = collection.rows(block)
    seen = np.flatnonzero(rows.described)
    order = seen[np.argsort(rows.owner[seen], kind="stable")]
    owner = rows.owner[order]
    rank = np.arange(len(order)) - np.searchsorted(owner, owner)
    kept = np.sort(order[(rank < history) & (owner < collection.n_owners)])
    few = rows.at(kept)
    return ReferenceImages(few.position, few.owner, visual.transform(few), few.tags)


class Gathered:
    """Takes blocks of reference images into room made before, which may be a file."""

    def __init__(self, n_images: int, width: int, n_tags: int, engine: Engine) -> None:
        self.filled = 0
        self.image = engine.room(n_images, np.int64)
        self.owner = engine.room(n_images, np.int64)
        self.codes = engine.room((n_images, width), np.float32)
        self.tags = GrowingRows(n_tags, n_images, 4 * n_images, np.float32, engine.room)

    def take(self, part: ReferenceImages) -> None:
        """Append the images of a block."""
        place = slice(self.filled, self.filled + len(part))
        self.image[place], self.owner[place] = part.image, part.owner
        self.codes[place] = part.codes
        self.tags.take(part.tags)
        self.filled = place.stop

    def found(self) -> ReferenceImages:
        """Return all images taken."""
        some = slice(self.filled)
        return ReferenceImages(
            self.image[some], self.owner[some], self.codes[some], self.tags.rows()
        )


def median_distance(codes: FloatArray, pairs: int = 4_000) -> float:
    """Return the median distance between images far apart in the list."""
    n = len(codes)
    if n < 2:
        return 1.0
    first = np.arange(pairs) % n
    second = (first * 7919 + n // 2 + np.arange(pairs)) % n
    apart = ((codes[first] - codes[second]) ** 2).sum(axis=1)[first != second]
    return float(np.sqrt(max(float(np.median(apart)), 1e-12))) if len(apart) else 1.0


def _present(codes: FloatArray) -> BoolArray:
    """Tell which images have features."""
    found: BoolArray = np.asarray(codes.any(axis=1))
    return found


def _widened(tags: SparseRows, width: int) -> SparseRows:
    shape = (tags.shape[0], width)
    found: SparseRows = sparse.csr_array((tags.data, tags.indices, tags.indptr), shape=shape)
    return found


def _empty(n_rows: int, n_columns: int) -> SparseRows:
    start = np.zeros(n_rows + 1, dtype=np.int64)
    parts = np.zeros(0, dtype=np.float32), np.zeros(0, dtype=np.int64), start
    return sparse.csr_array(parts, shape=(n_rows, n_columns))
