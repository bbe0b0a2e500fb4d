"""A fitted model with room for more: tags and owners it did not know, and tags now used enough.

Old numbers stay, new tags and owners come at the end. A grown model judges as it did before; of
what is new it says nothing until images are added. The products of a tag that becomes a column
with all others are known exactly: those with columns were added up, those with other tags follow
from the tags of the images, which a model keeps.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.methods.sugar_plus.belief import Belief
from sugartag.methods.sugar_plus.evidence import MIN_USES, Evidence
from sugartag.methods.sugar_plus.fitted import FittedSugarPlus
from sugartag.methods.sugar_plus.habits import Habits
from sugartag.methods.sugar_plus.look_alikes import LookAlikes
from sugartag.methods.sugar_plus.manners import Manners
from sugartag.methods.sugar_plus.remembered import remembering
from sugartag.methods.sugar_plus.ridge import Ridge
from sugartag.methods.sugar_plus.slips import LEAST, Slips
from sugartag.methods.sugar_plus.sparse_columns import outside_of
from sugartag.methods.sugar_plus.sums import OwnerTotals, Sums


def grown(
    fitted: FittedSugarPlus, uses: FloatArray, n_images: int, n_owners: int, max_predictors: int
) -> FittedSugarPlus:
    """Return the model for more tags and owners; ``uses`` is how often each tag will be used.

    ``n_images`` is how many images there will be.
    """
    before, n_tags = fitted.evidence, len(uses)
    after = grown_evidence(before, uses, n_owners, max_predictors)
    wider = Wider.of(before, after, n_owners)
    trusted, decided = (
        widened(matrix, matrix.shape[0], n_tags) for matrix in (fitted.trusted, fitted.decided)
    )
    believed = widened(fitted.believed, fitted.believed.shape[0], n_tags)
    sums = wider.sums(fitted.ridge.sums, believed)
    beliefs = _Slips(fitted.ridge.share, uses / n_images)
    manners = fitted.manners
    return replace(
        fitted,
        ridge=wider.ridge(fitted.ridge, sums),
        trusted=trusted,
        look_alikes=wider.look_alikes(fitted.look_alikes, sums),
        manners=Manners(
            beliefs.grown(manners.plain),
            wider.habits(manners.habits),
            beliefs.grown(manners.alone),
        ),
        whole=beliefs.grown(fitted.whole),
        decided=decided,
        subjects=None if fitted.subjects is None else fitted.subjects.for_tags(n_tags),
        of_strangers=None if fitted.of_strangers is None else beliefs.grown(fitted.of_strangers),
    )


def grown_evidence(
    evidence: Evidence, uses: FloatArray, n_owners: int, max_predictors: int
) -> Evidence:
    """Take tags among the columns that are used enough, the most used first; none is taken out."""
    n_tags = len(uses)
    outside = np.setdiff1d(np.arange(n_tags), evidence.predictor)
    most_used = outside[np.argsort(-uses[outside], kind="stable")]
    room = max(0, max_predictors - len(evidence.predictor))
    promoted = most_used[uses[most_used] >= MIN_USES][:room]
    taste, more = evidence.taste, n_owners + 1 - len(evidence.taste)
    unknown = np.zeros((more, taste.shape[1]), dtype=taste.dtype)
    return replace(
        evidence,
        predictor=np.sort(np.concatenate([evidence.predictor, promoted])),
        taste=np.vstack([taste[:-1], unknown, taste[-1:]]),
        n_tags=n_tags,
    )


def widened(matrix: SparseRows, n_rows: int, n_columns: int) -> SparseRows:
    """Return the matrix with empty rows and columns at the end."""
    indptr = np.pad(matrix.indptr, (0, n_rows - matrix.shape[0]), mode="edge")
    return sparse.csr_array((matrix.data, matrix.indices, indptr), shape=(n_rows, n_columns))


@dataclass(frozen=True, eq=False)
class Wider:
    """Where the columns of the evidence stand after it has grown."""

    before: Evidence
    after: Evidence
    n_owners: int
    place: IntArray
    """Of each column that was there."""
    promoted: IntArray
    """Tags that were not among the columns and now are."""
    spot: IntArray
    """The column of each of these."""

    @classmethod
    def of(cls, before: Evidence, after: Evidence, n_owners: int) -> "Wider":
        """Compare what columns there were with those there are."""
        n, more = len(before.predictor), len(after.predictor) - len(before.predictor)
        others = np.arange(n, before.n_sparse + before.n_dense) + more
        promoted = np.setdiff1d(after.predictor, before.predictor)
        place = np.concatenate([np.searchsorted(after.predictor, before.predictor), others])
        spot = np.searchsorted(after.predictor, promoted)
        return cls(before, after, n_owners, place, promoted, spot)

    def sums(self, sums: Sums, believed: SparseRows) -> Sums:
        """Return the sums of the same images; ``believed`` are their tags, as they were added."""
        known, n_tags = len(sums.tags), self.after.n_tags
        outside = np.concatenate([outside_of(self.before), np.arange(known, n_tags)])
        chosen = np.isin(outside, self.promoted)
        cross = np.pad(sums.cross, ((0, 0), (0, n_tags - known)))
        tags = believed.astype(np.float64)
        together = (tags[:, self.promoted].T @ tags[:, outside]).toarray()
        size = len(self.place) + len(self.spot)
        gram = np.zeros((size, size))
        gram[np.ix_(self.place, self.place)] = sums.gram
        gram[np.ix_(self.place, self.spot)] = cross[:, chosen]
        gram[np.ix_(self.spot, self.place)] = cross[:, chosen].T
        gram[np.ix_(self.spot, self.spot)] = together[:, chosen]
        rest = np.zeros((size, np.count_nonzero(~chosen)))
        rest[self.place], rest[self.spot] = cross[:, ~chosen], together[:, ~chosen]
        trusted = np.pad(sums.tags, (0, n_tags - known))
        columns = self._columns(sums.columns)
        columns[self.spot] = trusted[self.promoted]
        given = np.pad(sums.given, (0, n_tags - known))
        return Sums(sums.count, columns, trusted, given, gram, rest, self._owners(sums.owners))

    def ridge(self, ridge: Ridge, sums: Sums) -> Ridge:
        """Return the same regression: what is new has no weight."""
        n_tags = self.after.n_tags
        wide = (0, n_tags - self.before.n_tags)
        return Ridge(
            evidence=self.after,
            sums=sums,
            weights=np.pad(self._columns(ridge.weights), ((0, 0), wide)),
            mean=self._columns(ridge.mean),
            share=np.pad(ridge.share, wide),
            fitted_mean=self._columns(ridge.fitted_mean),
            fitted_share=np.pad(ridge.fitted_share, wide),
            own_precision=np.pad(ridge.own_precision, wide),
            other_precision=self._columns(ridge.other_precision),
            owner_variance=ridge.owner_variance,
        )

    def look_alikes(self, look_alikes: LookAlikes, sums: Sums) -> LookAlikes:
        """Return the same images, their tags and tokens in the new numbers."""
        short = look_alikes.in_short()
        tags = widened(short.tags, len(short), self.after.n_tags)
        # Tokens of tags that become columns are not among the old ones: take them from the tags.
        old = short.tokens
        words = old[:, len(self.before.predictor) :]
        short = replace(short, tags=tags, tokens=self.after.known(tags, words))
        return remembering(short, self.after, sums, look_alikes.directions, look_alikes.width)

    def habits(self, habits: Habits) -> Habits:
        """Return the same habits: new owners have none."""
        uses = widened(habits.uses, self.n_owners, self.after.n_tags)
        images = np.pad(habits.images, (0, self.n_owners - len(habits.images)))
        return replace(habits, uses=uses, images=images)

    def _columns(self, values: FloatArray) -> FloatArray:
        """Return what belongs to columns, in their new places, zeros for new ones."""
        size = len(self.place) + len(self.spot)
        found = np.zeros((size, *values.shape[1:]), dtype=values.dtype)
        found[self.place] = values
        return found

    def _owners(self, owners: OwnerTotals) -> OwnerTotals:
        more = self.n_owners - len(owners)
        return OwnerTotals(
            np.pad(owners.images, (0, more)),
            widened(owners.tags, self.n_owners, self.after.n_tags),
            widened(owners.words, self.n_owners, owners.words.shape[1]),
            np.pad(owners.dense, ((0, more), (0, 0))),
        )


@dataclass(frozen=True, eq=False)
class _Slips:
    """Tags that nobody had used are given by slip as often as others, by their share."""

    share: FloatArray
    """Of the images that had each tag."""
    expected: FloatArray
    """Of the images that will have each."""

    def grown(self, belief: Belief) -> Belief:
        """Return the belief for all tags."""
        slips, more = belief.slips, len(self.expected) - len(self.share)
        unused = np.pad(self.share, (0, more)) == 0
        usual = float(slips.rate.sum(dtype=np.float64) / max(float(self.share.sum()), LEAST))
        used = slips.wrong[self.share > 0]
        usually_wrong = float(np.median(used)) if len(used) else 1.0
        fresh = np.clip(usual * self.expected, LEAST, 0.5 * belief.recall)
        rate = np.where(unused, fresh, np.pad(slips.rate, (0, more)))
        wrong = np.where(unused, usually_wrong, np.pad(slips.wrong, (0, more)))
        return replace(belief, slips=Slips(rate.astype(np.float32), wrong.astype(np.float32)))
