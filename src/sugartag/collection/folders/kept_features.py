"""Features of pictures that have not changed, taken over when a folder is imported again."""

from pathlib import Path

import numpy as np

from sugartag._typing import BoolArray, IntArray
from sugartag.collection.feature_update import (
    FeatureUpdate,
    FileVersions,
    encoder_of,
    file_versions,
)
from sugartag.collection.model import Collection
from sugartag.collection.store import open_collection


def keep_features(before: Path, now: Path, unchanged: set[str]) -> None:
    """Give the images ``unchanged`` of a new collection folder the features they had before.

    Only features that an encoder of ours made are taken over, as only of these it is known which
    file they are of. The other images stand without features until they are embedded.
    """
    encoder = encoder_of(before)
    if encoder is None:
        return
    old, new = open_collection(before), open_collection(now, verify=False)
    versions = _versions(before, len(old.shards))
    if versions is None:
        return
    row_of = {image: row for row, image in enumerate(old.ids) if image in unchanged}
    update = FeatureUpdate(now)
    for number, shard in enumerate(new.shards):
        there = np.array([image in row_of for image in shard.ids], dtype=np.bool_)
        source = np.array([row_of.get(image, 0) for image in shard.ids], dtype=np.int64)
        _write(update, number, old, versions, source, there & old.described[source])
    update.finish(encoder)


def _write(
    update: FeatureUpdate,
    number: int,
    old: Collection,
    versions: FileVersions,
    source: IntArray,
    kept: BoolArray,
) -> None:
    features = old.features_at(source).astype(np.float16)
    features[~kept] = 0
    arrays = {
        name: np.where(kept.reshape(-1, *[1] * (array.ndim - 1)), array[source], 0).astype(
            array.dtype
        )
        for name, array in versions.arrays().items()
    }
    mask = None if kept.all() else kept
    update.write(number, {"features": features, "has_features": mask, **arrays})


def _versions(folder: Path, n_shards: int) -> FileVersions | None:
    found = [file_versions(folder, number) for number in range(n_shards)]
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return None
    return FileVersions(
        np.concatenate([one.size for one in known]),
        np.concatenate([one.mtime for one in known]),
        np.concatenate([one.digest for one in known]),
    )
