"""Which images of each owner are remembered, and how they are arranged."""

from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse
from threadpoolctl import threadpool_limits

from sugartag._typing import FloatArray, IntArray, Room
from sugartag.anchors.clusters import sampled_features
from sugartag.collection.model import Collection
from sugartag.engine.base import Engine
from sugartag.linalg.nystrom import median_width
from sugartag.linalg.sparse_rows import GrowingRows, row_number_of_entries
from sugartag.methods.sugar_plus.by_owner import ByOwner
from sugartag.methods.sugar_plus.evidence import Evidence
from sugartag.methods.sugar_plus.in_short import InShort, Kept, describe_images
from sugartag.methods.sugar_plus.look_alikes import LookAlikes
from sugartag.methods.sugar_plus.sums import Sums

SAMPLE = 5_000
"""Images that the directions of the short descriptions are found on."""
DIRECTIONS = 64
"""Numbers of a short description: images of one owner need no more to be told apart."""


def find_look_alikes(
    collection: Collection,
    evidence: Evidence,
    sums: Sums,
    *,
    width: float,
    most: int,
    engine: Engine,
    rng: np.random.Generator,
) -> LookAlikes:
    """Keep ``most`` images of each owner at most, drawn at random where there are more."""
    directions, median = _directions(
        collection, evidence.unit_features, rng, threads=engine.threads
    )
    image = _remembered(collection, most, rng)
    shared = collection, evidence, directions, image
    kept = Kept.of(len(image), evidence, directions, engine.room)
    for part in engine.map(describe_images, collection.blocks(), *shared):
        kept.take(part)
    images = kept.in_short(image, collection.owner[image])
    return remembering(images, evidence, sums, directions, width * median, engine.room)


def remembering(
    images: InShort,
    evidence: Evidence,
    sums: Sums,
    directions: FloatArray,
    width: float,
    room: Room = np.zeros,
) -> LookAlikes:
    """Arrange images by owner; ``sums`` says how common tags and words are."""
    order = np.lexsort((images.image, images.owner))
    start = np.searchsorted(images.owner[order], np.arange(len(sums.owners) + 1))
    arranged = _Arranged.of(images, room)
    for _, some in ByOwner(order, start).chunks():
        arranged.take(images.at(some))
    n = len(evidence.predictor)
    counts = np.concatenate([sums.given[evidence.predictor], sums.columns[n : evidence.n_sparse]])
    return LookAlikes(
        start=start,
        image=images.image[order],
        codes=arranged.codes,
        tags=arranged.tags.rows(),
        token=arranged.token[: arranged.n_tokens],
        has_token=arranged.has_token.rows(),
        rarity=np.maximum(np.log(sums.count / (1.0 + counts)), 0.0),
        directions=directions,
        width=width,
        share=sums.given / sums.count,
        unit_features=evidence.unit_features,
    )


@dataclass(eq=False)
class _Arranged:
    """Images by owner while they come in, all of some owners together."""

    codes: FloatArray
    tags: GrowingRows
    token: IntArray
    has_token: GrowingRows
    filled: int = 0
    n_tokens: int = 0

    @classmethod
    def of(cls, images: InShort, room: Room) -> "_Arranged":
        """Make room for so many."""
        n, entries = len(images), images.tokens.nnz
        return cls(
            room(images.codes.shape, np.float32),
            GrowingRows(images.tags.shape[1], n, images.tags.nnz, np.float32, room),
            room(entries, np.int64),
            GrowingRows(n, entries, entries, np.float32, room),
        )

    def take(self, some: InShort) -> None:
        """Take the next owners' images."""
        tokens = some.tokens
        key = some.owner[row_number_of_entries(tokens)] * np.int64(tokens.shape[1])
        token, spot = np.unique(key + tokens.indices, return_inverse=True)
        ones = np.ones(len(key), dtype=np.float32)
        shape = len(some), len(token)
        by_image = sparse.csr_array((ones, spot, tokens.indptr), shape=shape)
        has_token = sparse.csr_array(by_image.T)
        has_token.indices += self.filled
        self.codes[self.filled : self.filled + len(some)] = some.codes
        self.token[self.n_tokens : self.n_tokens + len(token)] = token
        self.tags.take(some.tags)
        self.has_token.take(has_token)
        self.filled += len(some)
        self.n_tokens += len(token)


def _remembered(collection: Collection, most: int, rng: np.random.Generator) -> IntArray:
    """Return the images kept, ascending."""
    shuffled = rng.permutation(collection.n_images)
    owner = collection.owner[shuffled]
    order = np.argsort(owner, kind="stable")
    by_owner, owner = shuffled[order], owner[order]
    rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
    return np.sort(by_owner[(rank < most) & (owner < collection.nobody)])


def _directions(
    collection: Collection, unit_features: bool, rng: np.random.Generator, *, threads: int
) -> tuple[FloatArray, float]:
    """Return the directions in which images differ most, and the median distance along them."""
    if collection.n_features == 0:
        return np.zeros((0, 0), dtype=np.float32), 1.0
    sample = sampled_features(
        collection, SAMPLE, unit_features=unit_features, rng=rng, threads=threads
    )
    centred, n = sample - sample.mean(axis=0), collection.n_features
    # Of so small a matrix more threads make nothing faster, and where cores are busy much slower.
    with threadpool_limits(1):
        _, vectors = linalg.eigh(
            centred.T @ centred, subset_by_index=(max(0, n - DIRECTIONS), n - 1)
        )
        directions = np.ascontiguousarray(vectors[:, ::-1], dtype=np.float32)
        return directions, median_width(sample @ directions, threads=threads)
