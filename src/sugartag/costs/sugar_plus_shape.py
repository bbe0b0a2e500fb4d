"""What sugar-plus is made of, for one collection: its columns, its owners, and their bytes.

Letters: n images, T tags, K sparse columns (tags that predict, title words), D dense ones (anchors,
tastes), M = K + D columns in all, R tags that are no columns, k sparse entries of an image.
"""

import math
from dataclasses import dataclass

from sugartag.costs.size import OWN_TAGS, Size
from sugartag.methods.sugar_plus import SugarPlus
from sugartag.methods.sugar_plus.census import CELLS as COUNTED
from sugartag.methods.sugar_plus.census import ROWS_PER_BLOCK as COUNTED_ROWS
from sugartag.methods.sugar_plus.evidence import MAX_WORDS, SAMPLE
from sugartag.methods.sugar_plus.learning import CELLS, CELLS_AT_ONCE, ROWS_PER_BLOCK
from sugartag.methods.sugar_plus.looked_at import MOST_DIRECTIONS, images_looked_at, tags_looked_at
from sugartag.methods.sugar_plus.normal import OWNERS_AT_ONCE
from sugartag.methods.sugar_plus.ridge import ROWS_AT_ONCE
from sugartag.methods.sugar_plus.sparse_columns import ENTRIES_AT_ONCE
from sugartag.methods.sugar_plus.subject_learning import FEWEST_IMAGES

HELD_PER_IMAGE = 16.0
"""Bytes that are in memory for each image all the time: its owner, and which one is remembered."""
MADE_BYTES = 16.0
"""Of each owner and column, while the owner's sums are taken through the ridge."""
ARRANGED_BYTES = 64.0
"""Of each entry of sparse columns whose products are added: by row, by column, and weighed."""


