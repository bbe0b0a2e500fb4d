"""Tags with similar names share what pictures show: a rare ``skyline`` learns from ``sky``.

The predictions V of the visual view become V G, with G = I + weight * S and S the part of Lin's
WordNet similarity above :data:`LEAST`, between tags of unlike spread rescaled to that of the tag
predicted. Only the most used tags take part; a name that WordNet does not know stays alone.
"""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, SparseRows
from sugartag.graph.wordnet import LinSimilarity, load_taxonomy

LEAST = 0.5
"""Names below this similarity have nothing in common."""
MOST_TAGS = 4_000
ROWS_AT_ONCE = 256
TINY = 1e-3
"""Added to spreads: tags that are hardly predicted lend little."""


def name_operator(
    names: Sequence[str], uses: FloatArray, spread: FloatArray, weight: float
) -> SparseRows:
    """Return G, tags x tags."""
    n_tags = len(names)
    identity = sparse.eye_array(n_tags, dtype=np.float32, format="csr")
    chosen = np.sort(np.argsort(-uses, kind="stable")[:MOST_TAGS])
    chosen = chosen[uses[chosen] > 0]
    if not weight or len(chosen) < 2:
        return sparse.csr_array(identity)
    few = name_similarities([names[tag] for tag in chosen], uses[chosen])
    row, column = few.nonzero()
    scale = spread + TINY
    value = weight * few.data * scale[chosen[column]] / scale[chosen[row]]
    others = sparse.csr_array(
        (value.astype(np.float32), (chosen[row], chosen[column])), shape=(n_tags, n_tags)
    )
    return sparse.csr_array(identity + others)


def name_similarities(names: Sequence[str], uses: FloatArray) -> SparseRows:
    """Return the similarity of different names, from 0 at :data:`LEAST` to 1, sparse."""
    lin = LinSimilarity.of_tags(load_taxonomy(), names, uses.astype(np.int64))
    parts = []
    for start in range(0, len(names), ROWS_AT_ONCE):
        block = slice(start, min(start + ROWS_AT_ONCE, len(names)))
        rows = (lin.rows(block) - LEAST) / (1.0 - LEAST)
        rows[np.arange(block.stop - start), np.arange(start, block.stop)] = 0.0
        parts.append(sparse.csr_array(np.maximum(rows, 0.0)))
    return sparse.csr_array(sparse.vstack(parts, format="csr"))
