"""What sugar-plus takes to judge images: given tags, a sample to learn from, and all tags to score.

The letters are those of :mod:`sugartag.costs.sugar_plus_shape`.
"""

from sugartag.costs.size import Size
from sugartag.costs.sugar_plus_room import Grown, Room, stage_with
from sugartag.costs.sugar_plus_shape import (
    Shape,
    alike_work,
    belief_work,
    busiest_bytes,
    given_work,
    held_of_rows,
    judging_work,
    owners_block,
    owners_work,
    reading_work,
    ready_owners,
    sampled_cells,
    scoring_work,
    word_work,
)
from sugartag.costs.work import Stage, Work
from sugartag.methods.sugar_plus import SugarPlus
from sugartag.methods.sugar_plus.by_owner import IMAGES_AT_ONCE
from sugartag.methods.sugar_plus.given import PAIRS_AT_ONCE as PRODUCTS_AT_ONCE
from sugartag.methods.sugar_plus.habits import MOST_OWNERS, ROUNDS
from sugartag.methods.sugar_plus.learning import ROWS_PER_BLOCK

SAMPLE_HELD, BELIEF_HELD, LAST_HELD = 13.0, 32.0, 52.0
"""Bytes of each cell of the sample that beliefs are learned from: what is kept of it, and what
comes on top while a belief is learned from content, and while the last and the threshold are."""
HABIT_WRITTEN, WEIGHT_WRITTEN, PAIR_HELD = 6_000.0, 600.0, 200.0
"""Bytes that learning habits writes for each given tag, and for each pair of owner and tag and
round of learning how common habits are; and holds for each of these pairs meanwhile."""
SCORED_ROWS = 1_024
"""Images of a block that is scored."""
VERDICT_CALLS = 250
"""Small steps in Python for the verdicts of one image, with their reasons."""


def judging_stage(size: Size, shape: Shape, room: Room, rounds: int) -> Stage:
    """Multiply the sums of all owners, judge every given tag, and learn people's habits."""
    cells, n, entries = sampled_cells(shape), shape.n, size.tags_each + size.words_each
    owners = float(size.owners)
    work = given_work(size, shape) + reading_work(size) + word_work(size)
    sampled = min(1.0, MOST_OWNERS / max(owners, 1.0)) * size.owner_tags
    learning = Work(
        copied=HABIT_WRITTEN * size.given
        + WEIGHT_WRITTEN * ROUNDS * sampled
        + n / IMAGES_AT_ONCE * 16.0 * owners
    )
    # Weights turned, and products with the means: made once, by whoever judges.
    turned = 12.0 * shape.M * shape.P + 4.0 * shape.D * (shape.T + shape.W + shape.D)
    content = room.products + room.thought * (1.0 / 3.0)
    habits = room.thought + room.habits
    there = room.given + room.trusted + room.totals + room.look_alikes
    there += max(content, habits, key=lambda grown: grown.whole)
    known = shape.sums + shape.ridge + held_of_rows(size, shape)
    images = shape.rows * (12.0 * size.features + 24.0 * shape.D + 56.0 * entries * shape.k)
    images += 8.0 * shape.D * PRODUCTS_AT_ONCE + 8.0 * owners
    block = max(images, owners_block(shape))
    return stage_with(
        "judging",
        there + (habits if rounds > 1 else Grown()),
        passes=(work + owners_work(size, shape, owners)) * rounds,
        serial=(learning + belief_work(shape) * 2.0) * rounds,
        n_passes=rounds,
        held=known
        + busiest_bytes(size, shape)
        + SAMPLE_HELD * cells
        # Beliefs and habits are learned before and after all blocks.
        + max(BELIEF_HELD * cells - block, PAIR_HELD * sampled - block, turned)
        + owners * 48.0
        + 12.0 * n,
        block=block,
        shared=known + turned + (room.totals + room.products + room.given).whole,
        answer=4.0 * max(shape.rows * size.tags_each, min(owners, 1_024.0) * shape.D),
        kept=rounds * (4.0 * size.given + room.products.whole + 24.0 * owners),
    )


def learning_stage(size: Size, shape: Shape, room: Room, rounds: int) -> Stage:
    """Beliefs, learned from a sample of images of which all tags are judged."""
    cells = sampled_cells(shape)
    images, few = cells / shape.T, min(shape.step, ROWS_PER_BLOCK)
    judged = judging_work(size, shape, images, ROWS_PER_BLOCK)
    judged += alike_work(size, images, ROWS_PER_BLOCK)
    scored = scoring_work(size, shape, images, few)
    making_busiest = owners_work(size, shape, ready_owners(size, shape))
    there = room.fitted + room.trusted + room.thought
    return stage_with(
        "learning",
        there,
        passes=judged * rounds + scored,
        serial=belief_work(shape) + Work(copied=cells * 8.0 * 20.0) + making_busiest * rounds,
        held=_held_to_score(size, shape) + (SAMPLE_HELD + LAST_HELD) * cells,
        block=ROWS_PER_BLOCK * shape.T * 4.0 * 14.0,
        shared=_held_to_score(size, shape) + there.whole,
        kept=cells * (SAMPLE_HELD * rounds + 4.0),
    )


def _held_to_score(size: Size, shape: Shape) -> float:
    """Return what scoring holds, beside what grows: also what habits say of all pairs, looked up.

    Of each pair, while that is made, also the owner.
    """
    rows = held_of_rows(size, shape) + 8.0 * shape.n + 16.0 * size.owners
    return shape.sums + shape.ridge + busiest_bytes(size, shape) + rows + 20.0 * size.owner_tags


def score_stage(
    name: str, method: SugarPlus, size: Size, n_scored: float, *, verdicts: bool
) -> Stage:
    """Return what scoring some images takes, with verdicts and their reasons if so asked."""
    shape = Shape.of(method, size, SCORED_ROWS)
    work = scoring_work(size, shape, n_scored, min(shape.step, SCORED_ROWS))
    reading = reading_work(size) * (n_scored / size.images)
    told = Work(calls=VERDICT_CALLS * n_scored if verdicts else 20.0 * n_scored)
    fitted, held = Room.of(method, size, shape).fitted, _held_to_score(size, shape)
    return stage_with(
        name,
        fitted,
        passes=work + reading + told,
        n_passes=1,
        held=held,
        block=SCORED_ROWS * shape.T * 4.0 * 6.0 + shape.step * shape.T * 4.0 * 14.0,
        shared=held + fitted.whole,
        answer=SCORED_ROWS * 400.0 if verdicts else 0.0,
    )
