"""What arrays of numbers must be before compiled loops may see them."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sugartag._typing import SparseRows

Array = npt.NDArray[Any]

WORDS = {"f": "floats", "i": "signed integers", "b": "truth values", "u": "unsigned integers"}
LARGEST_NUMBER = 1e30
"""Of any stored float: products of a few numbers this large are still finite."""
_MOST_BYTES = 8
"""Of one number: what compiled loops can take."""
_ITEMS_AT_ONCE = 1 << 20


def rises(array: Array) -> bool:
    """Tell whether no number is smaller than the one before it, of whatever type they are."""
    # The difference of unsigned numbers is never below 0: they are compared instead.
    return bool((array[1:] >= array[:-1]).all())


def check_csr(data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> None:
    """Raise unless the parts of a sparse array make one that can be gone through safely."""
    for part, kinds in ((indices, "i"), (indptr, "i"), (data, "bif")):
        check_numbers(part, kinds)
        if part.ndim != 1:
            raise ValueError("is a sparse array whose parts are not flat")
    n_rows, n_columns = shape
    if not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError(f"is a sparse array of shape {shape}")
    if len(indptr) != n_rows + 1 or indptr[0] != 0 or not rises(indptr):
        raise ValueError("is a sparse array whose rows do not follow each other")
    if not indptr[-1] == len(indices) == len(data):
        raise ValueError("is a sparse array whose parts are not equally long")
    lowest, highest = extremes(indices)
    if lowest < 0 or highest >= n_columns:
        raise ValueError(f"is a sparse array that points outside its {n_columns} columns")


def checked_csr(data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> SparseRows:
    """Return the sparse array of some parts; raise ``ValueError`` if they make none."""
    check_csr(data, indices, indptr, shape)
    return sparse.csr_array((data, indices, indptr), shape=shape)


def check_numbers(array: Array, kinds: str) -> None:
    if not isinstance(array, np.ndarray) or array.dtype.kind not in kinds:
        found = getattr(array, "dtype", type(array).__name__)
        raise ValueError(f"is {found}, not {' or '.join(WORDS[kind] for kind in kinds)}")
    if not array.dtype.isnative or array.dtype.itemsize > _MOST_BYTES:
        raise ValueError(f"is {array.dtype.str}, which is not a type of this machine")


def check_finite(array: Array) -> None:
    lowest, highest = extremes(array) if array.size else (0, 0)
    # Written so that NaN, which is neither above nor below anything, does not pass.
    if not (lowest >= -LARGEST_NUMBER and highest <= LARGEST_NUMBER):
        raise ValueError(f"has numbers that are not finite, or beyond {LARGEST_NUMBER:g}")


def extremes(value: Any) -> tuple[Any, Any]:
    """Return the lowest and the highest of some numbers; of none, no bound excludes them."""
    if isinstance(value, sparse.csr_array):
        value = value.data
    if not isinstance(value, np.ndarray):
        return value, value
    if not value.size:
        return math.inf, -math.inf
    flat = value.reshape(-1) if value.flags.c_contiguous else value.ravel(order="K")
    lowest, highest = [], []
    for start in range(0, flat.size, _ITEMS_AT_ONCE):
        some = flat[start : start + _ITEMS_AT_ONCE]
        lowest.append(some.min())
        highest.append(some.max())
    return np.min(lowest).item(), np.max(highest).item()
