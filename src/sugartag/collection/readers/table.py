"""Tables by the end of their name: CSV, TSV, JSONL and Parquet."""

import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sugartag.collection.readers.batch import ROWS_PER_BATCH, Batch, Columns
from sugartag.collection.readers.delimited import read_delimited
from sugartag.collection.readers.json_lines import read_json_lines
from sugartag.collection.readers.parquet import read_parquet, require_parquet
from sugartag.errors import CollectionError

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_JSON_LINES = (".jsonl", ".ndjson")
_PARQUET = ".parquet"
_GZIP = ".gz"


@dataclass(frozen=True)
class Stream:
    """Rows that are made from something else than one table: a folder, or an archive."""

    path: Path
    """What is named in messages."""
    batches: Callable[[], Iterator[Batch]]

    def __str__(self) -> str:
        return str(self.path)


Table = Path | Stream


def read_table(
    path: Table, columns: Columns, *, rows_per_batch: int = ROWS_PER_BATCH
) -> Iterator[Batch]:
    """Yield the rows of a table in order; a table without rows is refused."""
    check_table(path)
    empty = True
    for batch in _batches(path, columns, rows_per_batch):
        empty = False
        yield batch
    if empty:
        raise CollectionError(f"{path} has no rows; give a table with one row at least")


def check_table(path: Table) -> None:
    """Raise if there is no such file, or no reader for its kind."""
    if isinstance(path, Stream):
        return
    check_file(path)
    kind = _kind(path)
    if kind == _PARQUET:
        require_parquet(path)
    elif kind not in _DELIMITERS and kind not in _JSON_LINES:
        raise CollectionError(
            f"{path}: tables end with .csv, .tsv, .jsonl (these also with .gz) or .parquet, "
            f"not {path.suffix or 'nothing'!r}; rename or convert it"
        )


def check_file(path: Path) -> None:
    """Raise unless the path is that of a file."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        raise CollectionError(f"{path} does not exist; check the name") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise CollectionError(f"cannot read {path}: {reason}; check the name") from error
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
        raise CollectionError(f"{path} is {kind}; name a file")


def _batches(path: Table, columns: Columns, rows_per_batch: int) -> Iterator[Batch]:
    if isinstance(path, Stream):
        return path.batches()
    kind = _kind(path)
    if kind == _PARQUET:
        return read_parquet(path, columns, rows_per_batch=rows_per_batch)
    if kind in _JSON_LINES:
        return read_json_lines(path, columns, rows_per_batch=rows_per_batch)
    return read_delimited(path, columns, delimiter=_DELIMITERS[kind], rows_per_batch=rows_per_batch)


def _kind(path: Path) -> str:
    """Return the extension that says how to read the file, without .gz."""
    last = path.suffix.lower()
    if last != _GZIP:
        return last
    inner = Path(path.stem).suffix.lower()
    return last if inner == _PARQUET else inner
