"""A small photo collection whose true tags are known, with every oddity a collection may have.

Images show concepts of a topic or two that their owner likes; features are the sum of what is
shown, plus noise. Owners have a home tag that no picture shows, meet others of their taste in
groups, forget half of the true tags and add tags that mean nothing.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy import sparse
from sklearn.metrics import average_precision_score

from sugartag.collection.build import collection_from_arrays
from sugartag.collection.model import Collection, Rows

N_IMAGES, N_OWNERS, N_TOPICS, N_FEATURES = 600, 90, 8, 48
N_SHOWN, N_HOMES, N_NOISE = 32, 8, 10
N_TAGS = N_SHOWN + N_HOMES + N_NOISE

UNTAGGED, OF_NOBODY, OF_GROUPLESS, OF_ONE_IMAGE = 0, 1, 2, 3
"""Images: one without tags, one without an owner, two of owners that are odd."""
NEVER_USED = N_TAGS - 1
"""A tag of the vocabulary that no image has."""


def planted_collection(seed: int = 7) -> Collection:
    """Return the collection; its concepts are the tags that mean something."""
    rng = np.random.default_rng(seed)
    taste = rng.dirichlet(np.full(N_TOPICS, 0.3), size=N_OWNERS)
    home = rng.integers(N_HOMES, size=N_OWNERS)
    owner = _owners(rng)
    shown = _shown(taste[np.minimum(owner, N_OWNERS - 1)], rng)
    at_home = np.eye(N_HOMES, dtype=bool)[home[np.minimum(owner, N_OWNERS - 1)]]
    at_home &= rng.random(N_IMAGES)[:, None] < 0.7
    truth = np.hstack([shown, at_home])
    prototypes = rng.standard_normal((N_SHOWN, N_FEATURES))
    features = shown @ prototypes + 1.2 * rng.standard_normal((N_IMAGES, N_FEATURES))
    return collection_from_arrays(
        sparse.csr_array(_given(truth, owner, rng)),
        owner,
        features=features.astype(np.float32),
        groups=sparse.csr_array(_groups(taste, rng)),
        truth=sparse.csr_array(truth),
    )


def _owners(rng: np.random.Generator) -> np.ndarray:
    """Return an owner for each image: few have many images, many have few."""
    popularity = 1.0 / np.arange(1, N_OWNERS - 1) ** 0.7
    owner = rng.choice(N_OWNERS - 2, size=N_IMAGES, p=popularity / popularity.sum())
    owner[OF_NOBODY] = N_OWNERS
    owner[OF_GROUPLESS] = N_OWNERS - 2
    owner[OF_GROUPLESS + 2 : OF_GROUPLESS + 5] = N_OWNERS - 2
    owner[OF_ONE_IMAGE] = N_OWNERS - 1
    return owner


def _shown(taste: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return images x concepts: two to five concepts, most of them of one topic."""
    per_topic = N_SHOWN // N_TOPICS
    commonness = np.tile(1.0 / np.arange(1, per_topic + 1), N_TOPICS)
    shown = np.zeros((len(taste), N_SHOWN), dtype=bool)
    for image, liked in enumerate(taste):
        topic = rng.choice(N_TOPICS, p=liked)
        weight = commonness * np.where(np.arange(N_SHOWN) // per_topic == topic, 1.0, 0.03)
        count = rng.integers(2, 6)
        shown[image, rng.choice(N_SHOWN, count, replace=False, p=weight / weight.sum())] = True
    return shown


def _given(truth: np.ndarray, owner: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return images x tags as typed: half of the truth, wrong tags, and each owner's own noise."""
    given = np.zeros((N_IMAGES, N_TAGS), dtype=bool)
    given[:, : truth.shape[1]] = truth & (rng.random(truth.shape) < 0.5)
    given[:, : truth.shape[1]] |= rng.random(truth.shape) < 0.01
    habit = rng.random((N_OWNERS + 1, N_NOISE)) < 0.15
    given[:, truth.shape[1] :] = habit[owner] & (rng.random((N_IMAGES, N_NOISE)) < 0.6)
    given[UNTAGGED] = False
    given[:, NEVER_USED] = False
    return given


def _groups(taste: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return owners x groups: two groups a topic, joined by those who like it."""
    joins = rng.random((N_OWNERS, 2 * N_TOPICS)) < np.repeat(taste, 2, axis=1)
    joins[N_OWNERS - 2] = False
    return joins


def as_new(rows: Rows, collection: Collection, *, owner: int | None = None) -> Rows:
    """Return the same images as if nobody had seen them; with ``owner``, of that owner."""
    changed = rows.owner if owner is None else np.full(len(rows), owner)
    return replace(rows, owner=changed, position=np.full(len(rows), collection.n_images))


def resharded(collection: Collection, *cuts: int) -> Collection:
    """Return the collection with its one shard cut at these images."""
    (shard,) = collection.shards
    ends = (0, *cuts, collection.n_images)
    parts = [slice(start, stop) for start, stop in pairwise(ends)]
    return replace(
        collection,
        shards=tuple(
            replace(
                shard,
                ids=shard.ids[part],
                owner=shard.owner[part],
                tags=shard.tags[part],
                features=None if shard.features is None else shard.features[part],
                truth=None if shard.truth is None else shard.truth[part],
            )
            for part in parts
        ),
    )


def without_features(collection: Collection) -> Collection:
    """Return the collection as it is before its images were described."""
    shards = [replace(shard, features=None, has_features=None) for shard in collection.shards]
    return replace(collection, shards=tuple(shards))


def accuracy(scores: np.ndarray, collection: Collection) -> tuple[float, float]:
    """Return MAP over concepts and MiAP over images; concepts are the first tags."""
    truth = collection.truth_of(slice(0, collection.n_images)).toarray() > 0
    guess = scores[:, : truth.shape[1]]
    return _mean_precision(truth.T, guess.T), _mean_precision(truth, guess)


def _mean_precision(truth: np.ndarray, guess: np.ndarray) -> float:
    pairs = zip(truth, guess, strict=True)
    return float(np.mean([average_precision_score(t, g) for t, g in pairs if t.any()]))
