"""The same images with other tags: some hidden, some wrong ones injected, or without the truth.

Which pairs of image and tag are touched depends on the seed, the image's row and the tag alone,
never on how the images lie in shards. Features, owners and groups are shared, not copied.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.collection.model import Collection, Shard
from sugartag.collection.texts import Texts
from sugartag.engine.base import Block
from sugartag.errors import CollectionError, SettingsError

ATTEMPTS = 64
"""Draws for one wrong tag before it is given up: an image may have nearly every tag already."""

_Words: TypeAlias = npt.NDArray[np.uint64]
_HIDING, _CHOOSING, _DRAWING = 1, 2, 3
_MASK = (1 << 64) - 1


@dataclass(frozen=True, eq=False)
class Hidden:
    """A collection some of whose tags were taken away, and the tags taken."""

    collection: Collection
    """The same images with the tags that remain; it knows no truth."""
    taken: Collection
    """The same images with the hidden tags only, without features."""

    def hidden_of(self, block: Block) -> SparseRows:
        """Return the hidden tags of one block: images x tags."""
        return self.taken.tags_of(block)


@dataclass(frozen=True, eq=False)
class Injected:
    """A collection to which wrong tags were added, and the tags added."""

    collection: Collection
    """The same images with the given tags and the wrong ones; it knows no truth."""
    added: Collection
    """The same images with the wrong tags only, without features."""

    def injected_of(self, block: Block) -> SparseRows:
        """Return the injected tags of one block: images x tags."""
        return self.added.tags_of(block)


def hide_tags(collection: Collection, share: float, seed: int) -> Hidden:
    """Hide each given (image, tag) pair with probability ``share``."""
    if not 0.0 < share < 1.0:
        raise SettingsError(f"the share of tags to hide is {share}; pass one between 0 and 1")
    key = _seed_word(seed)

    def parts(shard: Shard, start: int) -> tuple[SparseRows, SparseRows]:
        row, tag = _pairs(shard.tags)
        away = _chance(key, _HIDING, start + row, tag) < share
        shape = shard.tags.shape
        return _rows_of(row[~away], tag[~away], shape), _rows_of(row[away], tag[away], shape)

    return Hidden(*_two_collections(collection, parts))


def inject_tags(collection: Collection, rate: float, seed: int) -> Injected:
    """Add about ``rate`` wrong tags for each given one.

    Each given pair brings its image a wrong tag with probability ``rate``, drawn as often as the
    collection uses it; a pair that is given already is never drawn, nor the same pair twice.
    """
    if not 0.0 < rate <= 1.0:
        raise SettingsError(
            f"the rate of wrong tags is {rate}; pass one above 0 and not above 1 for each given tag"
        )
    key = _seed_word(seed)
    up_to = np.cumsum(tag_counts(collection), dtype=np.float64)

    def parts(shard: Shard, start: int) -> tuple[SparseRows, SparseRows]:
        row, tag = _pairs(shard.tags)
        chosen = _chance(key, _CHOOSING, start + row, tag) < rate
        wrong_row, wrong_tag = _wrong_pairs(shard.tags, row[chosen], tag[chosen], start, up_to, key)
        shape = shard.tags.shape
        both = np.concatenate([row, wrong_row]), np.concatenate([tag, wrong_tag])
        return _rows_of(*both, shape), _rows_of(wrong_row, wrong_tag, shape)

    return Injected(*_two_collections(collection, parts))


def without_truth(collection: Collection) -> Collection:
    """Return the collection without its true concepts: what a method may learn from."""
    shards = tuple(replace(shard, truth=None) for shard in collection.shards)
    return replace(collection, shards=shards, concept_names=())


def some_images(collection: Collection, images: IntArray) -> Collection:
    """Return the collection with these images alone, in ascending order; all names stay."""
    shards, start = [], 0
    for shard in collection.shards:
        here = images[(images >= start) & (images < start + len(shard))] - start
        shards.append(_shard_of(shard, np.unique(here)))
        start += len(shard)
    return replace(collection, shards=tuple(shards))


def chosen_images(collection: Collection, which: Any) -> Collection:
    """Return the images of a slice, of a mask, or of a list of ids or row numbers, in its order.

    All names stay, so that tags keep their numbers.
    """
    rows = _row_numbers(collection, which)
    ascending = bool((np.diff(rows) > 0).all())
    if not ascending and len(np.unique(rows)) < len(rows):
        raise CollectionError("an image is chosen twice; choose every image once")
    some = some_images(collection, rows)
    return some if ascending else _in_order(some, np.argsort(np.argsort(rows)))


def _row_numbers(collection: Collection, which: Any) -> IntArray:
    if isinstance(which, slice):
        return np.arange(collection.n_images)[which]
    chosen = np.asarray(which)
    if chosen.ndim != 1:
        raise CollectionError(
            f"images are chosen by a slice, a mask or a list of ids or rows, not by {which!r}; "
            "one image is photos[5:6]"
        )
    if chosen.dtype == np.bool_:
        if len(chosen) != collection.n_images:
            raise CollectionError(
                f"the mask has {len(chosen):,} values and the collection {collection.n_images:,} "
                "images; give one for each"
            )
        return np.flatnonzero(chosen)
    if chosen.dtype.kind in "iu":
        if chosen.size and not (chosen.min() >= 0 and chosen.max() < collection.n_images):
            raise CollectionError(f"a chosen row is outside 0..{collection.n_images - 1}")
        return chosen.astype(np.int64)
    place = {name: row for row, name in enumerate(collection.ids)}
    unknown = next((name for name in chosen.tolist() if name not in place), None)
    if unknown is not None:
        raise CollectionError(f"no image has the id {unknown!r}; choose ids of this collection")
    return np.array([place[name] for name in chosen.tolist()], dtype=np.int64)


def _in_order(collection: Collection, order: IntArray) -> Collection:
    """Return the collection as one shard, its rows in another order."""
    shards = [shard for shard in collection.shards if len(shard)]

    def joined(name: str) -> Any:
        parts = [getattr(shard, name) for shard in shards]
        if parts[0] is None:
            return None
        if isinstance(parts[0], Texts):
            return Texts.joined(parts)
        if isinstance(parts[0], np.ndarray):
            return np.concatenate(parts)
        return sparse.csr_array(sparse.vstack(parts, format="csr"))

    whole = Shard(**{field.name: joined(field.name) for field in fields(Shard)})
    return replace(collection, shards=(_shard_of(whole, order),))


def tag_counts(collection: Collection) -> IntArray:
    """Return how many images each tag is given to."""
    counts = np.zeros(collection.n_tags, dtype=np.int64)
    for shard in collection.shards:
        counts += np.bincount(shard.tags.indices, minlength=collection.n_tags)
    return counts


def _shard_of(shard: Shard, chosen: IntArray) -> Shard:
    """Return some rows of a shard; a run of them is a view, which a mapped file may back."""
    is_run = len(chosen) > 0 and bool((np.diff(chosen) == 1).all())
    rows: Any = slice(int(chosen[0]), int(chosen[-1]) + 1) if is_run else chosen

    def of(found: Any) -> Any:
        if isinstance(found, Texts) and not is_run:
            return Texts.of(found[row] for row in chosen.tolist())
        return None if found is None else found[rows]

    return Shard(**{field.name: of(getattr(shard, field.name)) for field in fields(Shard)})


def _two_collections(
    collection: Collection, parts: Callable[[Shard, int], tuple[SparseRows, SparseRows]]
) -> tuple[Collection, Collection]:
    """Return the collection with the first part of each shard as tags, and with the second."""
    kept, apart, start = [], [], 0
    for shard in collection.shards:
        first, second = parts(shard, start)
        kept.append(replace(shard, tags=first, truth=None))
        apart.append(replace(shard, tags=second, truth=None, features=None, has_features=None))
        start += len(shard)
    return (
        replace(collection, shards=tuple(kept), concept_names=()),
        replace(collection, shards=tuple(apart), concept_names=()),
    )


def _wrong_pairs(
    given: SparseRows, row: IntArray, tag: IntArray, start: int, up_to: FloatArray, key: _Words
) -> tuple[IntArray, IntArray]:
    """Return one wrong tag for the row of each pair; ``up_to`` is the cumulative use of tags."""
    n_tags = given.shape[1]
    given_row, given_tag = _pairs(given)
    taken = np.sort(given_row * n_tags + given_tag)
    found = np.empty(0, dtype=np.int64)
    for attempt in range(ATTEMPTS):
        chance = _chance(key, _DRAWING, start + row, tag, attempt)
        drawn = np.searchsorted(up_to, chance * up_to[-1], side="right")
        pairs = row * n_tags + np.minimum(drawn, n_tags - 1)
        good = ~is_in(pairs, taken) & ~is_in(pairs, found) & _is_first(pairs)
        found = np.sort(np.concatenate([found, pairs[good]]))
        row, tag = row[~good], tag[~good]
        if not row.size:
            break
    wrong_row, wrong_tag = np.divmod(found, n_tags)
    return wrong_row, wrong_tag


def is_in(values: IntArray, ordered: IntArray) -> BoolArray:
    """Tell which values are among the ordered ones."""
    place = np.searchsorted(ordered, values)
    present: BoolArray = np.append(ordered, 0)[place] == values
    return present & (place < len(ordered))


def _is_first(values: IntArray) -> BoolArray:
    """Mark the first of each value."""
    first = np.zeros(len(values), dtype=np.bool_)
    first[np.unique(values, return_index=True)[1]] = True
    return first


def _pairs(tags: SparseRows) -> tuple[IntArray, IntArray]:
    """Return the row and the tag of each stored entry, row by row."""
    row = np.repeat(np.arange(tags.shape[0], dtype=np.int64), np.diff(tags.indptr))
    return row, tags.indices.astype(np.int64)


def _rows_of(row: IntArray, tag: IntArray, shape: tuple[int, int]) -> SparseRows:
    ones = np.ones(len(row), dtype=np.int8)
    rows: SparseRows = sparse.csr_array((ones, (row, tag)), shape=shape)
    rows.sort_indices()
    return rows


def _seed_word(seed: int) -> _Words:
    return _mixed(np.array([seed & _MASK], dtype=np.uint64))


def _chance(
    key: _Words, purpose: int, row: IntArray, tag: IntArray, attempt: int = 0
) -> FloatArray:
    """Return a number from 0 up to 1 for each pair: a hash of all that is passed."""
    word = _mixed(key + np.uint64(purpose + (attempt << 8)))
    word = _mixed(_mixed(word ^ row.astype(np.uint64)) ^ tag.astype(np.uint64))
    return (word >> np.uint64(11)) * 2.0**-53


def _mixed(word: _Words) -> _Words:
    """Return the words scrambled by one step of SplitMix64; products and sums wrap around."""
    word = word + np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))
