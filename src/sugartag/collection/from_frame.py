"""A collection from a data frame of any library."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.collection.build import require_finite
from sugartag.collection.frames import Columns, columns_of
from sugartag.collection.model import Collection, Shard
from sugartag.collection.readers.batch import Batch, shown
from sugartag.collection.readers.columns import TagSplit
from sugartag.collection.readers.features import open_features
from sugartag.collection.readers.paths import PathCheck
from sugartag.collection.readers.shards import Names, ShardRows, Vocabulary
from sugartag.collection.texts import Texts
from sugartag.collection.vocabulary import clean, clean_all
from sugartag.errors import CollectionError
from sugartag.storage.arrays import map_npy


@dataclass(frozen=True)
class FrameColumns:
    """The columns that somebody named; None for those of the usual name, if they are there."""

    id: str | None = None
    owner: str | None = None
    tags: str | None = None
    title: str | None = None
    path: str | None = None

    def renamed(self, columns: Columns) -> Columns:
        """Return the columns of a collection by their usual names."""
        found = {}
        for field in fields(self):
            asked, usual = getattr(self, field.name), _USUAL[field.name]
            name = asked or usual
            if name in columns:
                found[usual] = columns[name]
            elif asked or field.name == "id":
                there = ", ".join(map(shown, columns))
                raise CollectionError(
                    f"the frame has no column {name!r}; its columns are {there}; "
                    f"name one with {field.name}="
                )
        return found


_USUAL = {"id": "image_id", "owner": "owner", "tags": "tags", "title": "title", "path": "path"}


def collection_from_frame(
    frame: Any,
    columns: FrameColumns | None = None,
    *,
    features: Any = None,
    groups: Any = None,
    truth: Any = None,
    separator: str | None = None,
    images_root: str | Path | None = None,
) -> Collection:
    """Make a collection from a frame; see :meth:`Collection.from_frame`."""
    columns = columns or FrameColumns()
    every = columns_of(frame)
    shard, vocabulary, root = _rows(columns.renamed(every), separator, images_root)
    memberships, group_names = _groups(groups, vocabulary.owners)
    right, concepts = _truth(truth, shard.ids, columns.id or _USUAL["id"])
    n_owners = len(vocabulary.owners)
    whole = Shard(
        ids=shard.ids,
        owner=np.where(shard.owner == 0, n_owners, shard.owner - 1).astype(np.int32),
        tags=shard.tags,
        features=_features(features, every, len(shard)),
        truth=right,
        paths=shard.paths,
        titles=shard.titles,
    )
    return Collection(
        shards=(whole,),
        tag_names=tuple(vocabulary.tags),
        owner_names=Texts.of(vocabulary.owners),
        group_names=Texts.of(group_names),
        groups=memberships,
        concept_names=tuple(concepts),
        images_root=root,
    )


def _rows(
    columns: Columns, separator: str | None, images_root: str | Path | None
) -> tuple[Shard, Vocabulary, str | None]:
    """Return the rows as an import reads them, owners still numbered from 1."""
    n_rows = len(columns["image_id"])
    if n_rows == 0:
        raise CollectionError("the frame has no rows; give one with one row at least")
    given: Columns = {"tags": [None] * n_rows, **columns}
    batch = Batch(Path("frame"), "row", range(n_rows), given, n_rows, n_rows)
    split = TagSplit(separator) if separator else TagSplit.found_in(given["tags"])
    paths = PathCheck(None if images_root is None else Path(images_root))
    rows = ShardRows(Vocabulary(Names(), Names()), paths)
    rows.add(split.applied(batch))
    seen: dict[str, int] = {}
    for number, image in enumerate(rows.ids):
        if seen.setdefault(image, number) != number:
            raise batch.error(
                number, f"the image id {shown(image)} is in row {seen[image]} already"
            )
    return rows.shard(), rows.vocabulary, paths.root


def _features(features: Any, columns: Columns, n_rows: int) -> FloatArray | None:
    """Return the features, float32 or float16, or raise if they do not fit."""
    if features is None:
        return None
    if isinstance(features, str) and features in columns:
        found = np.array(columns[features], dtype=np.float32)
    elif isinstance(features, str | Path):
        open_features(Path(features))
        found = map_npy(Path(features))
        found = found if found.dtype == np.float16 else found.astype(np.float32)
    elif isinstance(features, list) and features and isinstance(features[0], str):
        missing = [name for name in features if name not in columns]
        if missing:
            raise CollectionError(f"the frame has no column {missing[0]!r} for the features")
        found = np.array([columns[name] for name in features], dtype=np.float32).T
    else:
        found = np.asarray(features)
        found = found if found.dtype == np.float16 else found.astype(np.float32, copy=False)
    if found.ndim != 2 or len(found) != n_rows:
        raise CollectionError(
            f"the features have shape {found.shape} and the frame {n_rows:,} rows; "
            "give one row of numbers for each"
        )
    require_finite(found)
    return found


def _groups(groups: Any, owners: Names) -> tuple[SparseRows, list[str]]:
    """Return owners x groups, and the names of the groups."""
    names = Names()
    pairs = _pairs(groups, "owner", "group")
    known = [(owners.get(clean(owner), 0), names[group]) for owner, group in pairs]
    where = [(owner, group) for owner, group in known if owner and group]
    return _ones(where, (len(owners), len(names))), list(names)


def _truth(truth: Any, ids: Texts, id_name: str) -> tuple[SparseRows | None, list[str]]:
    """Return images x concepts, and the names of the concepts."""
    if truth is None:
        return None, []
    names, place = Names(), {image: row for row, image in enumerate(ids, 1)}
    where = []
    for image, concept in _pairs(truth, id_name, "concept"):
        if clean(image) not in place:
            raise CollectionError(f"the truth names the image {shown(image)}, which is not there")
        where.append((place[clean(image)], names[concept]))
    return _ones(where, (len(ids), len(names))), list(names)


def _pairs(given: Any, first: str, second: str) -> list[tuple[str, str]]:
    """Return the rows of two columns, or the items of a mapping to lists, as texts."""
    if given is None:
        return []
    if isinstance(given, Mapping) and not {first, second} <= set(given):
        return [(str(key), str(item)) for key, items in given.items() for item in _many(items)]
    columns = columns_of(given)
    missing = [name for name in (first, second) if name not in columns]
    if missing:
        there = ", ".join(map(shown, columns))
        raise CollectionError(f"the frame has no column {missing[0]!r}; its columns are {there}")
    numbers = range(len(columns[first]))
    batch = Batch(Path("frame"), "row", numbers, columns, len(numbers), len(numbers))
    return list(
        zip(
            clean_all(batch.filled_texts(first)), clean_all(batch.filled_texts(second)), strict=True
        )
    )


def _many(items: Any) -> Iterable[Any]:
    return [items] if isinstance(items, str) else items


def _ones(where: Sequence[tuple[int, int]], shape: tuple[int, int]) -> SparseRows:
    """Return ones at places that are counted from 1, however often one is named."""
    place: IntArray = np.array(sorted(set(where)), dtype=np.int64).reshape(-1, 2) - 1
    ones = np.ones(len(place), dtype=np.int8)
    return sparse.csr_array((ones, (place[:, 0], place[:, 1])), shape=shape)
