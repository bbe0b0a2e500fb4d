"""What sugar-plus takes: the operations and the memory of each of its stages, counted.

The letters are those of :mod:`sugartag.costs.sugar_plus_shape`.
"""

from sugartag.costs.size import Size
from sugartag.costs.sugar_plus_shape import (
    Shape,
    belief_work,
    busiest_bytes,
    held_of_images,
    judging_work,
    reading_work,
    ready_owners,
    sampled_cells,
    scoring_work,
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
from sugartag.methods.sugar_plus.learning import ROWS_PER_BLOCK
from sugartag.methods.sugar_plus.remembered import DIRECTIONS

K_MEANS_ROUNDS = 30
"""Of the search for anchors, about."""
SVD_PRODUCTS = 12
"""Times that the counts of owners are multiplied to find the directions of tastes."""
SAMPLED_BYTES = 60
"""Of each cell of the sample that beliefs are learned from: five arrays, and those of one step."""
SCORED_ROWS = 1_024
"""Images of a block that is scored."""
VERDICT_CALLS = 250
"""Small steps in Python for the verdicts of one image, with their reasons."""


def fit_stages(method: SugarPlus, size: Size, rows: int) -> list[Stage]:
    """Return the stages of a fit."""
    shape = Shape.of(method, size, rows)
    rounds = 1 + method.trust_rounds
    images = held_of_images(method, size)
    owners = size.owners * (8.0 + 4.0 * shape.D) + 12.0 * size.owner_tags
    fitted = shape.sums + shape.ridge + images + owners + busiest_bytes(size, shape)
    return [
        _evidence(size, shape, images),
        _choosing(method, size, shape, images),
        _adding_up(size, shape, rounds, images + owners),
        _look_alikes(method, size, shape, images + shape.sums + owners),
        _solving(size, shape, rounds, images + owners),
        _judging(size, shape, rounds, fitted),
        _learning(size, shape, rounds, fitted),
    ]


def disk(method: SugarPlus, size: Size) -> float:
    """Return the bytes of the model folder."""
    shape = Shape.of(method, size, 8192)
    remembered = min(float(size.images), float(size.owners) * method.history)
    entries = size.given + size.title_words
    kept = entries * remembered / size.images
    look_alikes = remembered * (16.0 + 4.0 * min(DIRECTIONS, size.features)) + 26.0 * kept
    # Trusted tags, where rows start in them and in what was decided, ids and where they start.
    images = 8.0 * size.given + size.images * (4.0 + 4.0 + 12.0 + 8.0)
    owners = size.owners * (32.0 + 4.0 * (shape.D + shape.S)) + 12.0 * size.owner_tags
    anchors = 4.0 * shape.A * size.features
    return shape.sums + shape.ridge + look_alikes + images + owners + anchors


def _evidence(size: Size, shape: Shape, images: float) -> Stage:
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
        held=images / 4 + sample * size.features * 28.0 + 24.0 * size.owner_tags + _median(shape),
    )


def _median(shape: Shape) -> float:
    """Return the bytes of the distances that a median is taken of, and of their places."""
    return 30.0 * min(shape.n, PAIRS_AT_ONCE) ** 2


def _choosing(method: SugarPlus, size: Size, shape: Shape, images: float) -> Stage:
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
            # The upper half of an inverse is filled by way of index arrays.
            copied=tried * 40.0 * columns**2 + grams * 40.0 * sample * columns,
        ),
        n_passes=1,
        held=images / 4 + 24.0 * sample * columns + (24.0 + 16.0 * folds) * columns**2,
        block=shape.rows * size.features * 12.0,
        answer=sample / shape.blocks * (4.0 * size.features + 12.0 * shape.k),
    )


def _adding_up(size: Size, shape: Shape, rounds: int, held: float) -> Stage:
    """Multiply all columns, block by block; the sums are added where they come in."""
    answer = 12.0 * min(shape.rows * shape.k**2, shape.K**2) + 8.0 * shape.D * (
        shape.K + shape.D + shape.R
    )
    work = Work(
        product32=2.0 * shape.n * shape.A * size.features + 2.0 * shape.n * shape.D**2,
        # Sparse by dense columns; sparse by sparse ones, which cost ten times as much each.
        sparse=shape.n * shape.k * shape.D + 10.0 * shape.n * shape.k * (shape.k + size.tags_each),
        copied=40.0 * shape.n * shape.D,
    )
    merging = 24.0 * (shape.K * (shape.K + shape.R) + shape.D * shape.M + shape.D * shape.R)
    return Stage(
        "adding up",
        passes=(work + reading_work(size) + word_work(size)) * rounds,
        serial=Work(copied=shape.blocks * merging, sparse=30.0 * size.owner_tags) * rounds,
        n_passes=rounds,
        # In the second round the sums and weights of the first are still there.
        held=held
        + min(rounds, 2) * shape.sums
        + (shape.ridge if rounds > 1 else 0.0)
        + 8.0 * shape.K * (shape.K + shape.R),
        block=shape.rows * (size.features * 12.0 + shape.D * 16.0) + 2.0 * answer,
        shared=8.0 * size.given + 12.0 * shape.n + 4.0 * shape.A * size.features,
        answer=answer + 4.0 * min(shape.rows, size.owners) * shape.D,
        kept=rounds * (shape.sums + held / 4),
    )


