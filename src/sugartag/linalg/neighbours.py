"""The nearest rows by Euclidean distance, exactly, at the price of a matrix product.

Single-precision products of whole blocks say which rows can be near; the error of such a product
has a bound, so no true neighbour is lost. The few that are left get their distance in double
precision, pair by pair. The answer is therefore the same to the last bit whatever the blocks, the
threads and the BLAS library, and rows at equal distance stand in the order of their index.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from sugartag._typing import BoolArray, FloatArray, IntArray
from sugartag.errors import SettingsError

QUERIES_AT_ONCE = 1024
"""Rows of one matrix product; against a block of 16,384 rows it takes 64 MiB."""
VALUES_AT_ONCE = 1 << 16
"""Numbers that exact distances are computed from in one step: few enough for the cache."""
GROUPS_PER_NEIGHBOUR = 8
"""A product's columns are cut into this many groups per neighbour to find a first bound."""
CELLS_AT_ONCE = 1 << 20
"""Distances sorted in one step."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest rows of each query, nearest first."""

    index: IntArray
    """Queries x k; the number of rows searched where there are fewer than k neighbours."""
    distance: FloatArray
    """Queries x k, float64; infinite where there is no neighbour."""

    def among(self, searched: IntArray, n_rows: int, answered: BoolArray) -> "Neighbours":
        """Return the same neighbours by their numbers among ``n_rows`` rows.

        ``searched`` are the rows that were searched; only the queries ``answered`` have any.
        """
        index: IntArray = np.append(searched, n_rows)[self.index]
        return Neighbours(
            np.where(answered[:, None], index, n_rows),
            np.where(answered[:, None], self.distance, np.inf),
        )


@dataclass(frozen=True, eq=False)
class _Queries:
    """Some queries and the best rows found for them so far."""

    features: FloatArray
    squared_norm: FloatArray
    labels: IntArray | None
    index: IntArray
    squared_distance: FloatArray


@dataclass(frozen=True, eq=False)
class _Block:
    """Consecutive rows to search, the first of which has the index ``start``."""

    features: FloatArray
    squared_norm: FloatArray
    labels: IntArray | None
    start: int
    workspace: FloatArray
    """Queries x rows, overwritten by each product: fresh memory would cost a tenth of its time."""


def nearest_rows(
    queries: FloatArray,
    blocks: Iterable[FloatArray],
    k: int,
    *,
    query_labels: IntArray | None = None,
    row_labels: IntArray | None = None,
) -> Neighbours:
    """Return the ``k`` rows nearest to each query among the rows of ``blocks``, float32.

    Rows are numbered in the order of the blocks, which are read once, one at a time. With
    labels, a row is never a neighbour of a query of the same label: label rows by their index
    to keep a query from finding itself, by their owner to keep it from its owner's rows.
    """
    if k < 1:
        raise SettingsError(f"k is {k}; ask for at least 1 neighbour")
    if (query_labels is None) != (row_labels is None):
        raise ValueError("labels are compared: give them for the queries and for the rows")
    parts = [
        _queries(queries[at : at + QUERIES_AT_ONCE], k, _cut(query_labels, at, QUERIES_AT_ONCE))
        for at in range(0, max(len(queries), 1), QUERIES_AT_ONCE)
    ]
    n_rows = 0
    for features in blocks:
        labels = _cut(row_labels, n_rows, len(features))
        workspace = np.empty((len(parts[0].index), len(features)), dtype=np.float32)
        block = _Block(features, _squared_norms(features), labels, n_rows, workspace)
        parts = [_improved(part, block) for part in parts]
        n_rows += len(features)
    squared = np.concatenate([part.squared_distance for part in parts])
    index = np.concatenate([part.index for part in parts])
    return Neighbours(np.where(np.isinf(squared), n_rows, index), np.sqrt(squared))


def _queries(features: FloatArray, k: int, labels: IntArray | None) -> _Queries:
    return _Queries(
        features,
        _squared_norms(features),
        labels,
        index=np.zeros((len(features), k), dtype=np.int64),
        squared_distance=np.full((len(features), k), np.inf),
    )


def _cut(labels: IntArray | None, start: int, length: int) -> IntArray | None:
    return None if labels is None else labels[start : start + length]


def _improved(queries: _Queries, block: _Block) -> _Queries:
    """Return the queries with what they find in one more block."""
    row, column = _candidates(queries, block)
    starts = np.searchsorted(row, np.arange(len(queries.index) + 1))
    squared = _squared_distances(queries.features, starts, block.features, column)
    return _merged(queries, starts, block.start + column, squared)


