"""A fitted method with every capability, whose answers are written down beforehand."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.assignment.thresholds import TagThresholds
from sugartag.collection.align import Catalogue
from sugartag.collection.decisions import latest, nothing_decided
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Engine
from sugartag.methods.base import Explanations, Kind

SURE = 0.999
SUMMARY = "looks explain 12 % of a typical tag"


@dataclass(frozen=True, eq=False)
class Canned:
    """Posteriors by image and tag; scores are ten times as large, so that they are no posteriors.

    Images it does not have are all like the first.
    """

    gives_whole_sets: ClassVar[bool] = False
    floor: ClassVar[float] = 0.0

    table: FloatArray
    decided: SparseRows
    limits: TagThresholds
    n_features: int = 0
    calls: list[int] = field(default_factory=list)
    """How many posteriors were asked for, call by call."""

    @classmethod
    def of(cls, table: FloatArray, *, add: float = 0.5, doubt: float = 0.2) -> "Canned":
        """Return it with the same thresholds for all tags and no decision."""
        shape = table.shape[0], table.shape[1]
        limits = TagThresholds.same(add, doubt, shape[1])
        return cls(table, nothing_decided(shape), limits)

    @property
    def uses(self) -> FloatArray:
        return np.full(self.table.shape[1], 10.0)

    def _known(self, rows: Rows) -> BoolArray:
        return rows.position < len(self.table)

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        place = np.where(self._known(rows), rows.position, 0)
        return (10.0 * self.table[place]).astype(np.float32)

    def posterior(self, rows: Rows, scores: FloatArray, row: IntArray, tag: IntArray) -> FloatArray:
        self.calls.append(len(row))
        decided = self.decided_of(rows).toarray()[row, tag]
        found = scores[row, tag] / 10.0
        return np.select([decided > 0, decided < 0], [SURE, 1.0 - SURE], found)

    def thresholds(self) -> TagThresholds:
        return self.limits

    def evidence_summary(self) -> str:
        return SUMMARY

    def decided_of(self, rows: Rows) -> SparseRows:
        place = np.where(self._known(rows), rows.position, 0)
        found = self.decided[place].toarray()
        return sparse.csr_array(np.where(self._known(rows)[:, None], found, 0))

    def updated(
        self, method: Any, collection: Collection, decided: SparseRows, *, engine: Engine
    ) -> "Canned":
        n_images, n_tags = decided.shape
        old = self.table.shape
        table = np.pad(self.table, ((0, n_images - old[0]), (0, n_tags - old[1])))
        before = nothing_decided(decided.shape) + sparse.csr_array(
            (self.decided.data, self.decided.nonzero()), shape=decided.shape
        )
        limits = TagThresholds.same(0.6, 0.1, n_tags)
        return replace(self, table=table, decided=latest(before, decided), limits=limits)

    def explain(
        self, rows: Rows, row: IntArray, tag: IntArray, catalogue: Catalogue
    ) -> Explanations:
        score = self.scores(rows)[row, tag]
        return Explanations(
            kinds=(Kind.whole("looks", score),),
            score=score,
            base_rate=np.full(len(row), 0.1),
            judged=np.ones(len(row), dtype=bool),
            looks_like=(("sea", "sand"),) * len(row),
            decided=self.decided_of(rows).toarray()[row, tag],
        )


@dataclass(frozen=True)
class CannedMethod:
    """What fits it: every posterior is drawn at random."""

    name: ClassVar[str] = "canned"
    summary: ClassVar[str] = "For tests."
    fitted_type: ClassVar[type[Canned]] = Canned

    def fit(self, collection: Collection, *, engine: Engine, rng: np.random.Generator) -> Canned:
        return Canned.of(rng.random((collection.n_images, collection.n_tags)))
