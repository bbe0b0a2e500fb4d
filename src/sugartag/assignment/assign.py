"""Tags of images from the sums of the completed anchor tensor: eq. 12."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from scipy import sparse

from sugartag._rules import Below, Shape, Within
from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.linalg.sparse_rows import row_number_of_entries, strongest_per_row

UserNeighbours = Literal["unit", "user", "all"]


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
        """Return images x tags from the images' and their owners' links to the anchors.

        A near anchor whose link is cut is a stored zero: it adds nothing itself, but its owner is
        one of ⟨k⟩. Beyond ``n_neighbours`` stored links of a row the strongest count.
        """
        nearest = strongest_per_row(image_links, self.n_neighbours)
        found: FloatArray = (self.image_share * nearest) @ self.by_image
        found += ((1.0 - self.image_share) * self._user_part(nearest, user_links)) @ self.by_user
        found /= self.n_neighbours
        return found

    def scores_by_user(self, user_links: SparseRows) -> FloatArray:
        """Return images x tags from the s nearest users alone, for images without features."""
        nearest = strongest_per_row(user_links, self.n_neighbours)
        found: FloatArray = ((1.0 - self.image_share) * nearest) @ self.by_user
        return found / self.n_neighbours

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
