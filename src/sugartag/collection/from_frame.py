"""A collection from a data frame of any library."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
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

USUAL = ("image_id", "owner", "tags", "title", "path")
"""What the columns of a collection are called, unless somebody names others."""


def collection_from_frame(
    frame: Any,
    names: Mapping[str, str | None] = {},
    *,
    features: Any = None,
    groups: Any = None,
    truth: Any = None,
    separator: str | None = None,
    images_root: str | Path | None = None,
) -> Collection:
    """Make a collection from a frame; see :meth:`Collection.from_frame`.

    ``names`` are those of columns that were named, by their usual names.
    """
    every = columns_of(frame)
    shard, vocabulary, root = _rows(_renamed(every, names), separator, images_root)
    memberships, group_names = _groups(groups, vocabulary.owners)
    if isinstance(truth, str):
        truth = _truth_of_column(truth, every, shard.ids)
    right, concepts = _truth(truth, shard.ids, names.get("image_id") or "image_id")
    n_owners = len(vocabulary.owners)
    described, has_features = _features(features, every, len(shard))
    whole = Shard(
        ids=shard.ids,
        owner=np.where(shard.owner == 0, n_owners, shard.owner - 1).astype(np.int32),
        tags=shard.tags,
        features=described,
        has_features=has_features,
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


def _renamed(columns: Columns, names: Mapping[str, str | None]) -> Columns:
    """Return the columns of a collection by their usual names."""
    found = {}
    for usual in USUAL:
        asked = names.get(usual)
        if (name := asked or usual) in columns:
            found[usual] = columns[name]
        elif asked or usual == "image_id":
            there = ", ".join(map(shown, columns))
            raise CollectionError(
                f"the frame has no column {name!r}; its columns are {there}; "
                f"name one with {usual.removeprefix('image_')}="
            )
    return found


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


def _features(
    features: Any, columns: Columns, n_rows: int
) -> tuple[FloatArray | None, BoolArray | None]:
    """Return the features, float32 or float16, and which rows have some, if not all have."""
    if features is None:
        return None, None
    values, there = _found_features(features, columns), None
    if isinstance(values, list) and None in values:
        there = np.array([one is not None for one in values])
        nothing = [0.0] * len(next((one for one in values if one is not None), []))
        values = [nothing if one is None else one for one in values]
    found = _numbers(values)
    if found.ndim != 2 or len(found) != n_rows:
        raise CollectionError(
            f"the features have shape {found.shape} and the frame has {n_rows:,} rows; "
            "give one row of numbers for each"
        )
    require_finite(found)
    return found, there


def _found_features(features: Any, columns: Columns) -> Any:
    """Return the features that are named: of a column, of several, or of a file."""
    if isinstance(features, str | Path):
        if str(features) in columns:
            return columns[str(features)]
        if not Path(features).suffix and not Path(features).exists():
            raise CollectionError(f"the features {str(features)!r} are no column and no file")
        open_features(Path(features))
        return map_npy(Path(features))
    is_list = isinstance(features, Iterable) and getattr(features, "ndim", 1) == 1
    names = list(features) if is_list else []
    if not names or not all(isinstance(name, str) for name in names):
        return features
    missing = [name for name in names if name not in columns]
    if missing:
        raise CollectionError(f"the frame has no column {missing[0]!r} for the features")
    return np.stack([_numbers(columns[name]) for name in names], axis=1)


def _numbers(values: Any) -> FloatArray:
    try:
        found = np.asarray(values)
        return found if found.dtype == np.float16 else found.astype(np.float32, copy=False)
    except (TypeError, ValueError) as error:
        raise CollectionError(
            "the features are no array of numbers; give each image as many numbers"
        ) from error


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
            raise CollectionError(f"the frame has no image {shown(image)}, which the truth names")
        where.append((place[clean(image)], names[concept]))
    return _ones(where, (len(ids), len(names))), list(names)


def _truth_of_column(name: str, columns: Columns, ids: Texts) -> dict[str, Any]:
    if name not in columns:
        raise CollectionError(f"the frame has no column {name!r} for the truth")
    return {image: _many(some or []) for image, some in zip(ids, columns[name], strict=True)}


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
