"""Additive sufficient statistics of both ridge views, from one pass over the images.

Z = [R | X | 1] are the predictors, Y the given tags, w the weights of images. R is the tag block:
Y[:, predictor] divided by the number of tags n of each row, so R'WR and R'WY are Y'Y weighted by
w / n^2 and w / n. These two stay sparse until they are added up.
"""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from scipy import sparse

from sugartag._rules import Shape, Within
from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Block, Engine
from sugartag.linalg.sparse_rows import chosen_columns, row_number_of_entries, same_places
from sugartag.methods.sugar_plus._kernels import add_entries
from sugartag.methods.sugar_plus.blocks import Blocks, tag_counts

SERIES_TAGS = 3
"""Images of one owner with the same tags, at least this many, are frames of one series."""

HASHED_AT_ONCE = 65_536

Hashes = np.ndarray[tuple[int], np.dtype[np.uint64]]


@dataclass(frozen=True, eq=False)
class Statistics:
    """The sums over some images; those of other images can be added."""

    gram: Annotated[FloatArray, Shape("predictors", "predictors")]
    """Z'WZ; predictor tags come first, then the dense predictors."""
    cross: Annotated[FloatArray, Shape("predictors", "tags")]
    """Z'WY."""
    uses: Annotated[FloatArray, Shape("tags"), Within(0)]
    """How many images have each tag, unweighted."""
    count: Annotated[float, Within(0)]
    """How many images there are, unweighted."""

    @classmethod
    def zero(cls, blocks: Blocks) -> "Statistics":
        """Return the sums over no images."""
        n_tags = blocks.tags.n_tags
        return cls(
            np.zeros((blocks.width, blocks.width)),
            np.zeros((blocks.width, n_tags)),
            np.zeros(n_tags),
            0.0,
        )

    @property
    def weight(self) -> float:
        """The weights of all images together."""
        return float(self.gram[-1, -1])

    @property
    def base_rate(self) -> FloatArray:
        """The weighted share of images with each tag."""
        found: FloatArray = np.clip(self.cross[-1] / max(self.weight, 1.0), 0.0, 1.0)
        return found

    def widened(self, n_tags: int) -> "Statistics":
        """Return the same sums beside columns for tags that no image has yet."""
        more = n_tags - self.cross.shape[1]
        cross = np.pad(self.cross, ((0, 0), (0, more)))
        return replace(self, cross=cross, uses=np.pad(self.uses, (0, more)))


@dataclass(frozen=True, eq=False)
class BlockStatistics:
    """The sums of one block of images, the products of tags sparse."""

    tag_gram: SparseRows
    """R'WR."""
    tag_cross: SparseRows
    """R'WY."""
    mixed_gram: FloatArray
    """Dense predictors x tag predictors."""
    dense_gram: FloatArray
    dense_cross: FloatArray
    """Dense predictors x tags."""
    uses: FloatArray
    count: float


@dataclass(eq=False)
class Accumulator:
    """Adds the statistics of blocks in place, or takes them away."""

    total: Statistics
    sign: float = 1.0

    def take(self, part: BlockStatistics) -> None:
        """Add the statistics of one block."""
        total, sign = self.total, self.sign
        n_tags = part.tag_gram.shape[0]
        add_entries(part.tag_gram, sign, total.gram[:n_tags, :n_tags])
        add_entries(part.tag_cross, sign, total.cross[:n_tags])
        mixed = sign * part.mixed_gram
        total.gram[n_tags:, :n_tags] += mixed
        total.gram[:n_tags, n_tags:] += mixed.T
        total.gram[n_tags:, n_tags:] += sign * part.dense_gram
        total.cross[n_tags:] += sign * part.dense_cross
        uses = total.uses + sign * part.uses
        self.total = replace(total, uses=uses, count=total.count + sign * part.count)


def accumulate(
    collection: Collection, blocks: Blocks, weights: FloatArray, *, engine: Engine
) -> Statistics:
    """Sum over all images of the collection; ``weights`` are those of its rows."""
    start = Accumulator(Statistics.zero(blocks))
    parts = collection.blocks()
    return engine.fold(sum_statistics, parts, start, collection, blocks, weights).total


def sum_statistics(
    block: Block, collection: Collection, blocks: Blocks, weights: FloatArray
) -> BlockStatistics:
    """Return the sums of one block of images."""
    return statistics_of(collection.rows(block), blocks, np.asarray(weights[block]))


def statistics_of(rows: Rows, blocks: Blocks, weight: FloatArray) -> BlockStatistics:
    """Return the sums of some images."""
    predictors = blocks.transform(rows)
    given, dense = rows.tags, predictors.dense
    chosen = sparse.csr_array(chosen_columns(given, blocks.tags.predictor))
    turned = sparse.csr_array(chosen.T)
    share = weight / tag_counts(given)
    weighted = sparse.csr_array(_scaled(given, weight).T)
    return BlockStatistics(
        tag_gram=_canonical(turned @ _scaled(chosen, share / tag_counts(given))),
        tag_cross=_canonical(turned @ _scaled(given, share)),
        mixed_gram=(sparse.csr_array(_scaled(chosen, share).T) @ dense).T.astype(np.float64),
        dense_gram=((dense * weight[:, None].astype(np.float32)).T @ dense).astype(np.float64),
        dense_cross=(weighted @ dense).T.astype(np.float64),
        uses=np.bincount(given.indices, minlength=given.shape[1]).astype(np.float64),
        count=float(len(rows)),
    )


def _scaled(tags: SparseRows, factor: FloatArray) -> SparseRows:
    """Return the tags with each row multiplied by a factor."""
    values = factor[row_number_of_entries(tags)].astype(np.float32)
    return same_places(values, tags)


def _canonical(product: SparseRows) -> SparseRows:
    """Return a product whose entries are all in different places."""
    found = sparse.csr_array(product)
    found.sum_duplicates()
    return found


def series_weights(tags: SparseRows, owner: IntArray) -> FloatArray:
    """Return 1 / size of the series of each image: all frames of a series count as one image."""
    keys = set_hashes(tags) ^ _mixed(owner.astype(np.uint64) + np.uint64(1))
    _, series, size = np.unique(keys, return_inverse=True, return_counts=True)
    alone = np.diff(tags.indptr) < SERIES_TAGS
    found: FloatArray = np.where(alone, 1.0, 1.0 / size[series]).astype(np.float32)
    return found


def set_hashes(tags: SparseRows) -> Hashes:
    """Return a 64-bit hash of the set of tags of each row, whatever their order."""
    found = np.zeros(tags.shape[0], dtype=np.uint64)
    # In steps: the hashes of all entries together take more memory than the entries.
    for start in range(0, len(found), HASHED_AT_ONCE):
        ends = tags.indptr[start : start + HASHED_AT_ONCE + 1].astype(np.int64)
        total = np.zeros(ends[-1] - ends[0] + 1, dtype=np.uint64)
        entries = tags.indices[ends[0] : ends[-1]].astype(np.uint64)
        np.cumsum(_mixed(entries), dtype=np.uint64, out=total[1:])
        found[start : start + len(ends) - 1] = (
            total[ends[1:] - ends[0]] - total[ends[:-1] - ends[0]]
        )
    return found


def _mixed(values: Hashes) -> Hashes:
    """Return the splitmix64 hash of each value."""
    z = values + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
