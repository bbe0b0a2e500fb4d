"""What clip-retrieval and img2dataset write: embeddings and metadata, part by part.

::

    img_emb/img_emb_0.npy           one row for each row of ...
    metadata/metadata_0.parquet     ... the metadata of the same number

The id of an image is the first column there is of ``image_id``, ``id``, ``key``, ``image_path`` and
``url``; tags, owner and title are found as in an ImageFolder, with ``caption`` as the title.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from sugartag.collection.archives.archive import (
    Archive,
    Row,
    find,
    first_column,
    stream,
    tag_list,
)
from sugartag.collection.archives.gathered import GatheredFeatures, NpyParts
from sugartag.collection.archives.image_folder import OWNER, TAGS, TITLE
from sugartag.collection.readers.batch import Columns
from sugartag.collection.readers.table import read_table
from sugartag.errors import CollectionError

IDS = ("image_id", "id", "key", "image_path", "url")
_COLUMNS = Columns(required=(), optional=(*IDS, *TAGS, *OWNER, *TITLE))
_NUMBER = re.compile(r"_(\d+)\.\w+$")


def detect(path: Path) -> bool:
    """Tell whether a folder is such an export."""
    return path.is_dir() and find(path, "img_emb_*.npy") is not None


def open_clip_retrieval(path: Path) -> Archive:
    """Open an export; there must be metadata for every file of embeddings."""
    embeddings = _parts(path, "img_emb_*.npy")
    metadata = _parts(path, "metadata_*.parquet")
    if not embeddings or embeddings.keys() != metadata.keys():
        raise CollectionError(
            f"{path} has img_emb files {sorted(embeddings)} and metadata files {sorted(metadata)}; "
            "every part needs both"
        )
    parts = NpyParts.of([embeddings[number] for number in sorted(embeddings)])
    tables = [metadata[number] for number in sorted(metadata)]
    return Archive(
        table=stream(path, lambda: _all_rows(tables, parts), total=parts.starts[-1]),
        features=GatheredFeatures(path, parts, n_rows=parts.starts[-1]),
    )


def _parts(path: Path, pattern: str) -> dict[int, Path]:
    first = find(path, pattern)
    files = [] if first is None else first.parent.glob(pattern)
    numbered = ((_NUMBER.search(file.name), file) for file in files)
    return {int(match[1]): file for match, file in numbered if match}


def _all_rows(tables: list[Path], parts: NpyParts) -> Iterator[Row]:
    for number, table in enumerate(tables):
        wanted = parts.starts[number + 1] - parts.starts[number]
        found = 0
        for row in _rows(table):
            found += 1
            yield row
        if found != wanted:
            raise CollectionError(
                f"{table} has {found:,} rows, {parts.paths[number]} has {wanted:,}; "
                "row i must belong to row i"
            )


def _rows(table: Path) -> Iterator[Row]:
    for batch in read_table(table, _COLUMNS):
        ids = first_column(IDS, batch.columns)
        if ids is None:
            raise CollectionError(f"{table} has none of the columns {', '.join(IDS)}")
        tags = first_column(TAGS, batch.columns) or [None] * len(batch)
        owner = first_column(OWNER, batch.columns) or [None] * len(batch)
        title = first_column(TITLE, batch.columns) or [None] * len(batch)
        for index in range(len(batch)):
            yield {
                "image_id": ids[index],
                "owner": owner[index],
                "tags": tag_list(tags[index]),
                "title": title[index],
            }
