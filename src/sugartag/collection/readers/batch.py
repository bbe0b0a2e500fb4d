"""A run of table rows, column by column, whatever kind of file they came from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from sugartag.engine.base import Progress
from sugartag.errors import CollectionError

ROWS_PER_BATCH = 4096
TAG_SEPARATOR = "|"
LONGEST_SHOWN = 60
MOST_COLUMNS_SHOWN = 12


@dataclass(frozen=True)
class Columns:
    """The columns that are read from a table; all others are ignored."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    omittable: tuple[str, ...] = ()
    """Required columns that a JSON object may leave out, as null."""


@dataclass(frozen=True)
class Batch:
    """Some rows of a table, their values not yet checked."""

    path: Path
    word: str
    """What the numbers count: a ``line`` of a text file, a ``row`` of Parquet."""
    numbers: Sequence[int]
    """Where each row stands in the file, counted from 1."""
    columns: Mapping[str, Sequence[Any]]
    done: int
    """How much of the file has been read at the end of this batch ..."""
    total: int
    """... of how much: bytes of a text file, rows of Parquet."""

    def __len__(self) -> int:
        return len(self.numbers)

    def part(self, start: int, stop: int) -> "Batch":
        """Return some of the rows."""
        columns = {name: values[start:stop] for name, values in self.columns.items()}
        return replace(self, numbers=self.numbers[start:stop], columns=columns)

    def error(self, index: int, message: str) -> CollectionError:
        """Return an error that says where the row at ``index`` stands."""
        return CollectionError(f"{self.path}, {self.word} {self.numbers[index]}: {message}")

    def report(self, progress: Progress | None) -> None:
        """Say how much of the file has been read."""
        if progress is not None:
            unit = "bytes" if self.word == "line" else f"{self.word}s"
            progress(f"{unit} of {self.path.name}", self.done, self.total)

    def texts(self, column: str) -> Sequence[str]:
        """Return a column as texts: whole numbers in digits, what is missing as empty."""
        values = self.columns.get(column)
        if values is None:
            return [""] * len(self)
        if set(map(type, values)) != {str}:
            values = [self._text(column, index, value) for index, value in enumerate(values)]
        if not _storable("".join(values)):
            bad = next(index for index, text in enumerate(values) if not _storable(text))
            raise self.error(bad, f"{column} is {shown(values[bad])}, {_NOT_TEXT}")
        return values

    def filled_texts(self, column: str) -> Sequence[str]:
        """Return a column as texts, none of which is blank."""
        texts = self.texts(column)
        if not all(map(str.strip, texts)):
            blank = next(index for index, text in enumerate(texts) if not text.strip())
            raise self.error(blank, f"{column} is empty; give it a value or leave the row out")
        return texts

    def tags(self) -> tuple[list[int], list[str]]:
        """Return how many tags each row lists, and all of them, row after row."""
        values = self.columns["tags"]
        kinds = set(map(type, values))
        lists: list[Sequence[Any]]
        if kinds == {str}:
            lists = [text.split(TAG_SEPARATOR) for text in values]
        elif kinds == {list}:
            lists = list(values)
        else:
            lists = [self._tag_list(index, value) for index, value in enumerate(values)]
        flat = list(chain.from_iterable(lists))
        if not set(map(type, flat)) <= {str} or not _storable("".join(flat)):
            raise self._bad_tag(lists)
        return list(map(len, lists)), flat

    def with_tags(self, changed: Callable[[str], str]) -> "Batch":
        """Return the rows with every tag changed."""
        counts, flat = self.tags()
        parts = map(changed, flat)
        lists = [list(islice(parts, count)) for count in counts]
        return replace(self, columns={**self.columns, "tags": lists})

    def _text(self, column: str, index: int, value: object) -> str:
        if value is None:
            return ""
        if isinstance(value, str):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        raise self.error(index, f"{column} is {shown(value)}, not text; write it as text")

    def _tag_list(self, index: int, value: object) -> Sequence[Any]:
        if value is None:
            return ()
        if isinstance(value, str):
            return value.split(TAG_SEPARATOR)
        if isinstance(value, list):
            return value
        raise self.error(
            index, f"tags is {shown(value)}; give a list of texts, or text split on '|'"
        )

    def _bad_tag(self, lists: Sequence[Sequence[Any]]) -> CollectionError:
        index, tag = next(
            (index, tag)
            for index, tags in enumerate(lists)
            for tag in tags
            if not isinstance(tag, str) or not _storable(tag)
        )
        reason = _NOT_TEXT if isinstance(tag, str) else "not text; give a list of texts"
        return self.error(index, f"tags holds {shown(tag)}, {reason}")


_NOT_TEXT = "which cannot be written as UTF-8 text; take the odd character out"


def shown(value: object) -> str:
    """Return a value as it is put into a message: quoted, and cut if it is long."""
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def check_header(path: Path, found: Sequence[str], columns: Columns) -> None:
    """Raise if a required column is missing or a wanted one stands there twice."""
    missing = [name for name in columns.required if name not in found]
    if missing:
        there = ", ".join(map(shown, found[:MOST_COLUMNS_SHOWN]))
        more = ", ..." if len(found) > MOST_COLUMNS_SHOWN else ""
        is_id = missing[0] == "image_id"
        hint = ", or say what they are called: --columns id=NAME" if is_id else ""
        raise CollectionError(
            f"{path} has no column {missing[0]!r}; its columns are {there}{more}; "
            f"name the columns {', '.join(columns.required)} in its header{hint}"
        )
    for name in (*columns.required, *columns.optional):
        if found.count(name) > 1:
            raise CollectionError(f"{path} has {found.count(name)} columns {name!r}; keep one")


def _storable(text: str) -> bool:
    """Tell whether a text can be stored: no NUL and no half of a surrogate pair."""
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
