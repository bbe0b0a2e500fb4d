"""The settings of a synthetic world, and collections made from it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sugartag.collection.model import Collection, Shard
from sugartag.collection.store import CollectionWriter
from sugartag.collection.synthetic.plan import Plan, make_plan
from sugartag.engine.base import Progress, row_blocks
from sugartag.errors import SettingsError
from sugartag.storage.aside import folder_aside

ROWS_PER_SHARD = 65_536
USUAL_CONCEPTS = 128
_COUNTS = (
    "n_images",
    "n_tags",
    "n_owners",
    "n_groups",
    "n_topics",
    "n_features",
    "n_dimensions",
    "interests_per_owner",
)
_SHARES = (
    "unseen_share",
    "ownerless_share",
    "interest_strength",
    "stray_share",
    "missing_share",
    "habit_rate",
)
_AMOUNTS = (
    "tags_per_image",
    "tag_exponent",
    "owner_exponent",
    "groups_per_owner",
    "random_noise",
    "habits_per_owner",
    "visual_difficulty",
    "owner_style",
)
_LEAST = {"n_groups": 0, "tags_per_image": 1}


@dataclass(frozen=True)
class World:
    """How much of everything a synthetic collection has.

    Owners upload images of their interests (topics) and join groups about them. A topic decides
    which tags are true of an image, and the true tags that can be seen decide what it looks
    like. Owners then leave out true tags, add random wrong ones, and add their favourites.
    """

    n_images: int = 600
    n_tags: int = 200
    n_owners: int = 60
    n_groups: int = 24
    n_topics: int = 8
    n_features: int = 64
    """Activations that describe an image: not negative, many of them zero."""
    n_concepts: int | None = None
    """Tags whose truth is known: the most used of those that can be seen, then of the others; None
    for at most 128 that can be seen."""
    tags_per_image: float = 6.0
    """True tags of an image, on average."""
    tag_exponent: float = 1.0
    """Zipf's exponent of how often tags are true."""
    unseen_share: float = 0.2
    """Tags that belong to no topic and do not show in the image, as ``canon`` or ``2007``."""
    owner_exponent: float = 0.8
    """Zipf's exponent of how many images owners have."""
    ownerless_share: float = 0.0
    """Images whose owner is not known."""
    interests_per_owner: int = 3
    """The most interests an owner has; at least one."""
    interest_strength: float = 0.85
    """Images of an owner that are about the owner's interests, the others being about anything."""
    groups_per_owner: float = 4.0
    stray_share: float = 0.1
    """Memberships that have nothing to do with the owner's interests."""
    missing_share: float = 0.4
    """True tags that are not given."""
    random_noise: float = 1.0
    """Wrong tags an image is given at random, on average."""
    habits_per_owner: float = 1.5
    """Favourite tags of an owner, on average."""
    habit_rate: float = 0.5
    """Images of an owner that get a favourite tag, whether it is true or not."""
    n_dimensions: int = 48
    """Independent ways in which images differ visually."""
    visual_difficulty: float = 1.5
    """What the tags do not explain of an image's look, relative to what they do."""
    owner_style: float = 0.3
    """What an owner's images have in common visually, relative to what the tags explain."""

    def __post_init__(self) -> None:
        _check_each(self)
        _check_together(self)

    @property
    def n_unseen(self) -> int:
        """How many tags do not show in an image."""
        return round(self.unseen_share * self.n_tags)

    @property
    def n_told(self) -> int:
        """How many concepts the truth has."""
        if self.n_concepts is not None:
            return self.n_concepts
        return min(USUAL_CONCEPTS, self.n_tags - self.n_unseen)

    def plan(self, seed: int) -> Plan:
        """Draw everything but the images: topics, tags, owners, groups, favourites and looks."""
        return make_plan(self, seed)

    def generate(self, seed: int, *, rows_per_shard: int = ROWS_PER_SHARD) -> Collection:
        """Return a collection of this world, in memory."""
        plan = self.plan(seed)
        return Collection(
            shards=tuple(_shards(plan, rows_per_shard)),
            tag_names=plan.tag_names,
            owner_names=plan.owner_names,
            group_names=plan.group_names,
            groups=plan.people.groups,
            concept_names=plan.concept_names,
        )

    def write(
        self,
        folder: Path,
        seed: int,
        *,
        rows_per_shard: int = ROWS_PER_SHARD,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> None:
        """Write a collection of this world to a folder; one shard at a time is in memory."""
        plan = self.plan(seed)
        with folder_aside(folder, overwrite=overwrite) as partial:
            writer, done = CollectionWriter(partial), 0
            for shard in _shards(plan, rows_per_shard):
                writer.add_shard(shard)
                done += len(shard)
                if progress is not None:
                    progress("generate", done, self.n_images)
            writer.finish(
                tag_names=plan.tag_names,
                owner_names=plan.owner_names,
                group_names=plan.group_names,
                groups=plan.people.groups,
                concept_names=plan.concept_names,
            )


def small() -> World:
    """Return a world of 600 images, made in a moment."""
    return World()


def medium() -> World:
    """Return a world of 20,000 images, 2,000 tags and 2,000 owners."""
    return World(
        n_images=20_000,
        n_tags=2_000,
        n_owners=2_000,
        n_groups=400,
        n_topics=30,
        n_features=128,
        tags_per_image=8.0,
        groups_per_owner=6.0,
    )


def paper_size() -> World:
    """Return a world with as many images, tags and owners as the paper's collection."""
    return World(
        n_images=247_849,
        n_tags=5_018,
        n_owners=49_528,
        n_groups=4_000,
        n_topics=60,
        n_features=512,
        tags_per_image=9.0,
        groups_per_owner=8.0,
        random_noise=1.5,
        habits_per_owner=2.0,
    )


def _shards(plan: Plan, rows_per_shard: int) -> Iterator[Shard]:
    if rows_per_shard < 1:
        raise SettingsError(f"rows_per_shard is {rows_per_shard}; it must be at least 1")
    for rows in row_blocks(plan.world.n_images, rows_per_shard):
        yield plan.shard(rows.start, rows.stop)


def _check_each(world: World) -> None:
    for name in _COUNTS:
        value = getattr(world, name)
        if not isinstance(value, int | np.integer) or value < _LEAST.get(name, 1):
            least = _LEAST.get(name, 1)
            raise SettingsError(f"{name} is {value!r}; give a whole number of at least {least}")
    for name in _SHARES:
        if not 0 <= getattr(world, name) <= 1:
            raise SettingsError(f"{name} is {getattr(world, name)!r}; give a share from 0 to 1")
    for name in _AMOUNTS:
        value, least = getattr(world, name), _LEAST.get(name, 0)
        if not least <= value < math.inf:
            raise SettingsError(f"{name} is {value!r}; give a number of at least {least}")


def _check_together(world: World) -> None:
    seen = world.n_tags - world.n_unseen
    _require(
        world.n_owners <= world.n_images,
        f"n_owners is {world.n_owners}, more than the {world.n_images} images; every owner has one",
    )
    _require(
        world.ownerless_share * world.n_images <= world.n_images - world.n_owners,
        f"ownerless_share is {world.ownerless_share}, which leaves fewer images than the "
        f"{world.n_owners} owners; lower one of the two",
    )
    _require(
        2 * world.tags_per_image * world.n_topics <= seen,
        f"tags_per_image is {world.tags_per_image}, too many for {seen} tags that can be seen in "
        f"{world.n_topics} topics; raise n_tags or lower n_topics",
    )
    _require(
        2 * (world.tags_per_image + world.random_noise) <= world.n_tags,
        f"random_noise is {world.random_noise}, too much for {world.n_tags} tags; lower it",
    )
    _require(
        1 <= world.n_told <= world.n_tags,
        f"n_concepts is {world.n_concepts}; give 1 to {world.n_tags}, the tags there are",
    )


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise SettingsError(message)
