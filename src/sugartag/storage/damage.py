"""All that is damaged in a folder, not only what is met first when it is opened."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sugartag.storage.arrays import MANIFEST, inside, load_array, parsed_manifest

_OF_AN_ENTRY = {"file", "shape", "dtype", "sha256"}


def damaged_files(folder: Path) -> list[str]:
    """Return a line for each array that a folder's manifest lists and that is not as it says.

    Folders of their own that the manifest names are gone through too. A manifest that cannot be
    read lists nothing.
    """
    try:
        listed = list(_listed(parsed_manifest(folder)))
    except OSError:
        return []
    found: list[str] = []
    for one in listed:
        try:
            if isinstance(one, str):
                inner = inside(folder, one)
                found += damaged_files(inner) if (inner / MANIFEST).is_file() else []
            else:
                load_array(folder, one, verify=True)
        except OSError as error:
            found.append(str(error))
    return found


def _listed(value: Any) -> Iterator[dict[str, Any] | str]:
    """Yield the entries of arrays in a manifest, and the names of collections inside the folder."""
    if isinstance(value, list):
        for inner in value:
            yield from _listed(inner)
    if not isinstance(value, dict):
        return
    if value.keys() >= _OF_AN_ENTRY:
        yield value
        return
    for key, inner in value.items():
        if key == "collection" and isinstance(inner, str) and len(value) == 1:
            yield inner
        yield from _listed(inner)
