"""Whether the parts of a collection fit together, and seeds are numbers."""

from typing import TYPE_CHECKING, Any

import numpy as np

from sugartag.errors import CollectionError, SettingsError

if TYPE_CHECKING:
    from sugartag.collection.model import Collection, Shard


def checked_seed(seed: Any) -> int:
    """Return a seed as Python's own kind of number, or raise if it is none."""
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
        raise SettingsError(f"seed is {seed!r}; give a whole number of at least 0")
    return int(seed)


def check(collection: "Collection") -> None:
    """Raise if the parts of a collection do not fit together."""
    if not collection.shards or not any(map(len, collection.shards)):
        raise CollectionError("the collection has no images")
    if collection.groups.shape != (collection.n_owners, collection.n_groups):
        raise CollectionError(
            f"groups have shape {collection.groups.shape}, not owners x groups = "
            f"({collection.n_owners}, {collection.n_groups})"
        )
    for number, shard in enumerate(collection.shards):
        _check_shard(collection, shard, number)


def _check_shard(collection: "Collection", shard: "Shard", number: int) -> None:
    n = len(shard)
    expected: list[tuple[str, tuple[int, ...] | None, tuple[int, ...]]] = [
        ("tags", shard.tags.shape, (n, collection.n_tags)),
        ("ids", (len(shard.ids),), (n,)),
    ]
    if collection.n_features or shard.features is not None:
        found = None if shard.features is None else shard.features.shape
        expected.append(("features", found, (n, collection.n_features)))
    if collection.has_truth:
        found = None if shard.truth is None else shard.truth.shape
        expected.append(("truth", found, (n, len(collection.concept_names))))
    for name in ("paths", "titles", "position", "has_features"):
        if (optional := getattr(shard, name)) is not None:
            expected.append((name, (len(optional),), (n,)))
    for what, shape, wanted in expected:
        if shape != wanted:
            raise CollectionError(f"shard {number}: {what} have shape {shape}, not {wanted}")
    if shard.has_features is not None and (
        shard.features is None or shard.has_features.dtype != np.bool_
    ):
        raise CollectionError(f"shard {number}: has_features must be truth values beside features")
    if n and (shard.owner.min() < 0 or shard.owner.max() > collection.nobody):
        raise CollectionError(f"shard {number}: an owner index is outside 0..{collection.nobody}")
