"""Tags of images by the model's own reconstruction of the posts, beyond the paper.

Eq. 12 averages sums of the completed tensor. The model itself says what it makes of a post: the
value A ×₁ T ×₂ a_i ×₃ b_k for the image and its owner, and the sum of that over all owners for the
image whoever posted it.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy import sparse

from sugartag._rules import Shape, Within
from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.engine.base import row_blocks

CELLS_TURNED = 1 << 24
"""Of the tensor, at a time."""
USERS_AT_ONCE = 32
"""Users that the tensor is contracted with in one product."""


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """The completed tensor, and what is needed to score posts by it."""

    tensor: Annotated[FloatArray, Shape("tags", "anchor images", "anchor users")]
    """A: tags x anchor images x anchor users."""
    tag_affinity: Annotated[SparseRows, Shape("tags", "tags")]
    """T."""
    user_totals: Annotated[FloatArray, Shape("anchor users")]
    """Σ_k b_k: the links of all owners to each anchor user."""
    image_share: Annotated[float, Within(0, 1)]
    """γ: the share of what the model says of the image, whoever posted it."""
    by_image: Annotated[FloatArray, Shape("tags", "anchor images")]
    """Tags x anchor images: A ×₃ Σ_k b_k."""

    @classmethod
    def of(
        cls,
        tensor: FloatArray,
        tag_affinity: SparseRows,
        user_totals: FloatArray,
        *,
        image_share: float,
    ) -> "Reconstruction":
        """Prepare the scores by a tensor."""
        by_image = tensor @ user_totals.astype(tensor.dtype)
        return cls(tensor, tag_affinity, user_totals, image_share, by_image)

    def scores(
        self,
        image_links: SparseRows,
        user_links: SparseRows,
        user: IntArray,
        *,
        left_out: BoolArray | None = None,
    ) -> FloatArray:
        """Return images x tags: γ of the sum over all owners, the rest of the value at its own.

        ``user`` is the row of ``user_links`` that belongs to each image, ``left_out`` marks anchor
        users (rows as ``user_links``) of whom nothing may come in.
        """
        share = np.full(user_links.shape[0], self.image_share)
        of_owner = sparse.csr_array((1.0 - self.image_share) * user_links)
        if left_out is not None:
            # What must not come in is never added: taking it away again would leave its rounding.
            apart = left_out.any(axis=1)
            others = ~left_out * (share * apart)[:, None] * self.user_totals
            of_owner = sparse.csr_array(of_owner.multiply(~left_out) + sparse.csr_array(others))
            share[apart] = 0.0
        found = reconstructed(self.tensor, self.tag_affinity, image_links, of_owner, user)
        whoever = sparse.csr_array(image_links.multiply(share[user][:, None])) @ self.by_image.T
        found += (self.tag_affinity @ whoever.T).T
        return found


def reconstructed(
    tensor: FloatArray,
    tag_affinity: SparseRows,
    image_links: SparseRows,
    user_links: SparseRows,
    user: IntArray | None = None,
) -> FloatArray:
    """Return images x tags: A ×₁ T ×₂ a_i ×₃ b_k, the model's own value for each post.

    ``user`` is the row of ``user_links`` that belongs to each image; None if rows i of both link
    matrices belong together.
    """
    users = np.arange(image_links.shape[0]) if user is None else user
    if _fewer_by_user(tensor, image_links, user_links, users):
        found = _user_by_user(tensor, image_links, user_links, users)
    else:
        found = _image_by_image(tensor, image_links, user_links[users])
    mixed: FloatArray = (tag_affinity @ found).T
    return mixed


def _fewer_by_user(
    tensor: FloatArray, image_links: SparseRows, user_links: SparseRows, users: IntArray
) -> bool:
    """Tell whether contracting the tensor once a user takes fewer products than once an image."""
    links_of_user = np.diff(user_links.indptr)
    by_image = float(np.diff(image_links.indptr) @ links_of_user[users])
    by_user = float(tensor.shape[1] * links_of_user[np.unique(users)].sum()) + image_links.nnz
    return by_user < by_image


def _user_by_user(
    tensor: FloatArray, image_links: SparseRows, user_links: SparseRows, users: IntArray
) -> FloatArray:
    """Return tags x images: A ×₂ a_i ×₃ b_k, the tensor contracted with the b_k of some users."""
    n_tags, n_anchors, _ = tensor.shape
    found = np.zeros((n_tags, len(users)), dtype=np.result_type(image_links, tensor))
    different = np.unique(users)
    for block in row_blocks(len(different), USERS_AT_ONCE):
        weights = user_links[different[block]].toarray().T.astype(tensor.dtype)
        images_of = [np.flatnonzero(users == user) for user in different[block].tolist()]
        links_of = [image_links[images].T for images in images_of]
        for tags in row_blocks(n_tags, max(1, CELLS_TURNED // (n_anchors * weights.shape[1]))):
            of_users = np.ascontiguousarray((tensor[tags] @ weights).transpose(2, 0, 1))
            for of_user, images, links in zip(of_users, images_of, links_of, strict=True):
                found[tags, images] = of_user @ links
    return found


def _image_by_image(
    tensor: FloatArray, image_links: SparseRows, user_links: SparseRows
) -> FloatArray:
    """Return tags x images: A ×₂ a_i ×₃ b_k, by the products of the links of each image."""
    weights, by_tag = row_kronecker(image_links, user_links), tensor.reshape(len(tensor), -1)
    slices = np.empty((len(tensor), weights.shape[0]), dtype=np.result_type(weights, tensor))
    for tags in row_blocks(len(tensor), max(1, CELLS_TURNED // max(by_tag.shape[1], 1))):
        # Turned by parts: a copy of the whole may be larger than what memory has left.
        slices[tags] = (weights @ np.ascontiguousarray(by_tag[tags].T)).T
    return slices


def row_kronecker(left: SparseRows, right: SparseRows) -> SparseRows:
    """Return the Kronecker product of each row of ``left`` with the same row of ``right``."""
    left_sizes, right_sizes = np.diff(left.indptr), np.diff(right.indptr)
    sizes = left_sizes * right_sizes
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    row = np.repeat(np.arange(len(sizes)), sizes)
    within = np.arange(indptr[-1]) - indptr[row]
    of_left = left.indptr[row] + within // np.maximum(right_sizes[row], 1)
    of_right = right.indptr[row] + within % np.maximum(right_sizes[row], 1)
    columns = left.indices[of_left].astype(np.int64) * right.shape[1] + right.indices[of_right]
    values = left.data[of_left] * right.data[of_right]
    shape = (left.shape[0], left.shape[1] * right.shape[1])
    return sparse.csr_array((values, columns, indptr), shape=shape)
