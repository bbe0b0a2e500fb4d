"""How values travel to a worker process: what lies in a mapped file goes as the file's name.

A collection or model that was opened from a folder is mostly arrays mapped from its files. Sent
as numbers they would pass through the scheduler and fill every worker's memory; sent as names the
workers map the same files. Everything else goes as it is.
"""

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, is_dataclass
from enum import Enum
from functools import cached_property, lru_cache, partial
from pathlib import Path
from types import MethodType
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sugartag.errors import EngineError

BYTES_COMPARED = 4096
"""Of either end of a file, to know it from another of the same name and size."""


@dataclass(frozen=True)
class MappedArray:
    """Where the numbers of an array lie."""

    file: str
    offset: int
    shape: tuple[int, ...]
    dtype: npt.DTypeLike
    is_fortran: bool
    fingerprint: tuple[int, int]

    def opened(self, where: str) -> npt.NDArray[Any]:
        """Map the same numbers here; ``where`` is what the error calls this process."""
        try:
            found = _fingerprint(Path(self.file))
        except OSError as error:
            raise EngineError(
                f"{where} cannot open {self.file}: {error.strerror or error}; the folder must be "
                "there under the same path on every machine that works"
            ) from error
        if found != self.fingerprint:
            raise EngineError(
                f"{where} finds another file at {self.file} than this machine; "
                "the folder must be the same on every machine that works"
            )
        return np.memmap(
            self.file,
            dtype=self.dtype,
            mode="r",
            offset=self.offset,
            shape=self.shape,
            order="F" if self.is_fortran else "C",
        )


@dataclass(frozen=True)
class _Repeated:
    """An array of one number, such as the ones of a matrix of tags."""

    number: Any
    size: int


@dataclass(frozen=True)
class _Parts:
    """A value taken apart: what puts it together again, and the packed parts."""

    join: Callable[..., Any]
    parts: tuple[Any, ...]


@dataclass(frozen=True)
class Packer:
    """Takes values apart; a value met twice is packed once, so that it stays one value."""

    _seen: dict[int, tuple[Any, Any]] = field(default_factory=dict)

    def packed(self, value: Any) -> Any:
        """Return the value with every mapped array in it replaced by its place."""
        if id(value) not in self._seen:
            # The value is kept beside the result, so that its id is not given to another.
            self._seen[id(value)] = (value, self._packed(value))
        return self._seen[id(value)][1]

    def _packed(self, value: Any) -> Any:
        if isinstance(value, _Repeated):
            return value
        if isinstance(value, np.ndarray):
            # One mapped to a file that others cannot open arrives as any other.
            return _place_of(value) or (np.asarray(value) if type(value) is np.memmap else value)
        if type(value) is sparse.csr_array:
            arrays = (_repeated(value.data), value.indices, value.indptr)
            return self._parts(_csr_array, value.shape, *arrays)
        if type(value) in {tuple, list}:
            return self._parts(_sequence, type(value), *value)
        if type(value) is dict:
            return self._parts(_mapping, tuple(value), *value.values())
        if isinstance(value, MethodType):
            return self._parts(getattr, value.__self__, value.__name__)
        if type(value) is partial:
            return self._parts(_partial, value.func, value.args, value.keywords)
        if _is_plain_object(value):
            state = _state_of(value)
            return self._parts(_object, type(value), tuple(state), *state.values())
        return value

    def _parts(self, join: Callable[..., Any], *parts: Any) -> _Parts:
        return _Parts(join, tuple(map(self.packed, parts)))


@dataclass(frozen=True)
class Unpacker:
    """Puts packed values together again, in the process that is called ``where``."""

    where: str
    _seen: dict[int, Any] = field(default_factory=dict)

    def unpacked(self, value: Any) -> Any:
        """Return what was packed."""
        if id(value) not in self._seen:
            self._seen[id(value)] = self._unpacked(value)
        return self._seen[id(value)]

    def _unpacked(self, value: Any) -> Any:
        match value:
            case MappedArray():
                return value.opened(self.where)
            case _Repeated():
                return np.full(value.size, value.number)
            case _Parts():
                return value.join(*map(self.unpacked, value.parts))
        return value


def _place_of(array: npt.NDArray[Any]) -> MappedArray | None:
    """Return where a whole, read-only mapped array lies; None if it is not such a one."""
    root: Any = array
    while isinstance(getattr(root, "base", None), np.ndarray):
        root = root.base
    flags = array.flags
    mapped = isinstance(root, np.memmap) and root.mode == "r" and root.filename is not None
    if not mapped or not array.size or not (flags.c_contiguous or flags.f_contiguous):
        return None
    file = Path(root.filename).absolute()
    try:
        fingerprint = _fingerprint(file)
    except OSError:
        return None
    return MappedArray(
        file=str(file),
        offset=root.offset + _address(array) - _address(root),
        shape=array.shape,
        dtype=array.dtype,
        is_fortran=not flags.c_contiguous,
        fingerprint=fingerprint,
    )


def _address(array: npt.NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


def _fingerprint(file: Path) -> tuple[int, int]:
    """Return the size of a file and a checksum of both its ends."""
    state = file.stat()
    return state.st_size, _checksum_of_ends(file, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=4096)
def _checksum_of_ends(file: Path, size: int, _changed: int) -> int:
    with file.open("rb") as opened:
        start = opened.read(BYTES_COMPARED)
        opened.seek(max(0, size - BYTES_COMPARED))
        return zlib.crc32(opened.read(BYTES_COMPARED), zlib.crc32(start))


def _repeated(data: npt.NDArray[Any]) -> Any:
    is_one_number = data.size > 0 and bool((data == data[0]).all())
    return _Repeated(data[0], data.size) if is_one_number else data


def _is_plain_object(value: Any) -> bool:
    """Tell whether an object is its attributes and nothing else, and of a class made for data."""
    kind: Any = type(value)
    is_ours = is_dataclass(kind) or kind.__module__.partition(".")[0] == "sugartag"
    return (
        is_ours
        and kind.__new__ is object.__new__
        and kind.__reduce_ex__ is object.__reduce_ex__
        and kind.__reduce__ is object.__reduce__
        and getattr(kind, "__getstate__", None) is getattr(object, "__getstate__", None)
        and not isinstance(value, Enum)
    )


def _state_of(value: Any) -> dict[str, Any]:
    """Return the attributes of an object but those that it can compute again."""
    kind = type(value)
    slots = [name for base in kind.__mro__ for name in getattr(base, "__slots__", ())]
    state = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    for name, part in getattr(value, "__dict__", {}).items():
        if not isinstance(getattr(kind, name, None), cached_property):
            state[name] = part
    return state


def _object(kind: type[Any], names: tuple[str, ...], *values: Any) -> Any:
    made = object.__new__(kind)
    for name, value in zip(names, values, strict=True):
        # A frozen dataclass refuses to be written to; it was checked when it was first made.
        object.__setattr__(made, name, value)
    return made


def _sequence(kind: Callable[[Any], Any], *values: Any) -> Any:
    return kind(values)


def _mapping(keys: tuple[Any, ...], *values: Any) -> Mapping[Any, Any]:
    return dict(zip(keys, values, strict=True))


def _partial(function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    return partial(function, *args, **named)


def _csr_array(shape: tuple[int, int], *arrays: Any) -> Any:
    return sparse.csr_array(arrays, shape=shape)
