"""The tags of a catalogue as they are now, written for people and for other programs.

Aliases and implications are applied unless the tags are wanted as they are stored.
"""

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import Any

from sugartag._extras import optional
from sugartag.changes.catalogue import Catalogue
from sugartag.changes.vocabulary import Rules, rules_of
from sugartag.errors import CollectionError, SettingsError
from sugartag.storage.arrays import inside, write_manifest
from sugartag.storage.aside import file_aside, folder_aside
from sugartag.storage.damage import OTHERS
from sugartag.storage.formulas import guarded

KINDS = (".csv", ".jsonl", ".parquet")
TABLE_COLUMNS = ("image_id", "owner", "tags", "path", "title")
LONG_COLUMNS = ("image_id", "tag", "source", "run_id", "by", "at")
ROWS_AT_ONCE = 4096

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TaggedImage:
    """An image with the names of its tags."""

    image: int
    image_id: str
    path: str | None
    owner: str | None
    title: str | None
    tags: tuple[str, ...]


def tagged_images(catalogue: Catalogue, *, as_stored: bool = False) -> Iterator[TaggedImage]:
    """Yield every image with its tags, in the order of the collection."""
    rules = Rules({}, {}) if as_stored else rules_of(catalogue)
    rows = catalogue.connection.execute(
        "SELECT i.image, i.image_id, i.path, o.name, i.title, t.name FROM images i "
        "LEFT JOIN owners o USING (owner) LEFT JOIN image_tags g USING (image) "
        "LEFT JOIN tags t USING (tag) ORDER BY i.image, t.name"
    )
    for (image, image_id, path, owner, title), some in groupby(rows, key=itemgetter(0, 1, 2, 3, 4)):
        tags = rules.resolved(row[5] for row in some if row[5] is not None)
        yield TaggedImage(image, image_id, path, owner, title, tuple(tags))


def export_table(
    catalogue: Catalogue,
    path: Path,
    *,
    as_stored: bool = False,
    guard_formulas: bool = True,
    overwrite: bool = False,
) -> int:
    """Write a table that can be imported again; return how many images it has."""
    rows = (
        {
            "image_id": one.image_id,
            "owner": one.owner or "",
            "tags": list(one.tags),
            "path": one.path or "",
            "title": one.title or "",
        }
        for one in tagged_images(catalogue, as_stored=as_stored)
    )
    return _written(rows, path, TABLE_COLUMNS, guard_formulas, overwrite)


def export_provenance(
    catalogue: Catalogue, path: Path, *, guard_formulas: bool = True, overwrite: bool = False
) -> int:
    """Write a row for each tag of each image that says where it comes from; return how many."""
    rows = catalogue.connection.execute(
        "SELECT i.image_id, t.name, g.source, coalesce(r.run_id, ''), coalesce(g.by, ''), g.at "
        "FROM image_tags g JOIN images i USING (image) JOIN tags t USING (tag) "
        "LEFT JOIN runs r USING (run) ORDER BY i.image, t.name"
    )
    named = (dict(zip(LONG_COLUMNS, row, strict=True)) for row in rows)
    return _written(named, path, LONG_COLUMNS, guard_formulas, overwrite)


def export_text_files(
    catalogue: Catalogue, folder: Path, *, as_stored: bool = False, overwrite: bool = False
) -> int:
    """Write ``photo.txt`` for each ``photo.jpg``, its tags separated by commas."""
    count = 0
    with folder_aside(folder, overwrite=overwrite) as aside:
        for one in tagged_images(catalogue, as_stored=as_stored):
            if one.path is None:
                raise CollectionError(
                    f"image {one.image_id!r} has no path to call its text file after; "
                    "import the collection with paths"
                )
            target = inside(aside, str(PurePosixPath(one.path).with_suffix(".txt")))
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.exists():
                target = inside(aside, f"{one.path}.txt")
            target.write_text(", ".join(one.tags) + "\n", encoding="utf-8")
            count += 1
        mark(aside, {"format": "sugartag-text-files/1", "images": count})
    return count


def export_records(
    catalogue: Catalogue,
    path: Path,
    record: Callable[[TaggedImage], Record],
    *,
    lines: bool,
    wrapped: tuple[str, str] = ("[\n", "\n]\n"),
    as_stored: bool = False,
    overwrite: bool = False,
) -> int:
    """Write a JSON object for each image: one on each line, or all of them in one document."""
    count = 0
    with (
        file_aside(path, overwrite=overwrite) as aside,
        aside.open("w", encoding="utf-8", newline="") as file,
    ):
        file.write("" if lines else wrapped[0])
        for one in tagged_images(catalogue, as_stored=as_stored):
            between = "" if lines or not count else ",\n"
            file.write(between + json.dumps(record(one), ensure_ascii=False))
            file.write("\n" if lines else "")
            count += 1
        file.write("" if lines else wrapped[1])
    return count


def _written(
    rows: Iterator[Record],
    path: Path,
    columns: tuple[str, ...],
    guard_formulas: bool,
    overwrite: bool,
) -> int:
    if path.suffix.lower() not in KINDS:
        raise SettingsError(f"{path} must end in one of: {', '.join(KINDS)}")
    count = 0
    with (
        file_aside(path, overwrite=overwrite) as aside,
        _sink(aside, columns, guard_formulas) as put,
    ):
        while some := list(islice(rows, ROWS_AT_ONCE)):
            put(some)
            count += len(some)
    return count


@contextmanager
def _sink(
    path: Path, columns: tuple[str, ...], guard_formulas: bool
) -> Iterator[Callable[[list[Record]], Any]]:
    if path.suffix.lower() == ".parquet":
        arrow: Any = optional("pyarrow", extra="parquet", needed_for="writing Parquet")
        parquet: Any = optional("pyarrow.parquet", extra="parquet", needed_for="writing Parquet")
        kinds = {name: arrow.string() for name in columns}
        if "tags" in kinds:
            kinds["tags"] = arrow.list_(arrow.string())
        schema = arrow.schema(list(kinds.items()))
        with parquet.ParquetWriter(path, schema) as writer:
            yield lambda rows: writer.write_table(arrow.Table.from_pylist(rows, schema=schema))
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix.lower() == ".jsonl":
            yield lambda rows: file.writelines(
                json.dumps(row, ensure_ascii=False) + "\n" for row in rows
            )
            return
        table = csv.DictWriter(file, columns)
        table.writeheader()
        yield lambda rows: table.writerows(_cells(row, guard_formulas) for row in rows)


def _cells(row: Mapping[str, Any], guard_formulas: bool) -> Record:
    texts = {
        name: "|".join(value) if isinstance(value, list) else value for name, value in row.items()
    }
    return {name: guarded(text) for name, text in texts.items()} if guard_formulas else texts


def mark(folder: Path, manifest: Record) -> None:
    """Say whose folder this is and what we wrote in it, so that it may be replaced later."""
    files = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    names = sorted(path.as_posix() for path in files)
    write_manifest(folder, {**manifest, OTHERS: names})
