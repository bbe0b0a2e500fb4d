"""Texts numbered in the order in which they first appear, and lists of tags to leave out."""

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from sugartag._typing import IntArray
from sugartag.collection.readers.lines import TextLines
from sugartag.collection.readers.table import check_file
from sugartag.collection.vocabulary import clean
from sugartag.errors import CollectionError

MAX_STOP_TAGS = 100_000


class Names(dict[str, int]):
    """Numbers clean texts 1, 2, 3, ... as they come; an empty text has number 0.

    Every key is clean, so that a text which is found as it stands needs no cleaning: most texts
    of a table cost one look-up.
    """

    def __init__(self, cleaning: Callable[[str], str] = clean) -> None:
        super().__init__()
        self.cleaning = cleaning

    def __missing__(self, text: str) -> int:
        cleaned = self.cleaning(text)
        if not cleaned:
            return 0
        return self.setdefault(cleaned, len(self) + 1)

    def numbers(self, texts: Iterable[str], count: int) -> IntArray:
        """Return the number of each of the ``count`` texts, new ones being taken up."""
        return np.fromiter(map(self.__getitem__, texts), dtype=np.int32, count=count)


def read_stop_tags(path: Path) -> frozenset[str]:
    """Return the tags of a text file, one a line; lines that start with ``#`` are comments."""
    check_file(path)
    found = {clean(line).casefold() for line in TextLines(path) if not line.startswith("#")} - {""}
    if len(found) > MAX_STOP_TAGS:
        raise CollectionError(
            f"{path} lists {len(found):,} stop tags; list at most {MAX_STOP_TAGS:,}"
        )
    return frozenset(found)
