"""The views of an image and their mean: what everything but the tag itself predicts.

    excess = share (V_loo - r) G + (1 - share) (J_loo - r) + weight N

V_loo and J_loo are the leave-one-out predictions of the visual and the joint ridge, r the base
rates, G the name similarity, N the votes of same-owner neighbours. For tags that an image does not
have, leaving it out only rescales its rows, so both views are one matrix product; the few tags that
it has are corrected one by one.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np

from sugartag._rules import Shape
from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.collection.model import Rows
from sugartag.linalg.sparse_rows import row_number_of_entries, same_places
from sugartag.methods.sugar_plus._kernels import add_products, add_sparse
from sugartag.methods.sugar_plus.blocks import Blocks, Predictors, tag_counts
from sugartag.methods.sugar_plus.neighbours import Neighbours, leading
from sugartag.methods.sugar_plus.ridge import JointLeverage, JointRidge, VisualRidge
from sugartag.methods.sugar_plus.statistics import Statistics
from sugartag.methods.sugar_plus.tag_names import name_operator


@dataclass(frozen=True)
class ViewWeights:
    """How the views are combined."""

    visual_share: float
    visual_penalty: float
    name_similarity: float
    """a: what the looks of tags with a similar name count."""
    name_prior: float
    """b: the weight that a tag is expected to have for one of the same meaning."""
    neighbour: float


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Some images, and how far each decides its own prediction; nothing for images not fitted."""

    rows: Rows
    predictors: Predictors
    visual: FloatArray
    """The leverage of each image in the visual view."""
    joint: JointLeverage


@dataclass(frozen=True, eq=False)
class JointAtGiven:
    """What the joint view says of the tags that images have, one after the other."""

    row: IntArray
    tag: IntArray
    predicted: FloatArray
    of_tags: FloatArray
    """What other tags add to the prediction."""
    leverage: FloatArray
    of_dense_leverage: FloatArray
    """The part of the leverage that comes from the dense predictors."""

    @property
    def error(self) -> FloatArray:
        """How far the prediction falls short of 1 if the image is left out of the fit."""
        found: FloatArray = (1.0 - self.predicted) / (1.0 - self.leverage)
        return found

    def without_the_tag(self, counts: FloatArray) -> FloatArray:
        """Return the predictions of images left out of the fit as if they did not have the tag.

        The other tags of an image with n tags are then divided by n - 1 and not by n. Without
        this, given tags would be predicted lower than missing ones of the same kind.
        """
        error = self.error
        of_tags = self.of_tags - (self.leverage - self.of_dense_leverage) * error
        others = counts[self.row] - 1.0
        found: FloatArray = 1.0 - error + of_tags / np.where(others > 0, others, np.inf)
        return found


