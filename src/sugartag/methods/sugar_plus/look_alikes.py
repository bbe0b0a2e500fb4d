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
from sugartag.linalg.sparse_rows import (
    entries_between,
    row_number_of_entries,
    same_places,
    values_at,
)
from sugartag.methods.sugar_plus.evidence import Evidence
from sugartag.methods.sugar_plus.in_short import InShort, codes_of

SHRINKAGE = 0.05
"""What everybody's share counts for, an identical image counting (OVERLAP + 1)^2."""
OVERLAP = 0.2
"""What an image counts for that looks alike and has no tag or word in common."""
PAIRS_AT_ONCE = 1 << 13


@dataclass(frozen=True, eq=False)
class Alike:
    """What owners' other images say about each tag, beyond its share among all images.

    About most tags they say that the image has it less probably, for none of them has it.
    """

    rest: FloatArray
    """Of each image: what they say, in shares of the tag, about tags that none of them has."""
    votes: SparseRows
    """Images x tags: what they say in addition about those that some have."""
    share: FloatArray
    told: BoolArray
    """Images whose owner has others."""

    def times(self, weight: float) -> "Alike":
        """Return the same, of another weight; float32."""
        votes = same_places((weight * self.votes.data).astype(np.float32), self.votes)
        rest, share = (weight * self.rest).astype(np.float32), self.share.astype(np.float32)
        return Alike(rest, votes, share, self.told)

    @property
    def excess(self) -> FloatArray:
        """Images x tags, float32."""
        found = np.multiply.outer(self.rest, self.share)
        found += self.votes.toarray()
        return found.astype(np.float32)


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
        pairs = self._pairs(rows)
        tokens = evidence.known(rows.tags, evidence.words_of(rows))
        overlap = self._overlap(tokens, self._shared(rows, tokens, pairs), pairs)
        links = pairs.looks * overlap.weight(pairs.row)
        total = pairs.summed(links)
        votes = pairs.links_like(self.tags, links) @ self.tags
        votes.data /= (total + SHRINKAGE)[row_number_of_entries(votes)]
        rest = -total / (total + SHRINKAGE)
        row, tag = row_number_of_entries(rows.tags), rows.tags.indices
        wanted = self._without_themselves(row, tag, tokens, evidence, overlap, pairs)
        wanted -= rest[row] * self.share[tag] + values_at(votes, row, tag)
        return Alike(
            rest,
            sparse.csr_array(votes + same_places(wanted, rows.tags)),
            self.share,
            pairs.told,
        )

    def _without_themselves(
        self,
        row: IntArray,
        tag: IntArray,
        tokens: SparseRows,
        evidence: Evidence,
        overlap: "Overlap",
        pairs: "Pairs",
    ) -> FloatArray:
        """Return the votes on given tags, which are not to be part of the overlap.

        With a the rarity of the tag, the overlap of an image that has it falls from C / n to
        (C - a) / (n - a), that of one that has not from C / n to C / (n - a).
        """
        n = len(evidence.predictor)
        rarity = np.zeros(evidence.n_tags)
        rarity[evidence.predictor] = self.rarity[:n]
        a = rarity[tag]
        left = np.maximum(overlap.whole[row] - a, 0.0)
        scale = np.where(left > 1e-9, 1.0 / np.maximum(left, 1e-9), 0.0)
        is_token = np.isin(tag, evidence.predictor, kind="table")
        # The tags among the tokens come in the same order as the tags given.
        cell_of_token = np.full(tokens.nnz, -1)
        cell_of_token[tokens.indices < n] = np.flatnonzero(is_token)
        by_token = cell_of_token[overlap.shared.cell]
        rare = self._having(row, tag, np.flatnonzero(~is_token), pairs)
        cell = np.concatenate([by_token[by_token >= 0], rare.cell])
        pair = np.concatenate([overlap.shared.pair[by_token >= 0], rare.pair])
        weighed = [pairs.looks * overlap.common**power for power in range(3)]
        has = [np.bincount(cell, part[pair], minlength=len(row)) for part in weighed]
        every = [pairs.summed(part)[row] for part in weighed]
        fallen = [has[0], has[1] - a * has[0], has[2] - 2 * a * has[1] + a**2 * has[0]]
        others = [every[power] - has[power] for power in range(3)]
        votes_for, votes_else = (
            OVERLAP**2 * part[0] + 2 * OVERLAP * scale * part[1] + scale**2 * part[2]
            for part in (fallen, others)
        )
        weight = votes_for + votes_else
        found: FloatArray = (votes_for - weight * self.share[tag]) / (weight + SHRINKAGE)
        return found

    def _overlap(self, tokens: SparseRows, shared: "Sharing", pairs: "Pairs") -> "Overlap":
        weight = tokens.data * self.rarity[tokens.indices]
        row, n_pairs = row_number_of_entries(tokens), len(pairs.row)
        whole: FloatArray = np.zeros(tokens.shape[0])
        common: FloatArray = np.zeros(n_pairs)
        whole += np.bincount(row, weight, minlength=len(whole))
        common += np.bincount(shared.pair, weight[shared.cell], minlength=n_pairs)
        return Overlap(shared, common, whole)

    def _shared(self, rows: Rows, tokens: SparseRows, pairs: "Pairs") -> "Sharing":
        """Return which tokens of each image its owner's others have too."""
        row = row_number_of_entries(tokens)
        key = rows.owner[row] * np.int64(tokens.shape[1]) + tokens.indices
        place = np.minimum(np.searchsorted(self.token, key), max(len(self.token) - 1, 0))
        kept = np.flatnonzero(self.token[place] == key) if len(self.token) else place[:0]
        start = self.has_token.indptr
        case, entry = entries_between(start[place[kept]], start[place[kept] + 1])
        cell = kept[case]
        return Sharing(cell, pairs.offset[row[cell]] + self.has_token.indices[entry])

    def _having(self, row: IntArray, tag: IntArray, cells: IntArray, pairs: "Pairs") -> "Sharing":
        """Return which others have tags that are no tokens, being too rare: by looking at all."""
        case, pair = entries_between(pairs.start[row[cells]], pairs.start[row[cells] + 1])
        member, start = pairs.member[pair], self.tags.indptr
        which, entry = entries_between(start[member], start[member + 1])
        cell = cells[case[which]]
        same = self.tags.indices[entry] == tag[cell]
        return Sharing(cell[same], pair[which[same]])

    def _pairs(self, rows: Rows) -> "Pairs":
        """Return each image with all that are kept of its owner's, itself without a say."""
        nobody = len(self.start) - 1
        owner = np.minimum(rows.owner, nobody)
        first, last = self.start[owner], self.start[np.minimum(owner + 1, nobody)]
        row, member = entries_between(first, last)
        start = np.concatenate([[0], np.cumsum(last - first)])
        itself = self.image[member] == rows.position[row]
        looks = self._alikeness(rows, row, member)
        looks[itself] = 0.0
        told = last - first > np.bincount(row[itself], minlength=len(rows))
        return Pairs(row, member, start, start[:-1] - first, looks, told)

    def _alikeness(self, rows: Rows, row: IntArray, member: IntArray) -> FloatArray:
        if not len(self.directions):
            return np.ones(len(row))
        features = rows.features_like(len(self.directions))
        codes = codes_of(features, self.directions, self.unit_features)
        squared = np.empty(len(row), dtype=np.float32)
        for at in range(0, len(row), PAIRS_AT_ONCE):
            part = slice(at, at + PAIRS_AT_ONCE)
            apart = self.codes.take(member[part], axis=0)
            apart -= codes.take(row[part], axis=0)
            squared[part] = np.einsum("ij,ij->i", apart, apart)
        weights: FloatArray = np.exp(squared / -(self.width**2))
        return weights


