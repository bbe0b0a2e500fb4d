"""Tags of images from the completed anchor tensor: eq. 12, or the model's own reconstruction."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from scipy import sparse

from sugartag._rules import Below, Shape, Within
from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.engine.base import row_blocks
from sugartag.linalg.sparse_rows import row_number_of_entries, strongest_per_row

UserNeighbours = Literal["unit", "user", "all"]
CELLS_TURNED = 1 << 24
"""Of the tensor, at a time."""


@dataclass(frozen=True, eq=False)
class Assignment:
    """Eq. 12: the weighted average of the tags of an image's nearest anchor units."""

    by_image: Annotated[FloatArray, Shape("anchor images", "tags")]
    """A_[3]ᵀ: anchor images x tags, the completed tensor summed over users."""
    by_user: Annotated[FloatArray, Shape("anchor users", "tags")]
    """A_[2]ᵀ: anchor users x tags, the completed tensor summed over images."""
    user_of_image: Annotated[IntArray, Shape("anchor images"), Below("anchor users+1")]
    """The anchor user that owns each anchor image; the number of anchor users if none does."""
    n_neighbours: Annotated[int, Within(1, 1_000_000)]
    """s."""
    image_share: Annotated[float, Within(0, 1)]
    """γ."""
    user_neighbours: UserNeighbours
    """What ⟨k⟩ is: owners of the s nearest anchor images, the s nearest users, or all users."""

    def scores(self, image_links: SparseRows, user_links: SparseRows) -> FloatArray:
        """Return images x tags from the images' and their owners' links to the anchors."""
        nearest = strongest_per_row(image_links, self.n_neighbours)
        found: FloatArray = (self.image_share * nearest) @ self.by_image
        found += ((1.0 - self.image_share) * self._user_part(nearest, user_links)) @ self.by_user
        found /= self.n_neighbours
        return found

    def _user_part(self, nearest: SparseRows, user_links: SparseRows) -> SparseRows:
        if self.user_neighbours == "all":
            return user_links
        if self.user_neighbours == "user":
            return strongest_per_row(user_links, self.n_neighbours)
        return self._links_to_owners_of(nearest, user_links)

    def _links_to_owners_of(self, nearest: SparseRows, user_links: SparseRows) -> SparseRows:
        """Weigh each anchor user by its link, once for each near anchor image it owns."""
        rows, owners = row_number_of_entries(nearest), self.user_of_image[nearest.indices]
        owned = owners < len(self.by_user)
        times = sparse.csr_array(
            (np.ones(int(owned.sum())), (rows[owned], owners[owned])), shape=user_links.shape
        )
        return sparse.csr_array(times.multiply(user_links))


def reconstructed(
    tensor: FloatArray, tag_affinity: SparseRows, image_links: SparseRows, user_links: SparseRows
) -> FloatArray:
    """Return images x tags: A ×₁ T ×₂ a_i ×₃ b_k, the model's own value for each post.

    Rows i of both link matrices belong together: an image and its owner.
    """
    weights, by_tag = row_kronecker(image_links, user_links), tensor.reshape(len(tensor), -1)
    slices = np.empty((len(tensor), weights.shape[0]), dtype=np.result_type(weights, tensor))
    for tags in row_blocks(len(tensor), max(1, CELLS_TURNED // max(by_tag.shape[1], 1))):
        # Turned by parts: a copy of the whole may be larger than what memory has left.
        slices[tags] = (weights @ np.ascontiguousarray(by_tag[tags].T)).T
    mixed: FloatArray = (tag_affinity @ slices).T
    return mixed


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
