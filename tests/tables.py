"""Tables written for tests, and what an import makes of them."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sugartag.collection import open_collection
from sugartag.collection.readers import ImportSummary, Sources, import_collection
from sugartag.collection.vocabulary import TagRules

Row = dict[str, Any]

ROWS: list[Row] = [
    {"image_id": "1", "owner": "anna", "tags": ["beach", "sun"], "path": "a/1.jpg"},
    {"image_id": "2", "owner": "", "tags": ["dog", "sun", " sun", ""], "title": "My dog"},
    {"image_id": "3", "owner": "ben", "tags": []},
    {"image_id": "4", "owner": "anna", "tags": ["Sun"]},
]


def write_table(path: Path, rows: list[Row]) -> Path:
    names = list(dict.fromkeys(name for row in rows for name in row))
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    elif path.suffix == ".parquet":
        pq.write_table(pa.table({name: [row.get(name) for row in rows] for name in names}), path)
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writerow(names)
            for row in rows:
                flat = {**row, "tags": "|".join(row["tags"])} if "tags" in row else row
                writer.writerow([flat.get(name, "") for name in names])
    return path


def imported(tmp_path: Path, rows: list[Row], **options: Any) -> ImportSummary:
    sources = {
        name: options.pop(name)
        for name in ("features", "groups", "truth", "images_root")
        if name in options
    }
    rules = {name: options.pop(name) for name in ("lowercase", "min_uses") if name in options}
    table = write_table(tmp_path / "photos.csv", rows)
    options = {"rules": TagRules(**rules), **options}
    return import_collection(Sources(table, **sources), tmp_path / "out", **options)


def tags_by_image(folder: Path) -> dict[str, set[str]]:
    collection = open_collection(folder)
    rows = collection.tags_of(slice(0, collection.n_images)).toarray() > 0
    names = np.array(collection.tag_names, dtype=object)
    return {
        image: set(names[row].tolist()) for image, row in zip(collection.ids, rows, strict=True)
    }


def left_over(tmp_path: Path, before: set[str]) -> set[str]:
    return {path.name for path in tmp_path.iterdir()} - before
