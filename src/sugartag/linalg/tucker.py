"""A Tucker tensor users x images x tags, looked at post by post and never as a whole."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sugartag._rules import Shape
from sugartag._typing import FloatArray


@dataclass(frozen=True, eq=False)
class Tucker:
    """The tensor ``core ×₁ users ×₂ images ×₃ tags``, as its four parts."""

    core: Annotated[FloatArray, Shape("user rank", "image rank", "tag rank")]
    """User rank x image rank x tag rank."""
    users: Annotated[FloatArray, Shape("users", "user rank")]
    """Users x user rank."""
    images: Annotated[FloatArray, Shape("images", "image rank")]
    """Images x image rank."""
    tags: Annotated[FloatArray, Shape("tags", "tag rank")]
    """Tags x tag rank."""


def post_vectors(core: FloatArray, users: FloatArray, images: FloatArray) -> FloatArray:
    """Return posts x tag rank: what a tag's factor is multiplied with, for each post.

    Row n of ``users`` and row n of ``images`` are the factors of the user and the image of post n.
    """
    return _pairs(users, images) @ core.reshape(-1, core.shape[2])


@dataclass(frozen=True, eq=False)
class PostGradients:
    """How a function of the post vectors changes with what they were made of."""

    core: FloatArray
    users: FloatArray
    """Posts x user rank: each post's own share, to be added up where a user has several."""
    images: FloatArray
    """Posts x image rank."""


def post_gradients(
    core: FloatArray, users: FloatArray, images: FloatArray, slope: FloatArray
) -> PostGradients:
    """Lead a gradient with respect to the post vectors back to core, users and images."""
    flat = core.reshape(-1, core.shape[2])
    of_pairs = (slope @ flat.T).reshape(len(slope), core.shape[0], core.shape[1])
    return PostGradients(
        core=(_pairs(users, images).T @ slope).reshape(core.shape),
        users=np.matmul(of_pairs, images[:, :, None])[:, :, 0],
        images=np.matmul(users[:, None, :], of_pairs)[:, 0, :],
    )


def _pairs(users: FloatArray, images: FloatArray) -> FloatArray:
    """Return posts x (user rank x image rank): every product of two coordinates of a post."""
    products: FloatArray = users[:, :, None] * images[:, None, :]
    return products.reshape(len(users), -1)
