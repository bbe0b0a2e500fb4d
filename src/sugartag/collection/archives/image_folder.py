"""Hugging Face ImageFolder: pictures with ``metadata.csv``, ``.jsonl`` or ``.parquet`` beside them.

The metadata file stands in the folder itself, or one in each folder of a split; its column
``file_name`` says which picture a row is of. Of the other columns, these are read:

- tags: ``tags``, ``keywords`` or ``labels``; lists, or text split on ``|``, else on ``,``;
- owner: ``owner``, ``user``, ``creator``, ``photographer``, ``author`` or ``artist``;
- title: ``title``, ``caption`` or ``text``.
"""

from collections.abc import Iterator
from pathlib import Path

from sugartag.collection.archives.archive import Archive, Row, first_column, stream, tag_list
from sugartag.collection.readers.batch import Batch, Columns
from sugartag.collection.readers.table import read_table
from sugartag.errors import CollectionError

TAGS = ("tags", "keywords", "labels")
OWNER = ("owner", "user", "creator", "photographer", "author", "artist")
TITLE = ("title", "caption", "text")
_NAMES = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
_COLUMNS = Columns(required=("file_name",), optional=(*TAGS, *OWNER, *TITLE))
_HEADER_BYTES = 1 << 16


def detect(path: Path) -> bool:
    """Tell whether a folder is such a folder."""
    return path.is_dir() and any(map(_names_pictures, _tables(path)))


def open_image_folder(path: Path) -> Archive:
    """Open a folder with metadata files."""
    tables = _tables(path)
    if not tables:
        raise CollectionError(f"{path} has no {', '.join(_NAMES)}, in it or in its folders")
    return Archive(
        table=stream(path, lambda: (row for table in tables for row in _rows(path, table))),
        images_root=path,
    )


def _tables(path: Path) -> list[Path]:
    inside = [path / name for name in _NAMES if (path / name).is_file()]
    return inside or sorted(found for name in _NAMES for found in path.glob(f"*/{name}"))


def _names_pictures(table: Path) -> bool:
    """Tell whether a metadata file has the column, so that other files of its name do not count."""
    if table.suffix == ".parquet":
        return True
    with table.open("rb") as file:
        return b"file_name" in file.read(_HEADER_BYTES)


def _rows(root: Path, table: Path) -> Iterator[Row]:
    folder = table.parent.relative_to(root).as_posix()
    before = "" if folder == "." else f"{folder}/"
    for batch in read_table(table, _COLUMNS):
        columns = _columns(batch)
        for index, name in enumerate(batch.filled_texts("file_name")):
            yield {
                "image_id": f"{before}{name}",
                "path": f"{before}{name}",
                **{column: values[index] for column, values in columns.items()},
            }


def _columns(batch: Batch) -> dict[str, list[object]]:
    tags = first_column(TAGS, batch.columns) or [None] * len(batch)
    owner = first_column(OWNER, batch.columns) or [None] * len(batch)
    title = first_column(TITLE, batch.columns) or [None] * len(batch)
    return {
        "tags": [tag_list(value) for value in tags],
        "owner": list(owner),
        "title": list(title),
    }
