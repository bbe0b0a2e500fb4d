"""The entries of sparse matrices, as compiled functions take them."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.linalg.compiled import fit_together, read_only


class Entries(NamedTuple):
    """Stored entries of a sparse matrix, row by row."""

    start: IntArray
    """Where the entries of each row begin, and the end of the last; int64."""
    column: IntArray
    """int32."""
    value: FloatArray
    """float32."""

    @classmethod
    def of(cls, matrix: SparseRows, n_columns: int) -> "Entries":
        """Return the entries of a matrix, which must have this many columns."""
        fit_together(matrix.shape[1] == n_columns)
        types = np.int64, np.int32, np.float32
        parts = matrix.indptr, matrix.indices, matrix.data
        typed = (part.astype(kind, copy=False) for part, kind in zip(parts, types, strict=True))
        return cls(*map(read_only, typed))

    @classmethod
    def none(cls, n_rows: int) -> "Entries":
        """Return those of a matrix of zeros."""
        return cls.of(sparse.csr_array((n_rows, 0)), 0)
