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
from sugartag.linalg.compiled import fit_together, read_only
from sugartag.linalg.entries import Entries
from sugartag.linalg.sparse_rows import same_places
from sugartag.methods.sugar_plus.evidence import Evidence
from sugartag.methods.sugar_plus.in_short import InShort, codes_of
from sugartag.methods.sugar_plus.voting import Asking, Remembered, Votes, vote


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
        nobody = len(self.start) - 1
        owner = np.minimum(rows.owner, nobody)
        first, last = self.start[owner], self.start[np.minimum(owner + 1, nobody)]
        tokens = evidence.known(rows.tags, evidence.words_of(rows))
        asked = Asking(
            rows.owner.astype(np.int64),
            first.astype(np.int64),
            last.astype(np.int64),
            rows.position.astype(np.int64),
            self._codes_of(rows),
            Entries.of(tokens, len(self.rarity)),
            Entries.of(rows.tags, len(self.share)),
        )
        ends = self.tags.indptr
        most = int(np.sum(ends[last] - ends[first], dtype=np.int64)) + rows.tags.nnz
        votes = Votes(
            np.empty(len(rows)),
            np.empty(len(rows), dtype=np.bool_),
            np.zeros(len(rows) + 1, dtype=np.int64),
            np.empty(most, dtype=np.int32),
            np.empty(most),
        )
        vote(self._remembered(evidence), asked, votes)
        found = slice(votes.start[-1])
        parts = votes.value[found], votes.column[found], votes.start
        by_tag = sparse.csr_array(parts, shape=(len(rows), evidence.n_tags))
        return Alike(votes.rest, by_tag, self.share, votes.told)

    def _codes_of(self, rows: Rows) -> FloatArray:
        if not len(self.directions):
            return np.zeros((len(rows), 0), dtype=np.float32)
        features = rows.features_like(len(self.directions))
        return codes_of(features, self.directions, self.unit_features)

    def _remembered(self, evidence: Evidence) -> Remembered:
        n_images, n_tokens = len(self.image), len(self.token)
        fit_together(
            self.start[0] >= 0
            and self.start[-1] <= n_images
            and bool((np.diff(self.start) >= 0).all())
            and self.codes.shape == (n_images, self.directions.shape[1])
            and self.tags.shape == (n_images, evidence.n_tags)
            and self.has_token.shape == (n_tokens, n_images)
        )
        rarity = np.zeros(evidence.n_tags)
        rarity[evidence.predictor] = self.rarity[: len(evidence.predictor)]
        has, tags = self.has_token, self.tags
        by_image = self.image, self.codes, tags.indptr, tags.indices, tags.data
        by_token = self.token, has.indptr, has.indices
        arrays = *by_image, *by_token, self.rarity, rarity, self.share
        return Remembered(1.0 / self.width**2, *map(read_only, arrays))
