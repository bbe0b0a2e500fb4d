"""What a ridge says about rows at their own tags and words: the loops over all rows, compiled."""

from typing import NamedTuple

import numpy as np

from sugartag._typing import FloatArray, IntArray
from sugartag.linalg.compiled import compiled
from sugartag.linalg.entries import Entries
from sugartag.methods.sugar_plus.at_places import inner_product, place_of
from sugartag.methods.sugar_plus.cell_by_cell import LEAST_ROOM


class RidgeParts(NamedTuple):
    """What is needed of a ridge; where there are two, they are as fitted, and as given."""

    own: FloatArray
    """P[t, t] of each tag; 0 where it is not among the columns."""
    share: FloatArray
    """Two x tags."""
    base: FloatArray
    """Two x tags: what is taken off predictions."""
    dense_weights: FloatArray
    """Tags x dense columns."""
    words: FloatArray
    """P at words x dense columns."""
    at_mean: FloatArray
    """Two x tags and words: P m', m being the mean of the sparse columns."""
    dense_at_mean: FloatArray
    """Two x dense columns; float32."""
    of_mean: FloatArray
    """Two: m P m', the first m being as fitted."""


class RowParts(NamedTuple):
    """Rows of columns, tags as far as they were believed."""

    tags: Entries
    predicted: FloatArray
    """Ways x given tags: what tags and words predict. It is used up."""
    words: Entries
    at_words: FloatArray
    """Tags and words times P, at the words."""
    dense: FloatArray
    """Centred."""


class OwnerParts(NamedTuple):
    """What is needed of owners, nobody being the last."""

    part: FloatArray
    """c, what is taken out of an image of the sums over its owner's."""
    unexplained: Entries
    at_words: Entries
    at_dense: FloatArray
    forms: FloatArray
    """Three x owners: S P S', and S P m' twice."""


@compiled
def multiply_rows(
    ridge: RidgeParts,
    rows: RowParts,
    images: FloatArray,
    at_dense: FloatArray,
    unexplained: FloatArray,
    at_words: FloatArray,
    forms: FloatArray,
) -> None:
    """Fill in the products of rows S, each the sum over so many images, with P.

    ``at_dense`` comes with what the dense columns add. ``forms`` are S P S', and S P m' twice.
    """
    for row in range(len(images)):
        dense, at, count = rows.dense[row], at_dense[row], images[row]
        squared = 0.0
        mean = inner_product(dense, ridge.dense_at_mean[0]) - count * ridge.of_mean[0]
        mean_now = inner_product(dense, ridge.dense_at_mean[1]) - count * ridge.of_mean[1]
        for column in range(len(dense)):
            at[column] -= np.float32(count) * ridge.dense_at_mean[0, column]
        for place in range(rows.tags.start[row], rows.tags.start[row + 1]):
            tag, value = rows.tags.column[place], rows.tags.value[place]
            scaled, added = value * ridge.own[tag], np.float32(0.0)
            for column in range(len(dense)):
                added += dense[column] * ridge.dense_weights[tag, column]
                at[column] -= scaled * ridge.dense_weights[tag, column]
            left = value - count * (ridge.share[0, tag] - ridge.base[0, tag])
            left -= rows.predicted[0, place] + added
            unexplained[place] = left
            squared += scaled * left
            mean += value * ridge.at_mean[0, tag]
            mean_now += value * ridge.at_mean[1, tag]
        for place in range(rows.words.start[row], rows.words.start[row + 1]):
            word, value = rows.words.column[place], rows.words.value[place]
            here = len(ridge.own) + word
            added = inner_product(dense, ridge.words[word])
            for column in range(len(dense)):
                at[column] += value * ridge.words[word, column]
            at_words[place] = rows.at_words[place] + added - count * ridge.at_mean[0, here]
            squared += value * at_words[place]
            mean += value * ridge.at_mean[0, here]
            mean_now += value * ridge.at_mean[1, here]
        forms[0, row] = squared + inner_product(dense, at) - count * mean
        forms[1, row], forms[2, row] = mean, mean_now


@compiled
def _start_forms(
    ridge: RidgeParts,
    owners: OwnerParts,
    rows: FloatArray,
    owner: IntArray,
    squared: FloatArray,
    forms: FloatArray,
) -> None:
    """Fill in what the dense columns and the means make of the forms."""
    for row in range(len(owner)):
        dense, whose, c = rows[row], owner[row], owners.part[owner[row]]
        theirs = inner_product(dense, owners.at_dense[whose])
        mean = inner_product(dense, ridge.dense_at_mean[0])
        mean_now = inner_product(dense, ridge.dense_at_mean[1])
        mine = squared[row] - mean
        forms[0, row] = mine - mean + ridge.of_mean[0] + c * c * owners.forms[0, whose]
        forms[0, row] -= 2.0 * c * (theirs - owners.forms[1, whose])
        forms[1, row] = mine - mean_now + ridge.of_mean[1]
        forms[1, row] -= c * (theirs - owners.forms[2, whose])


