"""Many short texts in two arrays, so that millions of ids need neither objects nor pickles."""

import codecs
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Annotated, overload

import numpy as np

from sugartag._rules import Rising, Shape, Sizes, Unsigned, check_stored
from sugartag._typing import IntArray

_DATA = Annotated[IntArray, Unsigned(), Shape("bytes")]
_OFFSETS = Annotated[IntArray, Shape("texts+1"), Rising(0, "bytes")]
_BYTES_AT_ONCE = 1 << 20
_CONTINUES, _CONTINUATION = 0xC0, 0x80
"""The bits that mark a byte of UTF-8 as one that begins no character, and what they are then."""


class Texts(Sequence[str]):
    """An immutable sequence of texts: their UTF-8 bytes end to end, and where each one starts."""

    __slots__ = ("data", "offsets")

    def __init__(self, data: IntArray, offsets: IntArray) -> None:
        self.data = data
        self.offsets = offsets

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Texts":
        """Pack the texts given."""
        pieces = [text.encode() for text in texts]
        offsets = np.zeros(len(pieces) + 1, dtype=np.int64)
        np.cumsum([len(piece) for piece in pieces], out=offsets[1:])
        return cls(np.frombuffer(b"".join(pieces), dtype=np.uint8), offsets)

    @classmethod
    def joined(cls, parts: Sequence["Texts"]) -> "Texts":
        """Put several sequences one after the other."""
        if len(parts) == 1:
            return parts[0]
        lengths = [np.diff(part.offsets) for part in parts]
        offsets = np.zeros(sum(map(len, parts)) + 1, dtype=np.int64)
        np.cumsum(np.concatenate(lengths), out=offsets[1:])
        data = [part.data[part.offsets[0] : part.offsets[-1]] for part in parts]
        return cls(np.concatenate(data), offsets)

    def validate(self) -> None:
        """Raise ``ValueError`` unless every text lies within the bytes and is valid UTF-8."""
        sizes = Sizes()
        check_stored(self.data, _DATA, sizes, "bytes")
        check_stored(self.offsets, _OFFSETS, sizes, "offsets")
        if self.data.itemsize != 1:
            raise ValueError(f"bytes is {self.data.dtype}, not uint8")
        decoder = codecs.getincrementaldecoder("utf-8")()
        for start in range(0, len(self.data), _BYTES_AT_ONCE):
            decoder.decode(bytes(self.data[start : start + _BYTES_AT_ONCE]))
        decoder.decode(b"", final=True)
        starts = self.offsets[self.offsets < len(self.data)]
        if (self.data[starts] & _CONTINUES == _CONTINUATION).any():
            raise ValueError("offsets point into the middle of a character")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> "Texts": ...
    def __getitem__(self, index: int | slice) -> "str | Texts":
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                raise ValueError("texts can be sliced with step 1 only")
            return Texts(self.data, self.offsets[start : max(start, stop) + 1])
        position = range(len(self))[index]
        start, stop = self.offsets[position], self.offsets[position + 1]
        return bytes(self.data[start:stop]).decode()

    def __iter__(self) -> Iterator[str]:
        whole = bytes(self.data[self.offsets[0] : self.offsets[-1]])
        starts = (self.offsets - self.offsets[0]).tolist()
        for start, stop in pairwise(starts):
            yield whole[start:stop].decode()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Texts) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self)} texts>"
