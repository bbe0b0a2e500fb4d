"""Tags written in one text: what separates them is found out from the texts, and said."""

import ast
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sugartag.collection.readers.batch import TAG_SEPARATOR, Batch, shown

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
