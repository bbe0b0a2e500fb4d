"""Change sets as files: CSV, JSONL or Parquet, by extension."""

import csv
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Protocol, TextIO

from sugartag._extras import optional
from sugartag.changes.change import Change
from sugartag.errors import SettingsError
from sugartag.storage.aside import file_aside

COLUMNS = tuple(field.name for field in fields(Change))
KINDS = (".csv", ".jsonl", ".parquet")


class _Sink(Protocol):
    def __call__(self, changes: list[Change], /) -> None: ...


def check_kind(path: Path) -> None:
    """Raise unless changes can be written to a file of this name."""
    if path.suffix.lower() not in KINDS:
        raise SettingsError(f"{path} must end in one of: {', '.join(KINDS)}")
    if path.suffix.lower() == ".parquet":
        optional("pyarrow.parquet", extra="parquet", needed_for="writing Parquet")


def write_changes(
    changes: Iterable[list[Change]], path: Path, *, overwrite: bool = False
) -> dict[str, int]:
    """Write the changes as they come, and return how many there are of each action."""
    check_kind(path)
    counts = {"add": 0, "keep": 0, "doubt": 0}
    with file_aside(path, overwrite=overwrite) as partial, _sink(partial) as write:
        for some in changes:
            write(some)
            for change in some:
                counts[change.action] += 1
    return counts


@dataclass(frozen=True)
class _LineFeeds:
    """Ends rows in LF alone; csv quotes a CR in a field only if its own line ends have one."""

    file: TextIO

    def write(self, row: str, /) -> int:
        return self.file.write(row.removesuffix("\r\n") + "\n")


@contextmanager
def _sink(path: Path) -> Iterator[_Sink]:
    if path.suffix.lower() == ".parquet":
        with _parquet_sink(path) as sink:
            yield sink
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix.lower() == ".csv":
            writer = csv.DictWriter(_LineFeeds(file), COLUMNS, lineterminator="\r\n")
            writer.writeheader()
            yield lambda changes: writer.writerows(map(asdict, changes))
        else:
            yield lambda changes: file.writelines(
                json.dumps(asdict(change), ensure_ascii=False) + "\n" for change in changes
            )


@contextmanager
def _parquet_sink(path: Path) -> Iterator[_Sink]:
    arrow: Any = optional("pyarrow", extra="parquet", needed_for="writing Parquet")
    parquet: Any = optional("pyarrow.parquet", extra="parquet", needed_for="writing Parquet")
    texts = [(name, arrow.string()) for name in COLUMNS]
    schema = arrow.schema([(n, arrow.float64() if n == "score" else kind) for n, kind in texts])
    with parquet.ParquetWriter(path, schema) as writer:
        yield lambda changes: writer.write_table(
            arrow.Table.from_pylist([asdict(change) for change in changes], schema=schema)
        )
