"""Why a tag has its score: the contribution of each kind of evidence, adding up to the excess.

Other tags contribute by their weights in the joint view, similar tags by what the visual view says
of them, neighbours by their votes. The rest of the excess is what the image itself looks like.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.collection.align import Catalogue
from sugartag.collection.model import Rows
from sugartag.linalg.sparse_rows import row_number_of_entries, same_places, values_at
from sugartag.methods.base import Explanations, Kind, PartKind
from sugartag.methods.sugar_plus.blocks import tag_counts
from sugartag.methods.sugar_plus.views import LeftOut, Views

LOOKS_LIKE = 3
"""Tags named of what an image looks like."""
TINY = 1e-3
NAMED = 6
"""Contributions of a kind that are named one by one."""


def explain_scores(
    views: Views,
    rows: Rows,
    row: IntArray,
    tag: IntArray,
    catalogue: Catalogue,
    *,
    decided: IntArray,
    judged: BoolArray,
) -> Explanations:
    """Return the parts of the excess of some tags; their rows ascend."""
    left = views.leaving_out(rows)
    excess = views.excess_of(left)[row, tag].astype(np.float64)
    looks = views.visual_excess(left)
    kinds = _Kinds(len(row))
    others = kinds.of("other tag", _by_other_tags(views, left, row, tag), catalogue.tag_names)
    similar = kinds.of("similar tag", _by_similar_tags(views, looks, row, tag), catalogue.tag_names)
    cell, voter, amount = _by_neighbours(views, left, row, tag)
    image, number = np.unique(views.neighbours.reference.image[voter], return_inverse=True)
    ids = [catalogue.ids[place] for place in image.tolist()]
    near = kinds.of("neighbour", (cell, number, amount), ids)
    rest = excess - others.net - similar.net - near.net
    if not views.blocks.visual.width:
        # Then only the intercept is left, which stands for the tags that the image lacks.
        others, rest = replace(others, net=others.net + rest), np.zeros_like(rest)
    return Explanations(
        kinds=(Kind.whole("looks", rest), others, similar, near),
        score=excess,
        base_rate=views.base_rate[tag],
        judged=judged,
        looks_like=_looks_like(views, looks, row, catalogue),
        decided=decided,
    )


Contributions = tuple[IntArray, IntArray, FloatArray]
"""The tag in question, what contributes to it, and how much."""


def _by_other_tags(views: Views, left: LeftOut, row: IntArray, tag: IntArray) -> Contributions:
    tags = left.predictors.tags
    share = views.joint_share(left)
    scaled = same_places(tags.data * share[row_number_of_entries(tags)], tags)
    cell, entry = _entries(scaled, row)
    amount = scaled.data[entry] * views.joint.tag_weights[scaled.indices[entry], tag[cell]]
    # A tag that the image has is predicted as if it had one tag less.
    counts = tag_counts(left.rows.tags)[row]
    given = values_at(left.rows.tags, row, tag) > 0
    amount *= np.where(given, counts / np.maximum(counts - 1.0, 1.0), 1.0)[cell]
    # A tag has no weight for itself: it is not named as its own evidence.
    kept = amount != 0
    return cell[kept], views.blocks.tags.predictor[scaled.indices[entry[kept]]], amount[kept]


def _by_similar_tags(
    views: Views, looks: FloatArray, row: IntArray, tag: IntArray
) -> Contributions:
    # Column t of G holds what every tag adds to t; its diagonal is the tag itself.
    columns = sparse.csr_array(views.names.T)
    cell, entry = _entries(columns, tag)
    similar = columns.indices[entry]
    other = similar != tag[cell]
    cell, entry, similar = cell[other], entry[other], similar[other]
    amount = views.weights.visual_share * columns.data[entry] * looks[row[cell], similar]
    return cell, similar, amount


def _by_neighbours(views: Views, left: LeftOut, row: IntArray, tag: IntArray) -> Contributions:
    nothing = np.zeros(0, dtype=np.int64)
    if not views.weights.neighbour or not len(views.neighbours.reference):
        return nothing, nothing, np.zeros(0)
    shares = views.neighbours.shares(left.rows, left.predictors.dense)
    tags = views.neighbours.reference.tags
    cell, entry = _entries(shares, row)
    neighbour = shares.indices[entry]
    has_tag = np.asarray(tags[neighbour, tag[cell]]).ravel() > 0 if len(cell) else cell > 0
    amount = views.weights.neighbour * shares.data[entry[has_tag]]
    return cell[has_tag], neighbour[has_tag], amount


def _entries(matrix: SparseRows, row: IntArray) -> tuple[IntArray, IntArray]:
    """Return for each tag in question the stored entries of a row, one after the other."""
    first, count = matrix.indptr[row], np.diff(matrix.indptr)[row]
    cell = np.repeat(np.arange(len(row)), count)
    return cell, first[cell] + np.arange(len(cell)) - (np.cumsum(count) - count)[cell]


class _Kinds:
    """Makes kinds of evidence about as many tags in question."""

    def __init__(self, n_cells: int) -> None:
        self.n_cells = n_cells

    def of(self, name: PartKind, parts: Contributions, names: Sequence[str]) -> Kind:
        """Return contributions as a kind of evidence, the strongest of them named."""
        cell, what, amount = parts
        net = np.bincount(cell, weights=amount, minlength=self.n_cells).astype(np.float64)
        order = np.lexsort((-np.abs(amount), cell))
        rank = np.arange(len(order)) - np.searchsorted(cell[order], cell[order])
        kept = order[rank < NAMED]
        start = np.searchsorted(cell[kept], np.arange(self.n_cells + 1))
        return Kind(name, net, start, what[kept], amount[kept], names)


def _looks_like(
    views: Views, looks: FloatArray, row: IntArray, catalogue: Catalogue
) -> tuple[tuple[str, ...], ...]:
    """Return the tags that the visual view says most for, for each tag in question."""
    if not views.blocks.visual.width:
        return ((),) * len(row)
    spread = views.visual.spread(views.statistics) + TINY
    found: dict[int, tuple[str, ...]] = {}
    for image in np.unique(row).tolist():
        standard = looks[image] / spread
        best = np.argsort(-standard, kind="stable")[:LOOKS_LIKE]
        found[image] = tuple(catalogue.tag_names[tag] for tag in best if standard[tag] > 0)
    return tuple(found[image] for image in row.tolist())
