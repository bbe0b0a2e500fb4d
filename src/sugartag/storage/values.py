"""One value in one file, exactly as it was: numbers, texts, arrays, and our dataclasses of them.

::

    a line                    sugartag-value/1
    8 bytes                   how long the structure is, little-endian
    structure                 JSON; an array stands in it with type, shape and order of axes
    arrays                    their bytes, end to end
    32 bytes                  SHA-256 of all before

Nothing is ever unpickled: a class is one of sugartag's own dataclasses, or the file is refused.
"""

import hashlib
import importlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sugartag._rules import check_csr
from sugartag.errors import StorageError

MAGIC = b"sugartag-value/1\n"
NUMBERS = "biufc"
"""Kinds of numpy types that are numbers or truth values."""
SLOTTED = {"sugartag.collection.texts:Texts": ("data", "offsets")}
"""Classes that are no dataclasses but as plain, with what they are made of."""
_SHA256_BYTES = 32
_BYTES_AT_ONCE = 1 << 20
_MAKES_NO_SENSE = (LookupError, TypeError, ValueError, AttributeError, ImportError, OverflowError)

Array = npt.NDArray[Any]


def write_value(path: Path, value: Any) -> None:
    """Write a value to a file; raise ``TypeError`` if there is something in it of another kind."""
    taken = _TakenApart()
    structure = json.dumps(taken.apart(value)).encode()
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for piece in (MAGIC, len(structure).to_bytes(8, "little"), structure):
            digest.update(piece)
            file.write(piece)
        for array in taken.arrays:
            raw = array.reshape(-1).view(np.uint8).data
            digest.update(raw)
            file.write(raw)
        file.write(digest.digest())


def read_value(path: Path) -> Any:
    """Return the value in a file; its arrays have the type and the order in memory they had."""
    try:
        with path.open("rb") as file:
            end = _checked_end(file, path)
            file.seek(len(MAGIC))
            structure = json.loads(file.read(int.from_bytes(file.read(8), "little")))
            return _together(structure, file, end)
    except OSError as error:
        if isinstance(error, StorageError):
            raise
        raise StorageError(f"cannot read {path}: {error.strerror or error}") from error
    except (*_MAKES_NO_SENSE, RecursionError) as error:
        raise StorageError(f"{path} is not a stored value: {error}; remove it") from error


def bytes_in(value: Any) -> int:
    """Return about how many bytes a value takes in a file."""
    match value:
        case np.ndarray():
            return int(value.nbytes)
        case sparse.csr_array():
            return sum(map(bytes_in, (value.data, value.indices, value.indptr)))
        case str():
            return len(value)
        case tuple() | list():
            return sum(map(bytes_in, value))
        case dict():
            return sum(map(bytes_in, value.values()))
    if _is_ours(type(value)):
        return sum(bytes_in(getattr(value, name)) for name in _parts_of(type(value)))
    return 8


@dataclass(frozen=True)
class _TakenApart:
    """The arrays of a value, in the order they are met."""

    arrays: list[Array] = field(default_factory=list)

    def apart(self, value: Any) -> Any:
        """Return the structure of a value as JSON."""
        kind = type(value)
        if value is None or kind in {bool, int, float, str}:
            return value
        if isinstance(value, np.generic):
            return {"scalar": self._array(np.asarray(value))}
        # A mapped array is one; it comes back as an array in memory.
        if isinstance(value, np.ndarray) and kind in {np.ndarray, np.memmap}:
            return {"array": self._array(value)}
        if kind is sparse.csr_array and value.ndim == 2:
            arrays = (value.data, value.indices, value.indptr)
            return {"csr": [self._array(array) for array in arrays], "shape": list(value.shape)}
        if kind in {tuple, list}:
            return {kind.__name__: [self.apart(part) for part in value]}
        if kind is slice:
            return {"slice": [self.apart(part) for part in (value.start, value.stop, value.step)]}
        if kind is dict and all(type(key) is str for key in value):
            return {"dict": [[key, self.apart(part)] for key, part in value.items()]}
        if _is_ours(kind):
            parts = [[name, self.apart(getattr(value, name))] for name in _parts_of(kind)]
            return {"class": _name_of(kind), "parts": parts}
        raise TypeError(f"a {kind.__module__}.{kind.__qualname__} cannot be stored as a value")

    def _array(self, array: Array) -> list[Any]:
        if array.dtype.kind not in NUMBERS:
            raise TypeError(f"an array of {array.dtype} cannot be stored as a value")
        # Sums and products depend, in the last bit, on which axis lies closest in memory.
        strides = [abs(stride) for stride in array.strides]
        axes = sorted(range(array.ndim), key=lambda axis: -strides[axis])
        self.arrays.append(np.ascontiguousarray(array.transpose(axes)))
        return [array.dtype.str, list(array.shape), axes]


