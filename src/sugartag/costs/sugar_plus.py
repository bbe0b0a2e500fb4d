"""What fitting sugar-plus takes: the operations and the memory of each stage, counted.

The letters are those of :mod:`sugartag.costs.sugar_plus_shape`.
"""

from dataclasses import replace
from math import log

from sugartag.costs.size import Size
from sugartag.costs.sugar_plus_judging import (
    SAMPLE_HELD,
    block_features,
    counting_stage,
    judging_stage,
    learning_stage,
    seeing_stage,
)
from sugartag.costs.sugar_plus_room import (
    Grown,
    Room,
    remembered,
    stage_with,
)
from sugartag.costs.sugar_plus_shape import (
    Shape,
    arranged_bytes,
    band_bytes,
    distinct_owners,
    held_of_rows,
    sampled_cells,
    solving_bytes,
    words_each,
)
from sugartag.costs.sugar_plus_work import (
    columns_work,
    dense_work,
    features_work,
    kept_work,
    reading_work,
    solving_work,
    word_work,
)
from sugartag.costs.work import FIXED_CALLS, LOADING_CALLS, LOOPS_BYTES, Stage, Work
from sugartag.engine.dask import FAN_IN
from sugartag.linalg.main_directions import SPARE, TURNS
from sugartag.linalg.nystrom import PAIRS_AT_ONCE
from sugartag.methods.sugar_plus import SugarPlus
from sugartag.methods.sugar_plus.choice import (
    ANCHOR_RIDGES,
    FEWER_ANCHORS,
    KERNEL_WIDTHS,
    TAG_RIDGES,
)
from sugartag.methods.sugar_plus.evidence import SAMPLE
from sugartag.methods.sugar_plus.held_out import (
    COLUMNS,
    FOLDS,
    HELD_OUT,
    IMAGES,
    MEASURED_TAGS,
    ROWS_AT_ONCE,
)
from sugartag.methods.sugar_plus.looked_at import SIGHT_FOLDS, SUBJECT_FOLDS
from sugartag.methods.sugar_plus.remembered import DIRECTIONS

K_MEANS_ROUNDS = 12
"""Of the search for anchors, about."""
RANKED_BYTES = 800.0
"""That ranking an image for a tag is as long as writing."""
OWNED_BYTES = 300.0
"""That adding a given tag or a word to those of its owner is as long as writing."""
FREED = 0.25
"""Of what choosing takes, the share that stays with the process: it lies between what is in use."""


def fit_stages(method: SugarPlus, size: Size, rows: int, *, apart: bool = False) -> list[Stage]:
    """Return the stages of a fit; ``apart`` if workers are processes of their own."""
    shape = Shape.of(method, size, rows)
    room = Room.of(method, size, shape, apart=apart)
    rounds = 1 + method.trust_rounds
    choosing = _choosing(method, size, shape)
    later = [
        _adding_up(size, shape, room, rounds, apart=apart),
        _look_alikes(method, size, shape, room),
        _solving(size, shape, room, rounds),
        judging_stage(size, shape, room, rounds, apart=apart),
        learning_stage(size, shape, room, rounds),
        seeing_stage(size, shape, room),
        counting_stage(size, shape, room),
    ]
    freed = FREED * choosing.held
    return [
        _evidence(size, shape),
        choosing,
        *(replace(stage, held=stage.held + freed) for stage in later),
    ]


def disk(method: SugarPlus, size: Size) -> float:
    """Return the bytes of the model folder."""
    shape = Shape.of(method, size, 8192)
    # Trusted tags and what they say beside the arrays that grow: which images are remembered, where
    # rows start in what was decided, ids and where they start.
    images = 8.0 * remembered(method, size) + size.images * (4.0 + 12.0 + 8.0)
    owners = size.owners * (32.0 + 4.0 * shape.S)
    anchors = 4.0 * shape.A * size.features
    fitted = Room.of(method, size, shape).fitted.whole
    sight = 4.0 * shape.V * (SIGHT_FOLDS * shape.X + size.features) if shape.L else 0.0
    subjects = 4.0 * shape.Q * (2.0 * SUBJECT_FOLDS * shape.T + size.owners)
    return shape.sums + shape.ridge + fitted + images + owners + anchors + sight + subjects


