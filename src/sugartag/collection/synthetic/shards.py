"""The images of a synthetic collection, made in fixed chunks so that any row range agrees."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.collection.model import Shard
from sugartag.collection.synthetic.draws import (
    distinct,
    rows_of_keys,
    shuffled,
    sorted_once,
    stream,
)
from sugartag.collection.texts import Texts

if TYPE_CHECKING:
    from sugartag.collection.synthetic.plan import Plan

CHUNK = 4_096
"""Images that share random streams."""
TOPIC_WEIGHT = 0.5
"""How much of an image's look its topic alone explains, relative to its tags."""
GRAIN = 0.05
"""Noise in every feature, relative to what the image shows."""
THRESHOLD = 0.25
"""Where activations are cut off, in standard deviations."""
CONTENT, GIVEN, LOOK = range(3)


@dataclass(frozen=True, eq=False)
class _Chunk:
    """What is known of a chunk of images."""

    owner: IntArray
    """The real owner, even where the collection does not name it."""
    told_owner: IntArray
    topic: IntArray
    true_keys: IntArray
    """Row * tags + tag for each true tag, sorted."""


def make_shard(plan: "Plan", start: int, stop: int) -> Shard:
    """Generate the images from ``start`` up to ``stop``."""
    features = np.empty((stop - start, plan.world.n_features), dtype=np.float32)
    owner, tags, truth = [np.empty(0, dtype=np.int32)], [], []
    # products of matrices differ in the last bit with the number of threads
    with threadpool_limits(limits=1, user_api="blas"):
        for number in range(start // CHUNK, -(-stop // CHUNK)):
            first = number * CHUNK
            part = slice(max(start - first, 0), min(stop - first, CHUNK))
            chunk = _content(plan, number)
            true_tags = rows_of_keys(chunk.true_keys, len(chunk.owner), plan.world.n_tags)
            owner.append(chunk.told_owner[part].astype(np.int32))
            tags.append(_given(plan, number, chunk)[part])
            truth.append(true_tags[part][:, plan.vocabulary.concept])
            row = first + part.start - start
            made = _features(plan, number, chunk, true_tags)[part]
            features[row : row + len(made)] = made
    return Shard(
        ids=_ids(plan.world.n_images, start, stop),
        owner=np.concatenate(owner),
        tags=_stacked(tags, plan.world.n_tags),
        features=features,
        truth=_stacked(truth, plan.world.n_told),
    )


def _content(plan: "Plan", number: int) -> _Chunk:
    """Draw what the images of a chunk are about, and whose they are."""
    world, people, vocabulary = plan.world, plan.people, plan.vocabulary
    rng = stream(plan.seed, 1 + number, CONTENT)
    rows = np.arange(number * CHUNK, min((number + 1) * CHUNK, world.n_images))
    position = shuffled(rows, world.n_images, people.shuffle_keys)
    owner = np.searchsorted(people.image_end, position, side="right")
    topic = people.topic_for(owner, world.interest_strength, rng)

    def true_tag(row: IntArray) -> IntArray:
        unseen = rng.random(len(row)) < vocabulary.unseen_mass
        return vocabulary.pools.draw(np.where(unseen, world.n_topics, topic[row]), rng)

    wanted = 1 + rng.poisson(world.tags_per_image - 1, len(rows))
    return _Chunk(
        owner=owner,
        told_owner=_told(plan, owner, position, rng),
        topic=topic,
        true_keys=distinct(true_tag, wanted, world.n_tags),
    )


def _told(plan: "Plan", owner: IntArray, position: IntArray, rng: np.random.Generator) -> IntArray:
    """Hide the owners of some images, but leave every owner one."""
    world, last = plan.world, plan.people.image_end[owner] - 1
    extra = world.n_images - world.n_owners
    rate = world.ownerless_share * world.n_images / max(extra, 1)
    hidden = (rng.random(len(owner)) < rate) & (position != last)
    return np.where(hidden, world.n_owners, owner)


def _given(plan: "Plan", number: int, chunk: _Chunk) -> SparseRows:
    """Draw the tags that owners give: true ones, random ones and favourites."""
    world, n_rows = plan.world, len(chunk.owner)
    rng = stream(plan.seed, 1 + number, GIVEN)
    kept = chunk.true_keys[rng.random(len(chunk.true_keys)) >= world.missing_share]
    random = distinct(
        lambda row: plan.vocabulary.everything.draw(np.zeros_like(row), rng),
        rng.poisson(world.random_noise, n_rows),
        world.n_tags,
        taken=chunk.true_keys,
    )
    habits = plan.people.habits[chunk.owner]
    row = np.repeat(np.arange(n_rows), np.diff(habits.indptr))
    stamped = rng.random(len(row)) < world.habit_rate
    habit_keys = (row * world.n_tags + habits.indices)[stamped]
    return rows_of_keys(sorted_once(kept, random, habit_keys), n_rows, world.n_tags)


def _features(plan: "Plan", number: int, chunk: _Chunk, true_tags: SparseRows) -> FloatArray:
    """Draw what the images look like: topic, seen tags, owner's style, and the unexplained."""
    world, looks = plan.world, plan.looks
    rng = stream(plan.seed, 1 + number, LOOK)
    shape = (len(chunk.owner), world.n_dimensions)
    n_seen = true_tags @ plan.vocabulary.seen.astype(np.float32)
    shown = true_tags @ looks.direction / np.sqrt(np.maximum(n_seen, 1))[:, None]
    shown += TOPIC_WEIGHT * looks.centre[chunk.topic]
    shown += world.owner_style * looks.style[chunk.owner]
    offset = rng.standard_normal(shape, dtype=np.float32)
    shown += np.float32(world.visual_difficulty / world.n_dimensions**0.5) * offset
    size = 1 + TOPIC_WEIGHT**2 + world.owner_style**2 + world.visual_difficulty**2
    shown *= np.float32(size**-0.5)

    features = rng.standard_normal((len(shown), world.n_features), dtype=np.float32)
    features *= np.float32(GRAIN)
    features += shown.astype(np.float32, copy=False) @ looks.projection
    features -= np.float32(THRESHOLD)
    np.maximum(features, 0, out=features)
    return features


def _ids(n_images: int, start: int, stop: int) -> Texts:
    width = len(str(n_images - 1))
    return Texts.of(f"image-{number:0{width}d}" for number in range(start, stop))


def _stacked(parts: list[SparseRows], n_columns: int) -> SparseRows:
    if not parts:
        return rows_of_keys(np.empty(0, dtype=np.int64), 0, n_columns)
    return sparse.csr_array(sparse.vstack(parts, format="csr"))