@dataclass(frozen=True)
class Shape:
    """The letters, for one collection and one choice of settings."""

    n: float
    T: float
    P: float
    """Tags that predict others."""
    W: float
    """Title words that do."""
    A: float
    """Anchors."""
    S: float
    """Tastes."""
    k: float
    rows: float
    """Images of a block."""
    G: float
    """Images that are looked at as a whole."""
    L: float
    """Those of them that sight is learned from: all, or none where it is not learned."""
    X: float
    """Tags that sight is learned of."""
    V: float
    """Directions that sight goes by."""
    Q: float
    """Subjects that images are about; 0 where they are not learned."""

    @classmethod
    def of(cls, method: SugarPlus, size: Size, rows: int) -> "Shape":
        """Return the letters."""
        anchors = min(method.anchors, max(1, min(size.images, SAMPLE) // 4))
        words = min(size.words, MAX_WORDS) if method.titles else 0
        predictors = min(size.used_tags, method.max_predictors)
        # The most used tags are given most often: about as Zipf's law has it.
        kept = (predictors / size.tags) ** 0.15
        looked_at = images_looked_at(size.images)
        return cls(
            n=size.images,
            T=size.tags,
            P=predictors,
            W=words,
            A=anchors if size.features else 0,
            S=min(method.tastes, size.tags) if size.memberships else 0,
            k=size.tags_each * kept + (size.words_each if words else 0.0),
            rows=min(rows, size.images),
            G=looked_at,
            L=looked_at if method.sight and size.features else 0,
            X=tags_looked_at(size.tags, size.images),
            V=min(size.features, MOST_DIRECTIONS),
            Q=min(method.subjects, looked_at // FEWEST_IMAGES),
        )

    @property
    def K(self) -> float:
        """Sparse columns."""
        return self.P + self.W

    @property
    def D(self) -> float:
        """Dense columns."""
        return self.A + self.S

    @property
    def M(self) -> float:
        """Columns."""
        return self.K + self.D

    @property
    def R(self) -> float:
        """Tags that are no columns."""
        return self.T - self.P

    @property
    def through(self) -> float:
        """Tags, and columns that are none: what an image is multiplied to on its way through."""
        return self.T + self.W + self.D

    @property
    def blocks(self) -> float:
        """Blocks of a pass."""
        return max(1.0, self.n / self.rows)

    @property
    def step(self) -> float:
        """Images judged in one step."""
        return max(16.0, CELLS_AT_ONCE / self.T)

    @property
    def sums(self) -> float:
        """Bytes of the Gram matrix and of its products with tags that are no columns."""
        return 8.0 * self.M * (self.M + self.R)

    @property
    def ridge(self) -> float:
        """Bytes of the weights, and of what leaves an image out."""
        return 4.0 * self.M * self.through

    @property
    def mixed(self) -> float:
        """Bytes of the products of sparse columns and of other tags with dense columns."""
        return 8.0 * self.D * (self.K + self.R)

    @property
    def upper(self) -> float:
        """Products of sparse columns with themselves, half of them, and with other tags."""
        return self.K * (self.K / 2.0 + self.R)


def held_of_rows(size: Size, shape: Shape) -> float:
    """Return the bytes in memory for images and owners all the time, whoever does the work."""
    # Of each owner: tastes, images, where those begin.
    return HELD_PER_IMAGE * shape.n + size.owners * (4.0 * shape.S + 16.0)


def sampled_cells(shape: Shape) -> float:
    """Images x tags that beliefs are learned from."""
    return min(max(float(CELLS), ROWS_PER_BLOCK * shape.T), shape.n * shape.T)


def counted_cells(shape: Shape) -> float:
    """Images x tags that people's recall is told from, where they are more than those."""
    cells = min(max(float(COUNTED), COUNTED_ROWS * shape.T), shape.n * shape.T)
    return cells if cells > sampled_cells(shape) else 0.0


def words_each(size: Size, shape: Shape) -> float:
    """Return the title words of an image that are columns."""
    return size.words_each if shape.W else 0.0


def owner_words(size: Size, shape: Shape) -> float:
    """Return pairs of an owner and a title word of theirs."""
    return min(OWN_TAGS * size.title_words, float(size.owners) * shape.W)


def own_tags(size: Size) -> float:
    """Return the distinct tags of an image's owner, on average over images.

    Busy owners have most images. Their tags grow more slowly than those: as the root, about.
    """
    if not size.owners:
        return 0.0
    busier = size.fellows * size.owners / size.images
    return min(size.owner_tags / size.owners * math.sqrt(max(1.0, busier)), float(size.tags))


def distinct_owners(size: Size, images: float) -> float:
    """Return how many owners so many images are of, where they are mixed."""
    if not size.owners:
        return 0.0
    return size.owners * -math.expm1(-images / size.owners)


def through_bytes(size: Size, shape: Shape, images: float, made: float = 1.0) -> float:
    """Return the bytes of images on their way through the ridge.

    Their dense products are there for all of them, all else for one at a time. ``made`` is the
    share of the images whose owners' sums are not kept.
    """
    owners = MADE_BYTES * distinct_owners(size, images * made) * shape.through
    return 4.0 * images * shape.T + owners


def arranged_bytes(entries: float) -> float:
    """Return the bytes of so many entries of sparse columns, as many at once as are arranged."""
    return ARRANGED_BYTES * min(entries, float(ENTRIES_AT_ONCE))


def solving_bytes(size: Size, shape: Shape) -> float:
    """Return what solving takes beside the sums and what each thread has: equations, then more.

    Owners are taken out first; then there are the inverse, and the weights that come of it.
    """
    owners = arranged_bytes(size.owner_tags) + shape.mixed
    return shape.sums + max(owners, 8.0 * shape.M**2 + shape.ridge)


def band_bytes(size: Size, shape: Shape) -> float:
    """Return what each thread takes in solving: dense sums of owners, then rows of weights."""
    owners = min(float(size.owners), float(OWNERS_AT_ONCE))
    rows = min(float(ROWS_AT_ONCE), shape.M)
    return 8.0 * max(owners * shape.D, rows * shape.T)
