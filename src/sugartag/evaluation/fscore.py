"""Sets of tags against the truth: F per concept, and the changes to what people gave.

A concept is scored by the tag of the same name. ``concept_tag`` says which tag column that is; a
concept it does not name has no tag in the vocabulary, so nothing ever predicts it.

All counts are of blocks of images and add up: the counts of a collection are the sum of those of
its blocks, whatever the blocks.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.errors import CollectionError


@dataclass(frozen=True)
class FCounts:
    """How often each concept was predicted, was true, and was both.

    The last axis is the concepts. Counts of resampled images have one more axis before it, the
    replicates.
    """

    true_positives: IntArray
    predicted: IntArray
    relevant: IntArray

    def __add__(self, other: "FCounts") -> "FCounts":
        """Return the counts of the images of both."""
        if self.relevant.shape != other.relevant.shape:
            message = (
                f"counts of shape {self.relevant.shape} and {other.relevant.shape} do not add up; "
                "count both with the same concepts and the same number of replicates"
            )
            raise CollectionError(message)
        return FCounts(
            self.true_positives + other.true_positives,
            self.predicted + other.predicted,
            self.relevant + other.relevant,
        )

    def f(self) -> FloatArray:
        """Return 2PR / (P + R) of each concept, 0 where nothing is predicted."""
        f: FloatArray = 2.0 * self.true_positives / np.maximum(self.predicted + self.relevant, 1)
        return f

    def mean_f(self) -> FloatArray:
        """Return the mean of F over the concepts with a positive; NaN where there is none.

        One number, or one for each replicate.
        """
        known = self.relevant > 0
        sums, counts = np.where(known, self.f(), 0.0).sum(axis=-1), np.count_nonzero(known, axis=-1)
        means = np.full(sums.shape, np.nan)
        np.divide(sums, counts, out=means, where=counts > 0)
        return means


@dataclass(frozen=True)
class ChangeCounts:
    """How many (image, concept) pairs were added and removed, and how many should have been."""

    added: int
    """Predicted and not given."""
    rightly_added: int
    missing: int
    """True and not given: what there was to add."""
    removed: int
    """Given and not predicted."""
    rightly_removed: int
    wrong: int
    """Given and not true: what there was to remove."""

    def __add__(self, other: "ChangeCounts") -> "ChangeCounts":
        """Return the counts of the images of both."""
        return ChangeCounts(
            self.added + other.added,
            self.rightly_added + other.rightly_added,
            self.missing + other.missing,
            self.removed + other.removed,
            self.rightly_removed + other.rightly_removed,
            self.wrong + other.wrong,
        )

    def add_precision(self) -> float:
        """Return the share of the additions that are right; NaN without additions."""
        return _share(self.rightly_added, self.added)

    def add_recall(self) -> float:
        """Return the share of the missing true tags that were added; NaN if none is missing."""
        return _share(self.rightly_added, self.missing)

    def remove_precision(self) -> float:
        """Return the share of the removals that are right; NaN without removals."""
        return _share(self.rightly_removed, self.removed)

    def remove_recall(self) -> float:
        """Return the share of the wrong given tags that were removed; NaN if none is wrong."""
        return _share(self.rightly_removed, self.wrong)


def f_counts(
    predicted: SparseRows,
    relevant: SparseRows,
    concept_tag: Mapping[int, int],
    *,
    weights: IntArray | None = None,
) -> FCounts:
    """Count, for each concept, the images of a block that have it predicted, true, and both.

    ``predicted`` is images x tags, ``relevant`` images x concepts; what is stored and not zero is
    in the set. ``weights`` (replicates x images) says how often each image is there.
    """
    truth = _as_sets(relevant)
    guess = concepts_of(predicted, concept_tag, n_concepts=truth.shape[1])
    _check_same_images(truth, predicted=guess)
    if weights is not None:
        _check_weights(weights, n_images=truth.shape[0])
    return FCounts(
        true_positives=_column_counts(_both(guess, truth), weights),
        predicted=_column_counts(guess, weights),
        relevant=_column_counts(truth, weights),
    )


def change_counts(
    predicted: SparseRows,
    given: SparseRows,
    relevant: SparseRows,
    concept_tag: Mapping[int, int],
) -> ChangeCounts:
    """Count what the predictions change in the given tags of a block of images, and how well.

    ``predicted`` and ``given`` are images x tags, ``relevant`` images x concepts. Tags that are
    no concept are not counted, since nobody knows whether they are right. What is true of a
    concept without a tag counts as missing.
    """
    truth = _as_sets(relevant)
    guess = concepts_of(predicted, concept_tag, n_concepts=truth.shape[1])
    start = concepts_of(given, concept_tag, n_concepts=truth.shape[1])
    _check_same_images(truth, predicted=guess, given=start)
    kept, kept_and_true = _both(guess, start).nnz, _both(_both(guess, start), truth).nnz
    given_and_true, found = _both(start, truth).nnz, _both(guess, truth).nnz
    removed, wrong = start.nnz - kept, start.nnz - given_and_true
    return ChangeCounts(
        added=guess.nnz - kept,
        rightly_added=found - kept_and_true,
        missing=truth.nnz - given_and_true,
        removed=removed,
        rightly_removed=removed - (given_and_true - kept_and_true),
        wrong=wrong,
    )


def concepts_of(tags: SparseRows, concept_tag: Mapping[int, int], *, n_concepts: int) -> SparseRows:
    """Return the concepts whose tag each image has: images x concepts, true entries."""
    concept = np.fromiter(concept_tag.keys(), dtype=np.int64, count=len(concept_tag))
    tag = np.fromiter(concept_tag.values(), dtype=np.int64, count=len(concept_tag))
    n_tags = tags.shape[1]
    impossible = (concept < 0) | (concept >= n_concepts) | (tag < 0) | (tag >= n_tags)
    if impossible.any():
        first = int(np.flatnonzero(impossible)[0])
        message = (
            f"concept {concept[first]} is scored by tag {tag[first]}, but there are {n_concepts} "
            f"concepts and {n_tags} tags; leave out a concept whose tag is not in the vocabulary"
        )
        raise CollectionError(message)
    columns = sparse.csr_array(
        (np.ones(len(tag), dtype=np.bool_), (tag, concept)), shape=(n_tags, n_concepts)
    )
    return _as_sets(_as_sets(tags) @ columns)


def _as_sets(rows: SparseRows) -> SparseRows:
    """Return a copy with one true entry for each member and nothing else stored."""
    sets: SparseRows = sparse.csr_array(rows).astype(np.bool_, copy=True)
    sets.sum_duplicates()
    sets.eliminate_zeros()
    return sets


def _both(one: SparseRows, other: SparseRows) -> SparseRows:
    return one.multiply(other).tocsr()


def _check_same_images(truth: SparseRows, **others: SparseRows) -> None:
    for name, rows in others.items():
        if rows.shape[0] != truth.shape[0]:
            message = (
                f"{name} has {rows.shape[0]} images and the truth {truth.shape[0]}; "
                "pass the same block of images"
            )
            raise CollectionError(message)


def _check_weights(weights: IntArray, *, n_images: int) -> None:
    whole = np.issubdtype(weights.dtype, np.integer)
    if weights.ndim != 2 or weights.shape[1] != n_images or not whole:
        message = (
            f"weights are {weights.dtype} of shape {weights.shape} for {n_images} images; "
            "pass whole numbers, replicates x images"
        )
        raise CollectionError(message)


def _column_counts(sets: SparseRows, weights: IntArray | None) -> IntArray:
    """Return how many rows hold each column, each row as often as its weight says."""
    if weights is None:
        return np.bincount(sets.indices, minlength=sets.shape[1]).astype(np.int64)
    by_column = sets.T.tocsr().astype(np.int64)
    return np.asarray((by_column @ weights.T).T, dtype=np.int64)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else np.nan
