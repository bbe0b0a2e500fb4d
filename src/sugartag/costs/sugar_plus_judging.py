"""What sugar-plus takes to judge images: given tags, a sample to learn from, and all tags to score.

The letters are those of :mod:`sugartag.costs.sugar_plus_shape`.
"""

from sugartag.costs.size import Size
from sugartag.costs.sugar_plus_room import Grown, Room, kept_owners, kept_room, stage_with
from sugartag.costs.sugar_plus_shape import (
    Shape,
    counted_cells,
    held_of_rows,
    own_tags,
    sampled_cells,
    solving_bytes,
    through_bytes,
)
from sugartag.costs.sugar_plus_work import (
    alike_work,
    belief_work,
    dense_work,
    features_work,
    given_work,
    kept_work,
    learning_sight_work,
    learning_subjects_work,
    leaving_out_work,
    owners_through,
    owners_work,
    reading_work,
    scoring_work,
    sight_work,
    slips_work,
    through_work,
    word_work,
)
from sugartag.costs.work import Stage, Work
from sugartag.methods.sugar_plus import SugarPlus
from sugartag.methods.sugar_plus.by_owner import IMAGES_AT_ONCE
from sugartag.methods.sugar_plus.census import ROWS_PER_BLOCK as COUNTED_ROWS
from sugartag.methods.sugar_plus.given import OWNERS_AT_ONCE
from sugartag.methods.sugar_plus.habits import MOST_OWNERS, ROUNDS
from sugartag.methods.sugar_plus.learning import ROWS_PER_BLOCK
from sugartag.methods.sugar_plus.likeness import IMAGES_AT_ONCE as COMPARED_AT_ONCE
from sugartag.methods.sugar_plus.looked_at import SIGHT_FOLDS
from sugartag.methods.sugar_plus.seeing import ROWS_PER_BLOCK as SEEN_ROWS

SAMPLE_HELD, BELIEF_HELD, LAST_HELD = 13.0, 32.0, 52.0
"""Bytes of each cell of the sample that beliefs are learned from: what is kept of it, and what
comes on top while a belief is learned from content, and while the last and the threshold are."""
SIGHT_HELD = 30.0
"""The same while it is tried how much sight counts."""
COUNTED_BYTES = 30.0
"""That putting a cell into its step of evidence is as long as writing."""
SEEN_CALLS = 150.0
"""Small steps that an image takes whose chances sight learns from, beside what scoring takes."""
SAMPLE_BYTES = 28.0
"""Of each cell of a block of the sample, while what look-alikes say is added to the rest."""
HABIT_WRITTEN, WEIGHT_WRITTEN = 5_000.0, 100.0
"""Bytes that learning habits writes for each given tag, and for each pair of owner and tag and
round of learning how common habits are."""
HABIT_HELD, PAIR_HELD = 250.0, 200.0
"""Bytes that it holds for each given tag of the images at hand, and for each of these pairs."""
ENTRY_BYTES = 200.0
"""Of each given tag of a block that is judged: a dozen or two numbers."""
THRESHOLD_BYTES = 1_300.0
"""That weighing evidence and finding the threshold is as long as writing, for each cell."""
SCORED_ROWS = 1_024
"""Images of a block that is scored."""
VERDICT_CALLS = 1_200
"""Small steps in Python for the verdicts of one image, with their reasons."""


