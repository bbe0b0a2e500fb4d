"""Tags that look like variants of each other, listed for a person to decide."""

import csv
from collections.abc import Sequence
from dataclasses import astuple, fields
from pathlib import Path

from sugartag.collection.companions import VARIANTS
from sugartag.collection.vocabulary import Variant
from sugartag.storage.formulas import guarded


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
