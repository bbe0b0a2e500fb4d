"""The nearest rows by an index: nearly all of them, at a price that hardly grows with the rows.

The index is a graph of near rows, built by usearch. Rows are added by one thread, in their order,
which makes the graph, and so the answers, the same each time. What it finds is almost what
:func:`sugartag.linalg.neighbours.nearest_rows` finds, in the same form.
"""

import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sugartag._extras import optional
from sugartag._typing import FloatArray, IntArray
from sugartag.errors import SettingsError
from sugartag.linalg.neighbours import Neighbours

CONNECTIVITY = 16
"""Links of a row in the graph; usearch's own default."""
WIDTH_OF_BUILDING = 128
"""Rows kept in view when a row is linked; usearch's own default."""
WIDTH_OF_SEARCH = 128
"""Rows kept in view when a query is answered: twice usearch's default, for few missed rows."""


def usearch_is_installed() -> bool:
    """Return whether indexes can be built here."""
    return importlib.util.find_spec("usearch") is not None


@dataclass(frozen=True, eq=False)
class RowIndex:
    """Rows that can be searched; it never changes once it is built."""

    graph: Any
    """The usearch index; its keys are the row numbers."""
    n_rows: int

    @classmethod
    def of(cls, blocks: Iterable[FloatArray], n_features: int) -> "RowIndex":
        """Build the index of the rows of ``blocks``, float32, numbered in their order."""
        graph = _empty_graph(n_features)
        n_rows = 0
        for rows in blocks:
            keys = np.arange(n_rows, n_rows + len(rows), dtype=np.uint64)
            if len(rows):
                graph.add(keys, np.ascontiguousarray(rows, dtype=np.float32), threads=1)
            n_rows += len(rows)
        return cls(graph, n_rows)

    def nearest(
        self,
        queries: FloatArray,
        k: int,
        *,
        query_labels: IntArray | None = None,
        row_labels: IntArray | None = None,
    ) -> Neighbours:
        """Return about the ``k`` rows nearest to each query; see ``nearest_rows`` for the labels.

        Where the labels forbid too many of the rows found, twice as many are asked for, as often
        as it takes. What a query gets does not depend on the other queries.
        """
        if k < 1:
            raise SettingsError(f"k is {k}; ask for at least 1 neighbour")
        if (query_labels is None) != (row_labels is None):
            raise ValueError("labels are compared: give them for the queries and for the rows")
        index = np.full((len(queries), k), self.n_rows, dtype=np.int64)
        distance = np.full((len(queries), k), np.inf)
        enough = np.full(len(queries), k)
        if query_labels is not None and row_labels is not None:
            enough += _rows_with_label(query_labels, row_labels)
        waiting, count = np.arange(len(queries)), k + 1
        while len(waiting):
            labels = None if query_labels is None else query_labels[waiting]
            found = self._found(queries[waiting], min(count, self.n_rows), labels, row_labels)
            some = min(k, found.index.shape[1])
            index[waiting, :some] = found.index[:, :some]
            distance[waiting, :some] = found.distance[:, :some]
            is_short = np.isinf(distance[waiting, -1]) & (enough[waiting] > count)
            waiting = waiting[is_short & (count < self.n_rows)]
            count *= 2
        return Neighbours(index, distance)

    def _found(
        self, queries: FloatArray, count: int, labels: IntArray | None, row_labels: IntArray | None
    ) -> Neighbours:
        """Return ``count`` rows a query, those that the labels forbid last and infinitely far."""
        matches = self.graph.search(np.ascontiguousarray(queries, dtype=np.float32), count)
        keys = np.reshape(matches.keys, (len(queries), -1))
        squared = np.reshape(matches.distances, keys.shape)
        # The answer to a single query has no counts: it is as long as what was found.
        n_found = np.reshape(getattr(matches, "counts", keys.shape[1]), (-1, 1))
        is_row = np.arange(keys.shape[1]) < n_found
        index = np.where(is_row, keys, 0).astype(np.int64)
        if labels is not None and row_labels is not None:
            is_row &= row_labels[index] != labels[:, None]
        distance = np.full(keys.shape, np.inf)
        distance[is_row] = np.sqrt(np.maximum(squared[is_row], 0.0))
        index = np.where(is_row, index, self.n_rows)
        order = np.lexsort((index, distance), axis=1)
        return Neighbours(
            np.take_along_axis(index, order, axis=1), np.take_along_axis(distance, order, axis=1)
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the graph as bytes: usearch's own object cannot be sent to another process."""
        return {
            "graph": bytes(self.graph.save()),
            "n_rows": self.n_rows,
            "ndim": int(self.graph.ndim),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        graph = _empty_graph(state["ndim"])
        graph.load(state["graph"])
        object.__setattr__(self, "graph", graph)
        object.__setattr__(self, "n_rows", state["n_rows"])


def _empty_graph(n_features: int) -> Any:
    usearch = optional("usearch.index", extra="search", needed_for="searching images by an index")
    return usearch.Index(
        ndim=n_features,
        metric="l2sq",
        dtype="f32",
        connectivity=CONNECTIVITY,
        expansion_add=WIDTH_OF_BUILDING,
        expansion_search=WIDTH_OF_SEARCH,
        enable_key_lookups=False,
    )


def _rows_with_label(labels: IntArray, others: IntArray) -> IntArray:
    """Return how many of the others have each label."""
    ordered = np.sort(others)
    return np.searchsorted(ordered, labels, "right") - np.searchsorted(ordered, labels, "left")
