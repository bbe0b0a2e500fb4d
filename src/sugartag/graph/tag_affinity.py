"""How strongly tags belong together: by being used together, and by meaning (eq. 4.5).

Read the counts off the collection block by block with :func:`cooccurrence`, whose results add up,
then make the affinity of them once. Nothing here is dense in tags by tags.
"""

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

import numpy as np
from scipy import sparse

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, Engine
from sugartag.errors import CollectionError, SettingsError
from sugartag.graph.wordnet import LinSimilarity, load_taxonomy

ROWS_PER_BLOCK = 512
CELLS_PER_BLOCK = 2**22
"""Dense cells worked on at a time (32 MB), which takes over where a vocabulary is large."""
STRETCHES_PER_LINK = 32
"""Stretches a row is cut into for each link it keeps; more leave fewer links to sort."""
ROUNDING = 1e-9
"""How far the sum of the two weights may exceed 1."""

Diagonal: TypeAlias = Literal["one", "printed"]
_Links: TypeAlias = tuple[IntArray, IntArray, FloatArray]
"""From which tag, to which tag, how strong."""


def cooccurrence(rows_of_tags: SparseRows) -> SparseRows:
    """Count in how many images of a block each two tags meet; the diagonal counts uses.

    ``rows_of_tags`` is images by tags and holds 0 and 1. The counts are int64, tags by tags;
    those of all blocks add up to those of the collection.
    """
    tags = sparse.csr_array(rows_of_tags, copy=True)
    tags.sum_duplicates()
    tags.eliminate_zeros()
    wrong = tags.data[tags.data != 1]
    if wrong.size:
        raise CollectionError(f"an image holds a tag {wrong[0]} times; give 0 or 1")
    tags = tags.astype(np.int64)
    counts = sparse.csr_array(tags.T @ tags)
    counts.sort_indices()
    return counts


def tag_affinity(
    counts: SparseRows,
    lin: LinSimilarity | None = None,
    *,
    cooccurrence_weight: float = 0.9,
    taxonomy_weight: float = 0.1,
    links_per_tag: int | None = 10,
    diagonal: Diagonal = "one",
) -> SparseRows:
    """Return the affinity of tags: symmetric, non-negative, by default with a unit diagonal.

    ``counts`` is the sum of :func:`cooccurrence` over the collection. An entry is the first weight
    times the Jaccard index of the images of both tags, plus the second times their Lin similarity.
    Without ``lin`` the second part is 0 and the first keeps its weight. Each tag keeps its
    ``links_per_tag`` strongest links (None: all that are not 0), ties going to the tag that comes
    first, and what either end keeps stands: a row may hold more. A tag never used has 1 on the
    diagonal too. Row indices are sorted. A ``printed`` diagonal is what the formula gives for a
    tag with itself: the first weight if the tag is used, plus the second if it has a sense.
    """
    _check_settings(cooccurrence_weight, taxonomy_weight, links_per_tag)
    counts = counts.astype(np.float64, copy=True)
    counts.sum_duplicates()
    _check_counts(counts, lin)

    strength = _jaccard(counts) * cooccurrence_weight
    if lin is None or 0 in (taxonomy_weight, links_per_tag):
        kept = [_strongest(_links_of(strength), links_per_tag)]
    else:
        blocks = _mixed_blocks(strength, lin, taxonomy_weight, links_per_tag)
        kept = [_strongest(links, links_per_tag) for links in blocks]
    own: FloatArray = np.ones(counts.shape[0])
    if diagonal == "printed":
        own = cooccurrence_weight * (counts.diagonal() > 0)
        own += 0.0 if lin is None else taxonomy_weight * lin.has_sense
    return _symmetric(kept, own)


def _check_settings(
    cooccurrence_weight: float, taxonomy_weight: float, links_per_tag: int | None
) -> None:
    weights = (cooccurrence_weight, taxonomy_weight)
    # Written so that a weight that is not a number fails too.
    if not (min(weights) >= 0 and sum(weights) <= 1 + ROUNDING):
        raise SettingsError(
            f"cooccurrence_weight and taxonomy_weight are {weights[0]} and {weights[1]}; "
            "give two numbers from 0 up whose sum is at most 1"
        )
    if links_per_tag is not None and links_per_tag < 0:
        raise SettingsError(
            f"links_per_tag is {links_per_tag}; give a number from 0 up, or None for all links"
        )


def _check_counts(counts: SparseRows, lin: LinSimilarity | None) -> None:
    n_rows, n_tags = counts.shape
    if n_rows != n_tags:
        raise CollectionError(f"co-occurrence counts are {n_rows} x {n_tags}; give tags by tags")
    if lin is not None and lin.n_tags != n_tags:
        raise CollectionError(
            f"counts are of {n_tags} tags and the Lin similarity of {lin.n_tags}; "
            "make both from one vocabulary"
        )
    row, column, met = _links_of(counts)
    uses = counts.diagonal()
    # As above: a count that is not a number must not pass.
    possible = (met >= 0) & (met <= uses[row]) & (met <= uses[column])
    if not possible.all():
        wrong = int(np.argmin(possible))
        raise CollectionError(
            f"tags {row[wrong]} and {column[wrong]} meet {met[wrong]:g} times but are used "
            f"{uses[row[wrong]]:g} and {uses[column[wrong]]:g} times; count with cooccurrence"
        )
    if (counts - counts.T.tocsr()).count_nonzero():
        raise CollectionError("co-occurrence counts are not symmetric; count with cooccurrence")


