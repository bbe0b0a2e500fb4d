"""What fitting sugar-plus takes: the operations and the memory of each stage, counted.

The letters are those of :mod:`sugartag.costs.sugar_plus_shape`.
"""

from math import log

from sugartag.costs.size import Size
from sugartag.costs.sugar_plus_judging import (
    SAMPLE_HELD,
    block_features,
    judging_stage,
    learning_stage,
)
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
    band_bytes,
    distinct_owners,
    held_of_rows,
    own_tags,
    sampled_cells,
    solving_bytes,
)
from sugartag.costs.sugar_plus_work import (
    dense_work,
    features_work,
    kept_work,
    reading_work,
    word_work,
)
from sugartag.costs.work import Stage, Work
from sugartag.engine.dask import FAN_IN
from sugartag.linalg.nystrom import PAIRS_AT_ONCE
from sugartag.methods.sugar_plus import SugarPlus
from sugartag.methods.sugar_plus.choice import (
    ANCHOR_RIDGES,
    COLUMNS,
    FOLDS,
    HELD_OUT,
    IMAGES,
    KERNEL_WIDTHS,
    MEASURED_TAGS,
    TAG_RIDGES,
)
from sugartag.methods.sugar_plus.evidence import SAMPLE
from sugartag.methods.sugar_plus.normal import BAND, DENSE_BAND, ENTRIES_AT_ONCE, OWNERS_AT_ONCE
from sugartag.methods.sugar_plus.remembered import DIRECTIONS
from sugartag.methods.sugar_plus.sums import MOST_PARTS

K_MEANS_ROUNDS = 30
"""Of the search for anchors, about."""
SVD_PRODUCTS = 12
"""Times that the counts of owners are multiplied to find the directions of tastes."""
SPARSE_PAIR = 10.0
"""Multiply-adds of a sparse by a dense matrix that one of two sparse ones is as long as."""
RANKED_BYTES = 800.0
"""That ranking an image for a tag is as long as writing."""
ADDED_BYTES = 60.0
"""That adding an entry of a sparse matrix to a dense one takes."""


