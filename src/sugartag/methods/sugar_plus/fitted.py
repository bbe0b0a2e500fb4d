"""What sugar-plus learned, and how it judges images."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sugartag._typing import FloatArray, SparseRows
from sugartag.collection.model import Rows
from sugartag.linalg.sparse_rows import row_number_of_entries
from sugartag.methods.sugar_plus.belief import Belief
from sugartag.methods.sugar_plus.choice import Choice
from sugartag.methods.sugar_plus.evidence import Evidence
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

    @property
    def evidence(self) -> Evidence:
        """What images are described by."""
        return self.ridge.evidence

    @property
    def floor(self) -> float:
        """The probability from which a suggestion does more good than harm."""
        return self.threshold

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return the probability that each tag belongs.

        With ``strangers_only``, and where the owner is not known, only content has a say; anchors
        belong to nobody.
        """
        found = np.empty((len(rows), self.evidence.n_tags), dtype=np.float32)
        alone = (rows.owner >= len(self.ridge.owners)) | strangers_only
        for judge, chosen in ((self._by_strangers, alone), (self._by_all, ~alone)):
            images = np.flatnonzero(chosen)
            for part in steps(len(images), self.evidence.n_tags):
                found[images[part]] = judge(rows.at(images[part]))
        return found

    def _by_all(self, rows: Rows) -> FloatArray:
        content = self.ridge.judge(rows, self.trusted)
        seen = (rows.position < self.ridge.n_images).astype(np.float32)
        slips = self.manners.stamps(rows, content.excess, seen)
        slips += self.whole.slips
        said = content.excess
        if self.interest_weight > 0:
            said += np.float32(self.interest_weight) * content.interest
        if self.alike_weight > 0:
            said += (
                np.float32(self.alike_weight) * self.look_alikes.judge(rows, self.evidence).excess
            )
        return probability(self.whole, said, slips, rows)

    def _by_strangers(self, rows: Rows) -> FloatArray:
        said = self.ridge.judge(rows, self.trusted).excess
        belief = self.manners.alone
        slips = np.broadcast_to(belief.slips, said.shape)
        return probability(belief, said, slips, rows)


def probability(belief: Belief, said: FloatArray, slips: FloatArray, rows: Rows) -> FloatArray:
    """Return images x tags: the probability that the tag belongs, whether it was given or not."""
    found = belief.not_given(said, np.minimum(slips, MOST_SLIPS))
    given = row_number_of_entries(rows.tags), rows.tags.indices
    found[given] = belief.given(said[given], np.minimum(slips[given], MOST_SLIPS))
    return found


MOST_SLIPS = np.float32(0.95)
