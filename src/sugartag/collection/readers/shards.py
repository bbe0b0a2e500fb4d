"""Table rows become shards: numbered as they come, then settled once the whole table is known."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from sugartag._typing import BoolArray, IntArray, SparseRows
from sugartag.collection.model import Shard
from sugartag.collection.readers.batch import Batch
from sugartag.collection.readers.paths import PathCheck
from sugartag.collection.store import CollectionWriter
from sugartag.collection.texts import Texts
from sugartag.collection.vocabulary import clean, clean_all


class Names(dict[str, int]):
    """Numbers clean texts 1, 2, 3, ... as they come; an empty text has number 0.

    Every key is clean, so that a text which is found as it stands needs no cleaning: most texts
    of a table cost one look-up.
    """

    def __init__(self, cleaning: Callable[[str], str] = clean) -> None:
        super().__init__()
        self.cleaning = cleaning

    def __missing__(self, text: str) -> int:
        cleaned = self.cleaning(text)
        if not cleaned:
            return 0
        return self.setdefault(cleaned, len(self) + 1)

    def numbers(self, texts: Iterable[str], count: int) -> IntArray:
        """Return the number of each of the ``count`` texts, new ones being taken up."""
        return np.fromiter(map(self.__getitem__, texts), dtype=np.int32, count=count)


@dataclass
class Vocabulary:
    """What is held in memory of the whole table: distinct tags, how often used, and owners."""

    tags: Names
    owners: Names
    uses: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def count(self, tags: SparseRows) -> None:
        """Add the uses of a shard's tags."""
        uses = np.bincount(tags.indices, minlength=len(self.tags))
        uses[: len(self.uses)] += self.uses
        self.uses = uses


@dataclass
class ShardRows:
    """Rows collected until they make a shard."""

    vocabulary: Vocabulary
    path_check: PathCheck
    ids: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    _owners: list[IntArray] = field(default_factory=list)
    _tags: list[IntArray] = field(default_factory=list)
    _counts: list[int] = field(default_factory=list)
    _paths: list[str] = field(default_factory=list)
    _titles: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, batch: Batch) -> None:
        """Take up the rows of a batch."""
        self.ids += clean_all(batch.filled_texts("image_id"))
        self.lines += batch.numbers
        self._owners.append(self.vocabulary.owners.numbers(batch.texts("owner"), len(batch)))
        counts, tags = batch.tags()
        self._counts += counts
        self._tags.append(self.vocabulary.tags.numbers(tags, len(tags)))
        self._paths += self.path_check.paths(batch)
        self._titles += clean_all(batch.texts("title"))

    def shard(self) -> Shard:
        """Return the rows as a shard, its owners still numbered from 1 with 0 for nobody.

        Paths and titles are left out where every one of them is empty.
        """
        tags = self._matrix()
        self.vocabulary.count(tags)
        return Shard(
            ids=Texts.of(self.ids),
            owner=np.concatenate(self._owners),
            tags=tags,
            paths=Texts.of(self._paths) if any(self._paths) else None,
            titles=Texts.of(self._titles) if any(self._titles) else None,
        )

    def _matrix(self) -> SparseRows:
        n_rows, n_tags = len(self), len(self.vocabulary.tags)
        number = np.concatenate(self._tags)
        row = np.repeat(np.arange(n_rows), self._counts)
        given = number > 0
        # One sorted key for each pair: repeated tags fall together and columns ascend.
        key = np.sort(row[given] * max(n_tags, 1) + (number[given] - 1))
        key = key[np.append(True, key[1:] != key[:-1])[: len(key)]]
        row, column = np.divmod(key, max(n_tags, 1))
        indptr = np.searchsorted(row, np.arange(n_rows + 1))
        ones = np.ones(len(column), dtype=np.int8)
        made = (ones, column.astype(np.int32), indptr.astype(np.int32))
        return sparse.csr_array(made, shape=(n_rows, n_tags))


@dataclass(frozen=True)
class Settlement:
    """Rewrites the owners and tags of shards with their final indices."""

    writer: CollectionWriter
    kept: BoolArray
    """Which tags, as they were numbered in the first pass, stay in the vocabulary."""
    n_owners: int
    has_paths: bool
    has_titles: bool

    def settle(self, number: int) -> tuple[int, int]:
        """Rewrite one shard; return how many of its images have no tag, and how many no owner."""
        shard = self.writer.shard(number, n_tags=len(self.kept))
        ownerless = shard.owner == 0
        # Nobody comes after the last owner, so that no index is negative.
        owner = np.where(ownerless, self.n_owners, shard.owner - 1).astype(np.int32)
        indptr, indices = self._tags(shard)
        self.writer.attach(number, "owner", owner)
        self.writer.attach(number, "tags.indptr", indptr)
        self.writer.attach(number, "tags.indices", indices)
        for name, wanted in (("paths", self.has_paths), ("titles", self.has_titles)):
            if wanted and getattr(shard, name) is None:
                self.writer.attach_texts(number, name, Texts.of([""] * len(shard)))
        return int(np.count_nonzero(np.diff(indptr) == 0)), int(np.count_nonzero(ownerless))

    def _tags(self, shard: Shard) -> tuple[IntArray, IntArray]:
        stays = self.kept[shard.tags.indices]
        before = np.append(0, np.cumsum(stays))
        new_index = np.cumsum(self.kept) - 1
        indices = new_index[shard.tags.indices[stays]]
        return before[shard.tags.indptr].astype(np.int32), indices.astype(np.int32)