@dataclass(frozen=True, eq=False)
class Views:
    """Both ridges, the name similarity and the neighbours."""

    blocks: Blocks
    statistics: Statistics
    visual: VisualRidge
    joint: JointRidge
    similarity: Annotated[SparseRows, Shape("tags", "tags")]
    """S, tags x tags: how similar their names are."""
    neighbours: Neighbours
    image_weight: Annotated[FloatArray, Shape("images")]
    """The weight of each image fitted."""
    weights: ViewWeights

    def validate(self) -> None:
        """Raise ``ValueError`` unless all parts have the same predictors and components."""
        width, codes = self.blocks.width, self.neighbours.reference.codes.shape
        if len(self.statistics.gram) != width:
            raise ValueError(f"has sums of {len(self.statistics.gram)} predictors, not {width}")
        if codes[0] and codes[1] != leading(self.blocks.visual).width:
            raise ValueError(f"has reference images of {codes[1]} components")

    @property
    def n_tags(self) -> int:
        """How many tags are predicted."""
        return self.blocks.tags.n_tags

    @property
    def base_rate(self) -> FloatArray:
        """The weighted share of images with each tag, float32."""
        return self.statistics.base_rate.astype(np.float32)

    def excess(
        self, rows: Rows, *, exclude_same_owner: bool = False, out: FloatArray | None = None
    ) -> FloatArray:
        """Return images x tags: how far the prediction lies above the base rate."""
        return self.excess_of(self.leaving_out(rows), exclude_same_owner, out)

    def excess_of(
        self, left: LeftOut, exclude_same_owner: bool = False, out: FloatArray | None = None
    ) -> FloatArray:
        """Return the excess of images that are being left out."""
        found = self._unless_given(left, out)
        self._correct_given(left, found)
        if not exclude_same_owner:
            self._add_neighbours(left, found)
        return found

    def untagged_excess(self, left: LeftOut) -> FloatArray:
        """Return the excess as if nobody had tagged the images, which were fitted with their tags.

        The joint view predicts from the dense predictors z' of an image alone. Without the image
        in the fit this is z'B - c (y - f) / (1 - h), with c = w z'Pz in place of the leverage. It
        is corrected where tags were given; elsewhere y - f is next to nothing.
        """
        share = self.weights.visual_share
        found = self._of_dense(left, np.full(len(left.rows), 1.0 - share, dtype=np.float32))
        self._spill(left, found)
        given = self._joint_at_given(left)
        found[given.row, given.tag] -= (1.0 - share) * given.of_dense_leverage * given.error
        self._add_neighbours(left, found)
        return found

    def visual_excess(self, left: LeftOut) -> FloatArray:
        """Return the visual view alone, without name similarity."""
        found: FloatArray = left.predictors.dense @ self.visual.weights
        found /= (1.0 - left.visual)[:, None]
        row, tag = row_number_of_entries(left.rows.tags), left.rows.tags.indices
        found[row, tag] -= (left.visual / (1.0 - left.visual))[row]
        found -= self.base_rate
        return found

    def leaving_out(self, rows: Rows) -> LeftOut:
        """Return the predictors of some images, and their leverage if they were fitted."""
        predictors = self.blocks.transform(rows)
        weight = self._weight_of(rows)
        return LeftOut(
            rows,
            predictors,
            self.visual.leverage(predictors, weight),
            self.joint.leverage(predictors, weight),
        )

    def joint_share(self, left: LeftOut) -> FloatArray:
        """Return what the joint view's prediction of each image counts, its leverage included."""
        found: FloatArray = (1.0 - self.weights.visual_share) / (1.0 - left.joint.whole)
        return found.astype(np.float32)

    def _unless_given(self, left: LeftOut, out: FloatArray | None) -> FloatArray:
        """Return the excess as it is for tags that the image does not have."""
        joint = self.joint_share(left)
        found = self._of_dense(left, joint, out)
        tags = left.predictors.tags
        if tags.nnz:
            scaled = same_places(tags.data * joint[row_number_of_entries(tags)], tags)
            add_products(scaled, self.joint.tag_weights, found)
        return found

    def _of_dense(
        self, left: LeftOut, joint: FloatArray, out: FloatArray | None = None
    ) -> FloatArray:
        """Return what both views say of the dense predictors; ``joint`` is what that one counts."""
        dense = left.predictors.dense
        visual = (self.weights.visual_share / (1.0 - left.visual)).astype(np.float32)
        stacked = np.empty((len(dense), 2 * dense.shape[1] + 1), dtype=np.float32)
        np.multiply(dense, visual[:, None], out=stacked[:, : dense.shape[1]])
        np.multiply(dense, joint[:, None], out=stacked[:, dense.shape[1] : -1])
        stacked[:, -1] = 1.0
        found: FloatArray = np.matmul(stacked, self._stacked_weights, out=out)
        return found

    def _spill(self, left: LeftOut, found: FloatArray) -> None:
        """Take away what the own tags of an image do for themselves, and by name, when it looks."""
        own = -self.weights.visual_share * left.visual / (1.0 - left.visual)
        add_sparse(left.rows.tags, own, self.names, found)

    def _add_neighbours(self, left: LeftOut, found: FloatArray) -> None:
        """Add the votes of same-owner neighbours."""
        if self.weights.neighbour and len(self.neighbours.reference):
            shares = self.neighbours.shares(left.rows, left.predictors.dense)
            weight = np.full(len(found), self.weights.neighbour, dtype=np.float32)
            add_sparse(shares, weight, self.neighbours.reference.tags, found)

    @cached_property
    def names(self) -> SparseRows:
        """G, tags x tags: what tags with similar names lend each other in the visual view."""
        spread = self.visual.spread(self.statistics)
        return name_operator(self.similarity, spread, self.weights.name_similarity)

    @cached_property
    def _stacked_weights(self) -> FloatArray:
        """The weights of both views for the dense predictors, and what is subtracted."""
        share, rate = self.weights.visual_share, self.base_rate
        below = -(share * (self.names.T @ rate) + (1.0 - share) * rate)
        visual = (self.names.T @ self.visual.weights.T).T
        parts = [visual, self.joint.dense_weights, below[None]]
        return np.ascontiguousarray(np.vstack(parts), dtype=np.float32)

    def _correct_given(self, left: LeftOut, found: FloatArray) -> None:
        """Change the excess to that of leaving the image out, where its own tags have a part."""
        tags, share = left.rows.tags, self.weights.visual_share
        self._spill(left, found)
        if share == 1.0:
            return
        given = self._joint_at_given(left)
        now = given.predicted / (1.0 - left.joint.whole[given.row])
        change = given.without_the_tag(tag_counts(tags)) - now
        found[given.row, given.tag] += ((1.0 - share) * change).astype(np.float32)

    def _joint_at_given(self, left: LeftOut) -> "JointAtGiven":
        """Return what the joint view says of the tags that images have."""
        tags = left.rows.tags
        row, tag = row_number_of_entries(tags), tags.indices
        of_dense, of_tags = self.joint.at_cells(left.predictors, row, tag)
        leverage, of_dense_leverage = left.joint.whole[row], left.joint.dense[row]
        own = self._predictor_entries(tags)
        leverage[own], of_dense_leverage[own] = left.joint.at_given, left.joint.dense_at_given
        return JointAtGiven(row, tag, of_dense + of_tags, of_tags, leverage, of_dense_leverage)

    def _predictor_entries(self, tags: SparseRows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Tell which of the given tags are predictors; their leverage is known one by one."""
        is_predictor = np.zeros(self.n_tags, dtype=np.bool_)
        is_predictor[self.blocks.tags.predictor] = True
        found: np.ndarray[tuple[int], np.dtype[np.bool_]] = is_predictor[tags.indices]
        return found

    def _weight_of(self, rows: Rows) -> FloatArray:
        """Return the weight of each image in the fit; 0 for images that were not in it."""
        n_images = len(self.image_weight)
        known = rows.position < n_images
        place = np.where(known, rows.position, 0)
        found = np.where(known, self.image_weight[place] if n_images else 0.0, 0.0)
        return found.astype(np.float32)

    @classmethod
    def solve(
        cls,
        statistics: Statistics,
        blocks: Blocks,
        weights: ViewWeights,
        *,
        similarity: SparseRows,
        neighbours: Neighbours,
        image_weight: FloatArray,
    ) -> "Views":
        """Solve both ridges."""
        return cls(
            blocks=blocks,
            statistics=statistics,
            visual=VisualRidge.solve(statistics, blocks, weights.visual_penalty),
            joint=JointRidge.solve(statistics, blocks, weights.name_prior * similarity),
            similarity=similarity,
            neighbours=neighbours,
            image_weight=image_weight,
            weights=weights,
        )

    def solved_again(self) -> "Views":
        """Return the views with both ridges solved from the sums as they are now."""
        return Views.solve(
            self.statistics,
            self.blocks,
            self.weights,
            similarity=self.similarity,
            neighbours=self.neighbours,
            image_weight=self.image_weight,
        )
