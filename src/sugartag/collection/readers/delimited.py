"""CSV and TSV files, a batch of rows at a time."""

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sugartag.collection.readers.batch import Batch, Columns, check_header
from sugartag.collection.readers.lines import TextLines
from sugartag.errors import CollectionError
from sugartag.storage.formulas import unguarded

if TYPE_CHECKING:
    from _csv import Reader

MAX_FIELD_CHARACTERS = 1 << 20
"""Usually it is a quote that is never closed which makes a field longer."""


DELIMITERS = (",", ";", "\t", "|")


def delimiter_of(path: Path, usual: str) -> str:
    """Return what separates the fields: the usual, or another that the header is split by.

    Programs write a semicolon or a tab where the comma is part of numbers.
    """
    line = next(iter(TextLines(path)), "")
    if usual in line:
        return usual
    return max(DELIMITERS, key=lambda one: (line.count(one), one == usual))


def header_of(path: Path, delimiter: str) -> list[str]:
    """Return the names of the columns."""
    rows, _ = _next_rows(path, csv.reader(TextLines(path), delimiter=delimiter, strict=True), 1)
    if not rows:
        raise CollectionError(f"{path} is empty; its first line must name the columns")
    return [name.strip() for name in rows[0]]


def read_delimited(
    path: Path, columns: Columns, *, delimiter: str, rows_per_batch: int
) -> Iterator[Batch]:
    """Yield the rows of a CSV or TSV file; a row's number is the line on which it starts."""
    lines = TextLines(path)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    header, _ = _next_rows(path, reader, 1)
    if not header:
        raise CollectionError(f"{path} is empty; its first line must name the columns")
    names = [name.strip() for name in header[0]]
    check_header(path, names, columns)
    wanted = [name for name in (*columns.required, *columns.optional) if name in names]
    while True:
        rows, numbers = _next_rows(path, reader, rows_per_batch)
        if not rows:
            return
        _check_widths(path, rows, numbers, len(names))
        by_column = list(zip(*rows, strict=True))
        chosen = {name: _unguarded(by_column[names.index(name)]) for name in wanted}
        yield Batch(path, "line", numbers, chosen, lines.done, lines.total)


def _unguarded(texts: Sequence[str]) -> Sequence[str]:
    """Take away the apostrophes that keep spreadsheets from reading formulas."""
    return list(map(unguarded, texts)) if "'" in "".join(texts) else texts


def _next_rows(path: Path, reader: "Reader", count: int) -> tuple[list[list[str]], list[int]]:
    """Read up to ``count`` rows that are not blank, and the line on which each one starts."""
    rows: list[list[str]] = []
    numbers: list[int] = []
    before = reader.line_num
    try:
        with _field_limit():
            for row in reader:
                if row:
                    rows.append(row)
                    numbers.append(before + 1)
                before = reader.line_num
                if len(rows) == count:
                    break
    except csv.Error as error:
        raise CollectionError(
            f"{path}, line {before + 1}: {error}; check the quotes of this row, "
            'a quote inside a quoted field is written ""'
        ) from error
    return rows, numbers


@contextmanager
def _field_limit() -> Iterator[None]:
    # The limit is one for the whole process, so it is put back before anyone else can run.
    before = csv.field_size_limit(MAX_FIELD_CHARACTERS)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _check_widths(path: Path, rows: list[list[str]], numbers: list[int], width: int) -> None:
    if set(map(len, rows)) == {width}:
        return
    bad = next(index for index, row in enumerate(rows) if len(row) != width)
    raise CollectionError(
        f"{path}, line {numbers[bad]}: {len(rows[bad])} fields where the header has {width}; "
        "put quotes around a field that holds the separator"
    )
