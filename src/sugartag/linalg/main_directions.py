"""The directions in which the rows of a large sparse matrix differ most from nothing."""

import numpy as np
from threadpoolctl import threadpool_limits

from sugartag._typing import FloatArray, SparseRows
from sugartag.engine.base import row_blocks
from sugartag.linalg.threads import run_parts

TURNS = 8
"""Products with the matrix and its transpose that directions by chance are turned by."""
SPARE = 10
"""More directions that are turned along: those wanted are then found sooner."""
ROWS_AT_ONCE = 8_192
"""Rows of a part at least; sums are rounded as they are cut."""
PARTS = 16
"""At most: the sums of each part are held until all are there."""


def main_directions(matrix: SparseRows, count: int, *, threads: int = 1) -> FloatArray:
    """Return columns x directions: the first right singular vectors, about, in single precision.

    The same ones whatever the thread count. Randomised subspace iteration (Halko, Martinsson and
    Tropp, 2011), with a Rayleigh-Ritz step that tells the first directions from the spare ones.
    """
    single, n_columns = matrix.astype(np.float32), int(matrix.shape[1])
    shape = n_columns, min(count + SPARE, n_columns)
    found = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    with threadpool_limits(1):
        for _ in range(TURNS):
            found = np.linalg.qr(_turned(single, found, threads))[0]
        _, main = np.linalg.eigh(found.T @ _turned(single, found, threads))
        directions: FloatArray = found @ main[:, ::-1][:, :count]
    return directions


def _turned(matrix: SparseRows, directions: FloatArray, threads: int) -> FloatArray:
    """Return the product of the matrix, transposed, the matrix and the directions."""

    def turn(part: slice) -> FloatArray:
        rows = matrix[part]
        product: FloatArray = rows.T @ (rows @ directions)
        return product

    n = int(matrix.shape[0])
    parts = row_blocks(n, max(ROWS_AT_ONCE, -(-n // PARTS)))
    total: FloatArray = np.sum(run_parts(turn, parts, threads), axis=0)
    return total
