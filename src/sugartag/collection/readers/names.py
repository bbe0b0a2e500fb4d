"""Texts made comparable, and numbered in the order in which they first appear."""

import unicodedata
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from sugartag._typing import IntArray


def clean(text: str) -> str:
    """Return the text in NFC, without white space at its ends."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return text.strip()


def clean_lowercase(text: str) -> str:
    """Return the clean text in lower case."""
    return clean(clean(text).lower())


def clean_all(texts: Sequence[str]) -> list[str]:
    """Return every text clean."""
    return list(map(str.strip if "".join(texts).isascii() else clean, texts))


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
