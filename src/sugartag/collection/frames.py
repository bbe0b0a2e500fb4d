"""Data frames of any library as columns, and columns as data frames."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import PurePath
from typing import Any
from uuid import UUID

import numpy as np

from sugartag._typing import SparseRows
from sugartag.collection.model import Collection
from sugartag.errors import CollectionError, SettingsError

KINDS = ("pandas", "polars", "arrow", "dict")
"""The libraries that frames are made with; the first that is installed, unless asked otherwise."""

Columns = dict[str, list[Any]]


def frame_of_collection(collection: Collection, kind: str | None = None) -> Any:
    """Return a row for each image; see :meth:`Collection.to_frame`."""
    whole = slice(0, collection.n_images)
    owners = [*collection.owner_names, None]
    columns: Columns = {
        "image_id": list(collection.ids),
        "owner": [owners[number] for number in collection.owner.tolist()],
        "tags": _named(collection.tags_of(whole), collection.tag_names),
    }
    for name, texts in (("path", "paths"), ("title", "titles")):
        if (found := collection.texts_of(texts)) is not None:
            columns[name] = list(found)
    if collection.has_truth:
        columns["concepts"] = _named(collection.truth_of(whole), collection.concept_names)
    return made_frame(columns, kind)


def made_frame(columns: Mapping[str, Any], kind: str | None = None) -> Any:
    """Return columns as a frame of a library; of the first that is installed, if none is named."""
    if kind is not None and kind not in KINDS:
        raise SettingsError(f"there is no kind of frame {kind!r}; choose from: {', '.join(KINDS)}")
    for name in KINDS if kind is None else (kind,):
        try:
            return _MAKERS[name](columns)
        except ModuleNotFoundError as error:
            if kind is not None:
                raise SettingsError(
                    f"{kind} is not installed; choose another kind, or: pip install {error.name}"
                ) from error
    raise AssertionError("a dict can always be made")


def kind_of(frame: Any) -> str | None:
    """Return the library of a frame, if frames can be made with it."""
    if isinstance(frame, Mapping):
        return "dict"
    module = type(frame).__module__.partition(".")[0]
    return {"pandas": "pandas", "polars": "polars", "pyarrow": "arrow"}.get(module)


def columns_of(frame: Any) -> Columns:
    """Return the columns of a frame as lists; what is missing is None."""
    if isinstance(frame, Mapping):
        return _checked_lengths({str(name): _listed(values) for name, values in frame.items()})
    import narwhals

    try:
        found = narwhals.from_native(frame)
    except narwhals.exceptions.DuplicateError as error:
        raise CollectionError("the frame has two columns of one name; rename one") from error
    except TypeError as error:
        raise CollectionError(
            f"{type(frame).__name__} is no data frame; pass one of pandas, Polars or Arrow, "
            "or a mapping of columns"
        ) from error
    eager: Any = found.collect() if isinstance(found, narwhals.LazyFrame) else found
    columns = {str(name): _cells(eager[name]) for name in eager.columns}
    index = narwhals.maybe_get_index(eager)
    if index is not None and index.name is not None and str(index.name) not in columns:
        columns = {str(index.name): list(index), **columns}
    return columns


def _cells(series: Any) -> list[Any]:
    missing = series.is_null().to_list()
    values = series.to_list()
    if any(missing) and series.dtype.is_float():
        # pandas makes floats of whole numbers where some are missing.
        there = (value for value, gone in zip(values, missing, strict=True) if not gone)
        if all(map(float.is_integer, there)):
            values = [value if gone else int(value) for value, gone in zip(values, missing)]  # noqa: B905
    return [None if gone else _plain(v) for v, gone in zip(values, missing, strict=True)]


def is_missing(value: Any) -> bool:
    """Tell whether a cell is missing: None, NaN or what pandas has for them."""
    is_nan = isinstance(value, float | np.floating) and bool(np.isnan(value))
    return value is None or is_nan or type(value).__name__ in {"NAType", "NaTType"}


def _listed(values: Any) -> list[Any]:
    return [None if is_missing(v) else _plain(v) for v in _plain(values)]


def _plain(value: Any) -> Any:
    """Return a cell as Python has it: arrays and tuples as lists, paths and UUIDs as text."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, tuple | set | frozenset):
        return sorted(value) if isinstance(value, set | frozenset) else list(value)
    return str(value) if isinstance(value, PurePath | UUID) else value


def _checked_lengths(columns: Columns) -> Columns:
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        lengths_shown = ", ".join(f"{name} {length:,}" for name, length in lengths.items())
        raise CollectionError(f"the columns are not of one length: {lengths_shown}")
    return columns


def _named(matrix: SparseRows, names: Sequence[str]) -> list[list[str]]:
    """Return the names of each row's entries."""
    found = [names[column] for column in matrix.indices.tolist()]
    bounds = matrix.indptr.tolist()
    return [found[start:stop] for start, stop in pairwise(bounds)]


def _pandas(columns: Mapping[str, Any]) -> Any:
    import pandas

    return pandas.DataFrame(dict(columns))


def _polars(columns: Mapping[str, Any]) -> Any:
    import polars

    return polars.DataFrame(dict(columns))


def _arrow(columns: Mapping[str, Any]) -> Any:
    import pyarrow

    return pyarrow.table(dict(columns))


_MAKERS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "pandas": _pandas,
    "polars": _polars,
    "arrow": _arrow,
    "dict": dict,
}
