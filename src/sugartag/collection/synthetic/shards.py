"""The images of a synthetic collection, made in fixed chunks so that any row range agrees."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.collection.model import Shard
from sugartag.collection.synthetic.draws import (
    Pools,
    distinct,
    rows_of_keys,
    shuffled,
    sorted_once,
    stream,
)
from sugartag.collection.synthetic.plan import DIMENSIONS, Looks, People, Vocabulary
from sugartag.collection.texts import Texts
from sugartag.errors import SettingsError

if TYPE_CHECKING:
    from sugartag.collection.synthetic.world import World

CHUNK = 4_096
"""Images that share random streams."""
INTEREST_STRENGTH = 0.85
"""Images of an owner that are about the owner's interests, the others being about anything."""
TOPIC_WEIGHT = 0.5
"""How much of an image's look its topic alone explains, relative to its tags."""
OWNER_STYLE = 0.3
"""What an owner's images have in common visually, relative to what the tags explain."""
GRAIN = 0.05
"""Noise in every feature, relative to what the image shows."""
THRESHOLD = 0.25
"""Where activations are cut off, in standard deviations."""
CONTENT, GIVEN, LOOK = range(3)


@dataclass(frozen=True, eq=False)
class _Chunk:
    """What the images of a chunk are about, and whose they are."""

    owner: IntArray
    topic: IntArray
    true_keys: IntArray
    """Row * tags + tag for each true tag, sorted."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A world with its seed: image i is the same whatever rows it is asked with."""

    world: "World"
    seed: int
    vocabulary: Vocabulary
    people: People
    looks: Looks

    def names(self) -> dict[str, Any]:
        """Return what a collection has besides its images, by field."""
        tags = tuple(f"tag-{number:05d}" for number in range(self.world.n_tags))
        return {
            "tag_names": tags,
            "owner_names": Texts.of(f"owner-{number}" for number in range(self.world.n_owners)),
            "group_names": Texts.of(f"group-{number}" for number in range(self.world.n_groups)),
            "groups": self.people.groups,
            "concept_names": tuple(tags[tag] for tag in self.vocabulary.concept),
        }

    def shard(self, start: int, stop: int) -> Shard:
        """Generate the images from ``start`` up to ``stop``."""
        world = self.world
        if not 0 <= start <= stop <= world.n_images:
            raise SettingsError(f"rows {start} to {stop} are not among the {world.n_images} images")
        features = np.empty((stop - start, world.n_features), dtype=np.float32)
        owner, tags, truth = [np.empty(0, dtype=np.int32)], [], []
        # products of matrices differ in the last bit with the number of threads
        with threadpool_limits(limits=1, user_api="blas"):
            for number in range(start // CHUNK, -(-stop // CHUNK)):
                first = number * CHUNK
                part = slice(max(start - first, 0), min(stop - first, CHUNK))
                chunk = self._content(number)
                true_tags = rows_of_keys(chunk.true_keys, len(chunk.owner), world.n_tags)
                owner.append(chunk.owner[part].astype(np.int32))
                tags.append(self._given(number, chunk)[part])
                truth.append(true_tags[part][:, self.vocabulary.concept])
                row = first + part.start - start
                made = self._features(number, chunk, true_tags)[part]
                features[row : row + len(made)] = made
        width = len(str(world.n_images - 1))
        return Shard(
            ids=Texts.of(f"image-{number:0{width}d}" for number in range(start, stop)),
            owner=np.concatenate(owner),
            tags=_stacked(tags, world.n_tags),
            features=features,
            truth=_stacked(truth, world.n_known),
        )

    @cached_property
    def _everything(self) -> Pools:
        """One pool of all tags."""
        return Pools.of([np.arange(self.world.n_tags)], self.vocabulary.frequency)

    def _content(self, number: int) -> _Chunk:
        world, people, vocabulary = self.world, self.people, self.vocabulary
        rng = stream(self.seed, 1 + number, CONTENT)
        rows = np.arange(number * CHUNK, min((number + 1) * CHUNK, world.n_images))
        position = shuffled(rows, world.n_images, people.shuffle_keys)
        owner = np.searchsorted(people.image_end, position, side="right")
        liked = people.an_interest(owner, rng)
        anything = vocabulary.topics.draw_any(len(rows), rng)
        topic = np.where(rng.random(len(rows)) < INTEREST_STRENGTH, liked, anything)
        unseen_mass = float(vocabulary.frequency[~vocabulary.seen].sum())

        def true_tag(row: IntArray) -> IntArray:
            unseen = rng.random(len(row)) < unseen_mass
            return vocabulary.of_topic.draw(np.where(unseen, world.n_topics, topic[row]), rng)

        wanted = 1 + rng.poisson(world.tags_per_image - 1, len(rows))
        # Not used any more; without it, published results would be of other collections.
        rng.random(len(rows))
        return _Chunk(owner, topic, distinct(true_tag, wanted, world.n_tags))

    def _given(self, number: int, chunk: _Chunk) -> SparseRows:
        """Draw the tags that owners give: true ones, random ones and their favourites."""
        world, n_rows = self.world, len(chunk.owner)
        rng = stream(self.seed, 1 + number, GIVEN)
        kept = chunk.true_keys[rng.random(len(chunk.true_keys)) >= world.missing_share]
        random = distinct(
            lambda row: self._everything.draw_any(len(row), rng),
            rng.poisson(world.random_noise, n_rows),
            world.n_tags,
            taken=chunk.true_keys,
        )
        habits = self.people.habits[chunk.owner]
        row = np.repeat(np.arange(n_rows), np.diff(habits.indptr))
        added = rng.random(len(row)) < world.habit_rate
        habit_keys = (row * world.n_tags + habits.indices)[added]
        return rows_of_keys(sorted_once(kept, random, habit_keys), n_rows, world.n_tags)

    def _features(self, number: int, chunk: _Chunk, true_tags: SparseRows) -> FloatArray:
        """Draw what the images look like: topic, seen tags, owner's style, and the unexplained."""
        difficulty, looks = self.world.visual_difficulty, self.looks
        rng = stream(self.seed, 1 + number, LOOK)
        n_seen = true_tags @ self.vocabulary.seen.astype(np.float32)
        shown = true_tags @ looks.direction / np.sqrt(np.maximum(n_seen, 1))[:, None]
        shown += TOPIC_WEIGHT * looks.centre[chunk.topic]
        shown += OWNER_STYLE * looks.style[chunk.owner]
        offset = rng.standard_normal((len(chunk.owner), DIMENSIONS), dtype=np.float32)
        shown += np.float32(difficulty / DIMENSIONS**0.5) * offset
        size = 1 + TOPIC_WEIGHT**2 + OWNER_STYLE**2 + difficulty**2
        shown *= np.float32(size**-0.5)

        features = rng.standard_normal((len(shown), self.world.n_features), dtype=np.float32)
        features *= np.float32(GRAIN)
        features += shown.astype(np.float32, copy=False) @ looks.projection
        features -= np.float32(THRESHOLD)
        np.maximum(features, 0, out=features)
        return features


def _stacked(parts: list[SparseRows], n_columns: int) -> SparseRows:
    if not parts:
        return rows_of_keys(np.empty(0, dtype=np.int64), 0, n_columns)
    return sparse.csr_array(sparse.vstack(parts, format="csr"))
