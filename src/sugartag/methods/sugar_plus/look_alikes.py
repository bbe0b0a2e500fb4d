"""How an owner tagged other images that are like the one at hand, in looks and in words.

Another image of the owner counts as much as it looks alike, times (OVERLAP + overlap)^2, the
overlap being which part of the tags and title words of the image at hand the other one has too,
rare ones counting more. Of a tag in question the image itself knows nothing: where the tag was
given, it is left out of the overlap. The shares that come out are averaged with a little of
everybody's, so that an owner with few images, or with none that are alike, says next to nothing.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.collection.model import Rows
from sugartag.linalg.sparse_rows import row_number_of_entries, same_places, values_at
from sugartag.methods.sugar_plus.evidence import Evidence
from sugartag.methods.sugar_plus.in_short import InShort, codes_of

SHRINKAGE = 0.05
"""What everybody's share counts for, an identical image counting (OVERLAP + 1)^2."""
OVERLAP = 0.2
"""What an image counts for that looks alike and has no tag or word in common."""
PAIRS_AT_ONCE = 1 << 18


@dataclass(frozen=True, eq=False)
class Alike:
    """What owners' other images say about each tag, beyond its share among all images."""

    excess: FloatArray
    """Images x tags, float32."""
    told: BoolArray
    """Images whose owner has others."""


