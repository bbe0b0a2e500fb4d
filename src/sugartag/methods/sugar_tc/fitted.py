"""What SUGAR-TC learned: the completed anchors, ready to score images seen and new."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from scipy import sparse

from sugartag._rules import AnyNumber, Below, Rising, Shape, Within
from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.assignment.assign import Assignment
from sugartag.assignment.reconstruct import Reconstruction
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
    anchor_image: Annotated[IntArray, Shape("anchor images"), Below("images"), Rising()]
    """Rows of the anchor images in the collection that was fitted, ascending."""
    anchor_user: Annotated[IntArray, Shape("anchor users"), Below("owners+1")]
    """Owner indices of the anchor users."""
    user_links: Annotated[SparseRows, Shape("owners+1", "anchor users")]
    """Owners x anchor users, with an empty last row for unknown owners."""
    assignment: Assignment
    reconstruction: Reconstruction | None
    """The completed tensor itself, kept for scoring by reconstruction only."""
    mean_score: Annotated[FloatArray, Shape("tags")]
    """What is subtracted from the scores of each tag: their mean, or 0."""
    own_weight: Annotated[float, Within(0)]
    """What a tag of the image itself adds."""
    keeps_columns: bool
    """Whether an anchor image that was fitted keeps its column of A_[3] for its scores."""
    objective: Annotated[float, AnyNumber()]
    gap: Annotated[float, AnyNumber()]
    """How far above the constrained minimum the objective may be, relatively; nan if unknown."""

    @property
    def floor(self) -> float:
        """Zero: a tag that no linked anchor has or, with means subtracted, as likely as usual."""
        return 0.0

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return images x tags; an owner never seen has no user part.

        An image without features has no image part: the users nearest to its owner speak alone.
        """
        known = rows.features_like(self.linker.anchors.shape[1])
        features = visual_rows(known, self.unit_features)
        owner, user = np.unique(rows.owner, return_inverse=True)
        of_owner = self.user_links[owner]
        if strangers_only:
            of_owner = sparse.csr_array(of_owner.multiply(self.anchor_user != owner[:, None]))
        barred = self._barred(rows, strangers_only=strangers_only)
        if self.reconstruction is not None:
            links = self.linker.links(features, barred=barred)
            left_out = self.anchor_user == owner[:, None] if strangers_only else None
            found = self.reconstruction.scores(links, of_owner, user, left_out=left_out)
        else:
            nearest = self.linker.nearest(features, self.assignment.n_neighbours, barred=barred)
            found = self.assignment.scores(nearest, of_owner[user])
            unseen = np.flatnonzero(~rows.described)
            found[unseen] = self.assignment.scores_by_user(of_owner[user[unseen]])
            if self.keeps_columns and not strangers_only:
                self._keep_anchors(rows, found)
        scores = (found - self.mean_score).astype(np.float32)
        add_own_tags(scores, rows, self.own_weight)
        return scores

    def _barred(self, rows: Rows, *, strangers_only: bool) -> BoolArray | None:
        """Return images x anchors: True where an image is not linked, None if all may be."""
        unseen = ~rows.described[:, None]
        if strangers_only:
            found: BoolArray = (rows.owner[:, None] == self._owner_of_anchors()) | unseen
            return found
        if not unseen.any():
            return None
        return np.broadcast_to(unseen, (len(rows), len(self.linker.anchors)))

    def _owner_of_anchors(self) -> IntArray:
        users = np.append(self.anchor_user, np.iinfo(np.int64).max)
        return users[self.assignment.user_of_image]

    def _keep_anchors(self, rows: Rows, scores: FloatArray) -> None:
        """Give an anchor image its own completed tags: its column of A_[3], as in the paper."""
        place = np.searchsorted(self.anchor_image, rows.position)
        padded = np.append(self.anchor_image, np.iinfo(np.int64).max)
        found = np.flatnonzero(padded[place] == rows.position)
        scores[found] = self.assignment.by_image[place[found]]
