"""What SUGAR-TC learned: the completed anchors, ready to score images seen and new."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.assignment.assign import Assignment, reconstructed
from sugartag.collection.model import Rows
from sugartag.features.normalise import visual_rows
from sugartag.graph.image_links import ImageLinker
from sugartag.methods.own_tags import add_own_tags


@dataclass(frozen=True, eq=False)
class FittedSugarTC:
    """The completed anchors and how images and owners are linked to them."""

    gives_whole_sets: ClassVar[bool] = False

    linker: ImageLinker
    unit_features: bool
    anchor_image: IntArray
    """Rows of the anchor images in the collection that was fitted, ascending."""
    anchor_user: IntArray
    """Owner indices of the anchor users."""
    user_links: SparseRows
    """Owners x anchor users, with an empty last row for unknown owners."""
    assignment: Assignment
    tensor: FloatArray | None
    """The completed tensor, kept for scoring by reconstruction only."""
    tag_affinity: SparseRows | None
    own_weight: float
    """What a tag of the image itself adds."""
    keeps_columns: bool
    """Whether an anchor image that was fitted keeps its column of A_[3] for its scores."""
    objective: float
    gap: float
    """How far above the constrained minimum the objective may be, relatively; nan if unknown."""

    @property
    def floor(self) -> float:
        """Nothing is known of a tag that no linked anchor has."""
        return 0.0

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return images x tags; an owner never seen has no user part."""
        known = rows.features_like(self.linker.anchors.shape[1])
        features = visual_rows(known, self.unit_features)
        of_owner, barred = self.user_links[rows.owner], None
        if strangers_only:
            of_owner = sparse.csr_array(of_owner.multiply(self.anchor_user != rows.owner[:, None]))
            barred = rows.owner[:, None] == self._owner_of_anchors()
        if self.tensor is not None and self.tag_affinity is not None:
            links = self.linker.links(features, barred=barred)
            found = reconstructed(self.tensor, self.tag_affinity, links, of_owner)
        else:
            nearest = self.linker.nearest(features, self.assignment.n_neighbours, barred=barred)
            found = self.assignment.scores(nearest, of_owner)
            if self.keeps_columns and not strangers_only:
                self._keep_anchors(rows, found)
        scores = found.astype(np.float32)
        add_own_tags(scores, rows, self.own_weight)
        return scores

    def _owner_of_anchors(self) -> IntArray:
        users = np.append(self.anchor_user, np.iinfo(np.int64).max)
        return users[self.assignment.user_of_image]

    def _keep_anchors(self, rows: Rows, scores: FloatArray) -> None:
        """Give an anchor image its own completed tags: its column of A_[3], as in the paper."""
        place = np.searchsorted(self.anchor_image, rows.position)
        padded = np.append(self.anchor_image, np.iinfo(np.int64).max)
        found = np.flatnonzero(padded[place] == rows.position)
        scores[found] = self.assignment.by_image[place[found]]