@dataclass(frozen=True, eq=False)
class LookAlikes:
    """The images of each owner, in short."""

    start: IntArray
    """The images of owner o are those from start[o] to start[o + 1]."""
    image: IntArray
    """Their rows in the collection, by owner."""
    codes: FloatArray
    """Images x a few numbers, float32."""
    tags: SparseRows
    """Images x tags."""
    token: IntArray
    """Tags and words of each owner's images, ascending: owner x sparse columns + column. That of
    one owner is another one than that of another, so that only images of one owner meet."""
    has_token: SparseRows
    """Those x images."""
    rarity: FloatArray
    """What each sparse column of the evidence counts for in an overlap."""
    directions: FloatArray
    """Features x the few numbers of a code."""
    width: float
    """sigma: an image at distance d counts exp(-d^2 / sigma^2)."""
    share: FloatArray
    """Of the images that have each tag."""
    unit_features: bool

    def in_short(self) -> InShort:
        """Return the images that are remembered."""
        n_columns = len(self.rarity)
        by_image = sparse.csr_array(self.has_token.T)
        tokens = sparse.csr_array(
            (by_image.data, self.token[by_image.indices] % n_columns, by_image.indptr),
            shape=(len(self.image), n_columns),
        )
        owner = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        return InShort(self.image, owner, self.codes, self.tags, tokens)

    def judge(self, rows: Rows, evidence: Evidence) -> Alike:
        """Return what the other images of each row's owner say; nothing for unknown owners."""
        looks = self._looks(rows)
        tokens = evidence.known(rows.tags, evidence.words_of(rows))
        weighed = same_places(tokens.data * self.rarity[tokens.indices], tokens)
        whole: FloatArray = np.asarray(weighed.sum(axis=1), dtype=np.float64).ravel()
        common = self._common(rows, weighed, looks)
        overlap = common / np.maximum(whole, 1e-9)[row_number_of_entries(looks)]
        links = same_places(looks.data * (OVERLAP + overlap) ** 2, looks)
        votes = (links @ self.tags).toarray()
        weight = np.asarray(links.sum(axis=1)).ravel()[:, None]
        votes -= weight * self.share
        votes /= weight + SHRINKAGE
        self._without_themselves(votes, rows.tags, evidence, looks, common, whole)
        return Alike(votes.astype(np.float32), np.diff(looks.indptr) > 0)

    def _without_themselves(
        self,
        votes: FloatArray,
        given: SparseRows,
        evidence: Evidence,
        looks: SparseRows,
        common: FloatArray,
        whole: FloatArray,
    ) -> None:
        """Correct the votes on given tags: these were part of the overlap.

        With a the rarity of the tag, the overlap of an image that has it falls from C / n to
        (C - a) / (n - a), that of one that has not from C / n to C / (n - a).
        """
        row, tag = row_number_of_entries(given), given.indices
        rarity = np.zeros(evidence.n_tags)
        rarity[evidence.predictor] = self.rarity[: len(evidence.predictor)]
        a, left = rarity[tag], np.maximum(whole[row] - rarity[tag], 0.0)
        scale = np.where(left > 1e-9, 1.0 / np.maximum(left, 1e-9), 0.0)
        weighed = [same_places(looks.data * common**power, looks) for power in range(3)]
        has = [values_at(sparse.csr_array(part @ self.tags), row, tag) for part in weighed]
        every = [np.asarray(part.sum(axis=1)).ravel()[row] for part in weighed]
        fallen = [has[0], has[1] - a * has[0], has[2] - 2 * a * has[1] + a**2 * has[0]]
        others = [every[power] - has[power] for power in range(3)]
        votes_for, votes_else = (
            OVERLAP**2 * part[0] + 2 * OVERLAP * scale * part[1] + scale**2 * part[2]
            for part in (fallen, others)
        )
        weight = votes_for + votes_else
        votes[row, tag] = (votes_for - weight * self.share[tag]) / (weight + SHRINKAGE)

    def _common(self, rows: Rows, weighed: SparseRows, looks: SparseRows) -> FloatArray:
        """Return the summed rarity of what both images of each link have."""
        key = rows.owner[row_number_of_entries(weighed)] * np.int64(weighed.shape[1])
        key += weighed.indices
        place = np.minimum(np.searchsorted(self.token, key), max(len(self.token) - 1, 0))
        kept = self.token[place] == key if len(self.token) else np.zeros(len(key), dtype=bool)
        passed = np.concatenate([[0], np.cumsum(kept)])[weighed.indptr]
        # Of all images only those that have a token in question: the product makes room for each.
        token, spot = np.unique(place[kept], return_inverse=True)
        has = self.has_token[token]
        image, column = np.unique(has.indices, return_inverse=True)
        has = sparse.csr_array((has.data, column, has.indptr), shape=(len(token), len(image)))
        mine = sparse.csr_array((weighed.data[kept], spot, passed), shape=(len(rows), len(token)))
        both = sparse.csr_array(mine @ has)
        if not len(image):
            return np.zeros(looks.nnz)
        at = np.minimum(np.searchsorted(image, looks.indices), len(image) - 1)
        found = values_at(both, row_number_of_entries(looks), at)
        return np.where(image[at] == looks.indices, found, 0.0)

    def _looks(self, rows: Rows) -> SparseRows:
        """Return rows x images kept: how much those of the same owner, but itself, look alike."""
        nobody = len(self.start) - 1
        owner = np.minimum(rows.owner, nobody)
        counts = self.start[np.minimum(owner + 1, nobody)] - self.start[owner]
        indptr = np.concatenate([[0], np.cumsum(counts)])
        row = np.repeat(np.arange(len(rows)), counts)
        member = np.arange(len(row)) - indptr[row] + self.start[owner][row]
        kept = self.image[member] != rows.position[row]
        passed = np.concatenate([[0], np.cumsum(kept)])[indptr]
        weight = self._alikeness(rows, row[kept], member[kept])
        return sparse.csr_array((weight, member[kept], passed), shape=(len(rows), len(self.image)))

    def _alikeness(self, rows: Rows, row: IntArray, member: IntArray) -> FloatArray:
        if not len(self.directions):
            return np.ones(len(row))
        features = rows.features_like(len(self.directions))
        codes = codes_of(features, self.directions, self.unit_features)
        squared = np.empty(len(row))
        for at in range(0, len(row), PAIRS_AT_ONCE):
            part = slice(at, at + PAIRS_AT_ONCE)
            apart = codes[row[part]] - self.codes[member[part]]
            squared[part] = np.einsum("ij,ij->i", apart, apart)
        weights: FloatArray = np.exp(squared / -(self.width**2))
        return weights
