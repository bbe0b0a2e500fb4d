"""Records of integers too many for memory, kept in bucket files on disk."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sugartag._typing import IntArray


@dataclass(frozen=True)
class Buckets:
    """Files of records, each record ``width`` 64-bit integers; a bucket is read as a whole."""

    folder: Path
    width: int

    def add(self, bucket: IntArray, records: IntArray) -> None:
        """Append each record to the bucket of its number, in order."""
        self.folder.mkdir(parents=True, exist_ok=True)
        order = np.argsort(bucket, kind="stable")
        numbers, starts = np.unique(bucket[order], return_index=True)
        ordered = np.ascontiguousarray(records[order], dtype=np.int64)
        stops = np.append(starts[1:], len(ordered))
        for number, start, stop in zip(numbers.tolist(), starts, stops, strict=False):
            with self._path(number).open("ab") as file:
                file.write(ordered[start:stop].data)

    def read(self, number: int) -> IntArray:
        """Return the records of one bucket, in the order in which they were added."""
        path = self._path(number)
        if not path.exists():
            return np.empty((0, self.width), dtype=np.int64)
        return np.fromfile(path, dtype=np.int64).reshape(-1, self.width)

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:05d}.int64"
