"""The directions in which the rows of a large sparse matrix differ most from nothing."""

from functools import reduce

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
    n, n_columns = matrix.shape
    cuts = row_blocks(n, max(ROWS_AT_ONCE, -(-n // PARTS)))
    parts = [matrix[cut].astype(np.float32) for cut in cuts]
    shape = n_columns, min(count + SPARE, n_columns)
    found = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    with threadpool_limits(1):
        for _ in range(TURNS):
            found = np.linalg.qr(_turned(parts, found, threads))[0]
        _, main = np.linalg.eigh(found.T @ _turned(parts, found, threads))
        directions: FloatArray = found @ main[:, ::-1][:, :count]
    return directions


def _turned(parts: list[SparseRows], directions: FloatArray, threads: int) -> FloatArray:
    """Return the product of a matrix in parts, transposed, the matrix and the directions."""

    def turn(one: slice) -> FloatArray:
        (rows,) = parts[one]
        product: FloatArray = rows.T @ (rows @ directions)
        return product

    return reduce(np.add, run_parts(turn, row_blocks(len(parts), 1), threads))
