"""What a pass over the images adds up: all that the regression needs to know of them.

Sums of two sets of images can be added, so that shards are summed in any order and on any machine,
and new images are added to what is there.
"""

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, IntArray, Room, SparseRows
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Block, Engine
from sugartag.linalg.sparse_rows import GrowingRows, chosen_columns
from sugartag.methods.sugar_plus.by_owner import ByOwner
from sugartag.methods.sugar_plus.evidence import Evidence

MOST_PARTS = 16
"""Sums of owners that wait to be added: each addition goes through all that is there."""


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
class OwnerPart:
    """Sums over the images of each owner in one block."""

    owner: IntArray
    images: FloatArray
    words: SparseRows
    dense: FloatArray


@dataclass(frozen=True, eq=False)
class Part:
    """The sums of some blocks, sparse products still sparse; of owners, those of each block."""

    columns: FloatArray
    tags: FloatArray
    given: FloatArray
    known_gram: SparseRows
    mixed_gram: FloatArray
    dense_gram: FloatArray
    known_cross: SparseRows
    dense_cross: FloatArray
    owners: tuple[OwnerPart, ...]

    def __add__(self, other: "Part") -> "Part":
        """Return the sums of the blocks of both."""
        return Part(
            self.columns + other.columns,
            self.tags + other.tags,
            self.given + other.given,
            sparse.csr_array(self.known_gram + other.known_gram),
            self.mixed_gram + other.mixed_gram,
            self.dense_gram + other.dense_gram,
            sparse.csr_array(self.known_cross + other.known_cross),
            self.dense_cross + other.dense_cross,
            self.owners + other.owners,
        )


def outside_of(evidence: Evidence) -> IntArray:
    """Return the tags that are not among the columns: too rare to say anything about others."""
    is_outside = np.ones(evidence.n_tags, dtype=np.bool_)
    is_outside[evidence.predictor] = False
    return np.flatnonzero(is_outside)


def add_up(
    collection: Collection, evidence: Evidence, trusted: SparseRows, *, engine: Engine
) -> Sums:
    """Add up all images in one pass; ``trusted`` are their tags, as far as they are believed."""
    start = _Totals.of(collection.n_owners, evidence, engine=engine)
    shared = collection, evidence, trusted
    total = engine.fold(add_up_images, collection.blocks(), start, *shared)
    tags = sums_by_owner(trusted, collection.owner, collection.n_owners, engine.room)
    return total.sums(collection.n_images, tags)


def add_up_images(
    block: Block, collection: Collection, evidence: Evidence, trusted: SparseRows
) -> Part:
    """Return the sums of one block, all together and by owner."""
    rows = collection.rows(block)
    tags = trusted[block.start : block.stop].astype(np.float64)
    return part_of(rows, tags, evidence, collection.nobody)


def part_of(rows: Rows, tags: SparseRows, evidence: Evidence, nobody: int) -> Part:
    """Return the sums of some images whose trusted tags are given apart."""
    words = evidence.words_of(rows).astype(np.float64)
    known, dense = evidence.known(tags, words), evidence.dense(rows)
    rest, n = chosen_columns(tags, outside_of(evidence)), known.shape[1]
    turned = sparse.csr_array(known.T)
    # Converted once for all products with sparse columns, each of which would do it again.
    exact = dense.astype(np.float64)
    mixed = np.asarray(sparse.hstack([known, rest], format="csr").T @ exact)
    images = np.flatnonzero(rows.owner < nobody)
    owner, place = np.unique(rows.owner[images], return_inverse=True)
    whose = sparse.csr_array((np.ones(len(images)), (place, images)), shape=(len(owner), len(rows)))
    owners = OwnerPart(
        owner,
        np.bincount(place, minlength=len(owner)).astype(np.float64),
        sparse.csr_array(whose @ words),
        np.asarray(whose @ exact),
    )
    return Part(
        np.concatenate([_column_sums(known), exact.sum(axis=0)]),
        _column_sums(tags),
        _column_sums(rows.tags),
        sparse.csr_array(turned @ known),
        mixed[:n],
        (dense.T @ dense).astype(np.float64),
        sparse.csr_array(turned @ rest),
        mixed[n:].T,
        (owners,),
    )


