"""Dataclasses of arrays as JSON beside ``.npy`` files, and back; no pickle.

Arrays become files, sparse arrays three of them, a collection a folder of its own, and all else
JSON. When reading, types come from the code and never from the file.
"""

import dataclasses
import math
import types
import typing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from sugartag._rules import Sizes, check_stored, checked_csr
from sugartag.collection.model import Collection
from sugartag.collection.store import CollectionWriter, open_collection, write_into
from sugartag.collection.texts import Texts
from sugartag.storage.arrays import inside, load_array, save_array


@dataclass(frozen=True)
class Writer:
    """Writes arrays to files of a folder, and keeps what each file must be."""

    folder: Path
    files: dict[str, Any]

    def encoded(self, value: Any, name: str) -> Any:
        """Return the value as JSON, its arrays written to files."""
        if isinstance(value, np.ndarray):
            self.files[name] = save_array(self.folder, name, value).as_json()
            return {"array": name}
        if isinstance(value, sparse.csr_array):
            parts = {k: getattr(value, k) for k in ("data", "indices", "indptr")}
            made = {k: self.encoded(array, f"{name}.{k}") for k, array in parts.items()}
            return {"csr": made, "shape": list(value.shape)}
        if isinstance(value, Texts):
            first, last = value.offsets[0], value.offsets[-1]
            data = self.encoded(value.data[first:last], f"{name}.data")
            return {"texts": [data, self.encoded(value.offsets - first, f"{name}.offsets")]}
        if isinstance(value, Collection):
            (self.folder / name).mkdir()
            write_into(CollectionWriter(self.folder / name), value)
            return {"collection": name}
        if dataclasses.is_dataclass(value):
            fields = [field.name for field in dataclasses.fields(value)]
            return {key: self.encoded(getattr(value, key), f"{name}.{key}") for key in fields}
        if isinstance(value, tuple):
            return list(value)
        if isinstance(value, float) and not math.isfinite(value):
            return {"float": str(value)}
        return value


@dataclass(frozen=True)
class Reader:
    """Reads what a writer wrote, after checking every file."""

    folder: Path
    files: dict[str, Any]

    def checked(self, state: Any, name: str, kind: type[Any], sizes: Sizes) -> Any:
        """Return a part of the model, after checking that it is all that its type says."""
        found = self.decoded(state[name], kind)
        check_stored(found, kind, sizes, name)
        return found

    def decoded(self, value: Any, hint: Any) -> Any:
        """Return the value of the type that the code says belongs there."""
        if typing.get_origin(hint) is typing.Annotated:
            hint = typing.get_args(hint)[0]
        if isinstance(hint, types.UnionType):
            if value is None:
                return None
            options = [option for option in typing.get_args(hint) if option is not types.NoneType]
            return self.decoded(value, options[0])
        kind = typing.get_origin(hint) or hint
        if kind is np.ndarray:
            return self._array(value)
        if kind is sparse.csr_array:
            parts = {key: self._array(entry) for key, entry in value["csr"].items()}
            n_rows, n_columns = value["shape"]
            return checked_csr(**parts, shape=(n_rows, n_columns))
        if kind is Texts:
            return Texts(*(self._array(entry) for entry in value["texts"]))
        if kind is Collection:
            return open_collection(inside(self.folder, value["collection"]))
        if dataclasses.is_dataclass(kind):
            hints = typing.get_type_hints(kind, include_extras=True)
            names = [field.name for field in dataclasses.fields(kind)]
            made: Any = kind
            return made(**{name: self.decoded(value[name], hints[name]) for name in names})
        if kind is tuple:
            return tuple(self.decoded(item, typing.get_args(hint)[0]) for item in value)
        if kind is float:
            return float(value["float"] if isinstance(value, dict) else value)
        return of_type(value, kind) if kind in {int, str, bool} else value

    def _array(self, entry: Any) -> Any:
        return load_array(self.folder, self.files[entry["array"]], verify=True)


def of_type(value: Any, kind: type[Any]) -> Any:
    """Return a plain value, or raise if it is of another type."""
    if type(value) is not kind:
        raise TypeError(f"{value!r} is not {kind.__name__}")
    return value
