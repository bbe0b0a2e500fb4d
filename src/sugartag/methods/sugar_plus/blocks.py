"""Feature blocks: the predictors that tags are regressed on.

A block learns from the collection how to turn rows into columns (``fit``), does so (``transform``)
and carries the penalty of its weights. The visual block is dense: principal components of the image
features, whitened in part. The tag block is sparse: which of the predictor tags an image has, each
row divided by its number of tags, so that a long caption does not outweigh what the picture shows.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import numpy as np
from scipy import sparse

from sugartag._rules import Below, Rising, Shape, Within
from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Engine
from sugartag.features.whitening import whitening_of
from sugartag.linalg.sparse_rows import chosen_columns, row_number_of_entries

LEAST_USES = 3
"""A tag used less often predicts no others."""


class FeatureBlock(Protocol):
    """A kind of evidence as columns of the regression."""

    @property
    def width(self) -> int:
        """How many columns it has."""
        ...

    @property
    def penalty(self) -> float:
        """The ridge penalty of its weights in the joint view."""
        ...

    def transform(self, rows: Rows) -> Any:
        """Return images x columns, dense or sparse."""
        ...


@dataclass(frozen=True, eq=False)
class VisualBlock:
    """Principal components of the unit-length features, scaled to a mean square norm of 1."""

    mean: Annotated[FloatArray, Shape("features")]
    projection: Annotated[FloatArray, Shape("features", "components")]
    """Feature dimensions x components, float32."""
    penalty: Annotated[float, Within(0)]

    @classmethod
    def fit(
        cls,
        collection: Collection,
        *,
        components: int,
        whitening: float,
        penalty: float,
        engine: Engine,
    ) -> "VisualBlock":
        """Learn the components in one pass; none where there are no features."""
        if not collection.n_with_features or not components:
            nothing = np.zeros(0, dtype=np.float32)
            return cls(nothing, np.zeros((0, 0), dtype=np.float32), penalty)
        found = whitening_of(collection, components, whitening, unit_features=True, engine=engine)
        return cls(
            found.mean.astype(np.float32),
            np.ascontiguousarray(found.projection, dtype=np.float32),
            penalty,
        )

    @property
    def width(self) -> int:
        """How many components there are; 0 without features."""
        return int(self.projection.shape[1])

    def transform(self, rows: Rows) -> FloatArray:
        """Return images x components, float32; an image without features is the average one."""
        if not self.width:
            return np.zeros((len(rows), 0), dtype=np.float32)
        features = rows.features_like(len(self.mean)).astype(np.float32)
        length = np.sqrt(np.einsum("ij,ij->i", features, features))
        present = length > 0
        features /= np.where(present, length, 1.0)[:, None]
        features -= self.mean
        found: FloatArray = features @ self.projection
        found[~present] = 0.0
        return found


@dataclass(frozen=True, eq=False)
class TagBlock:
    """The most used tags as predictors of the others."""

    predictor: Annotated[IntArray, Shape("predictor tags"), Below("tags"), Rising()]
    """The tags that predict others, ascending."""
    n_tags: Annotated[int, Within("tags", "tags")]
    penalty: Annotated[float, Within(0)]

    @classmethod
    def fit(cls, uses: FloatArray, most: int, penalty: float) -> "TagBlock":
        """Choose the most used tags."""
        frequent = np.flatnonzero(uses >= LEAST_USES)
        order = frequent[np.argsort(-uses[frequent], kind="stable")]
        return cls(np.sort(order[:most]), len(uses), penalty)

    @property
    def width(self) -> int:
        """How many tags predict others."""
        return len(self.predictor)

    def transform(self, rows: Rows) -> SparseRows:
        """Return images x predictor tags, each row divided by its number of tags."""
        chosen = sparse.csr_array(chosen_columns(rows.tags, self.predictor).astype(np.float32))
        share = (1.0 / tag_counts(rows.tags)).astype(np.float32)
        chosen.data = share[row_number_of_entries(chosen)]
        return chosen


def tag_counts(tags: SparseRows) -> FloatArray:
    """Return the number of tags of each image, at least 1."""
    return np.maximum(np.diff(tags.indptr), 1).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Predictors:
    """The predictors of some images, each computed once."""

    tags: SparseRows
    dense: FloatArray
    """Visual components, then the intercept, which is 1."""

    def __len__(self) -> int:
        return len(self.dense)


@dataclass(frozen=True, eq=False)
class Blocks:
    """All blocks of a model; columns are predictor tags, visual components, intercept."""

    tags: TagBlock
    visual: VisualBlock

    @property
    def width(self) -> int:
        """How many predictors there are, with the intercept."""
        return self.tags.width + self.visual.width + 1

    def transform(self, rows: Rows) -> Predictors:
        """Return the predictors of some images."""
        visual = self.visual.transform(rows)
        intercept = np.ones((len(rows), 1), dtype=np.float32)
        return Predictors(self.tags.transform(rows), np.hstack([visual, intercept]))