def _candidates(queries: _Queries, block: _Block) -> tuple[IntArray, IntArray]:
    """Return the pairs that may be among the nearest, in the order of queries, then of rows.

    Nearness is ``q.x - x.x / 2``: for one query, it grows as the distance falls.
    """
    nearness = block.workspace[: len(queries.index)]
    np.matmul(queries.features, block.features.T, out=nearness)
    nearness -= (block.squared_norm / 2).astype(np.float32)
    if queries.labels is not None and block.labels is not None:
        nearness[_equal_pairs(queries.labels, block.labels)] = -np.inf
    error = _largest_error(queries, block)
    bound = (queries.squared_norm - queries.squared_distance[:, -1]) / 2 - error
    unsure = np.isneginf(bound)
    if unsure.any():
        first = _bound_of_rank(nearness, queries.index.shape[1]) - 2 * error
        bound = np.where(unsure, first, bound)
    # Rounded down, lest single precision make the bound stricter; above -inf, lest it let
    # through what the labels forbid.
    single = np.nextafter(bound.astype(np.float32), np.float32(-np.inf))
    single = np.maximum(single, np.finfo(np.float32).min)
    return np.divmod(np.flatnonzero(nearness >= single[:, None]), nearness.shape[1])


def _largest_error(queries: _Queries, block: _Block) -> FloatArray:
    """Return how far a nearness of each query can be from the true one.

    A sum of d products in any order is off by at most about d/2 eps of the product of the
    lengths; twice that leaves room for the other roundings.
    """
    single = np.finfo(np.float32)
    terms = block.features.shape[1] + 4
    longest = np.sqrt(block.squared_norm.max(initial=0.0))
    scale = np.sqrt(queries.squared_norm) * longest + longest**2
    error: FloatArray = terms * (single.eps * scale + single.tiny)
    return error


def _bound_of_rank(nearness: FloatArray, k: int) -> FloatArray:
    """Return, for each query, a value that at least ``k`` columns reach, and few more.

    The k-th largest of the maxima of disjoint groups is one, for little more than the price of
    reading the matrix once.
    """
    n_queries, n_columns = nearness.shape
    if n_columns < k:
        return np.full(n_queries, -np.inf)
    width = max(1, n_columns // (GROUPS_PER_NEIGHBOUR * k))
    n_groups = n_columns // width
    grouped = nearness[:, : width * n_groups].reshape(n_queries, width, n_groups)
    bound: FloatArray = np.partition(grouped.max(axis=1), -k, axis=1)[:, -k]
    return bound.astype(np.float64)


def _equal_pairs(labels: IntArray, others: IntArray) -> tuple[IntArray, IntArray]:
    """Return the positions of every pair of equal labels."""
    order = np.argsort(labels, kind="stable")
    first = np.searchsorted(labels, others, side="left", sorter=order)
    count = np.searchsorted(labels, others, side="right", sorter=order) - first
    column = np.repeat(np.arange(len(others)), count)
    within = np.arange(len(column)) - np.repeat(np.cumsum(count) - count, count)
    return order[first[column] + within], column


def _merged(queries: _Queries, starts: IntArray, index: IntArray, squared: FloatArray) -> _Queries:
    """Return the queries with the best of the rows they had and of those given."""
    n_queries, k = queries.index.shape
    counts = np.diff(starts)
    widest = int(counts.max(initial=0))
    best_index, best_squared = np.empty_like(queries.index), np.empty((n_queries, k))
    step = max(1, CELLS_AT_ONCE // (k + widest))
    for at in range(0, n_queries, step):
        part = slice(at, min(at + step, n_queries))
        new = slice(starts[part.start], starts[part.stop])
        given = np.arange(widest) < counts[part, None]
        padded_squared, padded_index = np.full(given.shape, np.inf), np.zeros(given.shape, np.int64)
        padded_squared[given], padded_index[given] = squared[new], index[new]
        all_squared = np.hstack([queries.squared_distance[part], padded_squared])
        all_index = np.hstack([queries.index[part], padded_index])
        # The sort is stable, and of equal distances the lower index stands further left.
        order = np.argsort(all_squared, axis=1, kind="stable")[:, :k]
        best_squared[part] = np.take_along_axis(all_squared, order, axis=1)
        best_index[part] = np.take_along_axis(all_index, order, axis=1)
    return replace(queries, index=best_index, squared_distance=best_squared)


def _squared_distances(
    queries: FloatArray, starts: IntArray, features: FloatArray, column: IntArray
) -> FloatArray:
    """Return the squared distance of each pair, float64, the same bits wherever it stands.

    The rows paired with query i are ``column[starts[i] : starts[i + 1]]``.
    """
    squared = np.empty(len(column), dtype=np.float64)
    step = max(1, VALUES_AT_ONCE // max(features.shape[1], 1))
    wide = queries.astype(np.float64)
    # Query by query: subtracting one row from many costs half of gathering it for each pair.
    for query, (start, stop) in enumerate(pairwise(starts.tolist())):
        for at in range(start, stop, step):
            part = slice(at, min(at + step, stop))
            apart = features.take(column[part], axis=0).astype(np.float64)
            apart -= wide[query]
            np.add.reduce(np.square(apart, out=apart), axis=1, out=squared[part])
    return squared


def _squared_norms(features: FloatArray) -> FloatArray:
    squared: FloatArray = np.einsum("ij,ij->i", features, features, dtype=np.float64)
    return squared
