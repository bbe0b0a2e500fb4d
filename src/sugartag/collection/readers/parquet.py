"""Parquet files, a batch of rows at a time; needs the ``parquet`` extra."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sugartag._extras import optional
from sugartag.collection.readers.batch import Batch, Columns, check_header
from sugartag.errors import CollectionError

BUFFER_BYTES = 1 << 20
"""Read this much of a column at a time, whatever the size of the row groups."""


def require_parquet(path: Path) -> None:
    """Raise if the package that reads Parquet is not installed."""
    optional("pyarrow.parquet", extra="parquet", needed_for=f"reading {path}")


def parquet_names(path: Path) -> list[str]:
    """Return the columns of a Parquet file."""
    arrow = optional("pyarrow", extra="parquet", needed_for=f"reading {path}")
    parquet = optional("pyarrow.parquet", extra="parquet", needed_for=f"reading {path}")
    try:
        return list(parquet.read_schema(path).names)
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise CollectionError(
            f"{path}: not readable as Parquet ({error}); write it again"
        ) from error


def read_parquet(path: Path, columns: Columns, *, rows_per_batch: int) -> Iterator[Batch]:
    """Yield the rows of a Parquet file; rows are counted from 1."""
    arrow = optional("pyarrow", extra="parquet", needed_for=f"reading {path}")
    parquet = optional("pyarrow.parquet", extra="parquet", needed_for=f"reading {path}")
    done = 0
    try:
        with parquet.ParquetFile(path, buffer_size=BUFFER_BYTES) as file:
            names = list(file.schema_arrow.names)
            check_header(path, names, columns)
            wanted = [name for name in (*columns.required, *columns.optional) if name in names]
            total = file.metadata.num_rows
            for rows in file.iter_batches(rows_per_batch, columns=wanted, use_threads=False):
                numbers = range(done + 1, done + 1 + rows.num_rows)
                done += rows.num_rows
                chosen = {name: _plain(path, name, rows.column(name)) for name in wanted}
                if rows.num_rows:
                    yield Batch(path, "row", numbers, chosen, done, total)
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        where = f", after row {done}" if done else ""
        raise CollectionError(
            f"{path}{where}: not readable as Parquet ({error}); write it again"
        ) from error


def _plain(path: Path, name: str, column: Any) -> list[Any]:
    """Return a column as Python values; dates and durations cannot all be, and are no texts."""
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError:
        raise
    except (ValueError, OverflowError, ImportError) as error:
        raise CollectionError(
            f"{path}: column {name!r} holds {column.type}, which is not read; write it as text"
        ) from error
    return values
