"""The graphs of MRTF beside that of the images: owners who meet, tags that go together."""

import numpy as np
from scipy import sparse

from sugartag._typing import SparseRows
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, Engine, row_blocks
from sugartag.graph.tag_affinity import collection_affinity
from sugartag.linalg.laplacian import symmetrised, without_diagonal
from sugartag.linalg.sparse_rows import strongest_per_row

OWNERS_AT_ONCE = 1024


def user_graph(groups: SparseRows, links_per_user: int) -> SparseRows:
    """Link owners by the groups they share: how many, over the sum of how many each has.

    Each keeps the strongest links, and what either end keeps stands.
    """
    members = groups.astype(np.float64)
    blocks = row_blocks(members.shape[0], OWNERS_AT_ONCE)
    kept = [strongest_per_row(_shared_groups(members, block), links_per_user) for block in blocks]
    return symmetrised(sparse.csr_array(sparse.vstack(kept, format="csr")))


def _shared_groups(members: SparseRows, block: Block) -> SparseRows:
    sizes = np.asarray(members.sum(axis=1)).ravel()
    shared = sparse.coo_array(members[block] @ members.T)
    row, other = shared.coords
    pairs = row + block.start != other
    row, other, both = row[pairs], other[pairs], shared.data[pairs]
    share = both / (sizes[row + block.start] + sizes[other])
    return sparse.csr_array((share, (row, other)), shape=shared.shape)


def tag_graph(
    collection: Collection,
    *,
    cooccurrence_weight: float,
    taxonomy_weight: float,
    links_per_tag: int,
    engine: Engine,
) -> SparseRows:
    """Link tags by use and by meaning: n(a,b) / (n(a) + n(b)) and Lin's similarity, weighted."""
    affinity = collection_affinity(
        collection,
        cooccurrence_weight=cooccurrence_weight,
        taxonomy_weight=taxonomy_weight,
        links_per_tag=links_per_tag,
        engine=engine,
        weighed=counts_of_equal_share,
    )
    return without_diagonal(affinity)


def counts_of_equal_share(counts: SparseRows) -> SparseRows:
    """Return counts whose Jaccard index is n(a,b) / (n(a) + n(b)) of the counts given.

    With s = n(a) + n(b), the Jaccard index of c is c / (s - c); c = n s / (s + n) makes it n / s.
    """
    pairs = sparse.coo_array(counts).astype(np.float64)
    row, column = pairs.coords
    uses = counts.diagonal()
    total = uses[row] + uses[column]
    shrunk = pairs.data * total / np.maximum(total + pairs.data, 1.0)
    data = np.where(row == column, pairs.data, shrunk)
    return sparse.csr_array((data, (row, column)), shape=counts.shape)