def fit_stages(method: SugarPlus, size: Size, rows: int, *, apart: bool = False) -> list[Stage]:
    """Return the stages of a fit; ``apart`` if workers are processes of their own."""
    shape = Shape.of(method, size, rows)
    room = Room.of(method, size, shape, apart=apart)
    rounds = 1 + method.trust_rounds
    return [
        _evidence(size, shape),
        _choosing(method, size, shape),
        _adding_up(size, shape, room, rounds, apart=apart),
        _look_alikes(method, size, shape, room),
        _solving(size, shape, room, rounds),
        judging_stage(size, shape, room, rounds, apart=apart),
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
    # Of each anchor some images are tried before, each by its distance to all others.
    tried = (2.0 + log(max(shape.A, 1.0))) * shape.A
    k_means = 2.0 * sample * size.features * (shape.A * K_MEANS_ROUNDS + tried)
    tastes = shape.S + 10.0 if shape.S else 0.0
    return Stage(
        "evidence",
        serial=Work(
            product32=k_means,
            sparse=SVD_PRODUCTS * size.owner_tags * tastes,
            calls=2.0 * size.title_words,
            copied=8.0 * shape.n
            + 4.0 * size.given
            + 3.0 * _median(shape)
            + sample * (20.0 * tried + 8.0 * shape.A * K_MEANS_ROUNDS),
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
    owners, held_out = size.owners * sample / shape.n, HELD_OUT * sample
    return Stage(
        "choosing",
        passes=reading_work(size) + features_work(size) + Work(sparse=4.0 * size.given),
        serial=Work(
            # Of the products of the images half, as the matrix is symmetric; of owners all.
            product64=grams * ((1.0 - HELD_OUT) * sample + 2.0 * owners) * columns**2
            + tried * 2.0 * held_out * columns * MEASURED_TAGS,
            # A factor, and as many columns of the inverse as decide.
            solve64=tried * (columns**3 / 3.0 + 2.0 * columns**2 * MEASURED_TAGS),
            copied=tried * (16.0 * columns**2 + RANKED_BYTES * held_out * MEASURED_TAGS)
            + grams * 40.0 * sample * columns,
        ),
        n_passes=1,
        # Owners are drawn by sorting a number of each image's.
        held=held_of_rows(size, shape)
        + 48.0 * shape.n
        + 24.0 * sample * columns
        + (16.0 + 16.0 * folds) * columns**2,
        block=shape.rows * size.features * 12.0,
        answer=sample / shape.blocks * (4.0 * size.features + 12.0 * shape.k),
    )


def _before(size: Size, shape: Shape, room: Room, rounds: int) -> tuple[float, Grown]:
    """Return what an earlier round of the regression has left, in the second and later ones."""
    if rounds == 1:
        return 0.0, Grown()
    held = shape.sums + shape.ridge + SAMPLE_HELD * sampled_cells(shape)
    return held, room.totals + room.trusted + room.learned


def _adding_up(size: Size, shape: Shape, room: Room, rounds: int, *, apart: bool) -> Stage:
    """Multiply all columns, block by block; the sums are added where they come in."""
    products = 12.0 * min(shape.rows * shape.k**2, shape.K**2)
    by_owner = 8.0 * distinct_owners(size, shape.rows) * shape.D
    work = Work(
        product32=2.0 * shape.n * shape.D**2,
        # Sparse by dense columns, and the sums of owners; sparse by sparse ones.
        sparse=shape.n * (size.tags_each + 1.0) * shape.D
        + SPARSE_PAIR * shape.n * shape.k * size.tags_each,
        copied=16.0 * shape.n * shape.D + 500.0 * size.given,
    )
    dense = dense_work(size, shape)
    # Where workers see what others have kept, dense columns are made in the first round only.
    columns = dense * rounds if apart else dense + kept_work(shape) * (rounds - 1)
    # Dense products are added as a whole, by workers if they are processes, but for some blocks'
    # sum; sparse ones entry by entry, each in a place of its own.
    by_workers = 3.0 * shape.mixed * (1.0 - 1.0 / FAN_IN) if apart else 0.0
    entries = min(shape.rows * shape.k * size.tags_each, shape.K * shape.T)
    merging = 3.0 * shape.mixed - by_workers + ADDED_BYTES * entries
    # Title words come in as sparse rows of all owners, some blocks of which wait to be added.
    spread = bytes_of_a_place(size) * size.owners if shape.W else 0.0
    words = 12.0 * owner_words(size, shape)
    before, left = _before(size, shape, room, rounds)
    return stage_with(
        "adding up",
        room.given + room.totals + room.dense + left,
        passes=(work + reading_work(size) + word_work(size)) * rounds
        + columns
        + Work(copied=rounds * shape.blocks * by_workers),
        serial=Work(
            copied=4.0 * shape.sums + shape.blocks * (merging + 2.0 * by_owner + 5.0 * spread),
            sparse=300.0 * size.owner_tags,
        )
        * rounds,
        n_passes=rounds,
        held=held_of_rows(size, shape)
        + before
        + shape.sums
        + 16.0 * shape.n
        + (1.0 + MOST_PARTS) * spread
        + 2.0 * words,
        block=block_features(size, shape) + 12.0 * shape.rows * shape.D + 2.0 * products,
        shared=room.given.whole + held_of_rows(size, shape) + 4.0 * shape.A * size.features,
        answer=shape.mixed + products + by_owner,
        # Sparse products of some blocks are of other places; owners are not added at all.
        summed=shape.mixed,
        kept=rounds * (shape.sums + size.owners * (8.0 + 4.0 * shape.D) + words),
    )


def _look_alikes(method: SugarPlus, size: Size, shape: Shape, room: Room) -> Stage:
    """Short descriptions of all images that are remembered, sorted by owner."""
    held = held_of_rows(size, shape) + shape.sums
    there = room.given + room.totals + room.dense
    if not method.history:
        return stage_with("look-alikes", there, held=held)
    entries = size.given + size.title_words
    return stage_with(
        "look-alikes",
        there + room.described + room.look_alikes,
        passes=reading_work(size)
        + features_work(size)
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
    """Take the owners out of the sums; one inverse for all tags, and the weights it gives."""
    owners, tags = float(size.owners), size.owner_tags
    runs, steps = max(1.0, tags / ENTRIES_AT_ONCE), max(1.0, owners / OWNERS_AT_ONCE)
    upper = shape.K * (shape.K / 2.0 + shape.R)
    equations = Work(
        # Half of the products, as the matrix is symmetric.
        product64=owners * shape.D * (shape.D + DENSE_BAND),
        sparse=tags * shape.D + SPARSE_PAIR * tags * own_tags(size) / 2.0,
        copied=24.0 * shape.M * (2.0 * shape.M + shape.R)
        + runs * 24.0 * upper
        + steps * 16.0 * shape.D * shape.T
        # Of each band all owners' tags and dense columns after it are copied.
        + 10.0 * tags * shape.K / BAND
        + 4.0 * owners * shape.D**2 / DENSE_BAND,
    )
    weights = Work(
        solve64=shape.M**3,
        product64=2.0 * shape.M**2 * shape.R,
        copied=24.0 * shape.M**2 + 16.0 * shape.M * shape.T + 8.0 * shape.M * shape.R,
    )
    before, left = _before(size, shape, room, rounds)
    return stage_with(
        "solving",
        room.given + room.totals + room.dense + (left if rounds > 1 else room.look_alikes),
        threaded=equations * rounds,
        serial=weights * rounds,
        held=held_of_rows(size, shape) + before + shape.sums + solving_bytes(size, shape),
        band=band_bytes(size, shape),
    )
