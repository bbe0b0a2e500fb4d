"""What SUGAR-TC learned: the completed anchors, ready to score images seen and new."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from scipy import sparse

from sugartag._rules import AnyNumber, Below, Rising, Shape
from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.assignment.assign import Assignment, reconstructed
from sugartag.collection.model import Rows
from sugartag.features.normalise import visual_rows
from sugartag.graph.image_links import ImageLinker


@dataclass(frozen=True, eq=False)
class FittedSugarTC:
    """The completed anchors and how images and owners are linked to them."""

    gives_whole_sets: ClassVar[bool] = False

    linker: ImageLinker
    unit_features: bool
    anchor_image: Annotated[IntArray, Shape("anchor images"), Below("images"), Rising()]
    """Rows of the anchor images in the collection that was fitted, ascending."""
    anchor_user: Annotated[IntArray, Shape("anchor users"), Below("owners+1")]
    """Owner indices of the anchor users."""
    user_links: Annotated[SparseRows, Shape("owners+1", "anchor users")]
    """Owners x anchor users, with an empty last row for unknown owners."""
    assignment: Assignment
    tensor: Annotated[FloatArray | None, Shape("tags", "anchor images", "anchor users")]
    """The completed tensor, kept for scoring by reconstruction only."""
    tag_affinity: Annotated[SparseRows | None, Shape("tags", "tags")]
    objective: Annotated[float, AnyNumber()]
    gap: Annotated[float, AnyNumber()]
    """How far above the constrained minimum the objective may be, relatively; nan if unknown."""

    @property
    def floor(self) -> float:
        """Nothing is known of a tag that no linked anchor has."""
        return 0.0

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return images x tags; an owner never seen has no user part."""
        links = self._image_links(rows, strangers_only=strangers_only)
        of_owner = self.user_links[rows.owner]
        if strangers_only:
            of_owner = sparse.csr_array(of_owner.multiply(self.anchor_user != rows.owner[:, None]))
        if self.tensor is not None and self.tag_affinity is not None:
            return reconstructed(self.tensor, self.tag_affinity, links, of_owner).astype(np.float32)
        found = self.assignment.scores(links, of_owner)
        if not strangers_only:
            self._keep_anchors(rows, found)
        return found.astype(np.float32)

    def _image_links(self, rows: Rows, *, strangers_only: bool) -> SparseRows:
        known = rows.features_like(self.linker.anchors.shape[1])
        features = visual_rows(known, self.unit_features)
        if not strangers_only:
            return self.linker.links(features)
        owner_of_anchor = np.append(self.anchor_user, np.iinfo(np.int64).max)[
            self.assignment.user_of_image
        ]
        return self.linker.links(features, barred=rows.owner[:, None] == owner_of_anchor)

    def _keep_anchors(self, rows: Rows, scores: FloatArray) -> None:
        """Give an anchor image its own completed tags: its column of A_[3], as in the paper."""
        place = np.searchsorted(self.anchor_image, rows.position)
        padded = np.append(self.anchor_image, np.iinfo(np.int64).max)
        found = np.flatnonzero(padded[place] == rows.position)
        scores[found] = self.assignment.by_image[place[found]]
