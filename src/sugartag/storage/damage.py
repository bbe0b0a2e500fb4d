"""What a manifest lists: all that is damaged of it, and whether there is anything besides."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sugartag.storage.arrays import MANIFEST, inside, load_array, parsed_manifest
from sugartag.storage.held import UNFINISHED, is_left_over

OURS = "sugartag-"
"""What the formats in our manifests begin with; other programs write a manifest.json too."""
OTHERS = "others"
"""Where a manifest lists files that are no arrays."""
_OF_AN_ENTRY = {"file", "shape", "dtype", "sha256"}


def damaged_files(folder: Path) -> list[str]:
    """Return a line for each array that a folder's manifest lists and that is not as it says.

    Folders of their own that the manifest names are gone through too. A manifest that cannot be
    read lists nothing.
    """
    try:
        listed = list(_listed(parsed_manifest(folder)))
    except (OSError, RecursionError):
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


def foreign_file(folder: Path) -> Path | None:
    """Return something in a folder that we did not write, or None if there is nothing else.

    We wrote what a manifest of ours lists, and what killed runs left in folders marked as ours.
    Without either only an empty folder has nothing else.
    """
    ours = _written(folder, Path())
    left = [path for path in folder.rglob(f".*.{UNFINISHED}") if is_left_over(path)]
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        known = path.is_dir() or place in ours
        if path.is_symlink() or not (known or any(map(path.is_relative_to, left))):
            return place
    return None


def _written(folder: Path, place: Path) -> set[Path]:
    """Return the files that a manifest of ours and those of the folders inside it list."""
    try:
        manifest = parsed_manifest(folder)
    except OSError:
        return set()
    if not (isinstance(manifest, dict) and str(manifest.get("format")).startswith(OURS)):
        return set()
    others = manifest.get(OTHERS)
    found = {place / name for name in [MANIFEST, *(others if isinstance(others, list) else [])]}
    for one in _listed(manifest):
        if isinstance(one, str):
            found |= _written(folder / one, place / one)
        else:
            found.add(place / str(one["file"]))
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
