"""Array types by the word used for them."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
"""Real numbers of any precision."""
IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
"""Indices or counts."""
BoolArray: TypeAlias = npt.NDArray[np.bool_]
SparseRows: TypeAlias = sparse.csr_array[Any, tuple[int, int]]
"""A two-dimensional sparse array, compressed by row."""
Room: TypeAlias = Callable[[int | tuple[int, ...], npt.DTypeLike], npt.NDArray[Any]]
"""Makes zeros of a shape and type, as ``numpy.zeros`` does, or elsewhere than in memory."""
