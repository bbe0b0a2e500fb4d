"""A photo collection: images, tags, owners, groups, features and, where known, the truth.

A :class:`Collection` is aligned and validated once, when it is made, and never changes. Its
images lie in shards, which may be memory-mapped files larger than memory; whoever computes reads
:meth:`Collection.rows`, a block at a time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated

import numpy as np
from scipy import sparse

from sugartag._rules import Below, Shape, Within
from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.collection.texts import Texts
from sugartag.engine.base import Block, row_blocks
from sugartag.errors import CollectionError

BLOCK_ROWS = 1_024
"""Images of a block, whatever the memory and the workers: sums are rounded block by block."""
LARGEST_FEATURE = 1e15
"""Sums of squares of numbers this large still fit a float32, whatever the dimensions."""


@dataclass(frozen=True, eq=False)
class Rows:
    """A run of images, in memory, as a block function gets them."""

    tags: SparseRows
    """Images x tags, 1 where the owner gave the tag; float32."""
    owner: IntArray
    """The owner's index; the number of owners itself where the owner is not known."""
    features: FloatArray | None
    """Images x dimensions, float32."""
    position: IntArray
    """Row in the collection that a method was fitted on; its number of images if it was not there.
    """
    titles: Texts | None = None
    """What the owner called each image; None where nobody says."""

    def __len__(self) -> int:
        return len(self.owner)

    def at(self, chosen: IntArray) -> "Rows":
        """Return some of the rows, in the order given."""
        titles = self.titles
        return Rows(
            tags=self.tags[chosen],
            owner=self.owner[chosen],
            features=None if self.features is None else self.features[chosen],
            position=self.position[chosen],
            titles=None if titles is None else Texts.of(titles[i] for i in chosen.tolist()),
        )

    def features_like(self, n_features: int) -> FloatArray:
        """Return the features, or raise if a model's have another number of them an image."""
        if self.features is None or self.features.shape[1] != n_features:
            found = "no" if self.features is None else self.features.shape[1]
            raise CollectionError(
                f"these images have {found} feature numbers each, the model's have {n_features}; "
                "describe both with the same model"
            )
        return self.features


@dataclass(frozen=True, eq=False)
class Shard:
    """Some consecutive images of a collection, as they are stored."""

    ids: Annotated[Texts, Shape("_rows")]
    owner: Annotated[IntArray, Shape("_rows"), Below("owners+1")]
    tags: Annotated[SparseRows, Shape("_rows", "tags")]
    features: Annotated[
        FloatArray | None, Shape("_rows", "features"), Within(-LARGEST_FEATURE, LARGEST_FEATURE)
    ] = None
    truth: Annotated[SparseRows | None, Shape("_rows", "concepts")] = None
    paths: Annotated[Texts | None, Shape("_rows")] = None
    titles: Annotated[Texts | None, Shape("_rows")] = None
    position: Annotated[IntArray | None, Shape("_rows")] = None
    """Where the images stand in another collection, if this one is seen from there."""

    def __len__(self) -> int:
        return len(self.owner)


