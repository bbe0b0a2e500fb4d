"""The bound optimisation of TRVSC, on a fixed support of images and the tags they may have.

With W the visual similarity of images, S the similarity of tags, Ŷ the tags given and
E = exp(Ŷ) entrywise, the objective is

    sum_ij (W_ij - (Y S Y')_ij)² + C sum_jl E_jl (Y_jl - α_j Ŷ_jl)²,    Y >= 0, α >= 0.

Terms of degree four are bounded from above by a separable one, those of degree two and one that
are negative by logarithms; the bound touches the objective where it was made, so its minimiser,
found entry by entry, never makes the objective larger. Entries outside the support are zero and
stay zero, which is what the updates themselves do with a zero.
"""

from dataclasses import dataclass

import numpy as np

from sugartag._typing import FloatArray, SparseRows
from sugartag.engine.base import Block, Engine, row_blocks
from sugartag.linalg.sparse_rows import row_number_of_entries

SMALLEST_VALUE = 1e-12
"""Entries are kept at least so large: smaller ones only slow the processor down."""
ROWS_AT_ONCE = 1024
"""Images updated in one step; with 5,000 tags it takes 40 MB."""


@dataclass(frozen=True, eq=False)
class Consistency:
    """What is to be matched: the similarity of images, that of tags, and the tags given."""

    images: SparseRows
    """W: images x images, symmetric, 1 on the diagonal."""
    tags: SparseRows
    """S: tags x tags, symmetric, not negative."""
    given: FloatArray
    """Ŷ: for each entry of the support, 1 where the tag was given and 0 elsewhere."""
    fidelity: float
    """C."""


@dataclass(frozen=True, eq=False)
class Pull:
    """What one update needs to know of each entry of the support."""

    spread: FloatArray
    """P = Y S Y' Y S."""
    likeness: FloatArray
    """Q = W Y S."""


def tag_gram(values: SparseRows, tags: SparseRows) -> FloatArray:
    """Return S Y' Y S, tags x tags."""
    gram: FloatArray = (values.T.tocsr() @ values).toarray()
    half: FloatArray = tags @ gram
    return np.ascontiguousarray((tags @ half.T).T)


def pull(values: SparseRows, problem: Consistency, *, engine: Engine) -> Pull:
    """Return P and Q on the support of the values."""
    gram = tag_gram(values, problem.tags)
    blocks = row_blocks(values.shape[0], ROWS_AT_ONCE)
    parts = list(engine.map(pull_images, blocks, values, gram, problem))
    return Pull(
        np.concatenate([spread for spread, _ in parts]),
        np.concatenate([likeness for _, likeness in parts]),
    )


def pull_images(
    block: Block, values: SparseRows, gram: FloatArray, problem: Consistency
) -> tuple[FloatArray, FloatArray]:
    """Return P and Q of one block of images."""
    here = values[block]
    likeness = on_support(here, problem.images[block] @ values, problem.tags)
    return times_square(here, gram), likeness


def times_square(rows: SparseRows, square: FloatArray) -> FloatArray:
    """Return ``rows @ square`` on the support of the rows; only these entries are computed."""
    flat, width = square.ravel(), square.shape[1]
    made = np.empty(rows.nnz)
    for start, stop in zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True):
        column = rows.indices[start:stop].astype(np.intp)
        # The square is symmetric: its rows are read, one after another, for its columns.
        made[start:stop] = flat.take(column[:, None] * width + column) @ rows.data[start:stop]
    return made


def on_support(support: SparseRows, rows: SparseRows, tags: SparseRows) -> FloatArray:
    """Return ``rows @ tags`` on the support of other rows; ``tags`` is symmetric."""
    spread: FloatArray = tags @ rows.toarray().T
    found: FloatArray = spread[support.indices, row_number_of_entries(support)]
    return found


def scales(values: SparseRows, given: FloatArray) -> FloatArray:
    """Return α: what each image's given tags are best multiplied by; 0 for one without tags."""
    row = row_number_of_entries(values)
    trust = np.exp(given)
    met = np.bincount(row, trust * given * values.data, minlength=values.shape[0])
    size = np.bincount(row, trust * given**2, minlength=values.shape[0])
    found: FloatArray = met / np.where(size > 0, size, 1.0)
    return found


def updated(values: SparseRows, step: Pull, given: FloatArray, fidelity: float) -> FloatArray:
    """Return the entries that minimise the bound made at ``values``."""
    old, trust = values.data, fidelity * np.exp(given)
    target = scales(values, given)[row_number_of_entries(values)] * given
    inertia = trust * old
    gain = 2.0 * step.likeness + trust * target
    root = np.sqrt(inertia**2 + 8.0 * step.spread * gain)
    # Written as 2 gain / (M + root), which is the same as (root - M) / 4P without its loss of
    # digits where P is small; 0/0 is an entry that nothing pulls at.
    below = inertia + root
    ratio = np.sqrt(2.0 * gain / np.where(below > 0, below, 1.0))
    new: FloatArray = np.maximum(old * ratio, SMALLEST_VALUE)
    return new


def objective(values: SparseRows, step: Pull, problem: Consistency) -> float:
    """Return the objective, from the terms of the update: nothing is images x images."""
    entries, given = values.data, problem.given
    target = scales(values, given)[row_number_of_entries(values)] * given
    similarity = float(np.vdot(problem.images.data, problem.images.data))
    mismatch = similarity + float(entries @ (step.spread - 2.0 * step.likeness))
    return mismatch + problem.fidelity * float(np.exp(given) @ (entries - target) ** 2)