def _look_alikes(method: SugarPlus, size: Size, shape: Shape, held: float) -> Stage:
    """Short descriptions of all images that are remembered, sorted by owner."""
    if not method.history:
        return Stage("look-alikes", held=held)
    entries = size.given + size.title_words
    return Stage(
        "look-alikes",
        passes=reading_work(size)
        + word_work(size)
        + Work(product32=2.0 * shape.n * size.features * DIRECTIONS),
        serial=Work(
            copied=8.0 * entries * 30.0 + shape.n * 8.0 * 60.0 + 3.0 * _median(shape),
            product64=10.0 * size.features**3 + 2.0 * min(shape.n, 5_000) * size.features**2,
        ),
        n_passes=1,
        held=held + 24.0 * entries + 4.0 * DIRECTIONS * shape.n + _median(shape),
        block=shape.rows * size.features * 12.0,
        answer=shape.rows * (4.0 * DIRECTIONS + 24.0 * shape.k),
    )


def _solving(size: Size, shape: Shape, rounds: int, held: float) -> Stage:
    """One inverse for all tags; then the weights of those that are no columns."""
    work = Work(
        solve64=shape.M**3,
        product64=2.0 * shape.M**2 * shape.R,
        product32=2.0 * size.owners * shape.D**2,
        sparse=size.owner_tags * shape.D
        + 10.0 * size.owner_tags * size.owner_tags / max(size.owners, 1),
        copied=100.0 * shape.M**2 + 40.0 * shape.M * shape.R + 8.0 * shape.M * shape.T,
    )
    inverse = 8.0 * shape.M**2 * 5.0
    return Stage(
        "solving",
        serial=work * rounds,
        held=held
        + shape.sums * 2.0
        + inverse
        + (2.0 if rounds > 1 else 1.0) * shape.ridge
        + 4.0 * size.owners * shape.D * 2.0,
    )


def _judging(size: Size, shape: Shape, rounds: int, held: float) -> Stage:
    """Judge every given tag by content, and learn people's habits."""
    work = judging_work(size, shape, shape.n) + reading_work(size)
    beliefs = belief_work(shape)
    making_busiest = judging_work(size, shape, ready_owners(size, shape)) * 0.4
    return Stage(
        "judging",
        passes=work * rounds,
        serial=(Work(copied=size.given * 8.0 * 400.0) + making_busiest + beliefs * 2.0) * rounds,
        n_passes=rounds,
        held=held + size.given * 40.0,
        block=shape.rows * size.features * 8.0 + shape.step * shape.T * 4.0 * 14.0,
        shared=shape.sums + shape.ridge + 8.0 * size.given + 12.0 * shape.n,
        answer=4.0 * shape.rows * size.tags_each,
    )


def _learning(size: Size, shape: Shape, rounds: int, held: float) -> Stage:
    """Beliefs, learned from a sample of images of which all tags are judged."""
    cells = sampled_cells(shape)
    judged = judging_work(size, shape, cells / shape.T)
    scored = scoring_work(size, shape, cells / shape.T)
    return Stage(
        "learning",
        passes=judged * rounds + scored,
        serial=belief_work(shape) + Work(copied=cells * 8.0 * 20.0),
        held=held + SAMPLED_BYTES * cells,
        block=ROWS_PER_BLOCK * shape.T * 4.0 * 14.0,
        shared=shape.sums + shape.ridge + 8.0 * size.given + 12.0 * shape.n,
    )


def score_stage(
    name: str, method: SugarPlus, size: Size, n_scored: float, *, verdicts: bool
) -> Stage:
    """Return what scoring some images takes, with verdicts and their reasons if so asked."""
    shape = Shape.of(method, size, SCORED_ROWS)
    work = scoring_work(size, shape, n_scored)
    reading = reading_work(size) * (n_scored / size.images)
    told = Work(calls=VERDICT_CALLS * n_scored if verdicts else 20.0 * n_scored)
    owners = size.owners * (8.0 + 4.0 * shape.D) + 12.0 * size.owner_tags
    return Stage(
        name,
        passes=work + reading + told,
        n_passes=1,
        held=shape.sums
        + shape.ridge
        + held_of_images(method, size)
        + owners
        + busiest_bytes(size, shape),
        block=SCORED_ROWS * shape.T * 4.0 * 6.0 + shape.step * shape.T * 4.0 * 14.0,
        shared=shape.sums + shape.ridge + held_of_images(method, size),
        answer=SCORED_ROWS * 400.0 if verdicts else 0.0,
    )
