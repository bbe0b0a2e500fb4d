"""What code makes a result: work that other code has kept is never mixed into it."""

import hashlib
from functools import cache
from importlib import metadata
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
VERSIONS = ("sugartag", "numpy", "scipy", "numba")
"""Packages that decide the last bits of a result."""
DECIDING = {".py", ".json", ".toml", ".gz"}
"""Endings of the package's files that a result can depend on: code, constants, the taxonomy."""


@cache
def this_code() -> dict[str, str]:
    """Return versions, and a digest of this package's files: a version may be edited."""
    versions = {name: metadata.version(name) for name in VERSIONS}
    return {**versions, "code": digest_of(PACKAGE)[:12]}


def digest_of(folder: Path) -> str:
    """Return a digest of the deciding files below a folder: where they are, and their bytes."""
    found = {
        path.relative_to(folder).as_posix(): path
        for path in folder.rglob("*")
        if path.suffix in DECIDING and path.is_file()
    }
    digest = hashlib.sha256()
    for name in sorted(found):
        digest.update(name.encode() + b"\0" + hashlib.sha256(found[name].read_bytes()).digest())
    return digest.hexdigest()
