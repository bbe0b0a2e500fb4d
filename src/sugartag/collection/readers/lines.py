"""The lines of a text file, plain or compressed: UTF-8 checked, in bounded memory."""

import bz2
import gzip
import io
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, cast

from sugartag.errors import CollectionError

CHUNK_BYTES = 1 << 20
MAX_LINE_BYTES = 4 << 20
"""A longer line is no row of a table."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class TextLines:
    """Yields the lines of a file, ends of lines included, and knows how far it has come.

    Lines end with LF, CR LF or CR; a byte order mark is skipped. What cannot be text is named
    with its line.
    """

    def __init__(self, path: Path, *, lenient: bool = False) -> None:
        """With ``lenient``, what is not UTF-8 is replaced, for archives that nobody can mend."""
        self.path = path
        self._lenient = lenient
        self.total = path.stat().st_size
        self.done = 0
        """Bytes of the file that have been read; of the compressed file if it is compressed."""

    def __iter__(self) -> Iterator[str]:
        blocks = (io.StringIO(block, newline="") for block in self._blocks())
        return chain.from_iterable(blocks)

    def _blocks(self) -> Iterator[str]:
        """Yield runs of whole lines."""
        line, offset, rest = 1, 0, b""
        for chunk in self._chunks():
            block, rest = _cut(rest + chunk)
            self._check_length(block or rest, line)
            if block:
                yield self._decoded(block, line, offset)
                line += _count_ends(block)
                offset += len(block)
        if rest:
            yield self._decoded(rest, line, offset)

    def _chunks(self) -> Iterator[bytes]:
        try:
            with self.path.open("rb") as file:
                yield from self._read(_decompressed(file, self.path), file)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise CollectionError(
                f"{self.path} is not a whole {_kind(self.path)} file: {error}; compress it again"
            ) from error
        except OSError as error:
            if error.errno is None:  # What bz2 raises for bytes that make no sense.
                raise CollectionError(f"{self.path} is not a whole bzip2 file: {error}") from error
            raise CollectionError(f"cannot read {self.path}: {error.strerror or error}") from error

    def _read(self, source: BinaryIO, file: BinaryIO) -> Iterator[bytes]:
        chunk = source.read(CHUNK_BYTES).removeprefix(BYTE_ORDER_MARK)
        while chunk:
            self.done = file.tell()
            yield chunk
            chunk = source.read(CHUNK_BYTES)
        self.done = self.total

    def _check_length(self, block: bytes, line: int) -> None:
        # Only the first line of a block can span chunks; the others are shorter than a chunk.
        if len(block) > MAX_LINE_BYTES and not _ends_within(block, MAX_LINE_BYTES):
            raise CollectionError(
                f"{self.path}, line {line}: the line is longer than {MAX_LINE_BYTES:,} bytes; "
                "check that every row stands on a line of its own"
            )

    def _decoded(self, block: bytes, line: int, offset: int) -> str:
        if self._lenient:
            return block.replace(b"\0", b"").decode(errors="replace")
        nul = block.find(b"\0")
        if nul >= 0:
            raise CollectionError(
                f"{self.path}, line {line + _count_ends(block[:nul])}: byte {offset + nul:,} is "
                "NUL, which no text holds; save the table as UTF-8 text"
            )
        try:
            return block.decode()
        except UnicodeDecodeError as error:
            raise CollectionError(
                f"{self.path}, line {line + _count_ends(block[: error.start])}: byte "
                f"{offset + error.start:,} ({block[error.start]:#04x}) is not UTF-8; "
                "save the table as UTF-8"
            ) from error


def _kind(path: Path) -> str:
    return "bzip2" if path.suffix.lower() == ".bz2" else "gzip"


def _decompressed(file: BinaryIO, path: Path) -> BinaryIO:
    kind = path.suffix.lower()
    if kind == ".gz":
        return cast("BinaryIO", gzip.GzipFile(fileobj=file))
    return cast("BinaryIO", bz2.BZ2File(file)) if kind == ".bz2" else file


def _cut(data: bytes) -> tuple[bytes, bytes]:
    """Cut after the last end of a line; a CR at the very end may be half of a CR LF."""
    end = data.rfind(b"\n") + 1 or data.rfind(b"\r", 0, len(data) - 1) + 1
    return data[:end], data[end:]


def _count_ends(block: bytes) -> int:
    return block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n")


def _ends_within(block: bytes, length: int) -> bool:
    return block.find(b"\n", 0, length) >= 0 or block.find(b"\r", 0, length) >= 0
