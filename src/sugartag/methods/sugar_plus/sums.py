"""What a pass over the images adds up: all that the regression needs to know of them.

Sums of two sets of images can be added, so that shards are summed in any order and on any machine,
and new images are added to what is there.
"""

from dataclasses import dataclass, fields

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Block, Engine
from sugartag.methods.sugar_plus.evidence import Evidence


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
            _padded(self.tags[known], nothing),
            _padded(self.words[known], nothing),
            np.pad(self.dense[known], ((0, nothing), (0, 0))),
        )


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
class Normal:
    """The regression's normal equations, centred and cleaned of owners, without a ridge yet."""

    gram: FloatArray
    """Columns x columns."""
    cross: FloatArray
    """Columns x the tags that are not among the columns."""
    mean: FloatArray
    """Of each column."""
    share: FloatArray
    """Of each tag: the images that have it, as far as it is trusted."""


@dataclass(frozen=True, eq=False)
class Part:
    """The sums of one block, its sparse products still sparse, its owners by their number."""

    columns: FloatArray
    tags: FloatArray
    given: FloatArray
    known_gram: SparseRows
    mixed_gram: FloatArray
    dense_gram: FloatArray
    known_cross: SparseRows
    dense_cross: FloatArray
    owner: IntArray
    owners: OwnerTotals


def outside_of(evidence: Evidence) -> IntArray:
    """Return the tags that are not among the columns: too rare to say anything about others."""
    return np.setdiff1d(np.arange(evidence.n_tags), evidence.predictor)


def add_up(
    collection: Collection, evidence: Evidence, trusted: SparseRows, *, engine: Engine
) -> Sums:
    """Add up all images in one pass; ``trusted`` are their tags, as far as they are believed."""
    n_known, n_dense = evidence.n_sparse, evidence.n_dense
    gram = np.zeros((n_known + n_dense, n_known + n_dense))
    cross = np.zeros((len(gram), len(outside_of(evidence))))
    columns, tags, given = (np.zeros(n) for n in (len(gram), evidence.n_tags, evidence.n_tags))
    gathered = _Gathered.of(collection.n_owners, evidence)
    for part in engine.map(add_up_images, collection.blocks(), collection, evidence, trusted):
        columns += part.columns
        tags += part.tags
        given += part.given
        gram[:n_known, :n_known] += part.known_gram.toarray()
        gram[:n_known, n_known:] += part.mixed_gram
        gram[n_known:, n_known:] += part.dense_gram
        cross[:n_known] += part.known_cross.toarray()
        cross[n_known:] += part.dense_cross
        gathered.take(part)
    gram[n_known:, :n_known] = gram[:n_known, n_known:].T
    count = float(collection.n_images)
    return Sums(count, columns, tags, given, gram, cross, gathered.totals())


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
    turned = sparse.csr_array(known.T)
    rest = tags[:, outside_of(evidence)]
    images = np.flatnonzero(rows.owner < nobody)
    owner, place = np.unique(rows.owner[images], return_inverse=True)
    whose = sparse.csr_array((np.ones(len(images)), (place, images)), shape=(len(owner), len(rows)))
    owners = OwnerTotals(
        np.bincount(place, minlength=len(owner)).astype(np.float64),
        sparse.csr_array(whose @ tags),
        sparse.csr_array(whose @ words),
        np.asarray(whose @ dense),
    )
    return Part(
        np.concatenate([_column_sums(known), dense.sum(axis=0, dtype=np.float64)]),
        _column_sums(tags),
        _column_sums(rows.tags),
        sparse.csr_array(turned @ known),
        np.asarray(turned @ dense),
        (dense.T @ dense).astype(np.float64),
        sparse.csr_array(turned @ rest),
        np.ascontiguousarray((rest.T @ dense).T),
        owner,
        owners,
    )


def normal_equations(sums: Sums, evidence: Evidence, owner_variance: float) -> Normal:
    """Centre the sums and take the owners' effects out."""
    mean, share = sums.columns / sums.count, sums.tags / sums.count
    outside = outside_of(evidence)
    gram = sums.gram - np.multiply.outer(sums.count * mean, mean)
    cross = sums.cross - np.multiply.outer(sums.count * mean, share[outside])
    if owner_variance > 0 and len(sums.owners):
        owners = sums.owners
        weight = np.sqrt(owner_variance / (1.0 + owner_variance * owners.images))
        known = evidence.known(owners.tags, owners.words)
        _take_out_owners(
            gram, cross, known, owners.tags[:, outside], owners, weight, mean, share[outside]
        )
    return Normal(gram, cross, mean, share)


def _take_out_owners(
    gram: FloatArray,
    cross: FloatArray,
    known: SparseRows,
    rest: SparseRows,
    owners: OwnerTotals,
    weight: FloatArray,
    mean: FloatArray,
    share: FloatArray,
) -> None:
    """Subtract the weighted products of the owners' centred sums, in place.

    Centring turns s s' into (s - n m)(s - n m)', s being an owner's sums and n their images.
    """
    n = known.shape[1]
    scaled = sparse.diags_array(weight)
    turned = sparse.csr_array((scaled @ known).T)
    dense = weight[:, None] * owners.dense
    mixed = np.asarray(turned @ dense)
    gram[:n, :n] -= (turned @ (scaled @ known)).toarray()
    gram[:n, n:] -= mixed
    gram[n:, :n] -= mixed.T
    gram[n:, n:] -= dense.T @ dense
    cross[:n] -= (turned @ (scaled @ rest)).toarray()
    cross[n:] -= np.asarray((scaled @ rest).T @ dense).T
    counted = weight**2 * owners.images
    column = np.concatenate([known.T @ counted, owners.dense.T @ counted])
    size = float(counted @ owners.images)
    gram += np.multiply.outer(column, mean) + np.multiply.outer(mean, column - size * mean)
    cross += np.multiply.outer(column, share) + np.multiply.outer(mean, rest.T @ counted)
    cross -= size * np.multiply.outer(mean, share)


@dataclass(frozen=True, eq=False)
class _Gathered:
    """Owners' totals while they come in."""

    images: FloatArray
    dense: FloatArray
    tags: list[SparseRows]
    words: list[SparseRows]

    @classmethod
    def of(cls, n_owners: int, evidence: Evidence) -> "_Gathered":
        """Start with nothing."""
        return cls(
            np.zeros(n_owners),
            np.zeros((n_owners, evidence.n_dense), dtype=np.float32),
            [sparse.csr_array((n_owners, evidence.n_tags))],
            [sparse.csr_array((n_owners, len(evidence.words)))],
        )

    def take(self, part: Part) -> None:
        """Add a block's."""
        self.images[part.owner] += part.owners.images
        self.dense[part.owner] += part.owners.dense
        for parts, added in ((self.tags, part.owners.tags), (self.words, part.owners.words)):
            parts.append(_spread(added, part.owner, len(self.images)))
            if len(parts) > 16:
                parts[:] = [_summed(parts)]

    def totals(self) -> OwnerTotals:
        """Return what came in."""
        return OwnerTotals(self.images, _summed(self.tags), _summed(self.words), self.dense)


def _padded(matrix: SparseRows, more: int) -> SparseRows:
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
