"""What is drawn once for a whole synthetic collection: all but the images."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.collection.synthetic.draws import (
    SHUFFLE_ROUNDS,
    Pools,
    distinct,
    rows_of_keys,
    sorted_once,
    stream,
    zipf_weights,
)

if TYPE_CHECKING:
    from sugartag.collection.synthetic.world import World

TAG_EXPONENT, TAG_SHIFT = 1.0, 10.0
"""Zipf's exponent of how often tags are true. Without Mandelbrot's shift one tag would be on most
images of its topic."""
UNSEEN_SHARE = 0.2
"""Tags that belong to no topic and do not show in the image, as ``canon`` or ``2007``."""
SECOND_TOPIC_SHARE = 0.2
"""Seen tags that belong to a second topic too, as ``blue`` to the sea and to flowers."""
OWNER_EXPONENT, GROUP_EXPONENT = 0.8, 0.8
"""Zipf's exponents of how many images owners have, and members groups."""
INTERESTS = 3
"""The most topics an owner likes; at least one."""
STRAY_SHARE = 0.1
"""Memberships that have nothing to do with the owner's interests."""
HABIT_FLATTENING = 0.5
"""Favourites follow tag use to this power: they are rarer words than those people need."""
DIMENSIONS = 48
"""Independent ways in which images differ visually."""
TOPIC_PULL = 0.5
"""How near a tag's direction lies to its topic's centre."""
SPECTRUM_DECAY = 0.5
"""Exponent by which the visual dimensions lose importance."""
GAIN_SPREAD = 0.4
"""How unequal features are: standard deviation of the logarithm of their gains."""
TAGS, OWNERS, GROUPS, MEMBERSHIPS, HABITS, LOOKS = range(6)


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The tags: how often each is true, and of what."""

    seen: BoolArray
    """Whether a tag shows in the image."""
    topic: IntArray
    """The first topic of a seen tag; of no meaning for the others."""
    topics: Pools
    """One pool of all topics."""
    of_topic: Pools
    """The tags of each topic, and then the tags of no topic."""
    frequency: FloatArray
    """Each tag's share of all true tags, but for what popular tags lose by being given once."""
    concept: IntArray
    """The tags whose truth is known, in order."""


@dataclass(frozen=True, eq=False)
class People:
    """The owners: how many images each has, about what, their groups and favourites."""

    image_end: IntArray
    """Owner o has the shuffled positions from ``image_end[o - 1]`` to ``image_end[o]``."""
    shuffle_keys: IntArray
    interest: IntArray
    """Owners x the most interests, topics; the first ``n_interests`` count."""
    n_interests: IntArray
    groups: SparseRows
    """Owners x groups."""
    habits: SparseRows
    """Owners x tags."""

    def an_interest(self, owner: IntArray, rng: np.random.Generator) -> IntArray:
        """Draw one of the interests of each owner named."""
        return _an_interest(self.interest, self.n_interests, rng, owner)


@dataclass(frozen=True, eq=False)
class Looks:
    """What topics, tags and owners look like, and how that becomes features."""

    centre: FloatArray
    """Topics x dimensions."""
    direction: FloatArray
    """Tags x dimensions, zero for tags that do not show."""
    style: FloatArray
    """Owners x dimensions."""
    projection: FloatArray
    """Dimensions x features."""


def make_vocabulary(world: "World", seed: int) -> Vocabulary:
    """Draw the tags."""
    rng = _stream(seed, TAGS)
    by_rank = rng.permutation(world.n_tags)
    frequency = np.empty(world.n_tags)
    frequency[by_rank] = zipf_weights(world.n_tags, TAG_EXPONENT, shift=TAG_SHIFT)
    # evenly spaced ranks, so that their share of the use is their share of the vocabulary
    spaced = (np.arange(world.n_unseen) + rng.random()) * (world.n_tags / max(world.n_unseen, 1))
    seen = np.ones(world.n_tags, dtype=bool)
    seen[by_rank[spaced.astype(np.int64)]] = False

    seen_by_rank, unseen_by_rank = by_rank[seen[by_rank]], by_rank[~seen[by_rank]]
    topic, second = (_dealt(seen_by_rank, world, rng) for _ in range(2))
    second = np.where(rng.random(world.n_tags) < SECOND_TOPIC_SHARE, second, topic)
    tag = np.flatnonzero(seen)
    members = [tag[(topic[tag] == k) | (second[tag] == k)] for k in range(world.n_topics)]
    unseen = [np.flatnonzero(~seen)] if world.n_unseen else []
    # a tag of two topics counts half in each, which keeps its use at its frequency
    weight = np.where(seen & (second != topic), frequency / 2, frequency)
    topic_mass = np.array([weight[pool].sum() for pool in members])
    return Vocabulary(
        seen=seen,
        topic=topic,
        topics=Pools.of([np.arange(world.n_topics)], topic_mass / topic_mass.sum()),
        of_topic=Pools.of([*members, *unseen], weight),
        frequency=frequency,
        concept=np.sort(np.concatenate([seen_by_rank, unseen_by_rank])[: world.n_known]),
    )


