"""Image features from a ``.npy`` file, copied into the shards a piece at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from sugartag._typing import FloatArray
from sugartag.collection.readers.batch import shown
from sugartag.collection.readers.table import Table, check_file
from sugartag.collection.rows import LARGEST_FEATURE
from sugartag.errors import CollectionError
from sugartag.storage.arrays import map_npy

PIECE_BYTES = 4 << 20
_WIDEST_ITEM = 8


class FeatureRows(Protocol):
    """Where the features of the images come from."""

    @property
    def dimensions(self) -> int:
        """Numbers that describe an image."""

    def check_rows(self, table: Table, n_images: int) -> None:
        """Raise unless there are features for this many images."""

    def copy_rows(self, start: int, target: Path, ids: Sequence[str]) -> None:
        """Write the features of the images ``ids``, the first of which is row ``start``."""


@dataclass(frozen=True)
class FeatureFile:
    """A checked ``.npy`` file: two axes, floats, at least one column."""

    path: Path
    n_rows: int
    dimensions: int
    stored_as: np.dtype[np.floating]
    """float16 stays; everything wider is stored as float32."""

    def check_rows(self, table: Table, n_images: int) -> None:
        """Raise unless there is a row for each image."""
        if self.n_rows != n_images:
            raise CollectionError(
                f"{self.path} has {self.n_rows:,} rows and {table} has {n_images:,}; "
                "row i of the features must belong to row i of the table"
            )

    def copy_rows(self, start: int, target: Path, ids: Sequence[str]) -> None:
        """Write the features of the images ``ids``, the first of which is row ``start``."""
        step = max(1, PIECE_BYTES // (self.dimensions * _WIDEST_ITEM))
        with target.open("wb") as file:
            header = {
                "descr": np.lib.format.dtype_to_descr(self.stored_as),
                "fortran_order": False,
                "shape": (len(ids), self.dimensions),
            }
            np.lib.format.write_array_header_1_0(file, header)
            for first in range(0, len(ids), step):
                names = ids[first : first + step]
                piece = slice(start + first, start + first + len(names))
                file.write(np.ascontiguousarray(self._checked(piece, names)).data)

    def _checked(self, piece: slice, ids: Sequence[str]) -> FloatArray:
        # Mapped again for each piece, so that pages already copied do not pile up in memory.
        values: FloatArray = np.array(map_npy(self.path)[piece])
        with np.errstate(over="ignore"):
            stored = values.astype(self.stored_as, copy=False)
        usable = np.isfinite(stored)
        if stored.dtype.itemsize > 2:
            usable &= np.abs(stored) <= LARGEST_FEATURE
        if not usable.all():
            row, column = (int(place) for place in np.argwhere(~usable)[0])
            value = values[row, column]
            large = f"above {LARGEST_FEATURE:g}, the largest that is taken"
            fault = large if np.isfinite(value) else "not a finite number"
            index = piece.start + row
            raise CollectionError(
                f"{self.path}, row {index + 1} (index {index}, image {shown(ids[row])}), "
                f"column {column + 1}: {value!s} is {fault}; "
                "compute this row again, or leave the image out of both files"
            )
        return stored


def open_features(path: Path | FeatureRows) -> FeatureRows:
    """Check what a features file is, without reading its rows."""
    if not isinstance(path, Path):
        return path
    check_file(path)
    array = map_npy(path)
    if array.dtype.kind != "f":
        raise CollectionError(
            f"{path} holds {array.dtype}, not floats; save it with array.astype('float32')"
        )
    if array.ndim != 2 or array.shape[1] == 0:
        raise CollectionError(f"{path} has shape {array.shape}; save an array of images x numbers")
    stored_as: np.dtype[np.floating] = np.dtype(np.float32)
    if array.dtype.itemsize == 2:
        stored_as = np.dtype(np.float16)
    return FeatureFile(path, array.shape[0], array.shape[1], stored_as)
