"""What fitting sugar-plus takes: the operations and the memory of each stage, counted.

The letters are those of :mod:`sugartag.costs.sugar_plus_shape`.
"""

from sugartag.costs.size import Size
from sugartag.costs.sugar_plus_judging import SAMPLE_HELD, judging_stage, learning_stage
from sugartag.costs.sugar_plus_room import (
    Grown,
    Room,
    bytes_of_a_place,
    owner_words,
    remembered,
    stage_with,
)
from sugartag.costs.sugar_plus_shape import (
    Shape,
    busiest_bytes,
    held_of_rows,
    reading_work,
    sampled_cells,
    word_work,
)
from sugartag.costs.work import Stage, Work
from sugartag.linalg.nystrom import PAIRS_AT_ONCE
from sugartag.methods.sugar_plus import SugarPlus
from sugartag.methods.sugar_plus.choice import (
    ANCHOR_RIDGES,
    COLUMNS,
    FOLDS,
    IMAGES,
    KERNEL_WIDTHS,
    TAG_RIDGES,
)
from sugartag.methods.sugar_plus.evidence import SAMPLE
from sugartag.methods.sugar_plus.normal import OWNERS_AT_ONCE
from sugartag.methods.sugar_plus.remembered import DIRECTIONS
from sugartag.methods.sugar_plus.sums import MOST_PARTS

K_MEANS_ROUNDS = 30
"""Of the search for anchors, about."""
SVD_PRODUCTS = 12
"""Times that the counts of owners are multiplied to find the directions of tastes."""


def fit_stages(method: SugarPlus, size: Size, rows: int) -> list[Stage]:
    """Return the stages of a fit."""
    shape = Shape.of(method, size, rows)
    room = Room.of(method, size, shape)
    rounds = 1 + method.trust_rounds
    return [
        _evidence(size, shape),
        _choosing(method, size, shape),
        _adding_up(size, shape, room, rounds),
        _look_alikes(method, size, shape, room),
        _solving(size, shape, room, rounds),
        judging_stage(size, shape, room, rounds),
        learning_stage(size, shape, room, rounds),
    ]


def disk(method: SugarPlus, size: Size) -> float:
    """Return the bytes of the model folder."""
    shape = Shape.of(method, size, 8192)
    # Trusted tags and what they say beside the arrays that grow: which images are remembered, where
    # rows start in what was decided, ids and where they start.
    images = 8.0 * remembered(method, size) + size.images * (4.0 + 12.0 + 8.0)
    owners = size.owners * (32.0 + 4.0 * shape.S) + 12.0 * owner_words(size, shape)
    anchors = 4.0 * shape.A * size.features
    fitted = Room.of(method, size, shape).fitted.whole
    return shape.sums + shape.ridge + fitted + images + owners + anchors


def _evidence(size: Size, shape: Shape) -> Stage:
    """k-means of a sample, the words of titles, and the tastes of groups."""
    sample = min(shape.n, SAMPLE)
    k_means = 2.0 * sample * size.features * shape.A * K_MEANS_ROUNDS
    tastes = shape.S + 10.0 if shape.S else 0.0
    return Stage(
        "evidence",
        serial=Work(
            product64=k_means,
            sparse=SVD_PRODUCTS * size.owner_tags * tastes,
            calls=2.0 * size.title_words,
            copied=8.0 * shape.n + 4.0 * size.given + 3.0 * _median(shape),
        ),
        passes=Work(sparse=20.0 * size.given if shape.S else 0.0),
        n_passes=1 if shape.S else 0,
        held=8.0 * shape.n
        + 32.0 * shape.S * size.owners
        + sample * size.features * 28.0
        + 24.0 * size.owner_tags
        + _median(shape),
    )


def _median(shape: Shape) -> float:
    """Return the bytes of the distances that a median is taken of, and of their places."""
    return 20.0 * min(shape.n, PAIRS_AT_ONCE) ** 2


def _choosing(method: SugarPlus, size: Size, shape: Shape) -> Stage:
    """Regressions on a sample of owners, one for each value tried."""
    sample = min(shape.n, IMAGES)
    folds = FOLDS if sample == shape.n else 1
    columns = min(shape.K, COLUMNS) + shape.D
    widths = 1 if method.kernel_width or not shape.A else len(KERNEL_WIDTHS)
    tags = 1 if method.tag_ridge else len(TAG_RIDGES)
    anchors = 1 if method.anchor_ridge or not shape.A else len(ANCHOR_RIDGES)
    tried = folds * (tags + widths * anchors)
    grams = folds * widths
    return Stage(
        "choosing",
        passes=reading_work(size) + Work(sparse=4.0 * size.given),
        serial=Work(
            product64=grams * 4.0 * sample * columns**2 + tried * 80.0 * sample * columns,
            solve64=tried * columns**3,
            copied=tried * 24.0 * columns**2 + grams * 40.0 * sample * columns,
        ),
        n_passes=1,
        # Owners are drawn by sorting a number of each image's.
        held=held_of_rows(size, shape)
        + 48.0 * shape.n
        + 24.0 * sample * columns
        + (24.0 + 16.0 * folds) * columns**2,
        block=shape.rows * size.features * 12.0,
        answer=sample / shape.blocks * (4.0 * size.features + 12.0 * shape.k),
    )


