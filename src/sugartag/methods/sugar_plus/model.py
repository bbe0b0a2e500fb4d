"""What sugar-plus learned: scores, posteriors and explanations of seen and new images."""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from sugartag._rules import Shape, Within
from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.assignment.thresholds import TagThresholds
from sugartag.collection.align import Catalogue
from sugartag.collection.decisions import as_decided, nothing_decided
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Engine
from sugartag.linalg.sparse_rows import row_number_of_entries, same_places, values_at
from sugartag.methods.base import Explanations
from sugartag.methods.sugar_plus.calibration import Calibrator
from sugartag.methods.sugar_plus.ensemble import Scale
from sugartag.methods.sugar_plus.explain import explain_scores
from sugartag.methods.sugar_plus.update import FittedState, updated_state
from sugartag.methods.sugar_plus.views import Views

CELLS_AT_ONCE = 8_000_000


@dataclass(frozen=True, eq=False)
class FittedSugarPlus:
    """The views, what their scores mean, and what an update needs."""

    gives_whole_sets: ClassVar[bool] = False

    views: Views
    scale: Scale
    calibrator: Calibrator
    labels: Annotated[SparseRows, Shape("images", "tags")]
    """Images fitted x tags, as they were fitted; float32."""
    decided: Annotated[SparseRows, Shape("images", "tags"), Within(-1, 1)]
    """Images fitted x tags: 1 where a person confirmed the tag, -1 where rejected; int8."""

    @property
    def floor(self) -> float:
        """Tags are predicted above the score of their base rate."""
        return 0.0

    @property
    def uses(self) -> FloatArray:
        """How many images have each tag."""
        return self.views.statistics.uses

    @property
    def n_features(self) -> int:
        """How many numbers describe an image; 0 if features are not used."""
        return len(self.views.blocks.visual.mean)

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return images x tags: the excess over the base rate, rescaled, own tags added."""
        found = np.empty((len(rows), self.views.n_tags), dtype=np.float32)
        step = max(CELLS_AT_ONCE // max(self.views.n_tags, 1), 16)
        for start in range(0, len(rows), step):
            part = np.arange(start, min(start + step, len(rows)))
            some = self.corrected(rows.at(part) if len(part) < len(rows) else rows)
            excess = found[start : start + len(part)]
            self.views.excess(some, exclude_same_owner=strangers_only, out=excess)
            excess *= self.scale.factor
            tags = some.tags
            excess[row_number_of_entries(tags), tags.indices] += self.scale.own[tags.indices]
        return found

    def posterior(self, rows: Rows, scores: FloatArray, row: IntArray, tag: IntArray) -> FloatArray:
        """Return the probability that each tag belongs to the image of its row."""
        counted = values_at(self.corrected(rows).tags, row, tag) > 0
        excess = (scores[row, tag] - counted * self.scale.own[tag]) / self.scale.factor[tag]
        level = excess * self.scale.level[tag]
        given = values_at(rows.tags, row, tag) > 0
        decided = values_at(self.decided_of(rows), row, tag)
        untagged = np.diff(rows.tags.indptr)[row] == 0
        return self.calibrator.posterior(
            tag, level, given=given, untagged=untagged, decided=decided
        )

    def thresholds(self) -> TagThresholds:
        """Return the posterior from which each tag is added, and below which it is doubted."""
        return self.calibrator.thresholds(self.uses)

    def explain(
        self, rows: Rows, row: IntArray, tag: IntArray, catalogue: Catalogue
    ) -> Explanations:
        """Return what the score of some tags consists of."""
        decided = values_at(self.decided_of(rows), row, tag).astype(np.int64)
        judged = self.calibrator.noise.judges(tag)
        now = self.corrected(rows)
        return explain_scores(self.views, now, row, tag, catalogue, decided=decided, judged=judged)

    def updated(
        self, method: object, collection: Collection, decided: SparseRows, *, engine: Engine
    ) -> "FittedSugarPlus":
        """Return the model with more images, tags and decisions; calibration stays as it was."""
        before = FittedState(self.views, self.labels, self.decided)
        now = updated_state(before, method, collection, decided, engine=engine)
        return replace(
            self,
            views=now.views,
            labels=now.labels,
            decided=now.decided,
            scale=self.scale.widened(now.views.n_tags),
            calibrator=self.calibrator.widened(now.views.n_tags),
        )

    def corrected(self, rows: Rows) -> Rows:
        """Return the images with the tags they have after people's decisions."""
        if not self.decided.nnz:
            return rows
        return replace(rows, tags=as_decided(rows.tags, self.decided_of(rows)))

    def decided_of(self, rows: Rows) -> SparseRows:
        """Return images x tags: 1 where a person confirmed the tag, -1 where rejected."""
        if not self.decided.nnz:
            return nothing_decided(rows.tags.shape)
        known = rows.position < self.decided.shape[0]
        found = self.decided[np.where(known, rows.position, 0)]
        found = same_places(found.data * known[row_number_of_entries(found)], found)
        found.eliminate_zeros()
        return found

    def evidence_summary(self) -> str:
        """Return in one line what the evidence is worth."""
        return self.calibrator.summary(has_features=self.n_features > 0)
