"""Operations on the rows of a sparse matrix."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sugartag._typing import FloatArray, IntArray, Room, SparseRows


def row_number_of_entries(matrix: SparseRows) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the row of each stored entry."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def entries_between(start: IntArray, stop: IntArray) -> tuple[IntArray, IntArray]:
    """Return every number from start to stop, case by case, and the case of each."""
    counts = stop - start
    case = np.repeat(np.arange(len(counts)), counts)
    return case, np.arange(len(case)) - (np.cumsum(counts) - counts - start)[case]


def damped_unit_rows(counts: SparseRows) -> SparseRows:
    """Scale each row of counts, dampened by a logarithm, to Euclidean length 1."""
    damped = counts.astype(np.float64)
    damped.data = np.log1p(damped.data)
    lengths = np.sqrt(np.asarray(damped.multiply(damped).sum(axis=1)).ravel())
    damped.data /= np.where(lengths > 0, lengths, 1.0)[row_number_of_entries(damped)]
    return damped


def strongest_per_row(matrix: SparseRows, count: int) -> SparseRows:
    """Keep the ``count`` largest entries of each row; ties by column."""
    rows = row_number_of_entries(matrix)
    order = np.lexsort((matrix.indices, -matrix.data, rows))
    rank = np.arange(len(order)) - matrix.indptr[:-1][rows]
    kept = order[rank < count]
    return sparse.csr_array(
        (matrix.data[kept], (rows[kept], matrix.indices[kept])), shape=matrix.shape
    )


def chosen_columns(matrix: SparseRows, columns: IntArray) -> SparseRows:
    """Return some columns, which ascend; faster than indexing where most are kept."""
    n_columns = matrix.shape[1]
    if len(columns) == n_columns:
        return matrix
    place = np.full(n_columns, len(columns), dtype=np.int64)
    place[columns] = np.arange(len(columns))
    target = place[matrix.indices]
    kept = target < len(columns)
    passed = np.concatenate([[0], np.cumsum(kept)])
    return sparse.csr_array(
        (matrix.data[kept], target[kept], passed[matrix.indptr]),
        shape=(matrix.shape[0], len(columns)),
    )


def same_places(values: FloatArray, matrix: SparseRows) -> SparseRows:
    """Return the matrix with other values in its stored places, zeros kept."""
    return sparse.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)


def values_at(matrix: SparseRows, rows: IntArray, columns: IntArray) -> FloatArray:
    """Return the value in each of some places, 0 where none is stored."""
    if not len(rows):
        return np.zeros(0)
    found: FloatArray = np.asarray(matrix[rows, columns]).ravel()
    return found


class GrowingRows:
    """A sparse matrix whose rows come in one block after the other, into room made before.

    More room is made where that guessed at first is not enough.
    """

    def __init__(
        self, n_columns: int, rows: int, entries: int, dtype: npt.DTypeLike, room: Room = np.zeros
    ) -> None:
        large = max(rows, entries, n_columns) > np.iinfo(np.int32).max
        index = np.int64 if large else np.int32
        self.n_columns = n_columns
        self.filled = 0
        """Entries that are there already."""
        self._room, self._rows = room, 0
        self._data, self._indices = room(entries, dtype), room(entries, index)
        self._indptr = room(rows + 1, index)

    def take(self, rows: SparseRows) -> None:
        """Append some rows."""
        place = slice(self.filled, self.filled + rows.nnz)
        ends = slice(self._rows + 1, self._rows + 1 + rows.shape[0])
        self._data = self._with_room(self._data, place.stop)
        self._indices = self._with_room(self._indices, place.stop)
        self._indptr = self._with_room(self._indptr, ends.stop)
        self._data[place], self._indices[place] = rows.data, rows.indices
        self._indptr[ends] = self.filled + rows.indptr[1:]
        self.filled, self._rows = place.stop, ends.stop - 1

    def rows(self) -> SparseRows:
        """Return the matrix of all rows that came in."""
        entries = slice(self.filled)
        parts = self._data[entries], self._indices[entries], self._indptr[: self._rows + 1]
        return sparse.csr_array(parts, shape=(self._rows, self.n_columns))

    def _with_room(self, array: npt.NDArray[Any], wanted: int) -> npt.NDArray[Any]:
        if wanted <= len(array):
            return array
        larger = self._room(max(wanted, 2 * len(array)), array.dtype)
        larger[: len(array)] = array
        return larger
