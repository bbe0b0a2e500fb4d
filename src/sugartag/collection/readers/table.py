"""Tables by the end of their name: CSV, TSV, JSONL, JSON and Parquet."""

import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from sugartag.collection.readers.batch import ROWS_PER_BATCH, Batch, Columns
from sugartag.collection.readers.delimited import delimiter_of, header_of, read_delimited
from sugartag.collection.readers.json_rows import numbered_objects, read_json
from sugartag.collection.readers.lines import TextLines
from sugartag.collection.readers.parquet import parquet_names, read_parquet, require_parquet
from sugartag.collection.vocabulary import clean
from sugartag.errors import CollectionError

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_JSON_LINES = (".jsonl", ".ndjson")
_JSON = ".json"
_PARQUET = ".parquet"
_GZIP = ".gz"
MAX_STOP_TAGS = 100_000
ROWS_LOOKED_AT = 1000
"""Objects whose keys say which columns a JSON file has."""


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
    elif kind not in (*_DELIMITERS, *_JSON_LINES, _JSON):
        raise CollectionError(
            f"{path}: tables end with .csv, .tsv, .jsonl, .json (also with .gz) or .parquet, "
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


def read_stop_tags(path: Path) -> frozenset[str]:
    """Return the tags of a text file, one a line; lines that start with ``#`` are comments."""
    check_file(path)
    found = {clean(line).casefold() for line in TextLines(path) if not line.startswith("#")} - {""}
    if len(found) > MAX_STOP_TAGS:
        raise CollectionError(
            f"{path} lists {len(found):,} stop tags; list at most {MAX_STOP_TAGS:,}"
        )
    return frozenset(found)


def _batches(path: Table, columns: Columns, rows_per_batch: int) -> Iterator[Batch]:
    if isinstance(path, Stream):
        return path.batches()
    kind = _kind(path)
    if kind == _PARQUET:
        return read_parquet(path, columns, rows_per_batch=rows_per_batch)
    if kind in (*_JSON_LINES, _JSON):
        return read_json(path, columns, array=kind == _JSON, rows_per_batch=rows_per_batch)
    delimiter = delimiter_of(path, _DELIMITERS[kind])
    return read_delimited(path, columns, delimiter=delimiter, rows_per_batch=rows_per_batch)


def odd_delimiter(path: Path) -> str | None:
    """Return what separates the fields, if that is not what the end of the name says."""
    usual = _DELIMITERS.get(_kind(path))
    if usual is None or (found := delimiter_of(path, usual)) == usual:
        return None
    return found


def column_names(path: Path) -> list[str]:
    """Return the columns of a table; those of JSON are the keys of its first objects."""
    check_table(path)
    kind = _kind(path)
    if kind == _PARQUET:
        return parquet_names(path)
    if kind in _DELIMITERS:
        return header_of(path, delimiter_of(path, _DELIMITERS[kind]))
    objects = (row for _, row in numbered_objects(TextLines(path), array=kind == _JSON))
    return list(dict.fromkeys(chain.from_iterable(islice(objects, ROWS_LOOKED_AT))))


def _kind(path: Path) -> str:
    """Return the extension that says how to read the file, without .gz."""
    last = path.suffix.lower()
    if last != _GZIP:
        return last
    inner = Path(path.stem).suffix.lower()
    return last if inner == _PARQUET else inner
