"""The photographs of DOCUMERICA: real photographers, and a truth that is independent of the tags.

They are not shipped. A folder holds ``images.csv`` (image_id, owner, tags), ``features.npy``,
``groups.csv`` (owner, group) and ``truth.csv`` (image_id, concept).
"""

import csv
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from sugartag._typing import IntArray
from sugartag.collection.model import Collection
from sugartag.collection.readers import Sources, import_collection
from sugartag.collection.store import open_collection
from sugartag.collection.vocabulary import TagRules

FOLDER = "documerica"
"""What the folder is called, inside the one that holds all data."""
LARGEST_SHARE = 0.25
"""Of the images, that one photographer of a sample may have."""


def import_photographs(folder: Path, out: Path) -> Collection:
    """Import all photographs and all their tags into ``out``."""
    with TemporaryDirectory(prefix="sugartag-photographs-") as scratch:
        table = plain_table(folder, Path(scratch))
        return _imported(folder, table, out, min_uses=1)


def import_some_photographs(folder: Path, out: Path, *, n_images: int, min_uses: int) -> Collection:
    """Import whole photographers, about ``n_images`` photographs, and the tags used often enough.

    Tags are counted among these photographs.
    """
    with TemporaryDirectory(prefix="sugartag-photographs-") as name:
        scratch = Path(name)
        whole = import_photographs(folder, scratch / "whole")
        owners = {whole.owner_names[owner] for owner in some_owners(whole, n_images)}
        images = set(_ids_of(folder, owners))

        def chosen(row: Mapping[str, str]) -> bool:
            return row["image_id"] in images

        _some_rows(folder / "truth.csv", scratch, chosen)
        _some_rows(folder / "groups.csv", scratch, lambda row: row["owner"] in owners)
        rows = [place for place, one in enumerate(whole.ids) if one in images]
        np.save(scratch / "features.npy", np.load(folder / "features.npy", mmap_mode="r")[rows])
        del whole
        table = plain_table(folder, scratch, chosen=chosen)
        return _imported(scratch, table, out, min_uses=min_uses)


def some_owners(collection: Collection, n_images: int) -> list[int]:
    """Return random owners who have about this many images together, none of them a quarter."""
    counts: IntArray = np.bincount(collection.owner, minlength=collection.n_owners + 1)
    kept: list[int] = []
    for owner in np.random.default_rng(0).permutation(collection.n_owners).tolist():
        total = int(counts[kept].sum())
        if counts[owner] < LARGEST_SHARE * n_images and total + counts[owner] <= 1.05 * n_images:
            kept.append(owner)
    return kept


def plain_table(
    folder: Path,
    scratch: Path,
    *,
    owner: str = "owner",
    chosen: Callable[[Mapping[str, str]], bool] = lambda row: True,
) -> Path:
    """Write the ids, owners and tags alone: titles are what some tags come from."""
    table = scratch / "images.csv"
    with (
        (folder / "images.csv").open(encoding="utf-8", newline="") as source,
        table.open("w", encoding="utf-8", newline="") as target,
    ):
        writer = csv.writer(target)
        writer.writerow(("image_id", "owner", "tags"))
        for row in csv.DictReader(source):
            if chosen(row):
                writer.writerow((row["image_id"], row[owner], row["tags"]))
    return table


def _imported(folder: Path, table: Path, out: Path, *, min_uses: int) -> Collection:
    sources = Sources(
        table,
        features=folder / "features.npy",
        groups=folder / "groups.csv",
        truth=folder / "truth.csv",
    )
    import_collection(sources, out, rules=TagRules(min_uses=min_uses), overwrite=True)
    return open_collection(out, verify=False)


def _ids_of(folder: Path, owners: set[str]) -> list[str]:
    with (folder / "images.csv").open(encoding="utf-8", newline="") as source:
        return [row["image_id"] for row in csv.DictReader(source) if row["owner"] in owners]


def _some_rows(table: Path, folder: Path, chosen: Callable[[Mapping[str, str]], bool]) -> None:
    with (
        table.open(encoding="utf-8", newline="") as source,
        (folder / table.name).open("w", encoding="utf-8", newline="") as target,
    ):
        rows = csv.DictReader(source)
        writer = csv.DictWriter(target, rows.fieldnames or ())
        writer.writeheader()
        writer.writerows(row for row in rows if chosen(row))
