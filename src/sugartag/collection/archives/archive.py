"""What an archive gives to the importer, and what its readers share."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from sugartag.collection.readers.batch import Batch
from sugartag.collection.readers.features import FeatureRows
from sugartag.collection.readers.table import Stream
from sugartag.errors import CollectionError

ROWS_PER_BATCH = 4096
DEEPEST = 3
"""How many folders down a file of an archive is looked for: archives unpack in many ways."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Archive:
    """The parts of an archive, each read when the importer comes to it."""

    table: Stream
    features: FeatureRows | None = None
    groups: Stream | None = None
    truth: Stream | None = None
    images_root: Path | None = None
    raw_tags: bool = False
    """Whether the tags are as people typed them, so that the built-in stop tags are of use."""


def stream(path: Path, rows: Callable[[], Iterable[Row]], *, total: int = 0) -> Stream:
    """Return rows as the importer reads them; ``total`` is said in the progress, if it is known."""

    def batches() -> Iterator[Batch]:
        done = 0
        iterator = iter(rows())
        while chunk := list(islice(iterator, ROWS_PER_BATCH)):
            numbers = range(done + 1, done + len(chunk) + 1)
            done += len(chunk)
            columns = {name: [row[name] for row in chunk] for name in chunk[0]}
            yield Batch(path, "row", numbers, columns, done, max(total, done))

    return Stream(path, batches)


def find(root: Path, name: str) -> Path | None:
    """Return the file or folder of a name in an archive, the least deep one; None if there is none.

    ``name`` may be a pattern, of which the first match by name is taken.
    """
    for depth in range(DEEPEST + 1):
        found = sorted(root.glob("*/" * depth + name))
        if found:
            return found[0]
    return None


def required(root: Path, name: str, comes_from: str) -> Path:
    """Return the file of a name in an archive, or raise saying where it comes from."""
    found = find(root, name)
    if found is None:
        raise CollectionError(f"{root} has no {name}; it comes from {comes_from}")
    return found


def first_column(
    names: Iterable[str], columns: Mapping[str, Sequence[Any]]
) -> Sequence[Any] | None:
    """Return the first of several columns that is there and not all empty."""
    for name in names:
        values = columns.get(name)
        if values is not None and any(value not in {None, ""} for value in _hashable(values)):
            return values
    return None


def _hashable(values: Sequence[Any]) -> Iterator[Any]:
    return (tuple(value) if isinstance(value, list) else value for value in values)


def tag_list(value: Any) -> list[Any]:
    """Return the tags of one value: a list as it is, a text split on ``|``, else on ``,``."""
    if value is None:
        return []
    if isinstance(value, str):
        return value.split("|" if "|" in value else ",")
    return list(value)
