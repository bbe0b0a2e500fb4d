"""Images in short: what is remembered of them to tell which ones of an owner are alike."""

from dataclasses import dataclass, fields

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, IntArray, Room, SparseRows
from sugartag.collection.model import Collection
from sugartag.engine.base import Block
from sugartag.linalg.sparse_rows import GrowingRows
from sugartag.methods.sugar_plus.evidence import Evidence
from sugartag.methods.sugar_plus.likeness import compared_features


@dataclass(frozen=True, eq=False)
class InShort:
    """What is remembered of some images."""

    image: IntArray
    """Their rows in the collection."""
    owner: IntArray
    codes: FloatArray
    """Images x a few numbers that tell looks apart, float32."""
    tags: SparseRows
    """Images x tags."""
    tokens: SparseRows
    """Images x sparse columns of the evidence."""

    def __len__(self) -> int:
        return len(self.image)

    @classmethod
    def joined(cls, parts: "list[InShort]") -> "InShort":
        """Return the images of all parts."""
        tags, tokens = (
            sparse.csr_array(sparse.vstack([getattr(part, name) for part in parts], format="csr"))
            for name in ("tags", "tokens")
        )
        image, owner, codes = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("image", "owner", "codes")
        )
        return cls(image, owner, codes, tags, tokens)

    def at(self, chosen: IntArray) -> "InShort":
        """Return some of the images."""
        return InShort(*(getattr(self, field.name)[chosen] for field in fields(self)))


@dataclass(eq=False)
class Kept:
    """Images in short while they come in, in their order."""

    codes: FloatArray
    tags: GrowingRows
    tokens: GrowingRows
    filled: int = 0

    @classmethod
    def of(cls, n_images: int, evidence: Evidence, directions: FloatArray, room: Room) -> "Kept":
        """Make room for so many."""
        return cls(
            room((n_images, directions.shape[1]), np.float32),
            GrowingRows(evidence.n_tags, n_images, n_images, np.float32, room),
            GrowingRows(evidence.n_sparse, n_images, n_images, np.float32, room),
        )

    def take(self, some: InShort) -> None:
        """Take those of a block."""
        self.codes[self.filled : self.filled + len(some)] = some.codes
        self.tags.take(some.tags)
        self.tokens.take(some.tokens)
        self.filled += len(some)

    def in_short(self, image: IntArray, owner: IntArray) -> InShort:
        """Return all that came in."""
        return InShort(image, owner, self.codes, self.tags.rows(), self.tokens.rows())


def describe_images(
    block: Block,
    collection: Collection,
    evidence: Evidence,
    directions: FloatArray,
    images: IntArray,
) -> InShort:
    """Return those images of a block that are asked for, in short."""
    first, last = np.searchsorted(images, [block.start, block.stop])
    rows = collection.rows(block).at(images[first:last] - block.start)
    tokens = evidence.known(rows.tags, evidence.words_of(rows))
    codes = np.zeros((len(rows), 0), dtype=np.float32)
    if len(directions):
        features = rows.features_like(len(directions))
        codes = codes_of(features, directions, evidence.unit_features)
    return InShort(rows.position, rows.owner, codes, rows.tags, tokens)


def codes_of(features: FloatArray, directions: FloatArray, unit_features: bool) -> FloatArray:
    """Return images x a few numbers that tell looks apart."""
    codes: FloatArray = compared_features(features, unit_features) @ directions
    return codes
