"""Rows on their way through a ridge: images as given, images as fitted, sums over owners."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows

if TYPE_CHECKING:
    from sugartag.methods.sugar_plus.ridge import Ridge


@dataclass(frozen=True, eq=False)
class Centre:
    """What is taken off rows for each image that they sum up. Float32."""

    tags: FloatArray
    words: FloatArray
    predicted: FloatArray
    others: FloatArray

    @classmethod
    def of(cls, ridge: "Ridge", mean: FloatArray, share: FloatArray) -> "Centre":
        """Take the mean of the columns through a ridge."""
        n = ridge.evidence.n_sparse
        words = mean[len(ridge.evidence.predictor) : n]
        return cls(share, words, mean[:n] @ ridge.weights[:n], mean[:n] @ ridge.other_precision[:n])


@dataclass(frozen=True, eq=False)
class Dense:
    """The dense columns of rows, centred, and what they add to predictions. Float32."""

    images: FloatArray
    """Images that each row sums up."""
    columns: FloatArray
    predicted: FloatArray
    others: FloatArray

    @classmethod
    def of(cls, ridge: "Ridge", dense: FloatArray, images: FloatArray) -> "Dense":
        """Take the dense columns through a ridge."""
        n = ridge.evidence.n_sparse
        columns = _less(dense.copy(), images, ridge.mean[n:])
        return cls(
            images, columns, columns @ ridge.weights[n:], columns @ ridge.other_precision[n:]
        )


@dataclass(frozen=True, eq=False)
class Side:
    """Rows on their way through a ridge: centred, predicted, multiplied by P. Float32."""

    images: FloatArray
    """Images that each row sums up."""
    tags: FloatArray
    """Rows x all tags."""
    columns: FloatArray
    """Rows x columns that are no tags."""
    predicted: FloatArray
    """Rows x all tags."""
    others: FloatArray
    """z P at the columns that are no tags."""

    def __len__(self) -> int:
        return len(self.images)

    @classmethod
    def of(
        cls,
        ridge: "Ridge",
        tags: SparseRows,
        words: SparseRows,
        dense: Dense,
        centre: Centre,
    ) -> "Side":
        """Take rows with these tags and title words through a ridge."""
        images, n = dense.images, ridge.evidence.n_sparse
        known = ridge.evidence.known(tags, words).astype(np.float32)
        predicted = np.asarray(known @ ridge.weights[:n])
        predicted += dense.predicted
        others = np.asarray(known @ ridge.other_precision[:n])
        others += dense.others
        columns = dense.columns
        if len(centre.words):
            spelled = _less(words.astype(np.float32).toarray(), images, centre.words)
            columns = np.hstack([spelled, columns])
        return cls(
            images,
            _less(tags.astype(np.float32).toarray(), images, centre.tags),
            columns,
            _less(predicted, images, centre.predicted),
            _less(others, images, centre.others),
        )

    @classmethod
    def joined(cls, *parts: "Side") -> "Side":
        """Return the rows of all parts."""
        return cls(
            *(np.concatenate([getattr(p, field.name) for p in parts]) for field in fields(cls))
        )

    def at(self, chosen: IntArray) -> "Side":
        """Return some of the rows."""
        return Side(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def at_or(self, other: "Side", mine: IntArray, theirs: IntArray, is_other: BoolArray) -> "Side":
        """Return some of these rows and, where it says so, some of the other's."""
        parts = []
        for field in fields(self):
            one, two = getattr(self, field.name), getattr(other, field.name)
            found = np.empty((len(mine), *one.shape[1:]), dtype=np.float32)
            found[~is_other], found[is_other] = one[mine[~is_other]], two[theirs[is_other]]
            parts.append(found)
        return Side(*parts)


def _less(rows: FloatArray, images: FloatArray, centre: FloatArray) -> FloatArray:
    """Take the centre off rows, in place, as often as there are images in each."""
    rows -= centre if (images == 1).all() else np.multiply.outer(images, centre)
    return rows
