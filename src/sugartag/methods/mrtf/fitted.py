"""What MRTF learned: factors of users, images and tags, and where another image finds its own."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeAlias

import numpy as np

from sugartag._rules import Shape
from sugartag._typing import FloatArray
from sugartag.collection.model import Rows
from sugartag.linalg.laplacian import row_shares
from sugartag.linalg.tucker import Tucker, post_vectors
from sugartag.methods.near_images import NearImages

Collapse: TypeAlias = Literal["owner", "latent_sum", "mean_user"]


@dataclass(frozen=True, eq=False)
class FittedRankingFactorisation:
    """The factors, and how an image that was not fitted gets one."""

    gives_whole_sets: ClassVar[bool] = False

    factors: Tucker
    """The last row of the user factors is the mean user, who stands for unknown owners."""
    near: NearImages
    projection: Annotated[FloatArray, Shape("tags", "image rank")]
    """Tags x image rank: what a tag adds to the factor of an image that was not fitted."""
    neighbour_share: float
    """What the mean factor of the nearest images adds to it."""
    collapse: Collapse

    def validate(self) -> None:
        """Raise ``ValueError`` unless there is a row for each owner and for the mean user."""
        if len(self.factors.users) != self.near.collection.n_owners + 1:
            raise ValueError(f"has the factors of {len(self.factors.users)} users")

    @property
    def floor(self) -> float:
        """Zero: the score of a tag whose factor is zero."""
        return 0.0

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return ŷ of every tag, for the user that ``collapse`` names.

        With ``strangers_only`` an image of a known owner is scored as one that was not fitted,
        of the mean user, and its nearest images are those of others.
        """
        images = self._image_factors(rows, strangers_only=strangers_only)
        users = self._user_factors(rows, strangers_only=strangers_only)
        vectors = post_vectors(self.factors.core, users, images)
        return (vectors @ self.factors.tags.T).astype(np.float32)

    def _image_factors(self, rows: Rows, *, strangers_only: bool) -> FloatArray:
        found = np.zeros((len(rows), self.factors.images.shape[1]))
        settled = self.near.is_settled(rows, strangers_only=strangers_only)
        found[settled] = self.factors.images[rows.position[settled]]
        others = np.setdiff1d(np.arange(len(rows)), settled)
        if len(others):
            found[others] = self.folded_in(rows.at(others), strangers_only=strangers_only)
        return found

    def folded_in(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return factors for images as if they had not been fitted, rows x image rank.

        They come as the start of the fit does: from the image's own tags and from those that
        look like it, who by now have their factors.
        """
        near = row_shares(self.near.links(rows, strangers_only=strangers_only))
        of_tags: FloatArray = rows.tags.astype(np.float64) @ self.projection
        return of_tags + self.neighbour_share * (near @ self.factors.images)

    def _user_factors(self, rows: Rows, *, strangers_only: bool) -> FloatArray:
        users = self.factors.users
        if self.collapse == "latent_sum":
            return np.ones((len(rows), users.shape[1]))
        if self.collapse == "mean_user" or strangers_only:
            return np.tile(users[-1], (len(rows), 1))
        return users[rows.owner]
