"""The folder that an import writes: checked before, and never half-written."""

import csv
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, fields
from pathlib import Path

from sugartag.collection.companions import VARIANTS
from sugartag.collection.store import FORMAT
from sugartag.collection.vocabulary import Variant
from sugartag.errors import CollectionError, StorageError, SugartagError
from sugartag.storage.arrays import require_format
from sugartag.storage.aside import folder_aside
from sugartag.storage.formulas import guarded


@contextmanager
def collection_folder(
    target: Path, sources: Iterable[Path | None], *, overwrite: bool
) -> Iterator[Path]:
    """Yield an empty folder that becomes ``target`` if all goes well.

    A target that holds a source, or would replace anything but a collection, is refused.
    """
    _refuse_to_replace_sources(target, sources)
    try:
        if overwrite:
            _refuse_to_replace_other_things(target)
        with folder_aside(target, overwrite=overwrite) as folder:
            yield folder
    except SugartagError:
        raise
    except OSError as error:
        raise StorageError(f"cannot write {target}: {error.strerror or error}") from error


def _refuse_to_replace_sources(target: Path, sources: Iterable[Path | None]) -> None:
    whole = Path(os.path.realpath(target))
    for source in sources:
        if source is not None and Path(os.path.realpath(source)).is_relative_to(whole):
            raise CollectionError(f"{target} would replace {source}; choose another --out")


def _refuse_to_replace_other_things(target: Path) -> None:
    if not target.is_symlink() and (not target.exists() or _is_empty_folder(target)):
        return
    try:
        if target.is_symlink():
            raise StorageError(f"{target} is a link")
        require_format(target, format_name=FORMAT)
    except StorageError as error:
        raise StorageError(
            f"--overwrite replaces collections only: {error}; choose another --out"
        ) from error


def _is_empty_folder(target: Path) -> bool:
    return target.is_dir() and not any(target.iterdir())


def write_variants(folder: Path, variants: Sequence[Variant]) -> None:
    """Write the proposals beside the collection, if there are any."""
    if not variants:
        return
    with (folder / VARIANTS).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([column.name for column in fields(Variant)])
        writer.writerows(map(_cells, variants))


def _cells(variant: Variant) -> list[object]:
    """Return the cells of a row; what a spreadsheet would take for a formula is made text."""
    return [guarded(cell) if isinstance(cell, str) else cell for cell in astuple(variant)]
