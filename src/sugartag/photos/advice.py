"""What would make the suggestions for a folder better, with the command to type."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sugartag._typing import IntArray
from sugartag.collection.model import Collection
from sugartag.collection.shown import counted
from sugartag.features.encoders import SHIPPED
from sugartag.photos.asked import Photos
from sugartag.photos.shown import Shown

BETTER = "open_clip:ViT-B-16-SigLIP/webli"
TORCH = "pip install 'sugartag[torch]'"
ENOUGH_ADDED = 1.0
"""Tags to add per photograph from which no better encoder is called for."""
FEW_USES = 5
MANY_RARE = 0.5
"""The share of the tags that may be rare before it is said."""
FEW_PHOTOGRAPHS = 200


@dataclass(frozen=True)
class Advice:
    """A sentence, and the commands that do what it says."""

    words: str
    commands: tuple[str, ...] = ()


def advice(asked: Photos, collection: Collection, shown: Shown, *, added: int) -> Iterator[Advice]:
    """Yield what would help, the most helpful first; ``added`` tags are sure enough to add."""
    if asked.encoder == SHIPPED and added < ENOUGH_ADDED * collection.n_images:
        yield Advice(
            "The shipped encoder is modest. CLIP and SigLIP describe photographs far better; their "
            "weights are downloaded once:",
            (TORCH, shlex.join([*asked.command, "--model", BETTER])),
        )
    if not collection.n_owners and asked.owner_from != "folder" and _in_folders(collection):
        yield Advice(
            "No photograph says who took it, and what one person photographs is alike. If each "
            "folder is of one person:",
            (shlex.join([*asked.command, "--owner-from", "folder"]),),
        )
    uses = _uses(collection)
    rare = int(np.count_nonzero(uses < FEW_USES))
    if rare > MANY_RARE * len(uses):
        yield Advice(
            f"{rare:,} of {counted(len(uses), 'tag')} are on fewer than {FEW_USES} photographs, "
            "which is too few to learn from: use the same words more often."
        )
    if collection.n_images < FEW_PHOTOGRAPHS:
        yield Advice(
            f"There is little to learn from {counted(collection.n_images, 'photograph')}: add more "
            "that have keywords, and repeat the command."
        )
    if sum(one.action == "add" for one in shown.changes) > added:
        model, folder, table = (str(asked.out / x) for x in ("model", "collection", "likely.csv"))
        suggest = ["sugartag", "suggest", model, folder, "--out", table]
        yield Advice(
            "The less sure suggestions as a table, to accept or reject in its column decision:",
            (shlex.join([*suggest, "--add-from", f"{shown.add_from:g}"]),),
        )


def _uses(collection: Collection) -> IntArray:
    """Return how many images have each tag."""
    found = np.zeros(collection.n_tags, dtype=np.int64)
    for shard in collection.shards:
        found += np.bincount(shard.tags.indices, minlength=collection.n_tags)
    return found


def _in_folders(collection: Collection) -> bool:
    paths = collection.texts_of("paths")
    return paths is not None and any("/" in path for path in paths)