@dataclass(frozen=True, eq=False)
class Collection:
    """Images with their tags, owners, groups, features and, optionally, the true concepts."""

    shards: tuple[Shard, ...]
    tag_names: tuple[str, ...]
    owner_names: Texts
    group_names: Texts
    groups: SparseRows
    """Owners x groups, 1 for each membership."""
    concept_names: tuple[str, ...] = ()
    """What the truth speaks about; empty where there is none."""
    images_root: str | None = None
    """The folder that image paths start from."""
    reference_images: int | None = field(default=None, repr=False)
    """Images of the collection that positions refer to; None for this collection itself."""
    rows_at_once: int = field(default=BLOCK_ROWS, repr=False)
    """Images of a block, where whoever asks for blocks does not say."""

    def __post_init__(self) -> None:
        check(self)

    @property
    def n_images(self) -> int:
        """How many images there are."""
        return int(self._starts[-1])

    @property
    def n_tags(self) -> int:
        """How many tags the vocabulary has."""
        return len(self.tag_names)

    @property
    def n_owners(self) -> int:
        """How many owners there are."""
        return len(self.owner_names)

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.group_names)

    @property
    def nobody(self) -> int:
        """The owner index of an image whose owner is not known: one past the last owner."""
        return self.n_owners

    @property
    def n_features(self) -> int:
        """How many numbers describe an image; 0 where there are no features."""
        first = self.shards[0].features
        return 0 if first is None else int(first.shape[1])

    @property
    def has_truth(self) -> bool:
        """Whether the true concepts of the images are known."""
        return bool(self.concept_names)

    def stored_sizes(self) -> dict[str, int]:
        """Return the sizes that whatever is stored with the collection must agree with."""
        return {
            "images": self.n_images,
            "tags": self.n_tags,
            "owners": self.n_owners,
            "features": self.n_features,
        }

    def require_tags(self, needed_for: str) -> None:
        """Raise if no image has a tag."""
        if not any(shard.tags.nnz for shard in self.shards):
            raise CollectionError(
                f"{needed_for} needs tags and this collection has none; "
                "import a table in which some images have tags"
            )

    def require_owners(self, needed_for: str) -> None:
        """Raise if the owner of no image is known."""
        if not self.n_owners or all((shard.owner == self.nobody).all() for shard in self.shards):
            raise CollectionError(
                f"{needed_for} needs owners and this collection has none; "
                "import a table in which some images have an owner"
            )

    def require_features(self, needed_for: str) -> None:
        """Raise if the images have no features."""
        if self.n_features == 0:
            raise CollectionError(
                f"{needed_for} needs image features and this collection has none; "
                "import it with --features X.npy"
            )

    def blocks(self, rows_per_block: int | None = None) -> tuple[Block, ...]:
        """Cut the images into blocks for an engine."""
        return row_blocks(self.n_images, rows_per_block or self.rows_at_once)

    def rows(self, block: Block) -> Rows:
        """Read the images of one block."""
        pieces = list(self._pieces(block))
        has_features = self.n_features > 0
        return Rows(
            tags=_stacked([shard.tags[part] for shard, part, _ in pieces]).astype(np.float32),
            owner=_joined([shard.owner[part] for shard, part, _ in pieces]),
            features=_joined_floats(
                [shard.features[part] for shard, part, _ in pieces if shard.features is not None]
            )
            if has_features
            else None,
            position=_joined([_positions(shard, part, start) for shard, part, start in pieces]),
            titles=_joined_texts([(shard.titles, part) for shard, part, _ in pieces]),
        )

    def tags_of(self, block: Block) -> SparseRows:
        """Read only the tags of one block."""
        return _stacked([shard.tags[part] for shard, part, _ in self._pieces(block)])

    def truth_of(self, block: Block) -> SparseRows:
        """Read the true concepts of one block: images x concepts."""
        parts = [(shard.truth, part) for shard, part, _ in self._pieces(block)]
        return _stacked([truth[part] for truth, part in parts if truth is not None])

    def features_at(self, images: IntArray) -> FloatArray:
        """Read the features of a few images, in the order given, float32."""
        found = np.empty((len(images), self.n_features), dtype=np.float32)
        shard_of = np.searchsorted(self._starts, images, side="right") - 1
        for number in np.unique(shard_of):
            chosen = np.flatnonzero(shard_of == number)
            features = self.shards[number].features
            if features is not None:
                found[chosen] = features[images[chosen] - self._starts[number]]
        return found

    @cached_property
    def owner(self) -> IntArray:
        """The owner index of every image."""
        return _joined([shard.owner for shard in self.shards])

    @property
    def ids(self) -> Texts:
        """The image ids, in row order."""
        return Texts.joined([shard.ids for shard in self.shards])

    def texts_of(self, name: str) -> Texts | None:
        """Return the optional texts ``paths`` or ``titles`` of every image, or None."""
        parts = [getattr(shard, name) for shard in self.shards]
        return None if any(part is None for part in parts) else Texts.joined(parts)

    @cached_property
    def _starts(self) -> IntArray:
        return np.concatenate([[0], np.cumsum([len(shard) for shard in self.shards])])

    def _pieces(self, block: Block) -> Iterator[tuple[Shard, slice, int]]:
        """Yield the shards a block touches, the rows in them, and the first row's number."""
        first = int(np.searchsorted(self._starts, block.start, side="right")) - 1
        for number in range(max(first, 0), len(self.shards)):
            start = int(self._starts[number])
            if start >= block.stop:
                break
            shard = self.shards[number]
            part = slice(max(block.start - start, 0), min(block.stop - start, len(shard)))
            yield shard, part, start


def check(collection: Collection) -> None:
    """Raise if the parts of a collection do not fit together."""
    if not collection.shards or not any(map(len, collection.shards)):
        raise CollectionError("the collection has no images")
    if collection.groups.shape != (collection.n_owners, collection.n_groups):
        raise CollectionError(
            f"groups have shape {collection.groups.shape}, not owners x groups = "
            f"({collection.n_owners}, {collection.n_groups})"
        )
    for number, shard in enumerate(collection.shards):
        _check_shard(collection, shard, number)


def _check_shard(collection: Collection, shard: Shard, number: int) -> None:
    n = len(shard)
    expected: list[tuple[str, tuple[int, ...] | None, tuple[int, ...]]] = [
        ("tags", shard.tags.shape, (n, collection.n_tags)),
        ("ids", (len(shard.ids),), (n,)),
    ]
    if collection.n_features or shard.features is not None:
        found = None if shard.features is None else shard.features.shape
        expected.append(("features", found, (n, collection.n_features)))
    if collection.has_truth:
        found = None if shard.truth is None else shard.truth.shape
        expected.append(("truth", found, (n, len(collection.concept_names))))
    for name in ("paths", "titles", "position"):
        if (optional := getattr(shard, name)) is not None:
            expected.append((name, (len(optional),), (n,)))
    for what, shape, wanted in expected:
        if shape != wanted:
            raise CollectionError(f"shard {number}: {what} have shape {shape}, not {wanted}")
    if n and (shard.owner.min() < 0 or shard.owner.max() > collection.nobody):
        raise CollectionError(f"shard {number}: an owner index is outside 0..{collection.nobody}")


def _positions(shard: Shard, part: slice, start: int) -> IntArray:
    if shard.position is not None:
        return shard.position[part]
    return np.arange(start + part.start, start + part.stop)


def _joined_texts(parts: Sequence[tuple[Texts | None, slice]]) -> Texts | None:
    found = [texts[part] for texts, part in parts if texts is not None]
    return Texts.joined(found) if found and len(found) == len(parts) else None


def _joined(parts: Sequence[IntArray]) -> IntArray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _joined_floats(parts: Sequence[FloatArray]) -> FloatArray:
    return np.concatenate(parts, dtype=np.float32, casting="same_kind")


def _stacked(parts: Sequence[SparseRows]) -> SparseRows:
    return parts[0] if len(parts) == 1 else sparse.csr_array(sparse.vstack(parts, format="csr"))
