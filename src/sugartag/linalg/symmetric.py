"""Symmetric matrices of thousands of rows, worked on in bands by several threads.

No two threads write to the same place, and each number is made in the same way whichever thread
makes it: results do not depend on how many there are.
"""

from functools import partial

import numpy as np
from scipy import linalg

from sugartag._typing import FloatArray
from sugartag.engine.base import row_blocks
from sugartag.linalg.threads import run_parts

BAND = 256
"""Rows of a band."""
NOT_POSITIVE = "the matrix has columns that rounding makes negative in length"


def mirror(matrix: FloatArray, *, threads: int = 1) -> None:
    """Copy what is above the diagonal to below it."""

    def copy(band: slice) -> None:
        square = matrix[band, band]
        square[:] = np.triu(square) + np.triu(square, 1).T
        matrix[band.stop :, band] = matrix[band, band.stop :].T

    run_parts(copy, row_blocks(len(matrix), BAND), threads)


def invert(matrix: FloatArray, *, threads: int = 1) -> None:
    """Make a positive definite matrix its inverse; only its upper half is read.

    It is U'U with a triangular U, and its inverse is V V' with V the inverse of U.

    Raises ``ValueError`` if the matrix is not positive definite.
    """
    bands = row_blocks(len(matrix), BAND)
    squares = [_factor(matrix, band, bands[number:], threads) for number, band in enumerate(bands)]
    for number, band in enumerate(bands):
        _invert_columns(matrix, band, bands[:number], squares[number], threads)
    squares = run_parts(partial(_multiply, matrix), bands, threads)
    for band, square in zip(bands, squares, strict=True):
        matrix[band, band] = square
    mirror(matrix.T, threads=threads)


def _factor(matrix: FloatArray, band: slice, later: tuple[slice, ...], threads: int) -> FloatArray:
    """Put a band of U in the matrix, but for its square, of which the inverse is returned."""
    above = slice(band.start)

    def take_off(some: slice) -> None:
        matrix[band, some] -= matrix[above, band].T @ matrix[above, some]

    def square(some: slice) -> FloatArray:
        factor, failed = linalg.lapack.dpotrf(matrix[some, some])
        if failed:
            raise ValueError(NOT_POSITIVE)
        found: FloatArray = np.ascontiguousarray(linalg.lapack.dtrtri(factor)[0])
        return found

    def divide(some: slice) -> None:
        matrix[band, some] = inverse.T @ matrix[band, some]

    run_parts(take_off, later, threads)
    (inverse,) = run_parts(square, [band], 1)
    if len(later) > 1:
        run_parts(divide, later[1:], threads)
    return inverse


def _invert_columns(
    matrix: FloatArray, band: slice, above: tuple[slice, ...], square: FloatArray, threads: int
) -> None:
    """Put columns of V in the place of those of U; all before them are there."""
    mine = matrix[: band.start, band].copy()

    def put(some: slice) -> None:
        between = matrix[some, some.start : band.start] @ mine[some.start :]
        matrix[some, band] = -(between @ square)

    if above:
        run_parts(put, above, threads)
    matrix[band, band] = square


def _multiply(matrix: FloatArray, band: slice) -> FloatArray:
    """Put a band of V V' below the diagonal, and return its square."""
    mine = matrix[band, band.start :]
    matrix[band, : band.start] = mine @ matrix[: band.start, band.start :].T
    square: FloatArray = mine @ mine.T
    return square
