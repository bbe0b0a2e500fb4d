"""The graph of rows that look alike: each row linked to its nearest, by a Gaussian kernel."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, SparseRows
from sugartag.engine.base import Block, Engine
from sugartag.linalg.laplacian import symmetrised
from sugartag.linalg.neighbours import Neighbours, nearest_rows

ReadRows = Callable[[Block], FloatArray]
"""Reads the features of one block of rows, float32, ready to be compared."""


@dataclass(frozen=True, eq=False)
class KnnGraph:
    """Who is near whom, and how strongly that links them."""

    affinity: SparseRows
    """Rows x rows, float64, symmetric, from 0 to 1, empty diagonal, sorted indices."""
    bandwidth: float
    """σ: a link is exp(-d²/σ²)."""


def knn_graph(
    read: ReadRows,
    blocks: Sequence[Block],
    k: int,
    *,
    engine: Engine,
    bandwidth: float | None = None,
) -> KnnGraph:
    """Link every row to the ``k`` nearest others; a link that either end has stands.

    Without a bandwidth it is the median distance of a row to its neighbours. The graph is the
    same to the last bit whatever the blocks, workers and threads. Memory is that of rows x k.
    """
    found = _joined(list(engine.map(find_neighbours, blocks, read, tuple(blocks), k)))
    sigma = median_distance(found) if bandwidth is None else bandwidth
    links = gaussian_links(found, n_rows=len(found.index), bandwidth=sigma)
    return KnnGraph(symmetrised(links), sigma)


def find_neighbours(block: Block, read: ReadRows, blocks: Sequence[Block], k: int) -> Neighbours:
    """Return the nearest rows of each row of a block, itself left out."""
    n_rows = max(other.stop for other in blocks)
    return nearest_rows(
        read(block),
        _read_all(read, blocks),
        k,
        query_labels=np.arange(block.start, block.stop),
        row_labels=np.arange(n_rows),
    )


def median_distance(neighbours: Neighbours) -> float:
    """Return the median distance to a neighbour; 1 where that is 0 or nobody has one."""
    known = neighbours.distance[np.isfinite(neighbours.distance)]
    found = float(np.median(known)) if known.size else 0.0
    return found if found > 0 else 1.0


def gaussian_links(neighbours: Neighbours, *, n_rows: int, bandwidth: float) -> SparseRows:
    """Return queries x rows: exp(-d²/σ²) for each neighbour; indices are sorted."""
    n_queries = len(neighbours.index)
    found = np.isfinite(neighbours.distance)
    ends = np.concatenate([[0], np.cumsum(np.count_nonzero(found, axis=1))])
    weight = np.exp(-((neighbours.distance[found] / bandwidth) ** 2))
    links = sparse.csr_array((weight, neighbours.index[found], ends), shape=(n_queries, n_rows))
    links.sort_indices()
    return links


def _read_all(read: ReadRows, blocks: Sequence[Block]) -> Iterator[FloatArray]:
    for block in blocks:
        yield read(block)


def _joined(parts: Sequence[Neighbours]) -> Neighbours:
    return Neighbours(
        np.concatenate([part.index for part in parts]),
        np.concatenate([part.distance for part in parts]),
    )