def _links_of(matrix: SparseRows) -> _Links:
    """Return what a sparse matrix stores, row by row."""
    stored = matrix.tocoo()
    return stored.row, stored.col, stored.data


def _jaccard(counts: SparseRows) -> SparseRows:
    """Return the Jaccard index of each two tags that meet, with an empty diagonal."""
    row, column, met = _links_of(counts)
    pairs = (row != column) & (met > 0)
    row, column, both = row[pairs], column[pairs], met[pairs]
    uses = counts.diagonal()
    either = uses[row] + uses[column] - both
    return sparse.csr_array((both / either, (row, column)), shape=counts.shape)


def _mixed_blocks(
    strength: SparseRows, lin: LinSimilarity, taxonomy_weight: float, links_per_tag: int | None
) -> Iterator[_Links]:
    """Yield, for one block of tags after another, every link that may be among the strongest."""
    n_tags = lin.n_tags
    n_rows = max(1, min(ROWS_PER_BLOCK, CELLS_PER_BLOCK // max(n_tags, 1)))
    for start in range(0, n_tags, n_rows):
        block = slice(start, min(start + n_rows, n_tags))
        mixed = lin.rows(block)
        mixed *= taxonomy_weight
        near, column, value = _links_of(strength[block])
        mixed[near, column] += value
        own = np.arange(block.start, block.stop)
        mixed[own - start, own] = 0
        cells = np.flatnonzero(_may_be_kept(mixed, links_per_tag))
        row, column = np.divmod(cells, n_tags)
        yield row + start, column, mixed.ravel()[cells]


def _may_be_kept(mixed: FloatArray, links_per_tag: int | None) -> BoolArray:
    """Mark all links that may be among the strongest of their row, and not many more."""
    n_tags = mixed.shape[1]
    if links_per_tag is None or links_per_tag >= n_tags:
        return mixed > 0
    # Of k stretches of a row, each holds a link as strong as the weakest of their maxima: the
    # k strongest links are no weaker. Maxima are far cheaper to rank than all the links.
    width = max(1, n_tags // (STRETCHES_PER_LINK * links_per_tag))
    maxima = np.maximum.reduceat(mixed, np.arange(0, n_tags, width), axis=1)
    last = maxima.shape[1] - links_per_tag
    bound = np.partition(maxima, last, axis=1)[:, last, None]
    return (mixed >= bound) & (mixed > 0)


def _strongest(links: _Links, links_per_tag: int | None) -> _Links:
    """Return the strongest links of each tag, ties going to the tag that comes first."""
    row, column, value = links
    if links_per_tag is not None:
        order = np.lexsort((column, -value, row))
        place = np.arange(len(order)) - np.searchsorted(row[order], row[order])
        kept = order[place < links_per_tag]
        row, column, value = row[kept], column[kept], value[kept]
    linked = value > 0
    return row[linked], column[linked], value[linked]


def _symmetric(kept: list[_Links], diagonal: FloatArray) -> SparseRows:
    """Return the links that either end kept, and the diagonal."""
    n_tags = len(diagonal)
    own = np.arange(n_tags)
    row, column, value = (
        np.concatenate(parts) for parts in zip((own, own, diagonal), *kept, strict=True)
    )
    links = sparse.csr_array((value, (row, column)), shape=(n_tags, n_tags))
    both = sparse.csr_array(links.maximum(links.T.tocsr()))
    both.sort_indices()
    return both


def collection_affinity(
    collection: Collection,
    *,
    cooccurrence_weight: float,
    taxonomy_weight: float,
    links_per_tag: int | None,
    diagonal: Diagonal = "one",
    engine: Engine,
    weighed: Callable[[SparseRows], SparseRows] | None = None,
) -> SparseRows:
    """Return T of eq. 5 for the collection's own tags and counts, weighted first if so asked."""
    counts = engine.sum(count_tags_together, collection.blocks(), collection)
    lin = None
    if taxonomy_weight > 0:
        uses = counts.diagonal().astype(np.int64)
        lin = LinSimilarity.of_tags(load_taxonomy(), collection.tag_names, uses)
    return tag_affinity(
        counts if weighed is None else weighed(counts),
        lin,
        cooccurrence_weight=cooccurrence_weight,
        taxonomy_weight=taxonomy_weight,
        links_per_tag=links_per_tag,
        diagonal=diagonal,
    )


def count_tags_together(block: Block, collection: Collection) -> SparseRows:
    """Count how often each two tags stand on the same image of a block."""
    return cooccurrence(collection.tags_of(block))
