"""Features that stand in another order than the images, or in several files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from sugartag._typing import FloatArray
from sugartag.collection.readers.batch import shown
from sugartag.collection.readers.table import Table
from sugartag.errors import CollectionError
from sugartag.storage.arrays import map_npy

PIECE_ROWS = 2048


class RowsAt(Protocol):
    """Gives rows of numbers by their index."""

    @property
    def dimensions(self) -> int:
        """Numbers of a row."""

    def at(self, rows: Sequence[int]) -> FloatArray:
        """Read some rows, as float32."""


@dataclass(frozen=True)
class GatheredFeatures:
    """Features that are looked up by the ids of the images, or by their order without a look-up."""

    path: Path
    source: RowsAt
    row_of: Mapping[str, int] | None = None
    """The row of each image; None where row i belongs to image i."""
    n_rows: int | None = None

    @property
    def dimensions(self) -> int:
        """Numbers that describe an image."""
        return self.source.dimensions

    def check_rows(self, table: Table, n_images: int) -> None:
        """Raise if there must be a row for each image, and is not."""
        if self.n_rows is not None and self.n_rows != n_images:
            raise CollectionError(
                f"{self.path} has {self.n_rows:,} rows and {table} has {n_images:,}; "
                "row i of the features must belong to row i of the table"
            )

    def copy_rows(self, start: int, target: Path, ids: Sequence[str]) -> None:
        """Write the features of the images ``ids``, the first of which is row ``start``."""
        with target.open("wb") as file:
            header = {"descr": "<f4", "fortran_order": False, "shape": (len(ids), self.dimensions)}
            np.lib.format.write_array_header_1_0(file, header)
            for first in range(0, len(ids), PIECE_ROWS):
                names = list(ids[first : first + PIECE_ROWS])
                values = self.source.at(self._rows(start + first, names))
                if not np.isfinite(values).all():
                    bad = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
                    raise CollectionError(
                        f"{self.path}: the features of image {shown(names[bad])} are not finite"
                    )
                file.write(np.ascontiguousarray(values, dtype="<f4").data)

    def _rows(self, start: int, names: Sequence[str]) -> list[int]:
        if self.row_of is None:
            return list(range(start, start + len(names)))
        missing = next((name for name in names if name not in self.row_of), None)
        if missing is not None:
            raise CollectionError(
                f"{self.path} has no features of image {shown(missing)}; compute them"
            )
        return [self.row_of[name] for name in names]


@dataclass(frozen=True)
class NpyParts:
    """Several ``.npy`` files, one after the other."""

    paths: tuple[Path, ...]
    starts: tuple[int, ...]
    """The first row of each file, and the number of rows of all."""
    dimensions: int

    @classmethod
    def of(cls, paths: Sequence[Path]) -> "NpyParts":
        """Check that the files hold floats of one width."""
        starts, widths = [0], set()
        for path in paths:
            array = map_npy(path)
            if array.ndim != 2 or array.dtype.kind != "f":
                raise CollectionError(
                    f"{path} holds {array.dtype} of shape {array.shape}, not rows"
                )
            starts.append(starts[-1] + array.shape[0])
            widths.add(array.shape[1])
        if len(widths) != 1 or widths == {0}:
            raise CollectionError(f"{paths[0].parent}: rows of {sorted(widths)} numbers; one width")
        return cls(tuple(paths), tuple(starts), widths.pop())

    def at(self, rows: Sequence[int]) -> FloatArray:
        """Read some rows."""
        wanted = np.asarray(rows, dtype=np.int64)
        found = np.empty((len(wanted), self.dimensions), dtype=np.float32)
        part = np.searchsorted(self.starts, wanted, side="right") - 1
        for number in np.unique(part).tolist():
            chosen = np.flatnonzero(part == number)
            found[chosen] = map_npy(self.paths[number])[wanted[chosen] - self.starts[number]]
        return found