@compiled
def _add_tags(
    ridge: RidgeParts,
    owners: OwnerParts,
    rows: RowParts,
    owner: IntArray,
    given: FloatArray,
    forms: FloatArray,
) -> None:
    """Add what the tags make of the forms.

    Predictions become what is left of z~, and the prediction from the tags as they are given.
    """
    for row in range(len(owner)):
        dense, c, both, mixed = rows.dense[row], owners.part[owner[row]], 0.0, 0.0
        first, last = owners.unexplained.start[owner[row]], owners.unexplained.start[owner[row] + 1]
        for place in range(rows.tags.start[row], rows.tags.start[row + 1]):
            tag, value = rows.tags.column[place], rows.tags.value[place]
            own, added = ridge.own[tag], inner_product(dense, ridge.dense_weights[tag])
            fitted = rows.predicted[0, place] + added - ridge.base[0, tag]
            left, other = value - ridge.share[0, tag] - fitted, 0.0
            there = place_of(tag, owners.unexplained.column, first, last)
            if there < last:
                other = c * owners.unexplained.value[there]
            both += value * (own * (left - 2.0 * other - added) - ridge.at_mean[0, tag])
            mixed += given[place] * own * (left - other)
            mixed -= value * (own * added + ridge.at_mean[1, tag])
            rows.predicted[0, place] = left - other
            rows.predicted[1, place] += added - ridge.base[1, tag]
        forms[0, row] += both
        forms[1, row] += mixed


@compiled
def _add_words(
    ridge: RidgeParts, owners: OwnerParts, rows: RowParts, owner: IntArray, forms: FloatArray
) -> None:
    """Add what the words make of the forms."""
    for row in range(len(owner)):
        c = owners.part[owner[row]]
        first, last = owners.at_words.start[owner[row]], owners.at_words.start[owner[row] + 1]
        for place in range(rows.words.start[row], rows.words.start[row + 1]):
            word, value = rows.words.column[place], rows.words.value[place]
            here = len(ridge.own) + word
            mean, mean_now = ridge.at_mean[0, here], ridge.at_mean[1, here]
            at_word = rows.at_words[place] - mean
            at_word += 2.0 * inner_product(rows.dense[row], ridge.words[word])
            there, other = place_of(word, owners.at_words.column, first, last), 0.0
            if there < last:
                other = c * owners.at_words.value[there]
            forms[0, row] += value * (at_word - 2.0 * other - mean)
            forms[1, row] += value * (at_word - other - mean_now)


@compiled
def _leave_out(
    ridge: RidgeParts,
    owners: OwnerParts,
    rows: RowParts,
    owner: IntArray,
    given: FloatArray,
    forms: FloatArray,
    found: FloatArray,
) -> None:
    """Fill in the predictions that are left when images are left out."""
    for row in range(len(owner)):
        both, mixed = forms[0, row], forms[1, row]
        space = 1.0 - owners.part[owner[row]] - both
        for place in range(rows.tags.start[row], rows.tags.start[row + 1]):
            tag, own = rows.tags.column[place], ridge.own[rows.tags.column[place]]
            left, now = rows.predicted[0, place], rows.predicted[1, place]
            raw_left = (given[place] - ridge.share[1, tag] - now) * own
            room = max(left * left * own + space, LEAST_ROOM)
            found[place] = now - (mixed - raw_left * left) * left / room


@compiled
def judge_rows(
    ridge: RidgeParts,
    owners: OwnerParts,
    rows: RowParts,
    owner: IntArray,
    given: FloatArray,
    squared: FloatArray,
    found: FloatArray,
) -> None:
    """Fill in what is said about each given tag of images, the image itself left out.

    ``given`` are the tags as they are given, ``squared`` is d P d', d being the dense columns. With
    z~ = z - c S, the forms are z~ P z~', and z P z~' with z as given.
    """
    forms = np.empty((2, len(owner)))
    _start_forms(ridge, owners, rows.dense, owner, squared, forms)
    _add_tags(ridge, owners, rows, owner, given, forms)
    _add_words(ridge, owners, rows, owner, forms)
    _leave_out(ridge, owners, rows, owner, given, forms, found)
