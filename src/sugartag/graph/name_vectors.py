"""How similar the names of tags are, by a table of word vectors shipped as package data.

``scripts/build_name_vectors.py`` made the table with a sentence encoder; using it needs none. Only
angles between vectors count. A name of several words is their mean. One with a word or a number
that the table does not know is similar to nothing: ``site-417`` is no more like ``site-418`` than
like any other name.
"""

import gzip
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, SparseRows
from sugartag.errors import StorageError
from sugartag.graph.wordnet import spellings

LARGEST_WORD_LIST = 8_000_000
"""Bytes that the list of words may unpack to."""
SHORTEST_WORD = 3
"""Of a name of several words, shorter ones without a digit say nothing."""
ROWS_AT_ONCE = 512
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, eq=False)
class NameVectors:
    """A vector for each word."""

    codes: np.ndarray[tuple[int, int], np.dtype[np.int8]]
    """Words x components; each row has a scale of its own."""
    row: Mapping[str, int] = field(repr=False)
    """The row of each word, in lower case."""

    def unit_vectors(self, names: Sequence[str]) -> FloatArray:
        """Return names x components, of length 1, or 0 for a name that is not known."""
        found = np.zeros((len(names), self.codes.shape[1]), dtype=np.float32)
        for place, name in enumerate(names):
            rows = self._rows_of(name)
            if rows:
                found[place] = _unit(self.codes[rows].astype(np.float32)).mean(axis=0)
        return _unit(found)

    def _rows_of(self, name: str) -> list[int]:
        """Return the row of a name, or those of its words; none if one of them is not known."""
        whole = self._row_of(name)
        if whole is not None:
            return [whole]
        found = [self._row_of(word) for word in _WORD.findall(name) if _counts(word)]
        known = [row for row in found if row is not None]
        return known if len(known) == len(found) > 1 else []

    def _row_of(self, word: str) -> int | None:
        return next((self.row[one] for one in spellings(word) if one in self.row), None)

    def similarities(self, names: Sequence[str], *, least: float, most: int) -> SparseRows:
        """Return the cosines of different names, from 0 at ``least`` to 1, sparse.

        Of each name the ``most`` similar others are kept.
        """
        vectors = self.unit_vectors(names)
        parts: list[SparseRows] = [sparse.csr_array(np.zeros((0, len(names)), np.float32))]
        for start in range(0, len(names), ROWS_AT_ONCE):
            rows = vectors[start : start + ROWS_AT_ONCE] @ vectors.T
            place = np.arange(len(rows))
            rows[place, start + place] = 0.0
            rows = np.clip((rows - least) / (1.0 - least), 0.0, 1.0)
            if most < len(names):
                others = np.argpartition(-rows, most - 1, axis=1)[:, most:]
                np.put_along_axis(rows, others, 0.0, axis=1)
            parts.append(sparse.csr_array(rows))
        return sparse.csr_array(sparse.vstack(parts, format="csr"))


def _counts(word: str) -> bool:
    """Tell whether a word of several says something."""
    return len(word) >= SHORTEST_WORD or any(letter.isdigit() for letter in word)


def _unit(vectors: FloatArray) -> FloatArray:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    found: FloatArray = vectors / np.where(length > 0, length, 1.0)
    return found


@cache
def load_name_vectors() -> NameVectors:
    """Return the vectors shipped with the package, read once."""
    return read_name_vectors(files("sugartag").joinpath("assets", "names"))


def read_name_vectors(folder: Traversable) -> NameVectors:
    """Read ``words.txt.gz`` and ``vectors.npy``.

    Raises StorageError if a file is missing, unreadable or too large, or if the two disagree.
    """
    try:
        with folder.joinpath("words.txt.gz").open("rb") as packed:
            content = gzip.GzipFile(fileobj=packed).read(LARGEST_WORD_LIST + 1)
        words = content.decode("utf-8").split("\n")
        with as_file(folder.joinpath("vectors.npy")) as file:
            codes = np.load(file, allow_pickle=False)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise StorageError(f"the shipped word vectors cannot be read ({error})") from error
    if codes.dtype != np.int8 or codes.ndim != 2 or len(codes) != len(words):
        raise StorageError("the shipped word vectors do not fit their words; install again")
    return NameVectors(codes, {word: row for row, word in enumerate(words)})
