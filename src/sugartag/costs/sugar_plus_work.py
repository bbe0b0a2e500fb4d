"""What sugar-plus does with an image or an owner, counted in operations.

The letters are those of :mod:`sugartag.costs.sugar_plus_shape`.
"""

from sugartag.costs.size import Size
from sugartag.costs.sugar_plus_shape import (
    Shape,
    distinct_owners,
    own_tags,
    sampled_cells,
    words_each,
)
from sugartag.costs.work import Work
from sugartag.methods.sugar_plus.given import OWNERS_AT_ONCE
from sugartag.methods.sugar_plus.remembered import DIRECTIONS

JUDGED_ARRAYS = 27
"""Arrays of images x tags that judging an image writes."""
SCORED_ARRAYS = 25
"""Those that come on top where images are scored, a look-up for as many as it takes as long."""
MADE_ARRAYS = 8
"""Arrays of owners x tags that taking owners through the ridge writes."""
OWNED_BYTES = 60.0
"""That judging an image writes for each tag of its owner."""
HABIT_BYTES = 100.0
"""The same, where images are scored."""
LIKENESS_BYTES = 40.0
"""That comparing an image with an anchor writes; an exponential is as long as most of it."""
BELIEF_BYTES = 1_000.0
"""That learning a belief writes for each cell of the sample: mostly searching and sorting them."""
PAIR_BYTES, OWNER_PAIR_BYTES = 400.0, 80.0
"""That looking up a weight takes, for each pair of a given tag and a column of its image, and of a
tag and a column of an owner: those are more at once."""
LOOKED_UP_BYTES = 12.0
"""That a dense column takes for each given tag: its weights are copied, then multiplied."""
FOUND_BYTES = 30.0
"""That an owner's tags take, each, where those of an image are looked up among them."""
MATE_BYTES, SHARED_BYTES = 400.0, 100.0
"""That look-alikes take beside their looks: each pair of images, and each tag that both have."""
LINK_COST = 150.0
"""Multiply-adds that each tag of an image of the same owner is as long as."""
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

    An image is seen as it is and as it was fitted. ``made`` is the share of the images whose
    owners' sums are not kept, but made anew in every step.
    """
    owners = n / at_once * distinct_owners(size, at_once * made)
    return (
        Work(
            product32=2.0 * n * shape.D * shape.through,
            sparse=2.0 * n * shape.k * shape.through,
            copied=4.0 * n * shape.T * JUDGED_ARRAYS + OWNED_BYTES * n * own_tags(size),
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


def alike_work(size: Size, shape: Shape, n: float, at_once: float) -> Work:
    """Return what it takes to ask the other images of the owners of so many."""
    pairs, each = n * size.fellows, size.tags_each
    shared = pairs * shape.k**2 / max(own_tags(size), 1.0)
    # Tags that are no columns are looked for among all those of the owner's images.
    rare = pairs * each * max(each + words_each(size, shape) - shape.k, 0.0)
    return Work(
        copied=pairs * (8.0 * DIRECTIONS + MATE_BYTES) + SHARED_BYTES * (shared + rare),
        sparse=LINK_COST * pairs * max(each, 1.0),
        calls=STEP_CALLS * n / at_once,
    )


def scoring_work(size: Size, shape: Shape, n: float, at_once: float, made: float) -> Work:
    """Return what it takes to say how probable all tags of so many images are."""
    # Where each owner's habits begin is written down anew in every step.
    habits = HABIT_BYTES * n * own_tags(size) + 8.0 * n / at_once * size.owners
    return (
        through_work(size, shape, n, at_once, made)
        + alike_work(size, shape, n, at_once)
        + Work(copied=4.0 * n * shape.T * SCORED_ARRAYS + habits)
    )


def given_work(size: Size, shape: Shape) -> Work:
    """Return what it takes to judge the given tags of all images, their dense columns there."""
    entries = size.given + shape.n * words_each(size, shape)
    found = FOUND_BYTES * distinct_owners(size, shape.rows) * own_tags(size)
    return Work(
        # Of a symmetric matrix, in four slabs, a little more than half.
        product32=1.25 * shape.n * shape.D**2,
        copied=shape.D * (20.0 * shape.n + LOOKED_UP_BYTES * entries)
        + PAIR_BYTES * entries * shape.k
        # How many images each owner has is written down anew for every block.
        + shape.blocks * (found + 8.0 * size.owners),
        calls=300.0 * shape.blocks,
    )


def owners_work(size: Size, shape: Shape) -> Work:
    """Return what it takes to multiply the sums of all owners, at the tags they used."""
    owners, entries = float(size.owners), size.owner_tags
    return Work(
        product32=2.0 * owners * shape.D**2,
        sparse=entries * shape.D,
        copied=shape.D * (20.0 * owners + LOOKED_UP_BYTES * entries)
        + OWNER_PAIR_BYTES * entries * own_tags(size),
        calls=300.0 * owners / OWNERS_AT_ONCE,
    )


def belief_work(shape: Shape) -> Work:
    """Learn one belief from the sample."""
    return Work(copied=BELIEF_BYTES * sampled_cells(shape), calls=30.0 * shape.T)
