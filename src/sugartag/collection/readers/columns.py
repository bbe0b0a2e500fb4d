"""Which columns of a photo table are what: as somebody says, or as the usual programs call them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from sugartag.collection.readers.batch import Batch, Columns
from sugartag.collection.readers.table import Table, column_names, odd_delimiter, read_table
from sugartag.collection.readers.tag_texts import TagSplit
from sugartag.errors import SettingsError

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
