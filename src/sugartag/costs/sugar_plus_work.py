"""What sugar-plus does with an image or an owner, counted in operations.

The letters are those of :mod:`sugartag.costs.sugar_plus_shape`.
"""

from typing import NamedTuple

from sugartag.costs.size import Size
from sugartag.costs.sugar_plus_shape import (
    Shape,
    distinct_owners,
    own_tags,
    owner_words,
    sampled_cells,
    words_each,
)
from sugartag.costs.work import Work
from sugartag.linalg.symmetric import BAND
from sugartag.methods.sugar_plus.given import OWNERS_AT_ONCE
from sugartag.methods.sugar_plus.looked_at import SIGHT_FOLDS, SUBJECT_FOLDS
from sugartag.methods.sugar_plus.remembered import DIRECTIONS
from sugartag.methods.sugar_plus.seeing import PENALTIES, STEPS, STRENGTHS, TRIED_CELLS
from sugartag.methods.sugar_plus.sparse_columns import ENTRIES_AT_ONCE
from sugartag.methods.sugar_plus.subject_learning import MOST_DIRECTIONS as SUBJECT_DIRECTIONS
from sugartag.methods.sugar_plus.subject_learning import STEPS as SUBJECT_STEPS

JUDGED_BYTES = 20.0
"""That going through an image and a tag is as long as writing: one loop takes all small steps."""
SCORED_BYTES = 25.0
"""What comes on top where images are scored: the probability is looked up."""
MADE_ARRAYS = 5
"""Arrays of owners x tags that taking owners through the ridge writes."""
OWNED_BYTES = 60.0
"""That judging an image writes for each tag of its owner."""
LIKENESS_BYTES = 40.0
"""That comparing an image with an anchor writes; an exponential is as long as most of it."""
BELIEF_BYTES, SLIP_BYTES = 350.0, 250.0
"""That learning a belief is as long as writing for each cell of the sample: its step of evidence is
looked for twice; and learning how often tags are given by chance, for which cells are sorted."""
ENTRY_BYTES = 400.0
"""That judging given tags writes for each tag and word, beside products."""
PAIR_COST = 20.0
"""Multiply-adds that looking up a weight is as long as, for a tag and a column of the same row."""
PRODUCT_COST, MIXED_COST = 6.0, 2.0
"""Those that a product of two sparse columns is as long as, and of a sparse and a dense one."""
ARRANGED_BYTES = 300.0
"""That arranging an entry of sparse columns by row and by column is as long as writing."""
MATE_COST, LINK_COST = 60.0, 15.0
"""Multiply-adds that look-alikes are as long as beside their looks: each pair of images, and each
tag of the other image."""
SIGHT_BYTES = 30.0
"""That adding what an image looks like to what is said of a tag is as long as writing."""
STEP_BYTES = 120.0
"""The same for a step of its regression: four exponentials."""
SUBJECT_BYTES = 12.0
"""That adding what an image is about to what is said of a tag is as long as writing."""
SUBJECT_STEP_BYTES = 2_200.0
"""The same of a step in which subjects are learned, for an image and a subject: an exponential, a
logarithm, and in every fifth step eight of both."""
MISFIT_BYTES = 150.0
"""The same for how well log odds explain a cell of the sample."""
STEP_CALLS = 2_000.0
"""Small steps that judging some images takes, however few they are."""


def reading_work(size: Size) -> Work:
    """Read the tags of all images once."""
    return Work(read=4.0 * size.given, copied=20.0 * size.given)


def features_work(size: Size) -> Work:
    """Read the features of all images once, and scale them."""
    return Work(
        read=size.images * size.features * size.feature_bytes,
        copied=12.0 * size.images * size.features,
    )


def word_work(size: Size) -> Work:
    """Split all titles into words, in Python."""
    return Work(calls=2.0 * size.title_words)


def dense_work(size: Size, shape: Shape) -> Work:
    """Make the dense columns of all images."""
    return features_work(size) + likeness_work(size, shape, shape.n)


def kept_work(shape: Shape) -> Work:
    """Read the dense columns of all images, which were kept."""
    return Work(read=4.0 * shape.n * shape.D, copied=4.0 * shape.n * shape.D)


