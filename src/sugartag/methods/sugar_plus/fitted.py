"""What sugar-plus learned, and how it judges images."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.collection.align import Catalogue
from sugartag.collection.model import Rows
from sugartag.linalg.sparse_rows import row_number_of_entries, values_at
from sugartag.methods.base import Explanations
from sugartag.methods.sugar_plus.belief import Belief
from sugartag.methods.sugar_plus.choice import Choice
from sugartag.methods.sugar_plus.decisions import as_decided
from sugartag.methods.sugar_plus.evidence import Evidence
from sugartag.methods.sugar_plus.explain import Explainer
from sugartag.methods.sugar_plus.habits import Manners
from sugartag.methods.sugar_plus.learning import steps
from sugartag.methods.sugar_plus.look_alikes import LookAlikes
from sugartag.methods.sugar_plus.ridge import Ridge


@dataclass(frozen=True, eq=False)
class FittedSugarPlus:
    """What evidence there is, what it says about tags, and what that means."""

    gives_whole_sets: ClassVar[bool] = False

    ridge: Ridge
    trusted: SparseRows
    """The tags of the images fitted, as far as they were believed."""
    look_alikes: LookAlikes
    alike_weight: float
    interest_weight: float
    manners: Manners
    whole: Belief
    """Of all evidence together."""
    choice: Choice
    threshold: float
    """The probability from which suggesting a tag raises the F that is expected."""
    decided: SparseRows
    """Images fitted x tags: 1 where somebody said that the tag is right, -1 where wrong; int8."""

    @property
    def evidence(self) -> Evidence:
        """What images are described by."""
        return self.ridge.evidence

    @property
    def floor(self) -> float:
        """The probability from which a suggestion does more good than harm."""
        return self.threshold

    @cached_property
    def believed(self) -> SparseRows:
        """The tags of the images fitted, as far as they were believed or decided."""
        return as_decided(self.trusted, self.decided)

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return the probability that each tag belongs.

        With ``strangers_only``, and where the owner is not known, only content has a say; anchors
        belong to nobody. What somebody decided stands, but for ``strangers_only``.
        """
        found = np.empty((len(rows), self.evidence.n_tags), dtype=np.float32)
        alone = (rows.owner >= len(self.ridge.owners)) | strangers_only
        for judge, chosen in ((self._by_strangers, alone), (self._by_all, ~alone)):
            images = np.flatnonzero(chosen)
            for part in steps(len(images), self.evidence.n_tags):
                found[images[part]] = judge(rows.at(images[part]))
        if not strangers_only:
            decided = self.decided_of(rows)
            cell = row_number_of_entries(decided), decided.indices
            found[cell] = np.where(decided.data > 0, RIGHT, WRONG)
        return found

    def explain(
        self, rows: Rows, row: IntArray, tag: IntArray, catalogue: Catalogue
    ) -> Explanations:
        """Return what the evidence for some tags consists of, and what is made of it."""
        found = self._explainer.explain(rows, self.corrected(rows), row, tag, catalogue)
        decided = values_at(self.decided_of(rows), row, tag).astype(np.int8)
        return replace(found, decided=decided)

    @cached_property
    def _explainer(self) -> Explainer:
        return Explainer(
            self.ridge,
            self.believed,
            self.look_alikes,
            self.alike_weight,
            self.interest_weight,
            self.manners,
            self.whole,
        )

    def corrected(self, rows: Rows) -> Rows:
        """Return the images with the tags they have after what was decided."""
        if not self.decided.nnz:
            return rows
        return replace(rows, tags=as_decided(rows.tags, self.decided_of(rows)))

    def decided_of(self, rows: Rows) -> SparseRows:
        """Return images x tags: 1 where somebody said that the tag is right, -1 where wrong."""
        n_images = self.decided.shape[0]
        found = self.decided[np.minimum(rows.position, n_images - 1)]
        known = (rows.position < n_images)[row_number_of_entries(found)]
        passed = np.concatenate([[0], np.cumsum(known)])[found.indptr]
        return sparse.csr_array((found.data[known], found.indices[known], passed), found.shape)

    def _by_all(self, rows: Rows) -> FloatArray:
        now = self.corrected(rows)
        content = self.ridge.judge(now, self.believed)
        seen = (rows.position < self.ridge.n_images).astype(np.float32)
        slips = self.manners.stamps(rows, content.excess, seen)
        slips += self.whole.slips
        said = content.excess
        if self.interest_weight > 0:
            said += np.float32(self.interest_weight) * content.interest
        if self.alike_weight > 0:
            said += (
                np.float32(self.alike_weight) * self.look_alikes.judge(now, self.evidence).excess
            )
        return probability(self.whole, said, slips, rows)

    def _by_strangers(self, rows: Rows) -> FloatArray:
        said = self.ridge.judge(self.corrected(rows), self.believed).excess
        belief = self.manners.alone
        slips = np.broadcast_to(belief.slips + self.manners.habits.usual, said.shape)
        return probability(belief, said, slips, rows)


def probability(belief: Belief, said: FloatArray, slips: FloatArray, rows: Rows) -> FloatArray:
    """Return images x tags: the probability that the tag belongs, whether it was given or not."""
    found = belief.not_given(said, np.minimum(slips, MOST_SLIPS))
    given = row_number_of_entries(rows.tags), rows.tags.indices
    found[given] = belief.given(said[given], np.minimum(slips[given], MOST_SLIPS))
    return found


MOST_SLIPS = np.float32(0.95)
RIGHT, WRONG = np.float32(0.999), np.float32(0.001)
"""The probability that a tag belongs of which somebody said so, or the contrary."""