@dataclass(frozen=True, eq=False)
class Pairs:
    """Images, each with all that are kept of its owner's."""

    row: IntArray
    member: IntArray
    start: IntArray
    """Where the pairs of each image begin, and the end of the last."""
    offset: IntArray
    """What leads from a kept image to its pair with each image of its owner."""
    looks: FloatArray
    """How much they look alike; 0 for the image itself."""
    told: BoolArray
    """Images whose owner has others."""

    def summed(self, values: FloatArray) -> FloatArray:
        """Return the sum of something over the pairs of each image."""
        found: FloatArray = np.zeros(len(self.start) - 1)
        found += np.bincount(self.row, values, minlength=len(found))
        return found

    def links_like(self, members: SparseRows, values: FloatArray) -> SparseRows:
        """Return images x kept images, to be multiplied with a matrix of kept images."""
        # With indices of another type all those of the matrix would be converted.
        places = (part.astype(members.indices.dtype) for part in (self.member, self.start))
        shape = len(self.start) - 1, members.shape[0]
        return sparse.csr_array((values.astype(members.dtype), *places), shape=shape)


@dataclass(frozen=True, eq=False)
class Sharing:
    """Which of the owner's other images have what an image has: for each such case ..."""

    cell: IntArray
    """... the tag or token of the image, by its place, and ..."""
    pair: IntArray
    """... the pair of the image and the other one."""


@dataclass(frozen=True, eq=False)
class Overlap:
    """What images have in common with the others of their owners."""

    shared: Sharing
    common: FloatArray
    """Of each pair: the summed rarity of what both have."""
    whole: FloatArray
    """Of each image: the summed rarity of what it has."""

    def weight(self, row: IntArray) -> FloatArray:
        """Return what the overlap makes each pair count for, the image of each given."""
        found: FloatArray = (OVERLAP + self.common / np.maximum(self.whole, 1e-9)[row]) ** 2
        return found