def _checked_end(file: BufferedReader, path: Path) -> int:
    """Return where the arrays end, after checking that no byte of the file has changed."""
    size = path.stat().st_size
    left = end = size - _SHA256_BYTES
    digest = hashlib.sha256()
    begins = file.read(len(MAGIC))
    if begins != MAGIC:
        raise StorageError(f"{path} is not a stored value; remove it")
    digest.update(begins)
    left -= len(begins)
    while left > 0 and (piece := file.read(min(left, _BYTES_AT_ONCE))):
        digest.update(piece)
        left -= len(piece)
    if left or file.read() != digest.digest():
        raise StorageError(f"{path} is cut off or damaged; remove it")
    return end


def _together(structure: Any, file: BufferedReader, end: int) -> Any:
    """Return the value of a structure; its arrays are read in the order they stand in it."""

    def of(part: Any) -> Any:
        return _together(part, file, end)

    match structure:
        case None | bool() | int() | float() | str():
            return structure
        case {"scalar": described}:
            return _array(described, file, end)[()]
        case {"array": described}:
            return _array(described, file, end)
        case {"csr": described, "shape": [n_rows, n_columns]}:
            return _csr([_array(part, file, end) for part in described], (n_rows, n_columns))
        case {"tuple": parts}:
            return tuple(map(of, parts))
        case {"list": parts}:
            return list(map(of, parts))
        case {"slice": parts}:
            return slice(*map(of, parts))
        case {"dict": pairs}:
            return {str(key): of(part) for key, part in pairs}
        case {"class": str(name), "parts": pairs}:
            return _made(_class_named(name), ((key, of(part)) for key, part in pairs))
    raise ValueError(f"{str(structure)[:80]!r} is not a value")


def _array(described: Any, file: BufferedReader, end: int) -> Array:
    name, shape, axes = described
    kind = np.dtype(str(name))
    if kind.kind not in NUMBERS:
        raise ValueError(f"an array of {kind}, not of numbers")
    if sorted(axes) != list(range(len(shape))) or min(shape, default=0) < 0:
        raise ValueError(f"an array of shape {shape} with the axes {axes}")
    lying = tuple(shape[axis] for axis in axes)
    if int(np.prod(lying, dtype=object)) * kind.itemsize > end - file.tell():
        raise ValueError(f"an array of shape {shape} in too few bytes")
    array = np.empty(lying, kind)
    file.readinto(array.reshape(-1).view(np.uint8).data)
    return array.transpose(np.argsort(axes))


def _csr(parts: list[Array], shape: tuple[int, int]) -> Any:
    data, indices, indptr = parts
    check_csr(data, indices, indptr, shape)
    made = sparse.csr_array(shape, dtype=data.dtype)
    # Set, and not given, for then the types of the indices may be changed.
    made.data, made.indices, made.indptr = data, indices, indptr
    return made


def _is_ours(kind: type[Any]) -> bool:
    in_package = kind.__module__.startswith("sugartag.")
    return in_package and (is_dataclass(kind) or _name_of(kind) in SLOTTED)


def _name_of(kind: type[Any]) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _parts_of(kind: type[Any]) -> tuple[str, ...]:
    if _name_of(kind) in SLOTTED:
        return SLOTTED[_name_of(kind)]
    return tuple(part.name for part in fields(kind))


def _class_named(name: str) -> type[Any]:
    module, _, qualified = name.partition(":")
    if not module.startswith("sugartag."):
        raise ValueError(f"a {name}, which is not a class of sugartag")
    found: Any = importlib.import_module(module)
    for step in qualified.split("."):
        found = getattr(found, step)
    if not (isinstance(found, type) and _is_ours(found) and _name_of(found) == name):
        raise ValueError(f"a {name}, which is not a class of sugartag that holds values")
    return found


def _made(kind: type[Any], parts: Iterator[tuple[str, Any]]) -> Any:
    made = object.__new__(kind)
    for name, value in parts:
        if name not in _parts_of(kind):
            raise ValueError(f"a {kind.__qualname__} with a part {name!r}")
        # A frozen dataclass refuses to be written to; it was checked when it was first made.
        object.__setattr__(made, name, value)
    if hasattr(made, "validate"):
        made.validate()
    return made
