"""What owners are like: their tag counts, and a short vector each for clustering."""

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from sugartag._typing import FloatArray, SparseRows
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, Engine, row_blocks
from sugartag.linalg.sparse_rows import damped_unit_rows

VECTOR_LENGTH = 16
BLOCKS_AT_ONCE = 4
"""Blocks counted in one step: tags alone are few, and each step adds all that came before."""


def owner_profiles(collection: Collection, *, engine: Engine) -> SparseRows:
    """Return owners x tags: on how many of their images each owner used each tag."""
    blocks = row_blocks(collection.n_images, BLOCKS_AT_ONCE * collection.rows_at_once)
    counts = engine.sum(count_owner_tags, blocks, collection)
    counts.sort_indices()  # or rounding further on would depend on how the blocks were cut
    return counts


def count_owner_tags(block: Block, collection: Collection) -> SparseRows:
    """Count the tags of one block's images by owner; images of unknown owners do not count."""
    tags = collection.tags_of(block).astype(np.float64)
    owner = collection.owner[block]
    known = np.flatnonzero(owner < collection.nobody)
    ownership = sparse.csr_array(
        (np.ones(len(known)), (owner[known], known)), shape=(collection.n_owners, len(owner))
    )
    return sparse.csr_array(ownership @ tags)


def owner_vectors(
    groups: SparseRows, profiles: SparseRows, *, rng: np.random.Generator
) -> FloatArray:
    """Return a short vector per owner: of their groups, or of their tags if they have none."""
    grouped = (np.diff(groups.indptr) > 0).astype(np.float64)
    described = sparse.csr_array(
        sparse.hstack(
            [
                damped_unit_rows(groups),
                sparse.diags_array(1.0 - grouped) @ damped_unit_rows(profiles),
            ]
        )
    )
    length = min(VECTOR_LENGTH, *described.shape)
    from sklearn.utils.extmath import randomized_svd

    with threadpool_limits(1):
        left, values, _ = randomized_svd(described, length, random_state=int(rng.integers(2**31)))
    return np.asarray(left * values)
