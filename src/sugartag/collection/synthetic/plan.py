"""What is drawn once for a whole synthetic collection: all but the images."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.collection.model import Shard
from sugartag.collection.synthetic.draws import (
    SHUFFLE_ROUNDS,
    Pools,
    distinct,
    rows_of_keys,
    sorted_once,
    stream,
    zipf_weights,
)
from sugartag.collection.synthetic.shards import make_shard
from sugartag.collection.texts import Texts
from sugartag.errors import SettingsError

if TYPE_CHECKING:
    from sugartag.collection.synthetic.world import World

TAG_SHIFT = 10.0
"""Mandelbrot's shift: without it one tag would be on most images of its topic."""
SECOND_TOPIC_SHARE = 0.2
"""Seen tags that belong to a second topic too, as ``blue`` to the sea and to flowers."""
GROUP_EXPONENT = 0.8
HABIT_FLATTENING = 0.5
"""Favourites follow tag use to this power: they are rarer words than those people need."""
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

    frequency: FloatArray
    """Each tag's share of all true tags, but for what popular tags lose by being given once."""
    seen: BoolArray
    """Whether a tag shows in the image."""
    topic: IntArray
    """The first topic of a seen tag; of no meaning for the others."""
    pools: Pools
    """The tags of each topic, and then the tags of no topic."""
    everything: Pools
    """One pool of all tags."""
    topic_share: FloatArray
    unseen_mass: float
    """Share of the true tags that do not show."""
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
    topics: Pools
    """One pool of all topics."""
    group_topic: IntArray
    groups: SparseRows
    """Owners x groups."""
    habits: SparseRows
    """Owners x tags."""

    def topic_for(self, owner: IntArray, strength: float, rng: np.random.Generator) -> IntArray:
        """Draw a topic for each owner named: an interest, or anything."""
        chosen = _an_interest(self.interest, self.n_interests, owner, rng)
        anything = self.topics.draw(np.zeros_like(owner), rng)
        return np.where(rng.random(len(owner)) < strength, chosen, anything)


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


@dataclass(frozen=True, eq=False)
class Plan:
    """A synthetic world with its seed: image i is the same whatever rows it is asked with."""

    world: "World"
    seed: int
    vocabulary: Vocabulary
    people: People
    looks: Looks

    def shard(self, start: int, stop: int) -> Shard:
        """Generate the images from ``start`` up to ``stop``."""
        if not 0 <= start <= stop <= self.world.n_images:
            raise SettingsError(
                f"rows {start} to {stop} are not among the {self.world.n_images} images"
            )
        return make_shard(self, start, stop)

    @cached_property
    def tag_names(self) -> tuple[str, ...]:
        """The tags, by number."""
        return tuple(f"tag-{number:05d}" for number in range(self.world.n_tags))

    @property
    def concept_names(self) -> tuple[str, ...]:
        """The tags whose truth is known."""
        return tuple(self.tag_names[tag] for tag in self.vocabulary.concept)

    @property
    def owner_names(self) -> Texts:
        """The owners, by number."""
        return Texts.of(f"owner-{number}" for number in range(self.world.n_owners))

    @property
    def group_names(self) -> Texts:
        """The groups, by number."""
        return Texts.of(f"group-{number}" for number in range(self.world.n_groups))


def make_plan(world: "World", seed: int) -> Plan:
    """Draw the plan of a world; each part from its own random stream."""
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise SettingsError(f"seed is {seed!r}; give a whole number of at least 0")
    seed = int(seed)
    vocabulary = _vocabulary(world, _stream(seed, TAGS))
    people = _people(world, vocabulary, seed)
    looks = _looks(world, vocabulary, _stream(seed, LOOKS))
    return Plan(world, seed, vocabulary, people, looks)


def _stream(seed: int, part: int) -> np.random.Generator:
    # chunks of images have keys from 1 on
    return stream(seed, 0, part)


def _vocabulary(world: "World", rng: np.random.Generator) -> Vocabulary:
    by_rank = rng.permutation(world.n_tags)
    frequency = np.empty(world.n_tags)
    frequency[by_rank] = zipf_weights(world.n_tags, world.tag_exponent, shift=TAG_SHIFT)
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
        frequency=frequency,
        seen=seen,
        topic=topic,
        pools=Pools.of([*members, *unseen], weight),
        everything=Pools.of([np.arange(world.n_tags)], frequency),
        topic_share=topic_mass / topic_mass.sum(),
        unseen_mass=float(frequency[~seen].sum()),
        concept=np.sort(np.concatenate([seen_by_rank, unseen_by_rank])[: world.n_told]),
    )


