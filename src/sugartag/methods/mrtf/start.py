"""Where the factors of MRTF start: at the tags as the images that look alike would have them."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator

from sugartag._typing import FloatArray, SparseRows
from sugartag.linalg.laplacian import inverse_roots, row_shares
from sugartag.linalg.proximal import largest_singular_parts
from sugartag.linalg.tucker import Tucker

POWER_STEPS = 4
"""Steps in which the singular vectors are refined; more change no score by a visible amount."""
SMALLEST_SHARE = 1e-9
"""Singular values this far below the largest are rounding."""


@dataclass(frozen=True)
class Ranks:
    """The lengths of the factors of users, images and tags."""

    users: int
    images: int
    tags: int


@dataclass(frozen=True, eq=False)
class Start:
    """The factors to begin with, and what a tag adds to the factor of an image."""

    factors: Tucker
    projection: FloatArray
    """Tags x image rank; zero where factors and tags have nothing to do with each other yet."""


def smoothed_tags(
    tags: SparseRows, affinity: SparseRows, *, own_share: float, scale: float
) -> LinearOperator:
    """Return images x tags: those of the image and the mean of its neighbours', weighted.

    Only products with it are taken; it would have as many entries as all neighbours have tags.
    """
    near = row_shares(affinity)
    near_transposed, tags_transposed = near.T.tocsr(), tags.T.tocsr()
    own, others = scale * own_share, scale * (1.0 - own_share)

    def forward(columns: FloatArray) -> FloatArray:
        given = tags @ columns
        found: FloatArray = own * given + others * (near @ given)
        return found

    def backward(columns: FloatArray) -> FloatArray:
        found: FloatArray = tags_transposed @ (own * columns + others * (near_transposed @ columns))
        return found

    return LinearOperator(
        shape=tags.shape,
        dtype=np.float64,
        matvec=forward,
        rmatvec=backward,
        matmat=forward,
        rmatmat=backward,
    )


def warm_start(
    smoothed: LinearOperator,
    n_owners: int,
    ranks: Ranks,
    *,
    noise: float,
    rng: np.random.Generator,
) -> Start:
    """Return factors whose tensor is about ``smoothed``, whoever the user.

    Images and tags have its singular vectors times the roots of the singular values. The first
    coordinate of every user is 1, and the core's first slice the identity; in the other
    coordinates users differ a little, which means nothing until the core learns to use it.
    """
    n_images, n_tags = smoothed.shape
    # More than there are would be noise.
    rank = min(max(ranks.images, ranks.tags), n_images, n_tags)
    parts = largest_singular_parts(smoothed, rank, rng=rng, power_steps=POWER_STEPS)
    roots = np.sqrt(parts.values)
    core = np.zeros((ranks.users, ranks.images, ranks.tags))
    core[0] = np.eye(ranks.images, ranks.tags)
    factors = Tucker(
        core=core,
        users=_users(n_owners, ranks.users, noise, rng),
        images=_widened(parts.left * roots, ranks.images),
        tags=_widened(parts.right * roots, ranks.tags),
    )
    kept = np.where(parts.values > SMALLEST_SHARE * parts.values[0], parts.values, 0.0)
    return Start(factors, _widened(parts.right * inverse_roots(kept), ranks.images))


def random_start(
    shape: tuple[int, int], n_owners: int, ranks: Ranks, *, noise: float, rng: np.random.Generator
) -> Start:
    """Return factors and a core that are all noise, for ``shape`` images x tags."""
    n_images, n_tags = shape
    factors = Tucker(
        core=noise * rng.standard_normal((ranks.users, ranks.images, ranks.tags)),
        users=_users(n_owners, ranks.users, noise, rng),
        images=noise * rng.standard_normal((n_images, ranks.images)),
        tags=noise * rng.standard_normal((n_tags, ranks.tags)),
    )
    return Start(factors, np.zeros((n_tags, ranks.images)))


def _users(n_owners: int, rank: int, noise: float, rng: np.random.Generator) -> FloatArray:
    """Return one row an owner, and a last one for nobody, who is like the mean of all."""
    users = noise * rng.standard_normal((n_owners + 1, rank))
    users[:, 0] = 1.0
    users[-1, 1:] = 0.0
    return users


def _widened(columns: FloatArray, count: int) -> FloatArray:
    """Return the first ``count`` columns, zeros where there are fewer."""
    made = np.zeros((len(columns), count))
    kept = min(count, columns.shape[1])
    made[:, :kept] = columns[:, :kept]
    return made