def judging_stage(
    size: Size, shape: Shape, room: Room, rounds: int, *, apart: bool = False
) -> Stage:
    """Multiply the sums of all owners, judge every given tag, and learn people's habits."""
    cells, n, owners = sampled_cells(shape), shape.n, float(size.owners)
    dense = dense_work(size, shape) if apart else kept_work(shape)
    work = given_work(size, shape) + dense + reading_work(size) + word_work(size)
    sampled = min(1.0, MOST_OWNERS / max(owners, 1.0)) * size.owner_tags
    learning = Work(
        copied=HABIT_WRITTEN * size.given
        + WEIGHT_WRITTEN * ROUNDS * sampled
        + 160.0 * n
        # The weights, multiplied by the means.
        + 4.0 * shape.M * shape.T
    )
    learned = HABIT_HELD * min(n, IMAGES_AT_ONCE) * size.tags_each
    # Weights turned, and products with the means: made once, by whoever judges.
    turned = 4.0 * shape.D * (shape.T + shape.W + 4.0 * shape.D)
    content = room.products + room.thought * (1.0 / 3.0)
    habits = room.thought + room.habits
    there = room.given + room.trusted + room.totals + room.look_alikes + room.dense
    there += max(content, habits, key=lambda grown: grown.whole)
    known = shape.sums + shape.ridge + held_of_rows(size, shape)
    block = max(_images_block(size, shape), _owners_block(size, shape))
    products = min(owners, float(OWNERS_AT_ONCE)) * (shape.D + own_tags(size))
    return stage_with(
        "judging",
        there + room.spare + (habits + room.spare if rounds > 1 else Grown()),
        passes=(work + owners_work(size, shape)) * rounds,
        # Two beliefs a round; slips are learned in the first, and from all evidence in the end.
        serial=(learning + belief_work(shape) * 2.0) * rounds + slips_work(shape) * 3.0,
        n_passes=rounds,
        held=known
        + SAMPLE_HELD * cells
        # Beliefs and habits are learned before and after all blocks.
        + max(BELIEF_HELD * cells - block, PAIR_HELD * sampled - block, learned - block, turned)
        + owners * 48.0
        + 12.0 * n,
        block=block,
        shared=known + turned + (room.totals + room.products + room.given).whole,
        answer=4.0 * max(shape.rows * size.tags_each, products),
        kept=rounds * (4.0 * size.given + room.products.whole + 24.0 * owners),
    )


def block_features(size: Size, shape: Shape) -> float:
    """Return the bytes of the features of a block, while they are compared with the anchors."""
    some = min(float(COMPARED_AT_ONCE), shape.rows)
    return size.features * (4.0 * shape.rows + 12.0 * some) + 8.0 * some * shape.A


def _images_block(size: Size, shape: Shape) -> float:
    """Return the bytes of the images whose given tags are judged in one step."""
    entries = size.tags_each + size.words_each
    return (
        block_features(size, shape)
        + shape.rows * (8.0 * shape.D + ENTRY_BYTES * entries)
        + 8.0 * size.owners
    )


def _owners_block(size: Size, shape: Shape) -> float:
    """Return the bytes of the owners that are multiplied in one step."""
    owners = min(float(size.owners), float(OWNERS_AT_ONCE))
    numbers = 16.0 * shape.D + ENTRY_BYTES * own_tags(size)
    return owners * numbers


def learning_stage(size: Size, shape: Shape, room: Room, rounds: int) -> Stage:
    """Beliefs, learned from a sample of images of which all tags are judged."""
    cells = sampled_cells(shape)
    images, few = cells / shape.T, min(shape.step, ROWS_PER_BLOCK)
    judged = through_work(size, shape, images, ROWS_PER_BLOCK, made=1.0)
    judged += alike_work(size, images, ROWS_PER_BLOCK)
    scored = scoring_work(size, shape, images, few, made=1.0)
    there = room.fitted + room.trusted + room.thought + room.dense + room.spare
    held, block = _held_to_score(size, shape), float(ROWS_PER_BLOCK)
    return stage_with(
        "learning",
        there,
        passes=judged * rounds + scored,
        serial=belief_work(shape) + Work(copied=THRESHOLD_BYTES * cells),
        held=held + (SAMPLE_HELD + LAST_HELD) * cells,
        block=max(through_bytes(size, shape, block), SAMPLE_BYTES * block * shape.T),
        shared=held + (room.fitted + room.trusted).whole,
        kept=cells * (SAMPLE_HELD * rounds + 4.0),
    )