def _evidence(size: Size, shape: Shape) -> Stage:
    """k-means of a sample, the words of titles, and the tastes of groups."""
    sample = min(shape.n, SAMPLE)
    # Of each anchor some images are tried before, each by its distance to all others.
    tried = (2.0 + log(max(shape.A, 1.0))) * shape.A
    tastes = shape.S + SPARE if shape.S else 0.0
    return Stage(
        "evidence",
        fixed=FIXED_CALLS + LOADING_CALLS,
        loaded=LOOPS_BYTES,
        threaded=Work(
            product32=2.0 * sample * size.features * shape.A * K_MEANS_ROUNDS,
            # A loop over distances is about twice as fast as a sparse product.
            sparse=0.5 * sample * size.features * tried
            + 2.0 * (TURNS + 1.0) * size.owner_tags * tastes,
            copied=8.0 * sample * shape.A * K_MEANS_ROUNDS,
        ),
        serial=Work(
            calls=2.0 * size.title_words,
            copied=8.0 * shape.n
            + 4.0 * size.given
            + 3.0 * _median(shape)
            + 8.0 * sample * (shape.A + tried),
        ),
        passes=Work(sparse=20.0 * size.given if shape.S else 0.0),
        n_passes=1 if shape.S else 0,
        held=8.0 * shape.n
        + 32.0 * shape.S * size.owners
        + sample * (20.0 * size.features + 4.0 * shape.A)
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
    # The best of the tags' ridges is not tried again.
    fewer = len(FEWER_ANCHORS) if shape.A else 0
    tried, grams = folds * (tags + widths * anchors - 1 + fewer), folds * widths
    held_out = HELD_OUT * sample
    # A factor, and as many columns of the inverse as decide, some rows of it at a time.
    solved = columns**3 / 3.0 + 2.0 * columns**2 * MEASURED_TAGS
    solved += columns * ROWS_AT_ONCE * (4.0 * ROWS_AT_ONCE / 3.0 + 4.0 * MEASURED_TAGS)
    return Stage(
        "choosing",
        loaded=LOOPS_BYTES,
        passes=reading_work(size) + features_work(size) + Work(sparse=4.0 * size.given),
        threaded=Work(
            product64=tried * (solved + 2.0 * held_out * shape.D * MEASURED_TAGS)
            + grams * 2.0 * (sample - held_out) * shape.D**2,
            sparse=grams * 2.0 * sample * shape.k * shape.D,
            copied=tried * (40.0 * columns**2 + RANKED_BYTES * held_out * MEASURED_TAGS)
            + grams * (80.0 * columns**2 + 60.0 * sample * shape.D),
        ),
        n_passes=1,
        # Owners are drawn by sorting a number of each image's. Threads seldom have most at once.
        held=held_of_rows(size, shape)
        + 48.0 * shape.n
        + sample * (8.0 * size.features + 28.0 * shape.D)
        + (40.0 + 8.0 * grams) * columns**2,
        block=shape.rows * size.features * 12.0,
        answer=sample / shape.blocks * (4.0 * size.features + 12.0 * shape.k),
    )


def _before(size: Size, shape: Shape, room: Room, rounds: int) -> tuple[float, Grown]:
    """Return what an earlier round of the regression has left, in the second and later ones."""
    if rounds == 1:
        return 0.0, Grown()
    held = shape.sums + shape.ridge + SAMPLE_HELD * sampled_cells(shape)
    return held, room.totals + room.trusted + room.learned + room.spare


def _adding_up(size: Size, shape: Shape, room: Room, rounds: int, *, apart: bool) -> Stage:
    """Multiply dense columns block by block, then sparse ones with each other.

    What dense columns are among themselves, and with owners, is known after the first round.
    """
    entries = size.given + shape.n * words_each(size, shape)
    by_owner = 4.0 * distinct_owners(size, shape.rows) * shape.D
    looks = 8.0 * shape.D**2 + by_owner
    first = Work(
        product32=2.0 * shape.n * shape.D**2,
        sparse=shape.n * shape.D,
        copied=8.0 * shape.n * shape.D,
    )
    each = columns_work(shape, entries, shape.k)
    dense = dense_work(size, shape)
    # Where workers see what others have kept, dense columns are made in the first round only.
    made = dense * rounds if apart else dense + kept_work(shape) * (rounds - 1)
    # What is made of blocks is added by workers if they are processes, but for some blocks' sum.
    by_workers = shape.blocks * 2.0 * shape.mixed * (1.0 - 1.0 / FAN_IN) if apart else 0.0
    adding = shape.blocks * 2.0 * shape.mixed - by_workers
    before, left = _before(size, shape, room, rounds)
    return stage_with(
        "adding up",
        room.given + room.words + room.totals + room.dense + left,
        passes=made
        + first
        + (reading_work(size) + word_work(size)) * rounds
        + Work(sparse=each.mixed, copied=by_workers) * rounds,
        threaded=each.among * rounds,
        serial=Work(copied=adding + 3.0 * shape.sums + OWNED_BYTES * entries) * rounds
        + Work(copied=shape.blocks * 2.0 * looks),
        n_passes=rounds * (2 if shape.W else 1),
        held=held_of_rows(size, shape)
        + before
        + shape.sums
        + shape.mixed
        + 16.0 * shape.n
        + arranged_bytes(entries),
        block=block_features(size, shape)
        + 12.0 * shape.rows * shape.D
        + arranged_bytes(shape.rows * entries / shape.n),
        shared=(room.given + room.words).whole
        + held_of_rows(size, shape)
        + 4.0 * shape.A * size.features,
        answer=shape.mixed + looks,
        # Products of dense columns, and owners, go by the order of blocks: they are not added.
        summed=shape.mixed,
        kept=rounds * (shape.mixed + 8.0 * shape.D**2 + 4.0 * size.owners * shape.D)
        + rounds * room.words.whole,
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
    before, left = _before(size, shape, room, rounds)
    return stage_with(
        "solving",
        room.given + room.totals + room.dense + (left if rounds > 1 else room.look_alikes),
        threaded=solving_work(size, shape) * rounds,
        held=held_of_rows(size, shape) + before + shape.sums + solving_bytes(size, shape),
        band=band_bytes(size, shape),
    )