@dataclass(frozen=True, eq=False)
class _Totals:
    """The sums while they come in."""

    columns: FloatArray
    tags: FloatArray
    given: FloatArray
    gram: FloatArray
    cross: FloatArray
    n_known: int
    owner_images: FloatArray
    owner_dense: FloatArray
    owner_words: list[SparseRows]
    takes_sums: ClassVar[bool] = True
    """Parts may be added before they come in; owners not, whose float32 sums go by the order."""

    @classmethod
    def of(cls, n_owners: int, evidence: Evidence, *, engine: Engine) -> "_Totals":
        """Start with nothing."""
        n_columns = evidence.n_sparse + evidence.n_dense
        return cls(
            np.zeros(n_columns),
            np.zeros(evidence.n_tags),
            np.zeros(evidence.n_tags),
            np.zeros((n_columns, n_columns)),
            np.zeros((n_columns, len(outside_of(evidence)))),
            evidence.n_sparse,
            np.zeros(n_owners),
            engine.room((n_owners, evidence.n_dense), np.float32),
            [sparse.csr_array((n_owners, len(evidence.words)))],
        )

    def take(self, part: Part) -> None:
        """Add those of a block, or of some."""
        n = self.n_known
        for total, more in (
            (self.columns, part.columns),
            (self.tags, part.tags),
            (self.given, part.given),
            (self.gram[:n, n:], part.mixed_gram),
            (self.gram[n:, n:], part.dense_gram),
            (self.cross[n:], part.dense_cross),
        ):
            total += more
        add_sparse(self.gram, part.known_gram)
        add_sparse(self.cross, part.known_cross)
        words = self.owner_words
        for some in part.owners:
            self.owner_images[some.owner] += some.images
            self.owner_dense[some.owner] += some.dense
            if some.words.nnz:
                words.append(_spread(some.words, some.owner, len(self.owner_images)))
            if len(words) > MOST_PARTS:
                words[:] = [_summed(words)]

    def sums(self, n_images: int, owner_tags: SparseRows) -> Sums:
        """Return what came in, and what was summed by owner apart."""
        n = self.n_known
        self.gram[n:, :n] = self.gram[:n, n:].T
        owners = OwnerTotals(
            self.owner_images, owner_tags, _summed(self.owner_words), self.owner_dense
        )
        products = self.columns, self.tags, self.given, self.gram, self.cross
        return Sums(float(n_images), *products, owners)


def sums_by_owner(
    matrix: SparseRows, owner: IntArray, n_owners: int, room: Room = np.zeros
) -> SparseRows:
    """Return owners x columns: the sum over the rows of each owner's images, float64."""
    found = GrowingRows(matrix.shape[1], n_owners, matrix.nnz, np.float64, room)
    for owners, images in ByOwner.of(owner, n_owners).chunks():
        place = owner[images] - owners.start, np.arange(len(images))
        shape = owners.stop - owners.start, len(images)
        whose = sparse.csr_array((np.ones(len(images)), place), shape=shape)
        part = sparse.csr_array(whose @ matrix[images])
        part.sort_indices()
        found.take(part)
    return found.rows()


def add_sparse(total: FloatArray, part: SparseRows) -> None:
    """Add a sparse matrix to the corner of a dense one whose rows lie one after the other."""
    if not total.flags.c_contiguous:
        raise ValueError("sparse parts are added to a matrix whose rows lie one after the other")
    row_start = np.arange(part.shape[0], dtype=np.int64) * total.shape[1]
    place = np.repeat(row_start, np.diff(part.indptr))
    place += part.indices
    # One number a place, and nothing copied out and back: a quarter of the time of [rows, columns].
    np.add.at(total.reshape(-1), place, part.data)


def padded(matrix: SparseRows, more: int) -> SparseRows:
    """Return the matrix with empty rows at the end."""
    indptr = np.pad(matrix.indptr, (0, more), mode="edge")
    shape = (matrix.shape[0] + more, matrix.shape[1])
    return sparse.csr_array((matrix.data, matrix.indices, indptr), shape=shape)


def _column_sums(matrix: SparseRows) -> FloatArray:
    return np.asarray(matrix.sum(axis=0), dtype=np.float64).ravel()


def _spread(part: SparseRows, owner: IntArray, n_owners: int) -> SparseRows:
    row = np.repeat(owner, np.diff(part.indptr))
    return sparse.csr_array((part.data, (row, part.indices)), shape=(n_owners, part.shape[1]))


def _summed(parts: list[SparseRows]) -> SparseRows:
    total = parts[0]
    for part in parts[1:]:
        total = sparse.csr_array(total + part)
    total.sort_indices()
    return total
