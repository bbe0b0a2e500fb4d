"""JSON tables: an object a line, or one array of objects as ``exiftool -json`` writes it."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from sugartag.collection.readers.batch import MOST_COLUMNS_SHOWN, Batch, Columns, shown
from sugartag.collection.readers.lines import MAX_LINE_BYTES, TextLines
from sugartag.errors import CollectionError

_BETWEEN = " \t\r\n,"
Row = dict[str, Any]


def read_json(path: Path, columns: Columns, *, array: bool, rows_per_batch: int) -> Iterator[Batch]:
    """Yield the objects of a file, a batch at a time.

    A row's number is its line, or its place in the array, from 1.
    """
    lines, word = TextLines(path), "object" if array else "line"
    rows = numbered_objects(lines, array=array)
    while chunk := list(islice(rows, rows_per_batch)):
        for number, row in chunk:
            _check_keys(f"{path}, {word} {number}", row, columns)
        chosen = {
            name: [row.get(name) for _, row in chunk]
            for name in (*columns.required, *columns.optional)
        }
        yield Batch(path, word, [n for n, _ in chunk], chosen, lines.done, lines.total)


def numbered_objects(lines: TextLines, *, array: bool) -> Iterator[tuple[int, Row]]:
    """Yield the objects with their numbers; blank lines are skipped."""
    if array:
        return enumerate(_array(lines), 1)
    numbered = enumerate(lines, 1)
    return ((n, _object(lines.path, n, line)) for n, line in numbered if not line.isspace())


def _check_keys(where: str, row: Row, columns: Columns) -> None:
    lacking = [name for name in columns.required if name not in (*row, *columns.omittable)]
    if lacking:
        there = ", ".join(map(shown, list(row)[:MOST_COLUMNS_SHOWN]))
        raise CollectionError(
            f"{where}: no {lacking[0]!r}; the object has {there or 'nothing'}; "
            f"give every object the key {lacking[0]!r}"
        )


def _object(path: Path, number: int, line: str) -> Row:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise CollectionError(
            f"{path}, line {number}: not JSON: {_reason(error)}; write one JSON object a line"
        ) from error
    if not isinstance(value, dict):
        raise CollectionError(
            f"{path}, line {number}: {shown(value)} is not a JSON object; "
            'write one a line, such as {"image_id": "1", "owner": "anna", "tags": ["beach"]}'
        )
    return value


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        # The decoder counts lines inside the text it was given, so its own message misleads.
        return f"{error.msg} at character {error.pos + 1}"
    return str(error)


def _array(lines: TextLines) -> Iterator[Row]:
    """Yield the objects; only one of them, and a line, is held at a time."""
    path = lines.path
    decoder, text, begun, line = json.JSONDecoder(), "", False, 0
    for line, more in enumerate(lines, 1):
        text += more
        if not begun:
            text = text.lstrip()
            if text and not text.startswith("["):
                raise _fault(path, line, "it does not begin with '['")
            begun, text = bool(text), text[1:]
        # An object ends with a brace: nothing is tried on lines that cannot end one.
        while begun and (text := text.lstrip(_BETWEEN)) and "}" in more:
            if text.startswith("]"):
                return
            try:
                value, end = decoder.raw_decode(text)
            except json.JSONDecodeError:
                break
            except RecursionError as error:
                raise _fault(path, line, "it is nested too deeply") from error
            if not isinstance(value, dict):
                raise _fault(path, line, f"{shown(value)} is not an object")
            yield value
            text = text[end:]
        if len(text) > MAX_LINE_BYTES:
            raise _fault(
                lines.path, line, f"an object is longer than {MAX_LINE_BYTES:,} characters"
            )
    if not begun or not text.lstrip(_BETWEEN).startswith("]"):
        raise _fault(path, line, "the array does not end")


def _fault(path: Path, line: int, reason: str) -> CollectionError:
    return CollectionError(
        f"{path}, line {line}: not an array of JSON objects: {reason}; write it again"
    )
