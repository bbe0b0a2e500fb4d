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
    _invert_factor(matrix, threads)
    bands = row_blocks(len(matrix), BAND)
    squares = run_parts(partial(_multiply, matrix), bands, threads)
    for band, square in zip(bands, squares, strict=True):
        matrix[band, band] = square
    mirror(matrix.T, threads=threads)


def _invert_factor(matrix: FloatArray, threads: int) -> None:
    """Put V in the upper half of the matrix, with zeros below in the squares of all bands.

    With A, B, C the parts of the matrix and V the inverse of the factor of A, the factor has V'B
    beside it and below that the factor of C - (V'B)'(V'B), of which the inverse is W; beside V
    there is -V (V'B) W in the inverse. Nearly all the work are products of large matrices. Those
    of threads are unequal: the long ones come first.
    """
    if len(matrix) <= BAND:
        matrix[:] = _small_inverse_factor(matrix)
        return
    half = BAND * (-(-len(matrix) // BAND) // 2)
    first, second, across = matrix[:half, :half], matrix[half:, half:], matrix[:half, half:]
    rows, columns = row_blocks(half, BAND), row_blocks(len(second), BAND)
    beside = np.empty(across.shape)

    def divide(band: slice) -> None:
        np.matmul(first[: band.stop, band].T, across[: band.stop], out=beside[band])

    def reduce(band: slice) -> None:
        second[band, band.start :] -= beside[:, band].T @ beside[:, band.start :]

    def multiply_after(band: slice) -> None:
        across[:, band] = beside[:, : band.stop] @ second[: band.stop, band]

    def multiply_before(band: slice) -> None:
        np.matmul(first[band, band.start :], across[band.start :], out=beside[band])

    _invert_factor(first, threads)
    run_parts(divide, rows[::-1], threads)
    run_parts(reduce, columns, threads)
    _invert_factor(second, threads)
    run_parts(multiply_after, columns[::-1], threads)
    run_parts(multiply_before, rows, threads)
    np.negative(beside, out=across)


def _small_inverse_factor(matrix: FloatArray) -> FloatArray:
    factor, failed = linalg.lapack.dpotrf(matrix)
    if failed:
        raise ValueError(NOT_POSITIVE)
    found: FloatArray = linalg.lapack.dtrtri(factor)[0]
    return found


def _multiply(matrix: FloatArray, band: slice) -> FloatArray:
    """Put a band of V V' below the diagonal, and return its square."""
    mine = matrix[band, band.start :]
    matrix[band, : band.start] = mine @ matrix[: band.start, band.start :].T
    square: FloatArray = mine @ mine.T
    return square
