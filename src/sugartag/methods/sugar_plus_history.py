"""What an owner did before: how the owner's other images are tagged, above all the look-alikes.

Two answers for each tag: its share among all other images of the owner, and its share among those
that look like the image at hand. Both are averaged with a little of everybody's share, so that an
owner with few images, or with none that look alike, says next to nothing.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.anchors.clusters import sampled_features
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Block, Engine
from sugartag.features.normalise import visual_rows
from sugartag.linalg.nystrom import median_width

SAMPLE = 5_000
"""Images that the directions of the short descriptions are found on."""
DIRECTIONS = 64
"""Numbers of a short description: images of one owner need no more to be told apart."""
SHRINKAGE = 0.1
"""What everybody's share counts for, an identical image counting 1."""
PAIRS_AT_ONCE = 1 << 18


@dataclass(frozen=True, eq=False)
class Habits:
    """What owners' other images say about each tag, beyond its share among all images."""

    always: FloatArray
    """Images x tags: among all other images of the owner."""
    alike: FloatArray
    """Images x tags: among those that look alike."""
    told: BoolArray
    """Images whose owner has others."""


@dataclass(frozen=True, eq=False)
class History:
    """The images of each owner, in short."""

    start: IntArray
    """The images of owner o are those from start[o] to start[o + 1]."""
    image: IntArray
    """Their rows in the collection, by owner."""
    codes: FloatArray
    """Images x a few numbers, float32."""
    tags: SparseRows
    """Images x tags."""
    directions: FloatArray
    """Features x the same few numbers."""
    width: float
    """sigma: an image at distance d counts exp(-d^2 / sigma^2)."""
    share: FloatArray
    """Of the images that have each tag."""
    unit_features: bool

    def habits(self, rows: Rows) -> Habits:
        """Return what the other images of each row's owner say; nothing for unknown owners."""
        links = self._links(rows)
        flat = links.copy()
        flat.data = np.ones_like(flat.data)
        told = np.diff(links.indptr) > 0
        return Habits(self._shares(flat), self._shares(links), told)

    def _shares(self, links: SparseRows) -> FloatArray:
        votes: FloatArray = (links @ self.tags).toarray()
        weight = np.asarray(links.sum(axis=1)).ravel()
        votes -= np.multiply.outer(weight, self.share)
        votes /= (weight + SHRINKAGE)[:, None]
        return votes

    def _links(self, rows: Rows) -> SparseRows:
        """Return rows x images of the history: how alike those of the same owner are."""
        owner = np.minimum(rows.owner, len(self.start) - 2)
        counts = np.where(rows.owner < len(self.start) - 1, np.diff(self.start)[owner], 0)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        row = np.repeat(np.arange(len(rows)), counts)
        member = np.arange(len(row)) - indptr[row] + self.start[owner][row]
        itself = self.image[member] == rows.position[row]
        weight = self._alikeness(rows, row, member)
        kept = ~itself
        return sparse.csr_array(
            (weight[kept], (row[kept], member[kept])), shape=(len(rows), len(self.image))
        )

    def _alikeness(self, rows: Rows, row: IntArray, member: IntArray) -> FloatArray:
        if not len(self.directions):
            return np.ones(len(row))
        features = rows.features_like(len(self.directions))
        codes = _codes(features, self.directions, self.unit_features)
        squared = np.empty(len(row))
        for at in range(0, len(row), PAIRS_AT_ONCE):
            part = slice(at, at + PAIRS_AT_ONCE)
            apart = codes[row[part]] - self.codes[member[part]]
            squared[part] = np.einsum("ij,ij->i", apart, apart, dtype=np.float64)
        weights: FloatArray = np.exp(squared / -(self.width**2))
        return weights


def write_history(
    collection: Collection,
    share: FloatArray,
    *,
    width: float,
    most: int,
    unit_features: bool,
    engine: Engine,
    rng: np.random.Generator,
) -> History:
    """Keep ``most`` images of each owner at most, drawn at random where there are more."""
    directions, median = _directions(collection, unit_features, rng)
    shuffled = rng.permutation(collection.n_images)
    owner = collection.owner[shuffled]
    order = np.argsort(owner, kind="stable")
    by_owner, owner = shuffled[order], owner[order]
    rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
    image = by_owner[(rank < most) & (owner < collection.nobody)]
    image = image[np.lexsort((image, collection.owner[image]))]
    start = np.searchsorted(collection.owner[image], np.arange(collection.n_owners + 1))
    parts = list(
        engine.map(describe_in_short, collection.blocks(), collection, directions, unit_features)
    )
    tags = sparse.csr_array(sparse.vstack([part[1] for part in parts], format="csr"))
    return History(
        start=start,
        image=image,
        codes=np.concatenate([part[0] for part in parts])[image],
        tags=sparse.csr_array(tags[image]).astype(np.float64),
        directions=directions,
        width=width * median,
        share=share,
        unit_features=unit_features,
    )


def describe_in_short(
    block: Block, collection: Collection, directions: FloatArray, unit_features: bool
) -> tuple[FloatArray, SparseRows]:
    """Return the short description and the tags of each image of a block."""
    if not len(directions):
        tags = collection.tags_of(block)
        return np.zeros((tags.shape[0], 0), dtype=np.float32), tags
    rows = collection.rows(block)
    features = rows.features_like(len(directions))
    return _codes(features, directions, unit_features), rows.tags


def _codes(features: FloatArray, directions: FloatArray, unit_features: bool) -> FloatArray:
    codes: FloatArray = visual_rows(features, unit_features) @ directions
    return codes.astype(np.float32)


def _directions(
    collection: Collection, unit_features: bool, rng: np.random.Generator
) -> tuple[FloatArray, float]:
    """Return the directions in which images differ most, and the median distance along them."""
    if collection.n_features == 0:
        return np.zeros((0, 0)), 1.0
    sample = sampled_features(collection, SAMPLE, unit_features=unit_features, rng=rng)
    centred = sample - sample.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    directions = np.ascontiguousarray(vectors[:, ::-1][:, :DIRECTIONS])
    return directions, median_width(sample @ directions)
