"""What images are about: one of some dozens of subjects each, and what images about it have.

The regression adds up what speaks for a tag, so that three tags of the beach speak three times as
much for the sea as one. But if an image is about the beach for certain, more of them say nothing
new. Here everything known of an image (its tags, its looks, what its owner's other images are
about) only tells what it is about, by Bayes' rule, and that tells the tags: a tag is as probable as
it is among images about the same.

Owners are in folds, and images judged by what was learned from the others; see :mod:`looked_at`.
New images of unknown owners are judged by the mean of all. Of a tag in question the image knows
nothing: where it was given, it is left out of what the image is about.
"""

from dataclasses import dataclass, replace

import numpy as np

from sugartag._typing import FloatArray, IntArray
from sugartag.collection.model import Rows
from sugartag.linalg.compiled import compiled, fit_together, read_only
from sugartag.linalg.sparse_rows import row_number_of_entries
from sugartag.methods.sugar_plus.looked_at import SUBJECT_FOLDS, Directions, folds_of


@dataclass(frozen=True, eq=False)
class Subjects:
    """What images are about, and what that says about tags."""

    directions: Directions
    by_looks: FloatArray
    """Folds x directions and, last, ones x subjects: what looks add to the log odds of each; how
    common a subject is goes with the ones."""
    by_tag: FloatArray
    """Folds x tags x subjects: what a given tag adds to them. Float32, as are all."""
    rate: FloatArray
    """Folds x subjects x tags: how many of the images about a subject have a tag."""
    share: FloatArray
    """Folds x tags: how many of all images have it."""
    common: FloatArray
    """Folds x subjects: the share of the images about each."""
    shrinkage: FloatArray
    """Of each fold: images like those of all owners that an owner's others are averaged with, to
    tell what one more is about. Many where owners have no interests of their own."""
    of_owners: FloatArray
    """Owners x subjects: how many of the owner's images are about each."""
    strength: float
    """How much what is said counts beside other evidence."""
    n_images: int
    """Images that were learned from or judged as such: rows from here on are new."""

    @property
    def n_owners(self) -> int:
        """Owners of whom it is known what their images are about."""
        return len(self.of_owners)

    def add_to(self, said: FloatArray, rows: Rows, *, strangers_only: bool = False) -> None:
        """Add what images are about to what is said about images x tags.

        With ``strangers_only`` the owner's other images have no say in that.
        """
        fit_together(said.shape == (len(rows), self.share.shape[1]))
        rows = replace(rows, titles=None)
        fold = self._folds(rows, strangers_only=strangers_only)
        for number in range(SUBJECT_FOLDS):
            for chosen, part in (
                (fold == number, 1.0),
                (fold == SUBJECT_FOLDS, 1.0 / SUBJECT_FOLDS),
            ):
                some = np.flatnonzero(chosen)
                if len(some):
                    found = self._rates(number, rows.at(some), strangers_only=strangers_only)
                    share = read_only(self.share[number])
                    fit_together(found.shape == (len(some), len(share)))
                    add_beyond(read_only(found), share, self.strength * part, some, said)

    def said(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return what images are about says about images x tags."""
        found = np.zeros((len(rows), self.share.shape[1]), dtype=np.float32)
        self.add_to(found, rows, strangers_only=strangers_only)
        return found

    def of_images(self, rows: Rows) -> FloatArray:
        """Return images x subjects: what each image is about, its owner not asked.

        Images of nobody, and all if owners are not in folds, are about nothing.
        """
        rows = replace(rows, titles=None)
        found = np.zeros((len(rows), self.common.shape[1]), dtype=np.float32)
        fold = np.where(rows.owner < self.n_owners, self._folds(rows), SUBJECT_FOLDS)
        for number in range(SUBJECT_FOLDS):
            some = np.flatnonzero(fold == number)
            found[some] = shares(self._odds(number, rows.at(some)))
        return found

    def mostly(self, rows: Rows) -> IntArray:
        """Return what each image is about more than anything: fold * subjects + subject.

        Images that are judged in all folds are told of the first.
        """
        rows = replace(rows, titles=None)
        fold = self._folds(rows) % SUBJECT_FOLDS
        found = np.zeros(len(rows), dtype=np.int64)
        for number in np.unique(fold):
            some = np.flatnonzero(fold == number)
            odds = self._whole_odds(number, rows.at(some), strangers_only=False)
            found[some] = number * odds.shape[1] + odds.argmax(axis=1)
        return found

    def telling_tags(self, count: int) -> IntArray:
        """Return folds * subjects x tags: those that tell most of each subject, best first."""
        telling = self.rate * self.by_tag.transpose(0, 2, 1)
        best = np.argsort(-telling, axis=2, kind="stable")[:, :, :count]
        return best.reshape(-1, best.shape[2])

    def for_tags(self, n_tags: int) -> "Subjects":
        """Return the same for more tags, of which nothing is said."""
        more = (0, n_tags - self.share.shape[1])
        return replace(
            self,
            by_tag=np.pad(self.by_tag, ((0, 0), more, (0, 0))),
            rate=np.pad(self.rate, ((0, 0), (0, 0), more)),
            share=np.pad(self.share, ((0, 0), more)),
        )

    def _folds(self, rows: Rows, *, strangers_only: bool = False) -> IntArray:
        """Return the fold that each image is judged in; one past the last for all of them."""
        known = (rows.owner < self.n_owners) & (not strangers_only)
        known |= rows.position < self.n_images
        return np.where(
            known, folds_of(rows.owner, rows.position, self.n_owners, SUBJECT_FOLDS), SUBJECT_FOLDS
        )

    def _odds(self, fold: int, rows: Rows) -> FloatArray:
        """Return images x subjects: the log odds by looks and tags."""
        looks = self.directions.of(rows) @ self.by_looks[fold]
        found: FloatArray = looks + rows.tags.astype(np.float32) @ self.by_tag[fold]
        return found

    def _rates(self, fold: int, rows: Rows, *, strangers_only: bool) -> FloatArray:
        """Return images x tags: how many of the images about the same have each tag."""
        odds = self._whole_odds(fold, rows, strangers_only=strangers_only)
        found: FloatArray = shares(odds) @ self.rate[fold]
        row, tag = row_number_of_entries(rows.tags), rows.tags.indices
        without = shares(odds[row] - self.by_tag[fold, tag])
        found[row, tag] = np.einsum("ij,ji->i", without, self.rate[fold][:, tag])
        return found

    def _whole_odds(self, fold: int, rows: Rows, *, strangers_only: bool) -> FloatArray:
        """Return images x subjects: the log odds by looks, tags and the owner's other images."""
        odds = self._odds(fold, rows)
        if not strangers_only and self.n_owners:
            odds += self._by_owner(fold, rows, shares(odds))
        return odds

    def _by_owner(self, fold: int, rows: Rows, itself: FloatArray) -> FloatArray:
        """Return what the owner's other images add to the log odds, the image itself left out."""
        known = rows.owner < self.n_owners
        theirs = self.of_owners[np.minimum(rows.owner, self.n_owners - 1)]
        theirs = theirs - (rows.position < self.n_images)[:, None] * itself
        others = np.where(known[:, None], np.maximum(theirs, 0.0), 0.0)
        return by_others(others, self.common[fold], self.shrinkage[fold])


def by_others(others: FloatArray, common: FloatArray, shrinkage: float) -> FloatArray:
    """Return what an owner's other images add to the log odds of what an image is about.

    Both are images x subjects; ``others`` says how many of the others are about each.
    """
    about_one = 1.0 + others.sum(axis=1, keepdims=True) / shrinkage
    found: FloatArray = np.log1p(others / (shrinkage * common)) - np.log(about_one)
    return found


def shares(odds: FloatArray) -> FloatArray:
    """Return images x subjects: the share of each subject, from log odds."""
    found: FloatArray = np.exp(odds - odds.max(axis=1, keepdims=True))
    found /= found.sum(axis=1, keepdims=True)
    return found


@compiled
def add_beyond(
    found: FloatArray, share: FloatArray, strength: float, place: IntArray, said: FloatArray
) -> None:
    """Add what is found beyond the shares of tags, so many times, to some rows of what is said."""
    times = np.float32(strength)
    for row in range(len(place)):
        for tag in range(len(share)):
            said[place[row], tag] += times * (found[row, tag] - share[tag])