def seeing_stage(size: Size, shape: Shape, room: Room) -> Stage:
    """Learn what images look like from the chances of all tags of those looked at."""
    there = room.fitted + room.trusted + room.thought + room.dense + room.spare
    subjects = learning_subjects_work(size, shape)
    if not shape.L:
        return stage_with("seeing", there, threaded=subjects, held=16.0 * shape.n * shape.Q)
    few, block = min(shape.step, float(SEEN_ROWS)), float(SEEN_ROWS)
    held = _held_to_score(size, shape)
    sampled = sampled_cells(shape)
    # Each fold has its own model where all images are looked at.
    models, told = (SIGHT_FOLDS, SIGHT_FOLDS - 1.0) if shape.n == shape.G else (1.0, 1.0)
    kept, scored = kept_owners(size, shape), told * shape.L
    return stage_with(
        "seeing",
        there + kept_room(size, shape),
        passes=scoring_work(size, shape, scored, few, _made_anew(size, kept))
        + _owners_ready(size, shape, kept) * models
        + Work(calls=SEEN_CALLS * scored),
        threaded=leaving_out_work(size, shape)
        + learning_sight_work(size, shape)
        + sight_work(size, shape, sampled / shape.T)
        + subjects,
        held=held
        # Log odds and chances, and those that one regression learns from; features and directions.
        + 4.0 * shape.L * (3.4 * shape.X + 4.0 * size.features + 2.0 * shape.V)
        + (SAMPLE_HELD + SIGHT_HELD) * sampled
        + 2.0 * shape.sums
        + solving_bytes(size, shape),
        block=max(through_bytes(size, shape, block), SAMPLE_BYTES * block * shape.T),
        shared=held + (room.fitted + room.trusted).whole,
        kept=8.0 * told * shape.L * shape.X,
    )


def counting_stage(size: Size, shape: Shape, room: Room) -> Stage:
    """Count the cells of many images, before they are looked at and after."""
    there = room.fitted + room.trusted + room.thought + room.dense + room.spare
    cells, held = counted_cells(shape), _held_to_score(size, shape)
    if not cells:
        return stage_with("counting", there, held=held)
    times, few = 2.0 if shape.L else 1.0, min(shape.step, float(COUNTED_ROWS))
    kept, block = kept_owners(size, shape), float(COUNTED_ROWS)
    scored = scoring_work(size, shape, cells / shape.T, few, _made_anew(size, kept))
    return stage_with(
        "counting",
        there + kept_room(size, shape),
        passes=(scored + Work(copied=COUNTED_BYTES * cells)) * times
        + _owners_ready(size, shape, kept) * (0.0 if shape.L else 1.0),
        held=held + SAMPLE_HELD * sampled_cells(shape),
        block=max(through_bytes(size, shape, block), SAMPLE_BYTES * block * shape.T),
        shared=held + (room.fitted + room.trusted).whole,
    )


def _made_anew(size: Size, kept: float) -> float:
    """Return the share of images whose owner's sums are not kept: the busiest owners' are, first.

    Few owners are of many images.
    """
    return 1.0 - (kept / size.owners) ** 0.3 if size.owners else 1.0


def _owners_ready(size: Size, shape: Shape, kept: float) -> Work:
    """Return what it takes to keep the sums of so many owners ready."""
    return owners_through(size, shape, kept, size.owner_tags / max(size.owners, 1))


def _held_to_score(size: Size, shape: Shape) -> float:
    """Return what scoring holds, beside what grows."""
    rows = held_of_rows(size, shape) + 8.0 * shape.n + 16.0 * size.owners
    return shape.sums + shape.ridge + rows


def score_stage(
    name: str,
    method: SugarPlus,
    size: Size,
    n_scored: float,
    *,
    whole: bool,
    apart: bool = False,
) -> Stage:
    """Return what scoring some images takes; ``whole``, a collection, with verdicts and reasons.

    The sums of owners are then kept ready, but not by workers that are processes of their own.
    """
    shape = Shape.of(method, size, SCORED_ROWS)
    step = min(shape.step, float(SCORED_ROWS))
    kept = kept_owners(size, shape, apart=apart) if whole else 0.0
    made = 1.0 if apart else _made_anew(size, kept)
    work = scoring_work(size, shape, n_scored, step, made)
    reading = (reading_work(size) + features_work(size)) * (n_scored / size.images)
    told = Work(calls=VERDICT_CALLS * n_scored if whole else 20.0 * n_scored)
    fitted, held = Room.of(method, size, shape).fitted, _held_to_score(size, shape)
    ready = _owners_ready(size, shape, kept)
    there = kept_room(size, shape) if whole and not apart else Grown()
    return stage_with(
        name,
        fitted + there,
        passes=work + reading + told + ready,
        n_passes=1,
        held=held + (4.0 * kept * shape.through if apart else 24.0 * kept),
        block=SCORED_ROWS * shape.T * 4.0 * 6.0 + through_bytes(size, shape, step, made),
        shared=held + fitted.whole,
        answer=SCORED_ROWS * 400.0 if whole else 0.0,
    )