def _dealt(seen_by_rank: IntArray, world: "World", rng: np.random.Generator) -> IntArray:
    """Deal the seen tags to the topics like cards, so that each has common and rare ones."""
    hands = -(-len(seen_by_rank) // world.n_topics)
    dealt = rng.permuted(np.tile(np.arange(world.n_topics), (hands, 1)), axis=1).ravel()
    topic = np.zeros(world.n_tags, dtype=np.int64)
    topic[seen_by_rank] = dealt[: len(seen_by_rank)]
    return topic


def make_people(world: "World", vocabulary: Vocabulary, seed: int) -> People:
    """Draw the owners."""
    rng, topics = _stream(seed, OWNERS), vocabulary.topics
    activity = rng.permutation(zipf_weights(world.n_owners, OWNER_EXPONENT))
    n_images = 1 + rng.multinomial(world.n_images - world.n_owners, activity)
    interest = topics.draw_any(world.n_owners * INTERESTS, rng).reshape(world.n_owners, -1)
    n_interests = rng.integers(1, INTERESTS + 1, size=world.n_owners)
    keys = rng.integers(0, 2**64, size=SHUFFLE_ROUNDS, dtype=np.uint64, endpoint=False)
    draw_interest = partial(_an_interest, interest, n_interests)
    return People(
        image_end=np.cumsum(n_images),
        shuffle_keys=keys,
        interest=interest,
        n_interests=n_interests,
        groups=_groups(world, topics, draw_interest, seed),
        habits=_habits(world, vocabulary, _stream(seed, HABITS)),
    )


def _groups(
    world: "World",
    topics: Pools,
    draw_interest: Callable[[np.random.Generator, IntArray], IntArray],
    seed: int,
) -> SparseRows:
    """Return owners x groups: each topic has a group, while there are any, popular ones more."""
    if world.n_groups == 0:
        return rows_of_keys(np.empty(0, dtype=np.int64), world.n_owners, 0)
    rng = _stream(seed, GROUPS)
    first = rng.permutation(world.n_topics)[: world.n_groups]
    more = topics.draw_any(world.n_groups - len(first), rng)
    topic_of_group = rng.permutation(np.concatenate([first, more]))
    rng = _stream(seed, MEMBERSHIPS)
    everything = np.arange(world.n_groups)
    of_topic = [np.flatnonzero(topic_of_group == k) for k in range(world.n_topics)]
    weights = rng.permutation(zipf_weights(world.n_groups, GROUP_EXPONENT))
    pools = Pools.of([p if len(p) else everything for p in of_topic] + [everything], weights)
    # geometric: some owners are in no group at all, a few in very many
    wanted = rng.geometric(1 / (1 + world.groups_per_owner), world.n_owners) - 1
    wanted = np.minimum(wanted, world.n_groups)
    n_stray = rng.binomial(wanted, STRAY_SHARE)
    # apart, or else an owner who has joined every group of an interest would stray ever more
    keys = sorted_once(
        distinct(
            lambda owner: pools.draw(draw_interest(rng, owner), rng),
            wanted - n_stray,
            world.n_groups,
        ),
        distinct(
            lambda owner: pools.draw(np.full_like(owner, world.n_topics), rng),
            n_stray,
            world.n_groups,
        ),
    )
    return rows_of_keys(keys, world.n_owners, world.n_groups)


def _an_interest(
    interest: IntArray, n_interests: IntArray, rng: np.random.Generator, owner: IntArray
) -> IntArray:
    return interest[owner, rng.integers(0, n_interests[owner])]


def _habits(world: "World", vocabulary: Vocabulary, rng: np.random.Generator) -> SparseRows:
    tags = Pools.of([np.arange(world.n_tags)], vocabulary.frequency**HABIT_FLATTENING)
    wanted = np.minimum(rng.poisson(world.habits_per_owner, world.n_owners), world.n_tags)
    keys = distinct(lambda row: tags.draw_any(len(row), rng), wanted, world.n_tags)
    return rows_of_keys(keys, world.n_owners, world.n_tags)


def make_looks(world: "World", vocabulary: Vocabulary, seed: int) -> Looks:
    """Draw what everything looks like."""
    rng, n = _stream(seed, LOOKS), DIMENSIONS

    def normal(n_rows: int, n_columns: int, size: int) -> FloatArray:
        return rng.standard_normal((n_rows, n_columns), dtype=np.float32) / np.float32(size**0.5)

    centre = normal(world.n_topics, n, n)
    own = normal(world.n_tags, n, n)
    direction = TOPIC_PULL * centre[vocabulary.topic] + (1 - TOPIC_PULL**2) ** 0.5 * own
    importance = np.arange(1, n + 1, dtype=np.float32) ** -SPECTRUM_DECAY
    importance *= (n / np.square(importance).sum()) ** 0.5
    gain = np.exp(np.float32(GAIN_SPREAD) * normal(1, world.n_features, 1))
    projection = normal(n, world.n_features, 1) * importance[:, None] * gain
    return Looks(
        centre=centre,
        direction=direction * vocabulary.seen[:, None].astype(np.float32),
        style=normal(world.n_owners, n, n),
        projection=projection,
    )


def _stream(seed: int, part: int) -> np.random.Generator:
    # chunks of images have keys from 1 on
    return stream(seed, 0, part)
