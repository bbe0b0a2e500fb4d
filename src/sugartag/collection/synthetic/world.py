"""The settings of a synthetic collection, and collections made from them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from sugartag.collection.checks import checked_seed
from sugartag.collection.model import Collection, Shard
from sugartag.collection.store import CollectionWriter
from sugartag.collection.synthetic.plan import (
    UNSEEN_SHARE,
    make_looks,
    make_people,
    make_vocabulary,
)
from sugartag.collection.synthetic.shards import Plan
from sugartag.engine.base import row_blocks
from sugartag.errors import SettingsError
from sugartag.storage.aside import folder_aside

ROWS_PER_SHARD = 65_536
USUAL_CONCEPTS = 128
_LIMITS = {
    "n_groups": (0, math.inf),
    "tags_per_image": (1, math.inf),
    "missing_share": (0, 1),
    "habit_rate": (0, 1),
}
"""What a setting may be, where it is not 1 or more for a count and 0 or more for the others."""


@dataclass(frozen=True)
class World:
    """How much of everything a synthetic collection has, whose right tags are known.

    Owners upload images of their interests (topics) and join groups about them. A topic decides
    which tags are true of an image, and the true tags that can be seen decide what it looks
    like. Owners then leave out true tags, add random wrong ones, and add their favourites.

    Examples
    --------
    >>> photos = World(n_images=1_000).generate(seed=0)

    """

    n_images: int = 600
    n_tags: int = 200
    n_owners: int = 60
    n_groups: int = 24
    n_topics: int = 8
    n_features: int = 64
    """Activations that describe an image: not negative, many of them zero."""
    n_concepts: int | None = None
    """Tags whose truth is known: the most used of those that can be seen, then of the others;
    None for at most 128 that can be seen."""
    tags_per_image: float = 6.0
    """True tags of an image, on average."""
    groups_per_owner: float = 4.0
    missing_share: float = 0.4
    """True tags that are not given."""
    random_noise: float = 1.0
    """Wrong tags an image is given at random, on average."""
    habits_per_owner: float = 1.5
    """Favourite tags of an owner, on average."""
    habit_rate: float = 0.5
    """Images of an owner that get a favourite tag, whether it is true or not."""
    visual_difficulty: float = 1.5
    """What the tags do not explain of an image's look, relative to what they do."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value, is_count = getattr(self, field.name), field.name.startswith("n_")
            least, most = _LIMITS.get(field.name, (int(is_count), math.inf))
            fits = not is_count or isinstance(value, int | np.integer)
            if value is not None and not (fits and least <= value <= most and value < math.inf):
                limits = f"from {least} to {most}" if most < math.inf else f"of at least {least}"
                kind = "whole number" if is_count else "number"
                raise SettingsError(f"{field.name} is {value!r}; give a {kind} {limits}")
        _check_together(self)

    @property
    def n_unseen(self) -> int:
        """How many tags do not show in an image."""
        return round(UNSEEN_SHARE * self.n_tags)

    @property
    def n_known(self) -> int:
        """How many concepts the truth has."""
        if self.n_concepts is not None:
            return self.n_concepts
        return min(USUAL_CONCEPTS, self.n_tags - self.n_unseen)

    def plan(self, seed: int) -> Plan:
        """Draw everything but the images: topics, tags, owners, groups, favourites and looks."""
        seed = checked_seed(seed)
        vocabulary = make_vocabulary(self, seed)
        people, looks = make_people(self, vocabulary, seed), make_looks(self, vocabulary, seed)
        return Plan(self, seed, vocabulary, people, looks)

    def generate(self, seed: int, *, rows_per_shard: int = ROWS_PER_SHARD) -> Collection:
        """Return a collection of this world, in memory."""
        plan = self.plan(seed)
        return Collection(shards=tuple(_shards(plan, rows_per_shard)), **plan.names())

    def write(
        self,
        folder: Path,
        seed: int,
        *,
        rows_per_shard: int = ROWS_PER_SHARD,
        overwrite: bool = False,
        half: bool = False,
    ) -> None:
        """Write a collection of this world to a folder; one shard at a time is in memory.

        With ``half`` features are stored as float16.
        """
        plan = self.plan(seed)
        with folder_aside(folder, overwrite=overwrite) as partial:
            writer = CollectionWriter(partial)
            for shard in _shards(plan, rows_per_shard):
                if half and shard.features is not None:
                    shard = replace(shard, features=shard.features.astype(np.float16))
                writer.add_shard(shard)
            writer.finish(**plan.names())


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


def _shards(plan: Plan, rows_per_shard: int) -> Iterator[Shard]:
    if rows_per_shard < 1:
        raise SettingsError(f"rows_per_shard is {rows_per_shard}; it must be at least 1")
    for rows in row_blocks(plan.world.n_images, rows_per_shard):
        yield plan.shard(rows.start, rows.stop)


def _check_together(world: World) -> None:
    seen = world.n_tags - world.n_unseen
    if world.n_owners > world.n_images:
        raise SettingsError(
            f"n_owners is {world.n_owners}, more than the {world.n_images} images; "
            "every owner has one"
        )
    if 2 * world.tags_per_image * world.n_topics > seen:
        raise SettingsError(
            f"tags_per_image is {world.tags_per_image}, too many for {seen} tags that can be seen "
            f"in {world.n_topics} topics; raise n_tags or lower n_topics"
        )
    if 2 * (world.tags_per_image + world.random_noise) > world.n_tags:
        raise SettingsError(
            f"random_noise is {world.random_noise}, too much for {world.n_tags} tags; lower it"
        )
    if world.n_known > world.n_tags:
        raise SettingsError(f"n_concepts is {world.n_concepts}; give 1 to {world.n_tags}")
