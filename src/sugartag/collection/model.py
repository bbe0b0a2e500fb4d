"""A photo collection: images, tags, owners, groups, features and, where known, the truth.

A :class:`Collection` is aligned and validated once, when it is made, and never changes. Its
images lie in shards, which may be memory-mapped files larger than memory; whoever computes reads
:meth:`Collection.rows`, a block at a time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.collection.checks import check
from sugartag.collection.rows import Rows, Shard, require_all_described
from sugartag.collection.texts import Texts
from sugartag.engine.base import Block, row_blocks
from sugartag.errors import CollectionError

__all__ = ["BLOCK_ROWS", "Collection", "Rows", "Shard"]

BLOCK_ROWS = 8_192
"""Images of a block, whatever the memory and the workers: sums are rounded block by block."""


@dataclass(frozen=True, eq=False, repr=False)
class Collection:
    """Images with their tags, owners, groups, features and, optionally, the true concepts.

    Made by :meth:`from_frame`, :meth:`read` or ``sugartag import``; ``photos[:100]``,
    ``photos[mask]`` and ``photos[["id 1", "id 2"]]`` are collections of some of the images.
    """

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

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        features: Any = None,
        groups: Any = None,
        truth: Any = None,
        id: str | None = None,
        owner: str | None = None,
        tags: str | None = None,
        title: str | None = None,
        path: str | None = None,
        separator: str | None = None,
        images_root: str | Path | None = None,
    ) -> "Collection":
        """Make a collection from a pandas, Polars or Arrow frame, or from a mapping of columns.

        Parameters
        ----------
        frame
            One row for each image.
        features
            Images x numbers: an array in the order of the rows, the path of a ``.npy`` file,
            several columns of numbers, or a column of vectors, None where an image has none.
            An array of float32 is not copied.
        groups
            A frame with the columns ``owner`` and ``group``, or the groups by owner.
        truth
            A frame with the columns ``image_id`` (or what ``id`` says) and ``concept``, the true
            concepts by image id, or the name of a column of lists.
        id, owner, tags, title, path
            The names of columns; by default ``image_id``, ``owner``, ``tags``, ``title`` and
            ``path``, if there are such columns. Only the id is needed. Tags are lists or text.
        separator
            What separates the tags of a text; by default that is found out.
        images_root
            The folder that paths start from.

        """
        from sugartag.collection.from_frame import USUAL, collection_from_frame

        return collection_from_frame(
            frame,
            dict(zip(USUAL, (id, owner, tags, title, path), strict=True)),
            features=features,
            groups=groups,
            truth=truth,
            separator=separator,
            images_root=images_root,
        )

    @classmethod
    def read(cls, path: str | Path) -> "Collection":
        """Open a collection folder; large arrays stay in their files."""
        from sugartag.collection.store import open_collection

        return open_collection(path)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the collection to a folder."""
        from sugartag.collection.store import save_collection

        save_collection(self, path, overwrite=overwrite)

    def to_frame(self, kind: str | None = None) -> Any:
        """Return a row for each image: image_id, owner, tags and whatever else is known.

        ``kind`` is ``pandas``, ``polars``, ``arrow`` or ``dict``; by default the first that is
        installed.
        """
        from sugartag.collection.frames import frame_of_collection

        return frame_of_collection(self, kind)

    def __len__(self) -> int:
        return self.n_images

    def __getitem__(self, which: Any) -> "Collection":
        from sugartag.collection.subset import chosen_images

        return chosen_images(self, which)

    def __repr__(self) -> str:
        from sugartag.collection.shown import in_short

        return f"<Collection of {in_short(self)}>"

    def _repr_html_(self) -> str:
        from sugartag.collection.shown import as_html

        return as_html(self)

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
    def n_with_features(self) -> int:
        """How many images have features."""
        return sum(int(np.count_nonzero(shard.described())) for shard in self.shards)

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

    def require_features(self, needed_for: str, *, of_all: bool = False) -> None:
        """Raise if no image has features or, where so asked, if any image has none."""
        if self.n_with_features == 0:
            raise CollectionError(
                f"{needed_for} needs image features and this collection has none; "
                "compute them with sugartag embed, or import it with --features X.npy"
            )
        if of_all:
            require_all_described(needed_for, self.n_images - self.n_with_features, self.n_images)

    def blocks(self, rows_per_block: int | None = None) -> tuple[Block, ...]:
        """Cut the images into blocks for an engine."""
        return row_blocks(self.n_images, rows_per_block or self.rows_at_once)

    def rows(self, block: Block) -> Rows:
        """Read the images of one block."""
        pieces = list(self._pieces(block))
        described = np.concatenate([shard.described(part) for shard, part, _ in pieces])
        features = None
        if self.n_features:
            read = (shard.features[part] for shard, part, _ in pieces if shard.features is not None)
            features = np.concatenate(list(read), dtype=np.float32, casting="same_kind")
            features[~described] = 0.0
        return Rows(
            tags=_stacked([shard.tags[part] for shard, part, _ in pieces]).astype(np.float32),
            owner=_joined([shard.owner[part] for shard, part, _ in pieces]),
            features=features,
            position=_joined([shard.positions(part, start) for shard, part, start in pieces]),
            titles=_joined_texts([(shard.titles, part) for shard, part, _ in pieces]),
            has_features=None if features is None or described.all() else described,
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
            shard, row = self.shards[number], images[chosen] - self._starts[number]
            if shard.features is not None:
                found[chosen] = shard.features[row]
                found[chosen[~shard.described()[row]]] = 0.0
        return found

    @property
    def features(self) -> FloatArray | None:
        """The features of all images in one array, float32; None where there are none."""
        return self.features_at(np.arange(self.n_images)) if self.n_features else None

    @cached_property
    def described(self) -> BoolArray:
        """Which images have features, of all in row order."""
        return np.concatenate([shard.described() for shard in self.shards])

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


def _joined_texts(parts: Sequence[tuple[Texts | None, slice]]) -> Texts | None:
    found = [texts[part] for texts, part in parts if texts is not None]
    return Texts.joined(found) if found and len(found) == len(parts) else None


def _joined(parts: Sequence[IntArray]) -> IntArray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _stacked(parts: Sequence[SparseRows]) -> SparseRows:
    return parts[0] if len(parts) == 1 else sparse.csr_array(sparse.vstack(parts, format="csr"))