def likeness_work(size: Size, shape: Shape, n: float) -> Work:
    """Compare so many images with the anchors."""
    return Work(product32=2.0 * n * shape.A * size.features, copied=LIKENESS_BYTES * n * shape.A)


def through_work(size: Size, shape: Shape, n: float, at_once: float, made: float) -> Work:
    """Return what it takes to judge all tags of so many images, each left out of itself.

    An image is seen as it is and as it was fitted; its dense columns make one form with P, for
    which half of the products will do. ``made`` is the share of the images whose
    owners' sums are not kept, but made anew in every step.
    """
    owners = n / at_once * distinct_owners(size, at_once * made)
    return (
        Work(
            product32=2.0 * n * shape.D * (shape.T + shape.D / 2.0),
            sparse=n * shape.k * (shape.T + 2.0 * shape.D),
            copied=n * (JUDGED_BYTES * shape.T + OWNED_BYTES * own_tags(size)),
            calls=STEP_CALLS * n / at_once,
        )
        + likeness_work(size, shape, n)
        + owners_through(size, shape, owners, own_tags(size))
    )


def owners_through(size: Size, shape: Shape, owners: float, tags: float) -> Work:
    """Return what it takes to take the sums of so many owners, of so many tags each, through."""
    entries = tags * shape.k / max(size.tags_each, 1e-9)
    return Work(
        product32=2.0 * owners * shape.D * shape.through,
        sparse=owners * entries * shape.through,
        copied=4.0 * owners * shape.through * MADE_ARRAYS,
    )


def alike_work(size: Size, n: float, at_once: float) -> Work:
    """Return what it takes to ask the other images of the owners of so many."""
    mate = DIRECTIONS + MATE_COST + LINK_COST * size.tags_each
    return Work(sparse=n * size.fellows * mate, calls=STEP_CALLS * n / at_once)


def scoring_work(size: Size, shape: Shape, n: float, at_once: float, made: float) -> Work:
    """Return what it takes to say how probable all tags of so many images are."""
    # Where each owner's habits begin is written down anew in every step.
    habits = 8.0 * n / at_once * size.owners
    return (
        through_work(size, shape, n, at_once, made)
        + alike_work(size, n, at_once)
        + sight_work(size, shape, n)
        + subject_work(size, shape, n)
        + Work(copied=SCORED_BYTES * n * shape.T + habits)
    )


def sight_work(size: Size, shape: Shape, n: float) -> Work:
    """Return what sight takes of so many images, where there is any."""
    if not shape.L:
        return Work()
    return Work(
        product32=2.0 * n * shape.V * (size.features + shape.X),
        copied=n * (16.0 * size.features + SIGHT_BYTES * shape.X),
    )


def learning_sight_work(size: Size, shape: Shape) -> Work:
    """Return what it takes to learn it: regressions, how well they explain uses, and beliefs."""
    cells, sampled = (SIGHT_FOLDS - 1.0) * shape.L * shape.X, sampled_cells(shape)
    steps = len(PENALTIES) * STEPS * cells
    tried = len(PENALTIES) * len(STRENGTHS) * min(float(TRIED_CELLS), sampled)
    return Work(
        product32=steps * 4.0 * shape.V + 2.0 * shape.L * size.features**2,
        product64=10.0 * size.features**3,
        copied=steps * STEP_BYTES + 40.0 * shape.L * (size.features + shape.X),
    ) + Work(copied=tried * MISFIT_BYTES + 2.0 * BELIEF_BYTES * sampled)


def subject_work(size: Size, shape: Shape, n: float) -> Work:
    """Return what it takes to say what so many images are about, where that was learned."""
    if not shape.Q:
        return Work()
    directions = min(size.features, SUBJECT_DIRECTIONS)
    return Work(
        product32=2.0 * n * (directions * (size.features + shape.Q) + shape.Q * shape.T),
        sparse=3.0 * n * size.tags_each * shape.Q,
        copied=n * (16.0 * size.features + SUBJECT_BYTES * shape.T + 80.0 * shape.Q),
    )


