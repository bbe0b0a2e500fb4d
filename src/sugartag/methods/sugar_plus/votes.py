"""What each of an owner's other images adds to the evidence for a tag.

The sums are those of the look-alikes, taken apart: an image that has the tag in question speaks for
it, one that has not against it. If the tag was given, it is left out of the overlap of both images.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sugartag._typing import BoolArray, FloatArray, IntArray
from sugartag.collection.model import Rows
from sugartag.linalg.sparse_rows import entries_between, row_number_of_entries
from sugartag.methods.sugar_plus.evidence import Evidence
from sugartag.methods.sugar_plus.likeness import compared_features
from sugartag.methods.sugar_plus.look_alikes import LookAlikes
from sugartag.methods.sugar_plus.voting import OVERLAP, SHRINKAGE

PAIRS_AT_ONCE = 1 << 13
"""Pairs of images that are compared in one step."""


@dataclass(frozen=True, eq=False)
class Votes:
    """What look-alikes say about some tags in question, beyond each tag's share."""

    net: FloatArray
    """Of each tag in question."""
    cell: IntArray
    """Ascending: the tag in question that each vote is for."""
    member: IntArray
    """The image that casts it, as the look-alikes number them."""
    amount: FloatArray
    """What it adds; images that do not have the tag make up the difference to the net."""


@dataclass(frozen=True, eq=False)
class Uses:
    """Which remembered images have each tag."""

    key: IntArray
    """tag * images + image, ascending."""
    n_images: int

    @classmethod
    def of(cls, look_alikes: LookAlikes) -> "Uses":
        """Sort the uses of the remembered images by tag."""
        tags, n = look_alikes.tags, len(look_alikes.image)
        return cls(np.sort(tags.indices * np.int64(n) + row_number_of_entries(tags)), n)

    def between(self, tag: IntArray, first: IntArray, last: IntArray) -> tuple[IntArray, IntArray]:
        """Return the images from first to last that have the tag, and the case of each."""
        base = tag * np.int64(self.n_images)
        start, stop = (np.searchsorted(self.key, base + end) for end in (first, last))
        case, place = entries_between(start, stop)
        return case, self.key[place] - base[case]


@dataclass(frozen=True, eq=False)
class OwnersImages:
    """How far the remembered images of each row's owner are like the row."""

    first: IntArray
    """The images of a row's owner are numbered from here ..."""
    last: IntArray
    """... to here."""
    offset: IntArray
    """Where the pairs of each row begin, less the number of the first image."""
    looks: FloatArray
    """Of each pair of a row and an image; 0 for the row itself."""
    common: FloatArray
    """The summed rarity of what both have."""
    rarity: FloatArray
    """The summed rarity of what each row has."""
    moments: FloatArray
    """Rows x 3: the sums of looks, looks * common and looks * common^2."""

    @classmethod
    def of(cls, look_alikes: LookAlikes, rows: Rows, evidence: Evidence) -> "OwnersImages":
        """Compare some rows with the remembered images of their owners."""
        owner = np.minimum(rows.owner, len(look_alikes.start) - 2).astype(np.int64)
        known = rows.owner < len(look_alikes.start) - 1
        first = np.where(known, look_alikes.start[owner], 0)
        last = np.where(known, look_alikes.start[owner + 1], 0)
        row, member = entries_between(first, last)
        offset = np.cumsum(last - first) - last
        looks = _looks(look_alikes, rows, row, member)
        common = np.zeros(len(row))
        rarity, (both_row, both_member, both) = _overlap(look_alikes, rows, evidence)
        common[offset[both_row] + both_member] = both
        powers = [looks * common**power for power in range(3)]
        moments = [np.bincount(row, power, minlength=len(rows)) for power in powers]
        return cls(first, last, offset, looks, common, rarity, np.stack(moments, axis=1))


def votes_on(
    look_alikes: LookAlikes,
    uses: Uses,
    images: OwnersImages,
    row: IntArray,
    tag: IntArray,
    given: BoolArray,
    evidence: Evidence,
) -> Votes:
    """Take apart what look-alikes say about tags in question, each of a row and given or not."""
    rarity = np.zeros(evidence.n_tags)
    rarity[evidence.predictor] = look_alikes.rarity[: len(evidence.predictor)]
    a = np.where(given, rarity[tag], 0.0)
    left = np.maximum(images.rarity[row] - a, 0.0)
    scale = np.where(left > 1e-9, 1.0 / np.maximum(left, 1e-9), 0.0)
    cell, member = uses.between(tag, images.first[row], images.last[row])
    pair = images.offset[row[cell]] + member
    looks, common = images.looks[pair], images.common[pair]
    weight = looks * (OVERLAP + scale[cell] * (common - a[cell])) ** 2
    powers = [looks * common**power for power in range(3)]
    having = [np.bincount(cell, power, minlength=len(row)) for power in powers]
    lacking = images.moments[row] - np.stack(having, axis=1)
    # looks * (OVERLAP + scale * common)^2, summed over images of which only the moments are known.
    expanded = np.stack([np.full(len(row), OVERLAP**2), 2 * OVERLAP * scale, scale**2], axis=1)
    against = np.einsum("ij,ij->i", lacking, expanded)
    in_favour = np.bincount(cell, weight, minlength=len(row))
    total = in_favour + against
    share = look_alikes.share[tag]
    net = (in_favour - total * share) / (total + SHRINKAGE)
    amount = weight * ((1.0 - share) / (total + SHRINKAGE))[cell]
    return Votes(net, cell, member, amount)


def _looks(look_alikes: LookAlikes, rows: Rows, row: IntArray, member: IntArray) -> FloatArray:
    looks = np.ones(len(row))
    directions = look_alikes.directions
    if len(directions):
        features = rows.features_like(len(directions))
        codes = compared_features(features, look_alikes.unit_features) @ directions
        for at in range(0, len(row), PAIRS_AT_ONCE):
            part = slice(at, at + PAIRS_AT_ONCE)
            apart = codes[row[part]] - look_alikes.codes[member[part]]
            squared = np.einsum("ij,ij->i", apart, apart)
            looks[part] = np.exp(squared / -(look_alikes.width**2))
    looks[look_alikes.image[member] == rows.position[row]] = 0.0
    return looks


def _overlap(
    look_alikes: LookAlikes, rows: Rows, evidence: Evidence
) -> tuple[FloatArray, tuple[IntArray, IntArray, FloatArray]]:
    """Return the summed rarity of what each row has, and of what it shares with which image."""
    tokens = evidence.known(rows.tags, evidence.words_of(rows))
    row = row_number_of_entries(tokens)
    weight = tokens.data * look_alikes.rarity[tokens.indices]
    key = rows.owner[row] * np.int64(tokens.shape[1]) + tokens.indices
    place = np.searchsorted(look_alikes.token, key)
    kept = place < len(look_alikes.token)
    kept[kept] = look_alikes.token[place[kept]] == key[kept]
    shape = (len(rows), len(look_alikes.token))
    mine = sparse.csr_array((weight[kept], (row[kept], place[kept])), shape=shape)
    both = sparse.csr_array(mine @ look_alikes.has_token)
    rarity: FloatArray = np.bincount(row, weight, minlength=len(rows)).astype(np.float64)
    return rarity, (row_number_of_entries(both), both.indices, both.data)
