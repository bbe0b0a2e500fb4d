"""Tags with similar names share evidence: a rare ``skyline`` learns from ``sky``.

S is the cosine of the word vectors of two names above :data:`LEAST`. It is used twice. The
predictions V of the visual view become V (I + a S), between tags of unlike spread rescaled to that
of the tag predicted. And the weights by which tags predict each other are shrunk towards b S
instead of 0 in the joint view. Only the most used tags take part; a name that the vectors do not
know stays alone.
"""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, SparseRows
from sugartag.graph.name_vectors import load_name_vectors
from sugartag.linalg.sparse_rows import row_number_of_entries, same_places

LEAST = 0.4
"""Names below this cosine have nothing in common."""
MOST_TAGS, MOST_SIMILAR = 4_000, 256
"""Tags that take part, and similar names of each, at most."""
TINY = 1e-3
"""Added to spreads: tags that are hardly predicted lend little."""


def name_similarities(names: Sequence[str], uses: FloatArray) -> SparseRows:
    """Return S, tags x tags, its diagonal 0."""
    n_tags = len(names)
    chosen = np.sort(np.argsort(-uses, kind="stable")[:MOST_TAGS])
    chosen = chosen[uses[chosen] > 0]
    vectors, used = load_name_vectors(), [names[tag] for tag in chosen]
    few = vectors.similarities(used, least=LEAST, most=MOST_SIMILAR)
    row, column = chosen[row_number_of_entries(few)], chosen[few.indices]
    made = sparse.coo_array((few.data, (row, column)), shape=(n_tags, n_tags))
    return sparse.csr_array(made)


def name_operator(similarity: SparseRows, spread: FloatArray, weight: float) -> SparseRows:
    """Return I + a S, what a tag lends rescaled to the spread of the tag that borrows."""
    row, column = row_number_of_entries(similarity), similarity.indices
    scale = spread + TINY
    lent = same_places((weight * similarity.data * scale[column] / scale[row]), similarity)
    identity = sparse.eye_array(similarity.shape[0], dtype=np.float32, format="csr")
    return sparse.csr_array(identity + lent.astype(np.float32))
