"""What sugar-plus learned, and how it judges images."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.collection.align import Catalogue
from sugartag.collection.model import Rows
from sugartag.engine.base import Engine
from sugartag.linalg.entries import Entries
from sugartag.linalg.sparse_rows import row_number_of_entries, same_places, values_at
from sugartag.methods.base import Explanations
from sugartag.methods.sugar_plus.belief import Belief
from sugartag.methods.sugar_plus.believing import Curve, believe
from sugartag.methods.sugar_plus.choice import Choice
from sugartag.methods.sugar_plus.decisions import as_decided
from sugartag.methods.sugar_plus.evidence import Evidence
from sugartag.methods.sugar_plus.explain import Explainer
from sugartag.methods.sugar_plus.learning import steps
from sugartag.methods.sugar_plus.look_alikes import LookAlikes
from sugartag.methods.sugar_plus.manners import Manners
from sugartag.methods.sugar_plus.ridge import Ridge
from sugartag.methods.sugar_plus.sight import Odds, Sight
from sugartag.methods.sugar_plus.subjects import Subjects
from sugartag.methods.sugar_plus.through import Through


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
    subjects: Subjects | None = None
    """What images are about, where that was learned."""
    sight: Sight | None = None
    """What images look like as a whole, where that was learned."""
    of_strangers: Belief | None = None
    """Of content, subjects and sight; where there is neither of these, of content alone, as
    manners have it."""

    @property
    def evidence(self) -> Evidence:
        """What images are described by."""
        return self.ridge.evidence

    @property
    def n_owners(self) -> int:
        """How many owners are known."""
        return len(self.ridge.owners)

    @property
    def alone(self) -> Belief:
        """Of what is known of an image itself."""
        return self.manners.alone if self.of_strangers is None else self.of_strangers

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
        for images, by_itself in self._in_steps(rows, strangers_only=strangers_only):
            with _written_to(found, images) as out:
                stamps = self._say(rows.at(images), out, by_itself=by_itself)
                _believe(self.alone if by_itself else self.whole, out, stamps)
        if not strangers_only:
            self._stand_by_decisions(rows, found)
        return found

    def cautious(self, chances: FloatArray) -> FloatArray:
        """Return what chances of tags not given are if people forget less than they seem to."""
        return self.whole.if_recall_is_higher(chances.astype(np.float64))

    def said(self, rows: Rows) -> FloatArray:
        """Return what all evidence says about images whose owners are known."""
        found = np.empty((len(rows), self.evidence.n_tags), dtype=np.float32)
        self._say(rows, found, by_itself=False)
        return found

    def odds_and_chances(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        """Return the log odds of each tag before it is known what was given, and after it chances.

        Every use that nothing explains counts as wrong there: it does not teach what to look for.
        """
        odds = np.empty((len(rows), self.evidence.n_tags), dtype=np.float32)
        chances = np.empty_like(odds)
        for images, by_itself in self._in_steps(rows):
            belief = self.alone if by_itself else self.whole
            with _written_to(chances, images) as out:
                stamps = self._say(rows.at(images), out, by_itself=by_itself)
                odds[images] = Odds.of(belief).at(out)
                _believe(replace(belief, slips=belief.slips.all_wrong()), out, stamps)
        self._stand_by_decisions(rows, chances)
        return odds, chances

    def _in_steps(
        self, rows: Rows, *, strangers_only: bool = False
    ) -> Iterator[tuple[IntArray, bool]]:
        """Yield images that are judged in one step, and whether each is judged by itself."""
        alone = (rows.owner >= self.n_owners) | strangers_only
        for by_itself, chosen in ((True, alone), (False, ~alone)):
            images = np.flatnonzero(chosen)
            for part in steps(len(images), self.evidence.n_tags):
                yield images[part], by_itself

    def _stand_by_decisions(self, rows: Rows, chances: FloatArray) -> None:
        decided = self.decided_of(rows)
        cell = row_number_of_entries(decided), decided.indices
        chances[cell] = np.where(decided.data > 0, RIGHT, WRONG)

    def get_ready(self, *, engine: Engine) -> None:
        """Keep the sums of owners."""
        self.ridge.keep_owners(engine=engine)

    def stay_ready(self, *, engine: Engine) -> None:
        """Keep the sums of owners, unless they are kept."""
        if not self.ridge.keeps_owners:
            self.get_ready(engine=engine)

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
            self.subjects,
            self.sight,
            self.alone,
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

    def _say(self, rows: Rows, out: FloatArray, *, by_itself: bool) -> SparseRows:
        """Write down what is said about images; return how probably habits stamp on what is given.

        ``by_itself`` leaves out what their owners' other images say.
        """
        now = self.corrected(rows)
        through = Through(self.ridge, now, self.believed)
        if by_itself:
            out[:], _ = through.content()
            stamps = np.full(rows.tags.nnz, self.manners.habits.usual)
        else:
            alike = self.look_alikes.judge(now, self.evidence).times(self.alike_weight)
            at_given = through.with_others(alike, self.interest_weight, rows.tags, out)
            stamps = self.manners.stamps(rows, rows.tags, at_given, through.seen)
        if self.subjects is not None:
            self.subjects.add_to(out, now, strangers_only=by_itself)
        if self.sight is not None:
            self.sight.complete(out, now, strangers_only=by_itself)
        return same_places(stamps, rows.tags)


@contextmanager
def _written_to(found: FloatArray, images: IntArray) -> Iterator[FloatArray]:
    """Give room for the rows of some images, which ascend; what is written there is kept."""
    if images[-1] - images[0] + 1 == len(images):
        yield found[images[0] : images[-1] + 1]
        return
    apart = np.empty((len(images), found.shape[1]), dtype=found.dtype)
    yield apart
    found[images] = apart


def _believe(belief: Belief, said: FloatArray, stamps: SparseRows) -> None:
    """Turn what is said about images x tags, in place, into the probability that tags belong.

    ``stamps`` are stored at the given tags: how probably a habit stamps each on.
    """
    n_tags = said.shape[1]
    believe(Curve.of(belief, n_tags), said, Entries.of(stamps, n_tags))


RIGHT, WRONG = np.float32(0.999), np.float32(0.001)
"""The probability that a tag belongs of which somebody said so, or the contrary."""
