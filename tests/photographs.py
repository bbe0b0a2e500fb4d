"""A folder of photographs with sidecars in several styles, its catalogue, and some decisions."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sidecars import STYLES
from sugartag.changes.catalogue import Catalogue
from sugartag.changes.deciding import Verdict
from sugartag.collection import open_collection
from tables import imported

DECISIONS: list[tuple[str, str, Verdict]] = [
    ("a", "sun", "accept"),
    ("a", "sea", "reject"),
    ("b", "sun", "accept"),
    ("c", "Sea & sun", "accept"),
    ("c", "dog", "reject"),
    ("d", "sun", "accept"),
    ("e", "old", "reject"),
    ("e", "sun", "accept"),
    ("f", "sun", "accept"),
]


def photographs(folder: Path, tags: Sequence[Sequence[str]], *, nested: bool = False) -> Catalogue:
    """Make six photographs, a to f, the first four with a sidecar of each style.

    The sidecar of b is called ``b.xmp``; e and f have none.
    """
    root = folder / "root"
    (root / "sub").mkdir(parents=True)
    names = "abcdef"
    rows: list[dict[str, Any]] = []
    for name, some in zip(names, tags, strict=True):
        path = f"sub/{name}.jpg"
        (root / path).write_bytes(b"\xff\xd8 not looked at")
        rows.append({"image_id": name, "owner": "anna", "tags": list(some), "path": path})
    for name, style, some in zip(names, STYLES, tags, strict=False):
        sidecar = "b.xmp" if name == "b" else f"{name}.jpg.xmp"
        (root / "sub" / sidecar).write_bytes(STYLES[style](some, nested=nested).encode())
    imported(folder, rows, images_root=root)
    catalogue = Catalogue.create(folder / "catalogue.sqlite")
    catalogue.load_collection(open_collection(folder / "out"))
    return catalogue


TAGS = [["sea", "dog"], ["sea"], ["dog", "old"], [], ["old", "sea"], []]


def decided(catalogue: Catalogue) -> Catalogue:
    catalogue.decide_all(DECISIONS, reviewer="ben")
    return catalogue


def files_of(folder: Path) -> dict[str, bytes]:
    """Return every file below the images' root."""
    root = folder / "root"
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def rows_of(catalogue: Catalogue) -> list[tuple[Any, ...]]:
    """Return every tag of every image with its provenance."""
    return catalogue.all("SELECT * FROM image_tags ORDER BY image, tag")


def tags_of(catalogue: Catalogue) -> dict[str, list[str]]:
    ids = [row[0] for row in catalogue.all("SELECT image_id FROM images ORDER BY image")]
    return {one: [tag.tag for tag in catalogue.image(one).tags] for one in ids}
