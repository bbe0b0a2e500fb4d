"""Whose picture it is."""

import re
from collections.abc import Callable
from fnmatch import translate
from pathlib import Path

from sugartag.collection.readers.batch import Columns
from sugartag.collection.readers.table import read_table
from sugartag.collection.vocabulary import clean
from sugartag.errors import CollectionError
from sugartag.metadata import Metadata

OwnerRule = Callable[[str, Metadata], str]
"""Gives the owner of a picture from its path and its metadata; empty if nobody says."""
NAMED = ("folder", "creator", "artist")
MAX_PATTERNS = 10_000
_COLUMNS = Columns(required=("path", "owner"))
_WILD = re.compile(r"[*?\[]")


def owner_rule(name: str) -> OwnerRule:
    """Return the rule called ``folder``, ``creator`` or ``artist``, or that of a table.

    ``folder`` is the first folder below the one that is imported. ``creator`` is whom XMP or IPTC
    name, and the EXIF artist where they are silent; ``artist`` is the EXIF artist alone.
    """
    if name == "folder":
        return lambda path, _: path.partition("/")[0] if "/" in path else ""
    if name == "creator":
        return lambda _, metadata: metadata.creator or metadata.artist
    if name == "artist":
        return lambda _, metadata: metadata.artist
    if not Path(name).exists():
        raise CollectionError(
            f"--owner-from {name}: neither one of {', '.join(NAMED)} nor a file; "
            "name a table with the columns path, owner"
        )
    return _table_rule(Path(name))


def _table_rule(table: Path) -> OwnerRule:
    """Return the rule of a table with the columns ``path`` and ``owner``.

    A path as it stands goes before patterns; of patterns (``*``, ``?``, ``[...]``, of which
    ``*`` crosses folders), the first that matches holds.
    """
    exact: dict[str, str] = {}
    patterns: list[tuple[re.Pattern[str], str]] = []
    for batch in read_table(table, _COLUMNS):
        for path, owner in zip(batch.filled_texts("path"), batch.texts("owner"), strict=True):
            if _WILD.search(path):
                patterns.append((re.compile(translate(clean(path))), owner))
            else:
                exact.setdefault(clean(path), owner)
        if len(patterns) > MAX_PATTERNS:
            raise CollectionError(f"{table} has more than {MAX_PATTERNS:,} patterns; name folders")

    def rule(path: str, _: Metadata) -> str:
        name = clean(path)
        if name in exact:
            return exact[name]
        return next((owner for pattern, owner in patterns if pattern.match(name)), "")

    return rule
