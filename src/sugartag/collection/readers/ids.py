"""Which image has an id, and which id two images have, without holding the ids in memory.

Ids are hashed; hash, row and line go to bucket files. Equal hashes only make candidates: the ids
themselves, read back from the shards, decide.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sugartag._typing import BoolArray, IntArray
from sugartag.collection.texts import Texts


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


BUCKETS = 256
"""A hundred million images make buckets of ten megabytes."""
_BUCKET_SHIFT = np.uint64(64 - 8)


@dataclass(frozen=True)
class Duplicate:
    """Two rows of a table with the same id."""

    image_id: str
    first_line: int
    second_line: int


class IdIndex:
    """Finds repeated ids and the rows of ids; ids are added shard by shard."""

    def __init__(
        self,
        folder: Path,
        *,
        rows_per_shard: int,
        ids_of_shard: Callable[[int], Texts],
        hash_of: Callable[[str], int] = hash,
    ) -> None:
        """Keep the bucket files in ``folder``; ``ids_of_shard`` reads back what was added.

        ``hash_of`` gives a signed 64-bit number. Python's own hash is random from process to
        process, so that nobody can prepare ids that collide; no result depends on it.
        """
        self._added = Buckets(folder / "added", width=3)
        self._sorted = folder / "sorted"
        self._rows_per_shard = rows_per_shard
        self._ids_of_shard = ids_of_shard
        self._hash_of = hash_of
        self._n_rows = 0

    def add(self, ids: Sequence[str], lines: Sequence[int]) -> Duplicate | None:
        """Take up the next shard's ids and their lines; return a repetition within them."""
        repeated = _first_repetition(ids, lines) if len(set(ids)) < len(ids) else None
        hashes = self._hashes(ids)
        rows = np.arange(self._n_rows, self._n_rows + len(ids))
        self._added.add(_bucket_of(hashes), np.column_stack([hashes, rows, lines]))
        self._n_rows += len(ids)
        return repeated

    def sort(self) -> Duplicate | None:
        """Make the index ready for look-ups; return the repetition on the earliest line."""
        self._sorted.mkdir()
        found: list[Duplicate] = []
        for number in range(BUCKETS):
            records = self._added.read(number)
            if len(records) == 0:
                continue
            records = records[np.argsort(records[:, 0])]
            self._path(number).write_bytes(records[:, :2].T.tobytes())
            duplicate = self._repetition(records)
            found += [] if duplicate is None else [duplicate]
        return min(found, key=lambda duplicate: duplicate.second_line, default=None)

    def rows_of(self, ids: Sequence[str]) -> tuple[IntArray, BoolArray]:
        """Return the row of each id, and whether there is such an id (its row is 0 if not)."""
        rows = np.zeros(len(ids), dtype=np.int64)
        known = np.zeros(len(ids), dtype=np.bool_)
        asked, candidate = self._candidates(self._hashes(ids))
        texts = self._texts_at(candidate)
        for index, row, text in zip(asked.tolist(), candidate.tolist(), texts, strict=True):
            if ids[index] == text:
                rows[index], known[index] = row, True
        return rows, known

    def _hashes(self, ids: Sequence[str]) -> IntArray:
        return np.fromiter(map(self._hash_of, ids), dtype=np.int64, count=len(ids))

    def _path(self, number: int) -> Path:
        return self._sorted / f"{number:05d}.int64"

    def _candidates(self, hashes: IntArray) -> tuple[IntArray, IntArray]:
        """Return pairs of a position in ``hashes`` and a row whose id has that hash."""
        nothing = np.empty(0, dtype=np.int64)
        asked, candidates = [nothing], [nothing]
        bucket = _bucket_of(hashes)
        for number in np.unique(bucket).tolist():
            path = self._path(number)
            if path.exists():
                inside = np.flatnonzero(bucket == number)
                stored = np.memmap(path, dtype=np.int64, mode="r").reshape(2, -1)
                which, place = _all_places(stored[0], hashes[inside])
                asked.append(inside[which])
                candidates.append(stored[1][place])
        return np.concatenate(asked), np.concatenate(candidates)

    def _repetition(self, records: IntArray) -> Duplicate | None:
        """Return the repeated id on the earliest line among records sorted by hash."""
        same = records[1:, 0] == records[:-1, 0]
        candidate = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))
        chosen = records[candidate]
        chosen = chosen[np.argsort(chosen[:, 1])]
        if len(chosen) == 0:
            return None
        return _first_repetition(self._texts_at(chosen[:, 1]), chosen[:, 2].tolist())

    def _texts_at(self, rows: IntArray) -> list[str]:
        """Read the ids of some rows, each shard once."""
        texts = [""] * len(rows)
        shard_of = rows // self._rows_per_shard
        for shard in np.unique(shard_of).tolist():
            chosen = np.flatnonzero(shard_of == shard)
            inside = rows[chosen] - shard * self._rows_per_shard
            found = _texts_of(self._ids_of_shard(shard), inside)
            for index, text in zip(chosen.tolist(), found, strict=True):
                texts[index] = text
        return texts


def _first_repetition(ids: Sequence[str], lines: Sequence[int]) -> Duplicate | None:
    seen: dict[str, int] = {}
    for image_id, line in zip(ids, lines, strict=True):
        first = seen.setdefault(image_id, line)
        if first != line:
            return Duplicate(image_id, first, line)
    return None


def _texts_of(texts: Texts, rows: IntArray) -> list[str]:
    """Read a few of many texts, touching no others."""
    data = texts.data.data
    starts, stops = texts.offsets[rows].tolist(), texts.offsets[rows + 1].tolist()
    return [str(data[start:stop], "utf-8") for start, stop in zip(starts, stops, strict=True)]


def _bucket_of(hashes: IntArray) -> IntArray:
    return (hashes.view(np.uint64) >> _BUCKET_SHIFT).astype(np.int64)


def _all_places(ascending: IntArray, wanted: IntArray) -> tuple[IntArray, IntArray]:
    """Return pairs of a position in ``wanted`` and a place in ``ascending`` with its value."""
    first = np.searchsorted(ascending, wanted, side="left")
    count = np.searchsorted(ascending, wanted, side="right") - first
    which = np.repeat(np.arange(len(wanted)), count)
    before = np.cumsum(count) - count
    return which, np.arange(len(which)) + np.repeat(first - before, count)
