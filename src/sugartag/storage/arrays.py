"""Arrays in a folder: ``.npy`` files listed in a manifest with shape, dtype and hash.

Nothing here is ever unpickled: a file that would need it is refused by name.
"""

import hashlib
import json
import math
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import numpy.typing as npt

from sugartag.errors import StorageError

MANIFEST = "manifest.json"
CHECKSUM = "checksum"
"""Where a manifest has the SHA-256 of all the rest of it."""
MAX_MANIFEST_BYTES = 256 << 20
_HASH_CHUNK = 1 << 20
_PLAIN_KINDS = "biuf"
_UNREADABLE = (ValueError, TypeError, OverflowError, EOFError, OSError, SyntaxError, TokenError)
"""What numpy raises, one way or another, for a header that makes no sense."""

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Entry:
    """What a manifest says of one array file."""

    file: str
    shape: tuple[int, ...]
    dtype: str
    sha256: str

    def as_json(self) -> dict[str, Any]:
        """Return the entry as it stands in the manifest."""
        return {
            "file": self.file,
            "shape": list(self.shape),
            "dtype": self.dtype,
            "sha256": self.sha256,
        }


def save_array(folder: Path, name: str, array: Array) -> Entry:
    """Write one array as ``name.npy`` and describe it."""
    path = folder / f"{name}.npy"
    path.parent.mkdir(parents=True, exist_ok=True)
    plain = np.ascontiguousarray(array)
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(plain))
        # Written by Python and not by numpy, whose tofile does not tell of a full disk.
        file.write(plain.reshape(-1).view(np.uint8).data)
    return describe(folder, name)


def describe(folder: Path, name: str) -> Entry:
    """Describe an array file that has already been written."""
    path = folder / f"{name}.npy"
    array = map_npy(path)
    return Entry(f"{name}.npy", array.shape, array.dtype.str, sha256_of(path))


def load_array(folder: Path, entry: Any, *, verify: bool) -> Array:
    """Map the array an entry describes, after checking that it is what the entry says."""
    checked = _read_entry(folder, entry)
    path = inside(folder, checked.file)
    array = map_npy(path)
    if array.shape != checked.shape or array.dtype.str != checked.dtype:
        raise StorageError(
            f"{path} holds {array.dtype} of shape {array.shape}, but the manifest says "
            f"{checked.dtype} of shape {checked.shape}; write the folder again"
        )
    if verify and sha256_of(path) != checked.sha256:
        raise StorageError(f"{path} has changed since it was written; write the folder again")
    return array


def map_npy(path: Path) -> Array:
    """Map a ``.npy`` file of plain numbers into memory, read-only."""
    if not path.is_file():
        raise StorageError(f"{path} is missing")
    try:
        array = np.lib.format.open_memmap(path, mode="r") if _has_items(path) else np.load(path)
    except _UNREADABLE as error:
        raise StorageError(f"{path} is not a whole .npy file of numbers: {error}") from error
    if array.dtype.kind not in _PLAIN_KINDS:
        raise StorageError(f"{path} holds {array.dtype}, not numbers; save it as a plain array")
    return array


def write_manifest(folder: Path, manifest: dict[str, Any], *, name: str = MANIFEST) -> None:
    """Write the manifest, with its own checksum: the last thing written to a folder."""
    rest = {key: value for key, value in manifest.items() if key != CHECKSUM}
    text = json.dumps({**rest, CHECKSUM: _checksum_of(rest)}, indent=1, ensure_ascii=False)
    (folder / name).write_text(text + "\n", encoding="utf-8")


def read_manifest(folder: Path, *, format_name: str) -> dict[str, Any]:
    """Read a folder's manifest and make sure it is of the format asked for."""
    manifest = _of_format(folder, format_name)
    rest = {key: value for key, value in manifest.items() if key != CHECKSUM}
    if manifest.get(CHECKSUM) != _checksum_of(rest):
        fault = "does not match" if CHECKSUM in manifest else "is missing"
        raise StorageError(
            f"{folder / MANIFEST} was edited or written by an earlier version: its checksum "
            f"{fault}; write the folder again"
        )
    return rest


def require_format(folder: Path, *, format_name: str) -> None:
    """Raise unless a folder says that it is of a format, whole or not."""
    _of_format(folder, format_name)


def parsed_manifest(folder: Path) -> Any:
    """Return what the manifest of a folder holds, whatever its format."""
    path = folder / MANIFEST
    try:
        if not path.is_file():
            raise StorageError(f"{folder} has no {MANIFEST}")
        if path.stat().st_size > MAX_MANIFEST_BYTES:
            raise StorageError(f"{path} is larger than {MAX_MANIFEST_BYTES} bytes")
        return json.loads(path.read_text(encoding="utf-8"))
    except StorageError:
        raise
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise StorageError(f"{path} is not valid JSON: {error}") from error


def inside(folder: Path, name: str) -> Path:
    """Return the path of a file in the folder, refusing one that leads out of it."""
    path = folder / name
    impossible = "\0" in name or Path(name).is_absolute()
    if impossible or not path.resolve().is_relative_to(folder.resolve()):
        raise StorageError(f"{folder / MANIFEST} names {name!r}, which lies outside the folder")
    return path


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_HASH_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _of_format(folder: Path, format_name: str) -> dict[str, Any]:
    if not (folder / MANIFEST).is_file():
        raise StorageError(f"{folder} is not a {format_name} folder: it has no {MANIFEST}")
    manifest = parsed_manifest(folder)
    found = manifest.get("format") if isinstance(manifest, dict) else None
    if found != format_name:
        raise StorageError(f"{folder} has format {found!r}; this version reads {format_name!r}")
    return dict(manifest)


def _checksum_of(manifest: dict[str, Any]) -> str:
    text = json.dumps(manifest, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _read_entry(folder: Path, entry: Any) -> Entry:
    try:
        return Entry(
            file=str(entry["file"]),
            shape=tuple(int(n) for n in entry["shape"]),
            dtype=str(entry["dtype"]),
            sha256=str(entry["sha256"]),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise StorageError(f"{folder / MANIFEST} describes an array badly: {entry!r}") from error


def _has_items(path: Path) -> bool:
    """Tell whether the array is non-empty (an empty file cannot be mapped), and all of it there."""
    with path.open("rb") as file:
        version = np.lib.format.read_magic(file)
        read = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = read(file)
        begins = file.tell()
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are never loaded")
    # In Python's own numbers: numpy's overflow for what a header may say.
    needed, there = math.prod(shape) * dtype.itemsize, path.stat().st_size - begins
    if min(shape, default=0) < 0 or max(shape, default=0) >= 2**63 or needed > there:
        raise ValueError(f"shape {shape} needs {needed} bytes, and there are {there}")
    return math.prod(shape) > 0
