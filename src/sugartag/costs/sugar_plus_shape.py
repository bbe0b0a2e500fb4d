"""What sugar-plus is made of, for one collection: its columns, and the work on an image.

Letters: n images, T tags, K sparse columns (tags that predict, title words), D dense ones (anchors,
tastes), M = K + D columns in all, R tags that are no columns, k sparse entries of an image.
"""

from dataclasses import dataclass

from sugartag.costs.size import OWN_TAGS, Size
from sugartag.costs.work import Work
from sugartag.methods.sugar_plus import SugarPlus
from sugartag.methods.sugar_plus.evidence import MAX_WORDS, SAMPLE
from sugartag.methods.sugar_plus.given import OWNERS_AT_ONCE
from sugartag.methods.sugar_plus.kept_owners import OWNER_CELLS
from sugartag.methods.sugar_plus.learning import CELLS, CELLS_AT_ONCE, ROWS_PER_BLOCK
from sugartag.methods.sugar_plus.remembered import DIRECTIONS

JUDGED_ARRAYS = 30
"""Arrays of images x tags that judging an image writes."""
SCORED_ARRAYS = 20
"""Those that come on top where images are scored: habits, belief, ranking."""
BELIEF_BYTES = 1_000.0
"""That learning a belief writes for each cell of the sample: mostly searching and sorting them."""
PAIR_BYTES = 700.0
"""That judging given tags writes for each pair of a given tag and a column of its image."""
HABIT_BYTES = 100.0
"""That scoring an image writes for each tag of its owner."""
LINK_COST = 600.0
"""Multiply-adds that each tag of an image of the same owner is as long as."""
CALLS_OF_A_STEP = 2_000.0
"""Small steps that judging some images takes, however few they are."""
HELD_PER_IMAGE = 16.0
"""Bytes that are in memory for each image all the time: its owner, and which one is remembered."""


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

    @classmethod
    def of(cls, method: SugarPlus, size: Size, rows: int) -> "Shape":
        """Return the letters."""
        anchors = min(method.anchors, max(1, min(size.images, SAMPLE) // 4))
        words = min(size.words, MAX_WORDS) if method.titles else 0
        predictors = min(size.used_tags, method.max_predictors)
        # The most used tags are given most often: about as Zipf's law has it.
        kept = (predictors / size.tags) ** 0.15
        return cls(
            n=size.images,
            T=size.tags,
            P=predictors,
            W=words,
            A=anchors if size.features else 0,
            S=min(method.tastes, size.tags) if size.memberships else 0,
            k=size.tags_each * kept + (size.words_each if words else 0.0),
            rows=min(rows, size.images),
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
        return 4.0 * self.M * (self.T + self.W + self.D)


def held_of_rows(size: Size, shape: Shape) -> float:
    """Return the bytes in memory for images and owners all the time, whoever does the work."""
    # Of each owner: tastes, images, where those begin.
    return HELD_PER_IMAGE * shape.n + size.owners * (4.0 * shape.S + 16.0)


def judging_work(size: Size, shape: Shape, n: float, at_once: float) -> Work:
    """Return what it takes to judge all tags of so many images, each left out of itself."""
    # An image is seen as it is and as it was fitted; its owner's other images may come on top.
    sides = 2.0 + _unready(size, shape)
    others = shape.T + shape.W + shape.D
    return Work(
        product32=2.0 * n * shape.D * others * (sides - 1.0) + 2.0 * n * shape.A * size.features,
        sparse=n * shape.k * others * sides,
        copied=4.0 * n * shape.T * JUDGED_ARRAYS,
        calls=CALLS_OF_A_STEP * n / at_once,
    )


def alike_work(size: Size, n: float, at_once: float) -> Work:
    """Return what it takes to ask the other images of the owners of so many."""
    pairs, steps = n * size.fellows, n / at_once
    return Work(
        copied=pairs * 8.0 * (2 * DIRECTIONS + 20.0) + 16.0 * steps * size.owners,
        # Five products of sparse rows, each made twice: once to count what it will have.
        sparse=LINK_COST * pairs * max(size.tags_each, 1.0),
        calls=CALLS_OF_A_STEP * steps,
    )


def given_work(size: Size, shape: Shape) -> Work:
    """Return what it takes to judge the given tags of all images, and no others."""
    entries = size.given + shape.n * _words(size, shape)
    pairs = entries * shape.k
    # An owner's values are looked up in sparse arrays that are gone through once a block.
    owners = 16.0 * size.owners + 8.0 * _searched(size, shape)
    return Work(
        product32=2.0 * shape.n * (shape.A * size.features + shape.D**2),
        sparse=shape.n * shape.k * shape.D,
        copied=shape.D * (100.0 * shape.n + 12.0 * entries)
        + PAIR_BYTES * pairs
        + shape.blocks * owners,
        calls=300.0 * shape.blocks,
    )


def owners_work(size: Size, shape: Shape, n: float) -> Work:
    """Return what it takes to multiply the sums of so many owners by all weights."""
    others = shape.T + shape.W + shape.D
    entries = size.owner_tags / max(size.owners, 1) * n * shape.k / max(size.tags_each, 1e-9)
    return Work(
        product32=2.0 * n * shape.D * others,
        sparse=entries * others,
        copied=32.0 * n * others,
        calls=100.0 * n / OWNERS_AT_ONCE,
    )


def scoring_work(size: Size, shape: Shape, n: float, at_once: float) -> Work:
    """Return what it takes to say how probable all tags of so many images are."""
    own_tags = min(OWN_TAGS * size.tags_each * size.fellows, shape.T)
    # Two arrays of all owners are made anew in every step.
    habits = HABIT_BYTES * n * own_tags + 24.0 * n / at_once * size.owners
    return (
        judging_work(size, shape, n, at_once)
        + alike_work(size, n, at_once)
        + Work(copied=4.0 * n * shape.T * SCORED_ARRAYS + habits)
    )


def sampled_cells(shape: Shape) -> float:
    """Images x tags that beliefs are learned from."""
    return min(max(float(CELLS), ROWS_PER_BLOCK * shape.T), shape.n * shape.T)


def belief_work(shape: Shape) -> Work:
    """Learn one belief from the sample."""
    return Work(copied=BELIEF_BYTES * sampled_cells(shape), calls=30.0 * shape.T)


def ready_owners(size: Size, shape: Shape) -> float:
    """Owners whose sums are kept ready."""
    return min(float(size.owners), OWNER_CELLS / shape.T)


def busiest_bytes(size: Size, shape: Shape) -> float:
    """Bytes of the owners' sums that are kept ready; while they are joined, there are two."""
    return ready_owners(size, shape) * 8.0 * (shape.T + shape.W + shape.D) * 1.5


def _unready(size: Size, shape: Shape) -> float:
    """Return the share of images whose owner's sums are made anew; busy owners have most."""
    if not size.owners:
        return 0.0
    ready: float = (ready_owners(size, shape) / size.owners) ** 0.3
    return 1.0 - ready


def owners_block(shape: Shape) -> float:
    """Return the bytes of the owners that are multiplied in one step."""
    return OWNERS_AT_ONCE * (24.0 * shape.T + 16.0 * (shape.W + shape.D))


def _words(size: Size, shape: Shape) -> float:
    """Return the title words of an image that are columns."""
    return size.words_each if shape.W else 0.0


def _searched(size: Size, shape: Shape) -> float:
    """Return the pairs of owner and tag that are gone through for the lookups of one block."""
    lookups = shape.rows * size.tags_each
    # With more pairs for each lookup than there are lookups, rows are searched one by one.
    return size.owner_tags if size.owner_tags < lookups**2 else 0.0


def reading_work(size: Size) -> Work:
    """Read all images once, and scale their features."""
    return Work(
        read=size.images * size.features * size.feature_bytes + 4.0 * size.given,
        copied=12.0 * size.images * size.features + 20.0 * size.given,
    )


def word_work(size: Size) -> Work:
    """Split all titles into words, in Python."""
    return Work(calls=2.0 * size.title_words)
