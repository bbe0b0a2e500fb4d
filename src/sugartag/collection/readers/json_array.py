"""JSON files of one array of objects, as ``exiftool -json`` writes them, object by object."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from sugartag.collection.readers.batch import Batch, Columns, shown
from sugartag.collection.readers.lines import MAX_LINE_BYTES, TextLines
from sugartag.errors import CollectionError

_BETWEEN = " \t\r\n,"


def read_json_array(path: Path, columns: Columns, *, rows_per_batch: int) -> Iterator[Batch]:
    """Yield the objects of an array; they are counted from 1, and may leave out any key."""
    lines = TextLines(path)
    numbered = enumerate(_objects(path, lines), 1)
    wanted = (*columns.required, *columns.optional)
    while chunk := list(islice(numbered, rows_per_batch)):
        for number, row in chunk:
            lacking = [k for k in columns.required if k not in (*row, *columns.omittable)]
            if lacking:
                raise CollectionError(
                    f"{path}, object {number}: no {lacking[0]!r}; give every object this key"
                )
        chosen = {name: [row.get(name) for _, row in chunk] for name in wanted}
        yield Batch(path, "object", [n for n, _ in chunk], chosen, lines.done, lines.total)


def objects(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of an array."""
    return _objects(path, TextLines(path))


def _objects(path: Path, lines: TextLines) -> Iterator[dict[str, Any]]:
    """Yield the objects; only one of them, and a line, is held at a time."""
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
            raise _fault(path, line, f"an object is longer than {MAX_LINE_BYTES:,} characters")
    if not begun or not text.lstrip(_BETWEEN).startswith("]"):
        raise _fault(path, line, "the array does not end")


def _fault(path: Path, line: int, reason: str) -> CollectionError:
    return CollectionError(
        f"{path}, line {line}: not an array of JSON objects: {reason}; write it again"
    )
