"""What people decided about tags: images x tags, 1 where one is right and -1 where it is wrong."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sugartag._typing import IntArray, SparseRows
from sugartag.linalg.sparse_rows import row_number_of_entries


@dataclass(frozen=True)
class Decision:
    """What somebody said of one tag of one image."""

    image_id: str
    tag: str
    right: bool
    """Whether the tag belongs to the image."""
    where: str
    """The file and row that say so."""


def nothing_decided(shape: tuple[int, int]) -> SparseRows:
    """Return images x tags without a decision."""
    nothing = np.zeros(0, dtype=np.int64)
    return decisions_at(nothing, nothing, [], shape)


def decisions_at(
    image: IntArray, tag: IntArray, right: Sequence[bool], shape: tuple[int, int]
) -> SparseRows:
    """Return images x tags from decisions, of which no two are about the same place."""
    value = np.where(right, 1, -1).astype(np.int8)
    return sparse.csr_array((value, (image, tag)), shape=shape)


def latest(earlier: SparseRows, later: SparseRows) -> SparseRows:
    """Return all decisions; where there are two, the later one."""
    kept = ~_in_both(earlier, later)
    row = np.concatenate([row_number_of_entries(earlier)[kept], row_number_of_entries(later)])
    tag = np.concatenate([earlier.indices[kept], later.indices])
    value = np.concatenate([earlier.data[kept], later.data])
    return sparse.csr_array((value, (row, tag)), shape=later.shape)


def as_decided(tags: SparseRows, decided: SparseRows) -> SparseRows:
    """Return the tags with a 1 where one is right, and nothing where it is wrong."""
    if not decided.nnz:
        return tags
    kept, right = ~_in_both(tags, decided), decided.data > 0
    row = np.concatenate([row_number_of_entries(tags)[kept], row_number_of_entries(decided)[right]])
    tag = np.concatenate([tags.indices[kept], decided.indices[right]])
    value = np.concatenate([tags.data[kept], np.ones(np.count_nonzero(right), tags.dtype)])
    return sparse.csr_array((value, (row, tag)), shape=tags.shape)


def _in_both(some: SparseRows, others: SparseRows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Tell which entries of a matrix stand where another one has an entry as well."""
    first, second = (
        row_number_of_entries(matrix) * np.int64(matrix.shape[1]) + matrix.indices
        for matrix in (some, others)
    )
    return np.isin(first, second)
