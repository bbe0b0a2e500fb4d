"""What sugar-plus is made of, for one collection: its columns, and the work on an image.

Letters: n images, T tags, K sparse columns (tags that predict, title words), D dense ones (anchors,
tastes), M = K + D columns in all, R tags that are no columns, k sparse entries of an image.
"""

from dataclasses import dataclass

from sugartag.costs.size import Size
from sugartag.costs.work import Work
from sugartag.methods.sugar_plus import SugarPlus
from sugartag.methods.sugar_plus.evidence import MAX_WORDS, SAMPLE
from sugartag.methods.sugar_plus.learning import CELLS, CELLS_AT_ONCE, ROWS_PER_BLOCK
from sugartag.methods.sugar_plus.remembered import DIRECTIONS
from sugartag.methods.sugar_plus.ridge import OWNER_CELLS

JUDGED_ARRAYS = 30
"""Arrays of images x tags that judging an image writes."""
SCORED_ARRAYS = 25
"""Those that come on top where images are scored: habits, look-alikes, belief, ranking."""
BELIEF_BYTES = 1_000.0
"""That learning a belief writes for each cell of the sample: mostly searching and sorting them."""
HELD_PER_ENTRY = 52.0
"""Bytes that a fit holds for each given tag and title word: tags as given and as trusted, what is
thought of them, and the look-alikes' tags and tokens."""
HELD_PER_IMAGE = 72.0
"""Bytes that it holds for each image beside those and its short description: row numbers, owners,
and where each row starts in five sparse arrays."""


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


def held_of_images(method: SugarPlus, size: Size) -> float:
    """Return the bytes that a fit holds because of the images, whatever the columns."""
    codes = 4.0 * min(DIRECTIONS, size.features) if method.history else 0.0
    return size.images * (HELD_PER_IMAGE + codes) + HELD_PER_ENTRY * (size.given + size.title_words)


def judging_work(size: Size, shape: Shape, n: float) -> Work:
    """Return what it takes to judge all tags of so many images, each left out of itself."""
    # An image is seen as it is and as it was fitted; its owner's other images may come on top.
    sides = 2.0 + _unready(size, shape)
    others = shape.T + shape.W + shape.D
    return Work(
        product32=2.0 * n * shape.D * others * (sides - 1.0) + 2.0 * n * shape.A * size.features,
        sparse=n * shape.k * others * sides,
        # The weights of all columns are read once a step and side, to centre them.
        copied=4.0 * n * shape.T * JUDGED_ARRAYS + n / shape.step * 4.0 * shape.K * others * sides,
        calls=100.0 * n / shape.step,
    )


def scoring_work(size: Size, shape: Shape, n: float) -> Work:
    """Return what it takes to say how probable all tags of so many images are."""
    pairs = n * size.fellows
    return judging_work(size, shape, n) + Work(
        copied=4.0 * n * shape.T * SCORED_ARRAYS + pairs * 8.0 * (2 * DIRECTIONS + 20.0),
        sparse=40.0 * pairs * max(size.tags_each, 1.0),
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


def reading_work(size: Size) -> Work:
    """Read all images once, and scale their features."""
    return Work(
        read=size.images * size.features * size.feature_bytes + 4.0 * size.given,
        copied=12.0 * size.images * size.features + 20.0 * size.given,
    )


def word_work(size: Size) -> Work:
    """Split all titles into words, in Python."""
    return Work(calls=2.0 * size.title_words)
