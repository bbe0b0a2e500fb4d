"""Products of a tags x images x users tensor with a matrix along one of its modes.

Modes are numbered from 0, so the paper's ``×₁``, ``×₂``, ``×₃`` are modes 0, 1 and 2.
"""

from typing import Any

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, SparseRows
from sugartag.linalg.threads import run_parts

COLUMNS_PER_CHUNK = 1024


def mode_product(tensor: FloatArray, matrix: FloatArray | SparseRows, mode: int) -> FloatArray:
    """Multiply every fibre of ``tensor`` along ``mode`` by ``matrix`` (rows x fibre length)."""
    if matrix.shape[1] != tensor.shape[mode]:
        raise ValueError(
            f"a matrix of shape {matrix.shape} cannot multiply mode {mode} of a tensor of shape "
            f"{tensor.shape}: {matrix.shape[1]} is not {tensor.shape[mode]}"
        )
    if mode == 0:
        flat: FloatArray = matrix @ tensor.reshape(tensor.shape[0], -1)
        return flat.reshape(matrix.shape[0], *tensor.shape[1:])
    dense = matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)
    return dense @ tensor if mode == 1 else tensor @ dense.T


def apply_to_tags(
    matrices: tuple[FloatArray | SparseRows, ...],
    tensor: FloatArray,
    out: FloatArray,
    *,
    threads: int = 1,
) -> None:
    """Write ``tensor`` multiplied along the tag mode by square matrices, first one first.

    Works through the tensor a few columns at a time, so that no second tensor is needed; ``out``
    may be ``tensor`` itself.
    """
    require_contiguous(out)
    flat, flat_out = tensor.reshape(tensor.shape[0], -1), out.reshape(out.shape[0], -1)

    def apply(columns: slice) -> None:
        piece: Any = np.ascontiguousarray(flat[:, columns])
        for matrix in matrices:
            piece = matrix @ piece
        flat_out[:, columns] = piece

    run_parts(apply, column_chunks(flat.shape[1]), threads)


def require_contiguous(tensor: FloatArray) -> None:
    """Refuse a tensor that cannot be written as a matrix of tags x all else."""
    if not tensor.flags.c_contiguous:
        raise ValueError(
            f"a tensor of shape {tensor.shape} and strides {tensor.strides} is not contiguous and "
            "cannot be written in place; copy it first"
        )


def column_chunks(width: int) -> list[slice]:
    """Return runs of columns, few enough to be copied out and worked on."""
    return [
        slice(start, min(start + COLUMNS_PER_CHUNK, width))
        for start in range(0, width, COLUMNS_PER_CHUNK)
    ]


def inner(left: FloatArray, right: FloatArray) -> float:
    """Return the Frobenius inner product, summed slice by slice in float64."""
    if left.dtype == np.float64 == right.dtype:
        return float(np.vdot(left, right))
    return float(
        sum(
            np.vdot(a.astype(np.float64), b.astype(np.float64))
            for a, b in zip(left, right, strict=True)
        )
    )
