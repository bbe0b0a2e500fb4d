"""Make a collection from arrays that are already in memory."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.collection.model import Collection, Shard
from sugartag.collection.rows import LARGEST_FEATURE
from sugartag.collection.texts import Texts
from sugartag.errors import CollectionError


def collection_from_arrays(
    tags: SparseRows,
    owner: IntArray,
    *,
    features: FloatArray | None = None,
    has_features: BoolArray | None = None,
    groups: SparseRows | None = None,
    truth: SparseRows | None = None,
    tag_names: Sequence[str] | None = None,
    concept_names: Sequence[str] | None = None,
) -> Collection:
    """Return a collection of one shard; names that are not given are numbered.

    ``owner`` holds an index for each image; its largest value sets the number of owners unless
    ``groups`` (owners x groups) says how many there are. Concepts default to the first tags.
    ``has_features`` says which images have features; those of the others are not looked at.
    """
    n_images, n_tags = tags.shape
    n_owners = int(owner.max()) + 1 if groups is None else groups.shape[0]
    if features is not None and has_features is not None:
        features = np.where(has_features[:, None], features, 0.0)
    if features is not None:
        require_finite(features)
    memberships = sparse.csr_array((n_owners, 0)) if groups is None else binary(groups)
    if concept_names is None:
        concept_names = _numbered("tag", 0 if truth is None else truth.shape[1])
    shard = Shard(
        ids=Texts.of(_numbered("image", n_images)),
        owner=owner.astype(np.int32),
        tags=binary(tags),
        features=None if features is None else features.astype(np.float32, copy=False),
        truth=None if truth is None else binary(truth),
        has_features=None if has_features is None else has_features.astype(np.bool_),
    )
    return Collection(
        shards=(shard,),
        tag_names=tuple(tag_names if tag_names is not None else _numbered("tag", n_tags)),
        owner_names=Texts.of(_numbered("owner", n_owners)),
        group_names=Texts.of(_numbered("group", memberships.shape[1])),
        groups=memberships,
        concept_names=tuple(concept_names),
    )


def require_finite(features: FloatArray) -> None:
    """Raise naming the first image whose features are not all numbers, or are too large."""
    if not features.size or -LARGEST_FEATURE <= features.min() <= features.max() <= LARGEST_FEATURE:
        return
    wrong = ~(np.abs(features) <= LARGEST_FEATURE).all(axis=1)
    row = int(np.flatnonzero(wrong)[0])
    fault = (
        f"above {LARGEST_FEATURE:g}" if np.isfinite(features[row]).all() else "not finite numbers"
    )
    raise CollectionError(
        f"the features of image {row} are {fault}; compute them again, or leave the image out"
    )


def binary(matrix: SparseRows) -> SparseRows:
    """Return the matrix with ones where it is not zero: canonical CSR, int8."""
    made = sparse.csr_array(matrix, copy=True)
    made.sum_duplicates()
    made.eliminate_zeros()
    return sparse.csr_array(
        (np.ones(made.nnz, dtype=np.int8), made.indices, made.indptr), shape=made.shape
    )


def _numbered(word: str, count: int) -> list[str]:
    return [f"{word}-{number}" for number in range(count)]
