"""What the columns of a table are called, and what separates the tags in one of them."""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from sugartag.collection.readers.batch import TAG_SEPARATOR, Batch, Columns, shown
from sugartag.collection.readers.table import Table, column_names, odd_delimiter, read_table
from sugartag.errors import SettingsError

SEPARATORS = (";", ",")
"""What is looked for besides the usual separator, in this order."""
LEAST_SHARE = 0.1
"""A separator that fewer of the texts have is taken for a part of tags."""
LEAST_PARTS = 3
"""A tag with as many parts is taken for a list that was not split; one of two parts may be none."""
MANY = 0.05
"""If this share of the tags has two parts or more, they are."""
LIST = "list"
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_ANY_SEPARATOR = re.compile(r"[|;,]")


@dataclass(frozen=True)
class TagSplit:
    """How a text is cut into tags."""

    separator: str = TAG_SEPARATOR
    """The text between tags; ``list`` where each text is a list as JSON or Python write it."""
    is_found: bool = False
    """Whether some of the texts have it."""

    @classmethod
    def found_in(cls, values: Sequence[Any]) -> "TagSplit":
        """Find out what separates the tags of these texts; lists among them need nothing."""
        texts = [value.strip() for value in values if isinstance(value, str) and value.strip()]
        if not texts or any(isinstance(value, list) for value in values):
            return cls()
        if 2 * sum(map(_is_list, texts)) > len(texts):
            return cls(LIST, is_found=True)
        if any(TAG_SEPARATOR in text for text in texts):
            return cls(TAG_SEPARATOR, is_found=True)
        for separator in SEPARATORS:
            among = [text for text in texts if separator in text]
            if among and len(among) >= LEAST_SHARE * len(texts):
                spaced = all(text.count(f"{separator} ") == text.count(separator) for text in among)
                return cls(f"{separator} " if spaced else separator, is_found=True)
        return cls()

    def __call__(self, text: str) -> list[str]:
        """Return the tags of a text; white space at their ends stays."""
        if self.separator != LIST:
            return text.split(self.separator)
        return _items(text.strip()) if _is_list(text.strip()) else [text]

    def in_words(self) -> str:
        """Say what was taken."""
        if self.separator == LIST:
            return "tags are written as lists"
        return f"tags are split on {self.separator!r}"

    def applied(self, batch: Batch) -> Batch:
        """Return the batch with lists of texts for tags."""
        values = batch.columns.get("tags")
        if values is None or (self.separator == TAG_SEPARATOR and set(map(type, values)) == {str}):
            return batch
        return replace(batch, columns={**batch.columns, "tags": [self._listed(v) for v in values]})

    def _listed(self, value: Any) -> Any:
        if isinstance(value, str):
            return self(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return [str(value)]
        if isinstance(value, list | tuple):
            whole = (isinstance(item, int) and not isinstance(item, bool) for item in value)
            return [str(item) if is_whole else item for item, is_whole in zip(value, whole)]  # noqa: B905
        return value


def unsplit(tags: Iterable[str]) -> str | None:
    """Warn of tags that look like lists which were not split; None if there are none."""
    names = list(tags)
    parts = [len(_ANY_SEPARATOR.split(name)) for name in names]
    lists = [name for name, count in zip(names, parts, strict=True) if count >= LEAST_PARTS]
    pairs = [name for name, count in zip(names, parts, strict=True) if count >= 2]
    if not lists and len(pairs) < MANY * len(names):
        return None
    if not pairs:
        return None
    worst = max(lists or pairs, key=lambda name: len(_ANY_SEPARATOR.findall(name)))
    found = _ANY_SEPARATOR.search(worst)
    some = f"{len(pairs):,} tags look" if len(pairs) > 1 else "a tag looks"
    return (
        f"{some} like a list that was not split, such as {shown(worst)}; if so, pass "
        f"--split {found.group() if found else TAG_SEPARATOR!r}"
    )


def _is_list(text: str) -> bool:
    return text.startswith("[") and text.endswith("]")


def _items(text: str) -> list[str]:
    """Return the texts of a list as JSON, Python or NumPy write it."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = [_unquoted(piece) for piece in _QUOTED.findall(text)] or text[1:-1].split(",")
    return [str(item) for item in found if item is not None]


def _unquoted(piece: str) -> str:
    try:
        return str(ast.literal_eval(piece))
    except (ValueError, SyntaxError):
        return piece[1:-1]


FIELDS = {"id": "image_id", "owner": "owner", "tags": "tags", "path": "path", "title": "title"}
"""What is read, by the word for it in ``--columns``, and how we call it."""
KNOWN = {
    "image_id": ("imageid", "sourcefile", "filename", "file"),
    "owner": ("owner", "artist", "creator", "byline", "author", "photographer"),
    "tags": ("tags", "keywords", "subject", "tagslist", "xpkeywords", "hierarchicalsubject"),
    "path": ("path",),
    "title": ("title", "objectname", "headline"),
}
"""What exiftool, Lightroom and others call these columns: the first that is there is taken."""


def parsed_columns(text: str) -> dict[str, str]:
    """Read ``id=SourceFile,tags=Keywords``: their columns by our names."""
    found = {}
    for pair in text.split(","):
        word, equals, theirs = (part.strip() for part in pair.partition("="))
        if not equals or not theirs or word not in (*FIELDS, *FIELDS.values()):
            raise SettingsError(
                f"--columns has {pair!r}; write {', '.join(FIELDS)} = COLUMN, such as "
                "id=SourceFile,tags=Keywords"
            )
        found[FIELDS.get(word, word)] = theirs
    return found


@dataclass
class PhotoTable:
    """A table of photos, read in our columns; what was taken for what is noted on the way."""

    table: Table
    named: Mapping[str, str] = field(default_factory=dict)
    """Their columns by our names, as far as somebody said."""
    separator: str | None = None
    """Between the tags of a text; None to find out."""
    notes: list[str] = field(default_factory=list)

    def batches(self) -> Iterator[Batch]:
        """Yield the rows with our columns, their tags in lists."""
        if not isinstance(self.table, Path):
            yield from read_table(self.table, _wanted({}))
            return
        taken = self._taken(self.table)
        batches = (_renamed(batch, taken) for batch in read_table(self.table, _wanted(taken)))
        first = next(batches)
        split = self._split(first, taken)
        for batch in chain([first], batches):
            yield split.applied(batch)

    def _taken(self, path: Path) -> dict[str, str]:
        """Return their columns by our names."""
        there = column_names(path)
        if delimiter := odd_delimiter(path):
            self.notes.append(f"fields are split on {delimiter!r}")
        if self.named:
            usual = {name: name for name in FIELDS.values() if name in there}
            return {"image_id": "image_id", **usual, **self.named}
        if "image_id" in there:
            return {name: name for name in FIELDS.values() if name in there}
        found = {name: theirs for name in FIELDS.values() if (theirs := _known(name, there))}
        if "image_id" not in found:
            return {name: name for name in FIELDS.values() if name in {*there, "image_id"}}
        words = {ours: word for word, ours in FIELDS.items()}
        pairs = ",".join(f"{words[ours]}={theirs}" for ours, theirs in found.items())
        self.notes.append(f"columns are taken as --columns {pairs}")
        return found

    def _split(self, first: Batch, taken: Mapping[str, str]) -> TagSplit:
        values = first.columns["tags"]
        if "tags" not in taken:
            self.notes.append(
                "there is no column 'tags': no image has tags; name one with --columns tags=COLUMN"
            )
            return TagSplit()
        split = TagSplit(self.separator) if self.separator else TagSplit.found_in(values)
        if split.is_found or self.separator:
            self.notes.append(split.in_words())
        return split


def _wanted(taken: Mapping[str, str]) -> Columns:
    """Return their columns to read: an id is required; what JSON leaves out is empty."""
    image = taken.get("image_id", "image_id")
    others = tuple(dict.fromkeys(name for name in taken.values() if name != image))
    return Columns(required=(image, *others), omittable=others)


def _renamed(batch: Batch, taken: Mapping[str, str]) -> Batch:
    columns = {ours: batch.columns[theirs] for ours, theirs in taken.items()}
    if "tags" not in columns:
        return replace(batch, columns={**columns, "tags": [None] * len(batch)})
    return replace(batch, columns=columns)


def _known(name: str, there: Sequence[str]) -> str | None:
    """Return the column that is called one of the usual names for something."""
    by_word = {re.sub(r"[^a-z]", "", theirs.lower()): theirs for theirs in reversed(there)}
    return next((by_word[word] for word in KNOWN[name] if word in by_word), None)