def _before(size: Size, shape: Shape, room: Room, rounds: int) -> tuple[float, Grown]:
    """Return what an earlier round of the regression has left, in the second and later ones."""
    if rounds == 1:
        return 0.0, Grown()
    held = shape.ridge + busiest_bytes(size, shape) + SAMPLE_HELD * sampled_cells(shape)
    return shape.sums + held, room.totals + room.trusted + room.learned


def _adding_up(size: Size, shape: Shape, room: Room, rounds: int) -> Stage:
    """Multiply all columns, block by block; the sums are added where they come in."""
    answer = 12.0 * min(shape.rows * shape.k**2, shape.K**2) + 8.0 * shape.D * (
        shape.K + shape.D + shape.R
    )
    work = Work(
        product32=2.0 * shape.n * shape.A * size.features + 2.0 * shape.n * shape.D**2,
        # Sparse by dense columns; sparse by sparse ones, which cost far more each.
        sparse=shape.n * shape.k * shape.D + 60.0 * shape.n * shape.k * size.tags_each,
        copied=40.0 * shape.n * shape.D + 500.0 * size.given,
    )
    # Dense products are added as a whole, sparse ones entry by entry, each in a place of its own.
    entries = min(shape.rows * shape.k * size.tags_each, shape.K * shape.T)
    merging = 24.0 * shape.D * (shape.M + shape.R) + 200.0 * entries
    # Title words come in as sparse rows of all owners, some blocks of which wait to be added.
    spread = bytes_of_a_place(size) * size.owners
    words = 12.0 * owner_words(size, shape)
    before, left = _before(size, shape, room, rounds)
    return stage_with(
        "adding up",
        room.given + room.totals + left,
        passes=(work + reading_work(size) + word_work(size)) * rounds,
        serial=Work(copied=shape.blocks * (merging + 5.0 * spread), sparse=300.0 * size.owner_tags)
        * rounds,
        n_passes=rounds,
        held=held_of_rows(size, shape)
        + before
        + shape.sums
        + 16.0 * shape.n
        + (1.0 + MOST_PARTS) * spread
        + 2.0 * words,
        block=shape.rows * (size.features * 12.0 + shape.D * 16.0) + 2.0 * answer,
        shared=room.given.whole + held_of_rows(size, shape) + 4.0 * shape.A * size.features,
        answer=answer + 4.0 * min(shape.rows, size.owners) * shape.D,
        kept=rounds * (shape.sums + size.owners * (8.0 + 4.0 * shape.D) + words),
    )


def _look_alikes(method: SugarPlus, size: Size, shape: Shape, room: Room) -> Stage:
    """Short descriptions of all images that are remembered, sorted by owner."""
    held = held_of_rows(size, shape) + shape.sums
    there = room.given + room.totals
    if not method.history:
        return stage_with("look-alikes", there, held=held)
    entries = size.given + size.title_words
    return stage_with(
        "look-alikes",
        there + room.described + room.look_alikes,
        passes=reading_work(size)
        + word_work(size)
        + Work(product32=2.0 * shape.n * size.features * DIRECTIONS),
        serial=Work(
            copied=8.0 * entries * 100.0 + shape.n * 8.0 * 60.0 + 3.0 * _median(shape),
            product64=10.0 * size.features**3 + 2.0 * min(shape.n, 5_000) * size.features**2,
        ),
        n_passes=1,
        # Images are shuffled, and sorted by owner.
        held=held + 64.0 * shape.n + _median(shape),
        block=shape.rows * size.features * 12.0,
        shared=held_of_rows(size, shape),
        answer=shape.rows * (4.0 * min(DIRECTIONS, size.features) + 24.0 * shape.k),
    )


def _solving(size: Size, shape: Shape, room: Room, rounds: int) -> Stage:
    """One inverse for all tags; then the weights of those that are no columns."""
    steps = max(1.0, size.owners / OWNERS_AT_ONCE)
    mixed = 8.0 * shape.D * (shape.K + shape.D + shape.R)
    work = Work(
        solve64=shape.M**3,
        product64=2.0 * shape.M**2 * shape.R + 2.0 * size.owners * shape.D**2,
        sparse=size.owner_tags * shape.D
        + 10.0 * size.owner_tags * size.owner_tags / max(size.owners, 1),
        copied=60.0 * shape.M**2
        + 40.0 * shape.M * shape.R
        + 8.0 * shape.M * shape.T
        + steps * 3.0 * mixed,
    )
    # The inverse, and the weights in double precision before they are written down.
    inverse = 8.0 * shape.M * (shape.M + max(shape.P, shape.R))
    before, left = _before(size, shape, room, rounds)
    return stage_with(
        "solving",
        room.given + room.totals + (left if rounds > 1 else room.look_alikes),
        serial=work * rounds,
        held=held_of_rows(size, shape)
        + before
        + shape.sums * 2.0
        + inverse
        + shape.ridge
        + mixed
        + min(size.owners, OWNERS_AT_ONCE) * shape.D * 20.0,
    )
