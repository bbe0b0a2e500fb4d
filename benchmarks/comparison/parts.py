"""Rounds of a part of a collection, for what is measured many times or takes long."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from comparison.categories import CategoryRound
from comparison.div400 import Landmark, LandmarkPhotos, LandmarkRound
from comparison.rounds import HIDDEN_SHARE, Case, Round, TaskRound
from sugartag._typing import IntArray
from sugartag.collection.model import Collection
from sugartag.collection.subset import some_images, tag_counts
from sugartag.engine import LocalEngine
from sugartag.errors import SugartagError
from sugartag.evaluation.protocol import hidden_task, truth_task
from sugartag.methods.registry import make_method

MIN_USES = 5
"""Uses in the part that a tag has at least: a part has few of the whole vocabulary."""
LARGEST_OWNER = 0.25
"""Of the photographs wanted; owners with more are left out."""


def smaller_round(case: Case, n_images: int, min_uses: int = MIN_USES) -> Round:
    """Return the first round of a case with about so many images, measured once.

    Of photographs and drawings whole owners are kept, of landmarks all their photos. Only tags
    with so many uses are left, and those that are concepts or stand for a landmark.
    """
    here = case.start(0)
    if isinstance(here, LandmarkRound):
        return LandmarkRound(photos_of_some_landmarks(here.photos, n_images, min_uses))
    if isinstance(here, CategoryRound):
        kept = _some(here.collection.n_images, n_images)
        return CategoryRound(frequent_tags(some_images(here.collection, kept), min_uses))
    if not isinstance(here, TaskRound):
        return here
    if case.collection is not None and case.collection.n_images > n_images:
        part = frequent_tags(images_of_some(case.collection, n_images), min_uses)
        hides = here.task.hidden is not None
        here = TaskRound(hidden_task(part, HIDDEN_SHARE, 0) if hides else truth_task(part), False)
    return replace(here, author_aware=False)


def measured(
    here: Round, method: str, settings: Mapping[str, Any], kept: Sequence[str], seed: int = 0
) -> dict[str, Any]:
    """Return the metrics of a method, or why there are none."""
    try:
        found = here.measure(
            make_method(method, settings),
            engine=LocalEngine(blas_threads=1),
            rng=np.random.default_rng(seed),
            replicates=0,
        )
    except (SugartagError, MemoryError, np.linalg.LinAlgError) as error:
        return {"failed": str(error) or type(error).__name__}
    return {name: found[name] for name in kept if found.get(name) is not None}


def frequent_tags(collection: Collection, min_uses: int) -> Collection:
    """Return the collection with the tags that have so many uses, or are concepts, alone."""
    names = np.array(collection.tag_names)
    is_kept = (tag_counts(collection) >= min_uses) | np.isin(names, collection.concept_names)
    return _with_tags(collection, np.flatnonzero(is_kept))


def _with_tags(collection: Collection, kept: IntArray) -> Collection:
    """Return the collection with these tags alone, in their order."""
    shards = tuple(replace(one, tags=one.tags[:, kept]) for one in collection.shards)
    names = tuple(collection.tag_names[tag] for tag in kept.tolist())
    return replace(collection, shards=shards, tag_names=names)


def images_of_some(collection: Collection, n_images: int) -> Collection:
    """Return about so many images, all of some owners, none with a quarter of them."""
    counts = np.bincount(collection.owner, minlength=collection.n_owners + 1)
    kept: list[int] = []
    for owner in np.random.default_rng(0).permutation(collection.n_owners).tolist():
        total = int(counts[kept].sum())
        if counts[owner] < LARGEST_OWNER * n_images and total + counts[owner] <= 1.05 * n_images:
            kept.append(owner)
    return some_images(collection, np.flatnonzero(np.isin(collection.owner, kept)))


def photos_of_some_landmarks(
    photos: LandmarkPhotos, n_images: int, min_uses: int
) -> LandmarkPhotos:
    """Return the photos of landmarks drawn until there are so many photos."""
    order = np.random.default_rng(0).permutation(len(photos.landmarks)).tolist()
    chosen: list[Landmark] = []
    kept: IntArray = np.zeros(0, dtype=np.int64)
    for number in order:
        if len(kept) >= n_images:
            break
        chosen.append(photos.landmarks[number])
        kept = np.union1d(kept, chosen[-1].photo)
    part = some_images(photos.collection, kept)
    standing = np.concatenate([each.tag for each in chosen])
    tags = np.union1d(np.flatnonzero(tag_counts(part) >= min_uses), standing)
    moved = tuple(
        replace(
            each,
            photo=np.searchsorted(kept, each.photo),
            tag=np.searchsorted(tags, each.tag),
        )
        for each in chosen
    )
    return LandmarkPhotos(_with_tags(part, tags), moved)


def _some(n_all: int, n_images: int) -> IntArray:
    """Return so many of the images, drawn at random, in their order."""
    count = min(n_images, n_all)
    return np.sort(np.random.default_rng(0).choice(n_all, size=count, replace=False))