def _dealt(seen_by_rank: IntArray, world: "World", rng: np.random.Generator) -> IntArray:
    """Deal the seen tags to the topics like cards, so that each has common and rare ones."""
    hands = -(-len(seen_by_rank) // world.n_topics)
    dealt = rng.permuted(np.tile(np.arange(world.n_topics), (hands, 1)), axis=1).ravel()
    topic = np.zeros(world.n_tags, dtype=np.int64)
    topic[seen_by_rank] = dealt[: len(seen_by_rank)]
    return topic


def _people(world: "World", vocabulary: Vocabulary, seed: int) -> People:
    rng = _stream(seed, OWNERS)
    activity = rng.permutation(zipf_weights(world.n_owners, world.owner_exponent))
    n_images = 1 + rng.multinomial(world.n_images - world.n_owners, activity)
    topics = Pools.of([np.arange(world.n_topics)], vocabulary.topic_share)
    slots = world.n_owners * world.interests_per_owner
    interest = topics.draw(np.zeros(slots, dtype=np.int64), rng).reshape(world.n_owners, -1)
    n_interests = rng.integers(1, world.interests_per_owner + 1, size=world.n_owners)
    keys = rng.integers(0, 2**64, size=SHUFFLE_ROUNDS, dtype=np.uint64, endpoint=False)
    group_topic = _group_topics(world, topics, _stream(seed, GROUPS))
    return People(
        image_end=np.cumsum(n_images),
        shuffle_keys=keys,
        interest=interest,
        n_interests=n_interests,
        topics=topics,
        group_topic=group_topic,
        groups=_groups(world, group_topic, interest, n_interests, _stream(seed, MEMBERSHIPS)),
        habits=_habits(world, vocabulary, _stream(seed, HABITS)),
    )


def _group_topics(world: "World", topics: Pools, rng: np.random.Generator) -> IntArray:
    """Give each topic a group, while there are groups, and the popular topics more."""
    first = rng.permutation(world.n_topics)[: world.n_groups]
    more = topics.draw(np.zeros(world.n_groups - len(first), dtype=np.int64), rng)
    return rng.permutation(np.concatenate([first, more]))


def _groups(
    world: "World",
    group_topic: IntArray,
    interest: IntArray,
    n_interests: IntArray,
    rng: np.random.Generator,
) -> SparseRows:
    if world.n_groups == 0:
        return rows_of_keys(np.empty(0, dtype=np.int64), world.n_owners, 0)
    everything = np.arange(world.n_groups)
    of_topic = [np.flatnonzero(group_topic == k) for k in range(world.n_topics)]
    weights = rng.permutation(zipf_weights(world.n_groups, GROUP_EXPONENT))
    pools = Pools.of([p if len(p) else everything for p in of_topic] + [everything], weights)

    def of_interest(owner: IntArray) -> IntArray:
        return pools.draw(_an_interest(interest, n_interests, owner, rng), rng)

    def stray(owner: IntArray) -> IntArray:
        return pools.draw(np.full_like(owner, world.n_topics), rng)

    # geometric: some owners are in no group at all, a few in very many
    wanted = rng.geometric(1 / (1 + world.groups_per_owner), world.n_owners) - 1
    wanted = np.minimum(wanted, world.n_groups)
    n_stray = rng.binomial(wanted, world.stray_share)
    # apart, or else an owner who has joined every group of an interest would stray ever more
    keys = sorted_once(
        distinct(of_interest, wanted - n_stray, world.n_groups),
        distinct(stray, n_stray, world.n_groups),
    )
    return rows_of_keys(keys, world.n_owners, world.n_groups)


def _an_interest(
    interest: IntArray, n_interests: IntArray, owner: IntArray, rng: np.random.Generator
) -> IntArray:
    return interest[owner, rng.integers(0, n_interests[owner])]


def _habits(world: "World", vocabulary: Vocabulary, rng: np.random.Generator) -> SparseRows:
    tags = Pools.of([np.arange(world.n_tags)], vocabulary.frequency**HABIT_FLATTENING)
    wanted = np.minimum(rng.poisson(world.habits_per_owner, world.n_owners), world.n_tags)
    keys = distinct(lambda row: tags.draw(np.zeros_like(row), rng), wanted, world.n_tags)
    return rows_of_keys(keys, world.n_owners, world.n_tags)


def _looks(world: "World", vocabulary: Vocabulary, rng: np.random.Generator) -> Looks:
    def normal(n_rows: int, n_columns: int, size: int) -> FloatArray:
        return rng.standard_normal((n_rows, n_columns), dtype=np.float32) / np.float32(size**0.5)

    n = world.n_dimensions
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
