"""JSONL files: one JSON object a line, a batch of them at a time."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from sugartag.collection.readers.batch import MOST_COLUMNS_SHOWN, Batch, Columns, shown
from sugartag.collection.readers.lines import TextLines
from sugartag.errors import CollectionError


def read_json_lines(path: Path, columns: Columns, *, rows_per_batch: int) -> Iterator[Batch]:
    """Yield the objects of a JSONL file; a row's number is its line. Blank lines are skipped."""
    lines = TextLines(path)
    numbered = ((n, line) for n, line in enumerate(lines, 1) if not line.isspace())
    wanted = (*columns.required, *columns.optional)
    while chunk := list(islice(numbered, rows_per_batch)):
        numbers = [number for number, _ in chunk]
        rows = [_object(path, number, line) for number, line in chunk]
        for name in columns.required:
            if name not in columns.omittable:
                _check_key(path, numbers, rows, name)
        chosen = {name: [row.get(name) for row in rows] for name in wanted}
        yield Batch(path, "line", numbers, chosen, lines.done, lines.total)


def objects(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file."""
    return (_object(path, n, line) for n, line in enumerate(TextLines(path), 1) if line.strip())


def _object(path: Path, number: int, line: str) -> dict[str, Any]:
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


def _check_key(path: Path, numbers: list[int], rows: list[dict[str, Any]], name: str) -> None:
    bad = next((index for index, row in enumerate(rows) if name not in row), None)
    if bad is None:
        return
    there = ", ".join(map(shown, list(rows[bad])[:MOST_COLUMNS_SHOWN]))
    raise CollectionError(
        f"{path}, line {numbers[bad]}: no {name!r}; the object has {there or 'nothing'}; "
        f"give every object the key {name!r}"
    )
