"""Tags that look like variants of each other, listed for a person to decide."""

import csv
from collections.abc import Sequence
from dataclasses import astuple, fields
from pathlib import Path

from sugartag.collection.companions import VARIANTS
from sugartag.collection.vocabulary import Variant


def write_variants(folder: Path, variants: Sequence[Variant]) -> None:
    """Write the proposals beside the collection, if there are any."""
    if not variants:
        return
    with (folder / VARIANTS).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([column.name for column in fields(Variant)])
        writer.writerows(map(astuple, variants))
