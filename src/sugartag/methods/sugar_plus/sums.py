"""What a pass over the images adds up: all that the regression needs to know of them.

Sums of two sets of images can be added, so that shards are summed in any order and on any machine,
and new images are added to what is there.
"""

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.collection.model import Collection, Rows
from sugartag.collection.subset import tag_counts
from sugartag.engine.base import Block, Engine
from sugartag.linalg.sparse_rows import GrowingRows
from sugartag.linalg.symmetric import mirror
from sugartag.methods.sugar_plus.by_owner import ByOwner
from sugartag.methods.sugar_plus.evidence import Evidence
from sugartag.methods.sugar_plus.owner_sums import add_rows, rows_summed, sums_by_owner
from sugartag.methods.sugar_plus.sparse_columns import (
    add_mixed_products,
    add_products,
    outside_of,
    runs,
    sparse_columns,
)


@dataclass(frozen=True, eq=False)
class OwnerTotals:
    """Sums over the images of each owner."""

    images: FloatArray
    """How many each has."""
    tags: SparseRows
    """Owners x tags, as far as the tags are trusted."""
    words: SparseRows
    """Owners x words of titles."""
    dense: FloatArray
    """Owners x dense columns."""

    def __len__(self) -> int:
        return len(self.images)

    def __add__(self, other: "OwnerTotals") -> "OwnerTotals":
        """Return the totals of both sets of images."""
        return OwnerTotals(
            self.images + other.images,
            sparse.csr_array(self.tags + other.tags),
            sparse.csr_array(self.words + other.words),
            self.dense + other.dense,
        )

    def __neg__(self) -> "OwnerTotals":
        """Return the totals that take these images away when they are added."""
        return OwnerTotals(*(-getattr(self, field.name) for field in fields(self)))

    def at(self, owners: IntArray) -> "OwnerTotals":
        """Return the totals of some owners, ascending; those one past the last have nothing."""
        known = owners[owners < len(self)]
        nothing = len(owners) - len(known)
        return OwnerTotals(
            np.pad(self.images[known], (0, nothing)),
            padded(self.tags[known], nothing),
            padded(self.words[known], nothing),
            np.pad(self.dense[known], ((0, nothing), (0, 0))),
        )

    def between(self, some: slice) -> "OwnerTotals":
        """Return the totals of a run of owners; the dense ones, which are many, are not copied."""
        return OwnerTotals(self.images[some], self.tags[some], self.words[some], self.dense[some])


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums of products over images, and the totals of their owners."""

    count: float
    columns: FloatArray
    """The sum of each column, sparse ones first, tags as far as they are trusted."""
    tags: FloatArray
    """Of the tags, as far as they are trusted."""
    given: FloatArray
    """How many images have each tag."""
    gram: FloatArray
    """Columns x columns."""
    cross: FloatArray
    """Columns x the tags that are not among the columns."""
    owners: OwnerTotals

    def __add__(self, other: "Sums") -> "Sums":
        """Return the sums of both sets of images."""
        return Sums(
            self.count + other.count,
            self.columns + other.columns,
            self.tags + other.tags,
            self.given + other.given,
            self.gram + other.gram,
            self.cross + other.cross,
            self.owners + other.owners,
        )

    def __neg__(self) -> "Sums":
        """Return the sums that take these images away when they are added."""
        return Sums(*(-getattr(self, field.name) for field in fields(self)))


@dataclass(frozen=True, eq=False)
class LooksPart:
    """The sums of one block that are the same however far tags are trusted."""

    columns: FloatArray
    """Of each dense column."""
    gram: FloatArray
    """Dense columns x dense columns."""
    owner: IntArray
    """Who has images in the block, ascending."""
    owner_dense: FloatArray
    """These owners x dense columns, float32."""

    @classmethod
    def of(cls, rows: Rows, dense: FloatArray, nobody: int) -> "LooksPart":
        """Add up the dense columns of some images."""
        order = np.argsort(rows.owner, kind="stable")
        owners = rows.owner[order]
        owner, start = np.unique(owners[owners < nobody], return_index=True)
        stop = np.append(start[1:], np.count_nonzero(owners < nobody))
        sums = np.empty((len(owner), dense.shape[1]), dtype=np.float32)
        rows_summed(dense, order, start, stop, sums)
        gram = (dense.T @ dense).astype(np.float64)
        return cls(dense.sum(axis=0, dtype=np.float64), gram, owner, sums)


@dataclass(frozen=True, eq=False)
class Part:
    """The sums of some blocks that need their dense columns."""

    mixed: FloatArray
    """Sparse columns, and the tags that are not among the columns, x dense columns."""
    looks: tuple[LooksPart, ...]
    """Of each block; none where they are known."""

    def __add__(self, other: "Part") -> "Part":
        """Return the sums of the blocks of both."""
        return Part(self.mixed + other.mixed, self.looks + other.looks)


def add_up(
    collection: Collection,
    evidence: Evidence,
    trusted: SparseRows,
    *,
    engine: Engine,
    same: Sums | None = None,
) -> Sums:
    """Add up all images; ``trusted`` are their tags, as far as they are believed.

    ``same`` are sums of the same images with their tags trusted otherwise, if there are any: what
    does not depend on that is taken from them.
    """
    words = _words_of_titles(collection, evidence, engine=engine)
    total = _Totals.of(collection.n_owners, evidence, same, engine=engine)
    shared = collection, evidence, trusted, words, same is None
    total = engine.fold(add_up_images, collection.blocks(), total, *shared)
    n, n_columns = evidence.n_sparse, evidence.n_sparse + evidence.n_dense
    gram = np.zeros((n_columns, n_columns))
    cross = np.zeros((n_columns, len(total.mixed) - n))
    columns = np.zeros(len(total.mixed))
    for some in runs(trusted.indptr):
        part = sparse_columns(trusted[some], words[some], evidence)
        add_products(part, gram, cross, threads=engine.threads)
        columns += part.sums()
    gram[:n, n:], gram[n:, n:], cross[n:] = total.mixed[:n], total.gram, total.mixed[n:].T
    mirror(gram, threads=engine.threads)
    tags = np.empty(evidence.n_tags)
    tags[evidence.predictor], tags[outside_of(evidence)] = (
        columns[: len(evidence.predictor)],
        columns[n:],
    )
    by_owner = ByOwner.of(collection.owner, collection.n_owners)
    owners = OwnerTotals(
        np.diff(by_owner.start).astype(np.float64),
        sums_by_owner(trusted, by_owner, engine.room, threads=engine.threads),
        sums_by_owner(words, by_owner, engine.room, threads=engine.threads),
        total.owner_dense,
    )
    columns = np.concatenate([columns[:n], total.columns])
    given = tag_counts(collection).astype(np.float64)
    return Sums(float(collection.n_images), columns, tags, given, gram, cross, owners)


def add_up_images(
    block: Block,
    collection: Collection,
    evidence: Evidence,
    trusted: SparseRows,
    words: SparseRows,
    with_looks: bool,
) -> Part:
    """Return the sums of one block that need its dense columns."""
    rows, some = collection.rows(block), slice(block.start, block.stop)
    dense = np.ascontiguousarray(evidence.dense(rows), dtype=np.float32)
    columns = sparse_columns(trusted[some], words[some], evidence)
    mixed = np.zeros((columns.n_columns, dense.shape[1]))
    add_mixed_products(columns, dense, mixed)
    looks = (LooksPart.of(rows, dense, collection.nobody),) if with_looks else ()
    return Part(mixed, looks)


def words_of_titles(block: Block, collection: Collection, evidence: Evidence) -> SparseRows:
    """Return images x words of one block."""
    return evidence.words_of(collection.rows(block))


def _words_of_titles(collection: Collection, evidence: Evidence, *, engine: Engine) -> SparseRows:
    """Return images x words, in a pass of their own because titles say the same to all others."""
    n_images, n_words = collection.n_images, len(evidence.words)
    if not n_words:
        return sparse.csr_array(np.zeros((n_images, 0), dtype=np.float32))
    found = GrowingRows(n_words, n_images, n_images, np.float32, engine.room)
    for part in engine.map(words_of_titles, collection.blocks(), collection, evidence):
        found.take(part)
    return found.rows()


@dataclass(frozen=True, eq=False)
class _Totals:
    """The sums that need dense columns, while they come in."""

    mixed: FloatArray
    columns: FloatArray
    gram: FloatArray
    owner_dense: FloatArray
    takes_sums: ClassVar[bool] = True
    """Parts may be added before they come in; looks not, whose float32 sums go by the order."""

    @classmethod
    def of(
        cls, n_owners: int, evidence: Evidence, same: Sums | None, *, engine: Engine
    ) -> "_Totals":
        """Start with nothing, or with what is known."""
        n, n_dense = evidence.n_sparse, evidence.n_dense
        mixed = np.zeros((evidence.n_tags + len(evidence.words), n_dense))
        if same is not None:
            return cls(mixed, same.columns[n:], same.gram[n:, n:], same.owners.dense)
        owner_dense = engine.room((n_owners, n_dense), np.float32)
        return cls(mixed, np.zeros(n_dense), np.zeros((n_dense, n_dense)), owner_dense)

    def take(self, part: Part) -> None:
        """Add those of a block, or of some."""
        self.mixed[:] += part.mixed
        for some in part.looks:
            self.columns[:] += some.columns
            self.gram[:] += some.gram
            add_rows(np.asarray(self.owner_dense), some.owner, some.owner_dense)


def padded(matrix: SparseRows, more: int) -> SparseRows:
    """Return the matrix with empty rows at the end."""
    indptr = np.pad(matrix.indptr, (0, more), mode="edge")
    shape = (matrix.shape[0] + more, matrix.shape[1])
    return sparse.csr_array((matrix.data, matrix.indices, indptr), shape=shape)