def learning_subjects_work(size: Size, shape: Shape) -> Work:
    """Return what it takes to learn it, and to say it of the sample, with owners and without."""
    if not shape.Q:
        return Work()
    steps = (SUBJECT_FOLDS - 1.0) * SUBJECT_STEPS * shape.G
    directions = min(size.features, SUBJECT_DIRECTIONS)
    learning = Work(
        product64=steps * 4.0 * directions * shape.Q,
        sparse=steps * 2.0 * (size.tags_each + 1.0) * shape.Q,
        copied=steps * SUBJECT_STEP_BYTES * shape.Q + BELIEF_BYTES * sampled_cells(shape),
    )
    said = subject_work(size, shape, shape.n + 2.0 * sampled_cells(shape) / shape.T)
    return learning + said


class ColumnsWork(NamedTuple):
    """What products of sparse columns take."""

    among: Work
    """With each other and with tags that are no columns."""
    mixed: float
    """Multiply-adds with dense columns."""


def columns_work(shape: Shape, entries: float, each: float) -> ColumnsWork:
    """Return what it takes to add products of so many entries, so many of an image or owner."""
    runs = max(1.0, entries / ENTRIES_AT_ONCE)
    among = Work(
        sparse=PRODUCT_COST * entries * each / 2.0,
        copied=ARRANGED_BYTES * entries + runs * 24.0 * shape.upper,
    )
    return ColumnsWork(among, MIXED_COST * entries * shape.D)


def solving_work(size: Size, shape: Shape) -> Work:
    """Return what it takes to take owners out of the sums, and to solve the regression."""
    entries = size.owner_tags + owner_words(size, shape)
    each = columns_work(shape, entries, own_tags(size))
    equations = Work(
        product64=float(size.owners) * shape.D**2,
        sparse=each.mixed,
        copied=32.0 * shape.M * (shape.M + shape.R) + 8.0 * size.owners * shape.D,
    )
    weights = Work(
        # An inverse, its bands multiplied as squares; and the weights of tags that are no columns.
        product64=shape.M**2 * (shape.M + 2.0 * BAND + 2.0 * shape.R),
        copied=16.0 * shape.M**2 + 12.0 * shape.M * shape.T,
    )
    return each.among + equations + weights


def leaving_out_work(size: Size, shape: Shape) -> Work:
    """Return what it takes to regress without each fold: its images added up, the rest solved.

    Nothing, where only some images are looked at.
    """
    if shape.n > shape.G:
        return Work()
    each = columns_work(shape, size.given + shape.n * words_each(size, shape), shape.k)
    adding = Work(
        product32=2.0 * shape.n * shape.D**2,
        sparse=shape.n * shape.D + each.mixed,
        copied=8.0 * shape.n * shape.D + 3.0 * SIGHT_FOLDS * shape.sums,
    )
    found = dense_work(size, shape) + reading_work(size) + word_work(size) + each.among + adding
    return found + solving_work(size, shape) * SIGHT_FOLDS


def given_work(size: Size, shape: Shape) -> Work:
    """Return what it takes to judge the given tags of all images, their dense columns there."""
    entries = size.given + shape.n * words_each(size, shape)
    return Work(
        # Half of the products, as the matrix is symmetric.
        product32=shape.n * shape.D**2,
        # Tags are looked up as they were given, and as they were fitted.
        sparse=shape.D * (shape.n + entries) + 2.0 * PAIR_COST * entries * shape.k,
        # How many images each owner has is written down anew for every block.
        copied=20.0 * shape.n * shape.D + ENTRY_BYTES * entries + 8.0 * shape.blocks * size.owners,
        calls=STEP_CALLS * shape.blocks,
    )


def owners_work(size: Size, shape: Shape) -> Work:
    """Return what it takes to multiply the sums of all owners, at the tags they used."""
    owners, entries = float(size.owners), size.owner_tags
    return Work(
        product32=2.0 * owners * shape.D**2,
        sparse=2.0 * entries * shape.D + PAIR_COST * entries * own_tags(size),
        copied=20.0 * owners * shape.D + ENTRY_BYTES * entries,
        calls=STEP_CALLS * owners / OWNERS_AT_ONCE,
    )


def belief_work(shape: Shape) -> Work:
    """Learn one belief from the sample."""
    return Work(copied=BELIEF_BYTES * sampled_cells(shape))


def slips_work(shape: Shape) -> Work:
    """Learn once from the sample how often tags are given where nothing speaks for them."""
    return Work(copied=SLIP_BYTES * sampled_cells(shape))
