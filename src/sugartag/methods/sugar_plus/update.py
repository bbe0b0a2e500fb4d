"""More images, owners, tags and decisions for a fitted model, without fitting it anew.

The sufficient statistics are sums: new images are added to them, and an image whose tags have
changed is first taken out with its old tags. Then both ridges are solved again. Feature blocks,
image weights of earlier images and the calibration stay as they were.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.collection.decisions import as_decided, latest
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Engine
from sugartag.errors import CollectionError
from sugartag.methods.sugar_plus.blocks import Blocks
from sugartag.methods.sugar_plus.neighbours import Neighbours, ReferenceImages, leading
from sugartag.methods.sugar_plus.statistics import (
    Accumulator,
    Statistics,
    series_weights,
    statistics_of,
)
from sugartag.methods.sugar_plus.views import Views

SAME_LOOKS = 1e-3
"""An image that the model knows must look as it did, to this part of the neighbours' width."""


@dataclass(frozen=True, eq=False)
class FittedState:
    """What an update changes."""

    views: Views
    labels: SparseRows
    """Images x tags as they were fitted, decisions included."""
    decided: SparseRows


@dataclass(frozen=True, eq=False)
class Changed:
    """Images to be added, or added again with other tags."""

    rows: Rows
    """With the tags they have now, after people's decisions."""
    before: SparseRows
    """The tags they were fitted with; none for new images."""
    known: BoolArray
    """Whether the model has the image."""


def updated_state(
    state: FittedState, method: Any, collection: Collection, decided: SparseRows, *, engine: Engine
) -> FittedState:
    """Return the state with the images of a collection and decisions about them.

    ``decided`` is images x tags of the catalogue that the collection is seen from, which starts
    with the names of the model. Images that did not change do nothing.
    """
    n_images, n_tags = decided.shape
    labels = _widened(state.labels, n_images, n_tags)
    decided = latest(_widened(state.decided, n_images, n_tags), decided)
    views = widened_views(state.views, n_images, n_tags, collection.n_owners)
    for block in collection.blocks():
        rows = collection.rows(block)
        require_unchanged_looks(rows, state.views)
        changed = _changed(rows, labels, decided, len(state.views.image_weight))
        if not len(changed.rows):
            continue
        views = _with_images(views, changed, history=method.history)
        labels = _with_rows(labels, changed.rows.position, changed.rows.tags)
    return FittedState(views.solved_again(), labels, decided)


def widened_views(views: Views, n_images: int, n_tags: int, n_owners: int) -> Views:
    """Return the views with room for images, tags and owners that are new."""
    tags = replace(views.blocks.tags, n_tags=n_tags)
    near = views.neighbours
    start = np.pad(near.start, (0, max(n_owners - near.n_owners, 0)), mode="edge")
    reference = replace(near.reference, tags=_widened(near.reference.tags, None, n_tags))
    gram = views.statistics.gram.copy()
    return replace(
        views,
        blocks=replace(views.blocks, tags=tags),
        statistics=replace(views.statistics.widened(n_tags), gram=gram),
        similarity=_widened(views.similarity, n_tags, n_tags),
        neighbours=replace(near, start=start, reference=reference),
        image_weight=np.pad(views.image_weight, (0, n_images - len(views.image_weight))),
    )


def _changed(rows: Rows, labels: SparseRows, decided: SparseRows, n_known: int) -> Changed:
    """Return the images of a block that are new or have other tags than they were fitted with."""
    tags = as_decided(rows.tags, sparse.csr_array(decided[rows.position])).astype(np.float32)
    tags.sort_indices()
    before = sparse.csr_array(labels[rows.position])
    known = rows.position < n_known
    apart = sparse.csr_array(abs(tags - before))
    differs = np.asarray(apart.sum(axis=1)).ravel() > 0
    chosen = np.flatnonzero(~known | differs)
    now = replace(rows, tags=sparse.csr_array(tags)).at(chosen)
    return Changed(now, sparse.csr_array(before[chosen]), known[chosen])


def _with_images(views: Views, changed: Changed, *, history: int) -> Views:
    """Return the views with other sums, weights and reference images; nothing is solved yet."""
    rows, weight = changed.rows, views.image_weight.copy()
    new = np.flatnonzero(~changed.known)
    weight[rows.position[new]] = series_weights(rows.tags[new], rows.owner[new])
    statistics = views.statistics
    old = np.flatnonzero(changed.known)
    if len(old):
        earlier = replace(rows.at(old), tags=sparse.csr_array(changed.before[old]))
        statistics = _added(statistics, earlier, views.blocks, weight, sign=-1.0)
    statistics = _added(statistics, rows, views.blocks, weight, sign=1.0)
    near = with_images(views.neighbours, rows, views, history=history)
    return replace(views, statistics=statistics, image_weight=weight, neighbours=near)


def _added(
    statistics: Statistics, rows: Rows, blocks: Blocks, weight: FloatArray, *, sign: float
) -> Statistics:
    total = Accumulator(statistics, sign)
    total.take(statistics_of(rows, blocks, weight[rows.position]))
    return total.total


def with_images(near: Neighbours, rows: Rows, views: Views, *, history: int) -> Neighbours:
    """Return the reference set with some images added, or replaced if it has them."""
    if not len(near.reference.codes) or not views.blocks.visual.width:
        return near
    codes = leading(views.blocks.visual).transform(rows)
    added = ReferenceImages(rows.position, rows.owner, codes, rows.tags)
    kept = np.flatnonzero(~np.isin(near.reference.image, rows.position))
    both = near.reference.at(kept).joined(added)
    return Neighbours.of(both, n_owners=near.n_owners, history=history, width=near.width)


def require_unchanged_looks(rows: Rows, views: Views) -> None:
    """Raise if an image that the model remembers now has other features or another owner."""
    reference = views.neighbours.reference
    mine = np.flatnonzero(np.isin(rows.position, reference.image))
    if not len(mine) or not len(reference):
        return
    order = np.argsort(reference.image)
    theirs = order[np.searchsorted(reference.image[order], rows.position[mine])]
    codes = leading(views.blocks.visual).transform(rows.at(mine))
    apart = np.abs(codes - reference.codes[theirs]).max(axis=1, initial=0.0)
    other_looks = apart > SAME_LOOKS * views.neighbours.width
    other_owner = rows.owner[mine] != reference.owner[theirs]
    if (other_looks | other_owner).any():
        what = "other features" if other_looks.any() else "another owner"
        raise CollectionError(
            f"an image that the model knows now has {what}; give a changed image a new "
            "id, or fit again"
        )


def _widened(matrix: SparseRows, n_rows: int | None, n_columns: int) -> SparseRows:
    """Return a matrix with empty rows and columns added."""
    more = 0 if n_rows is None else n_rows - matrix.shape[0]
    indptr = np.pad(matrix.indptr, (0, more), mode="edge")
    shape = (matrix.shape[0] + more, n_columns)
    return sparse.csr_array((matrix.data, matrix.indices, indptr), shape=shape)


def _with_rows(matrix: SparseRows, rows: IntArray, values: SparseRows) -> SparseRows:
    """Return the matrix with some rows replaced."""
    source = np.arange(matrix.shape[0])
    source[rows] = matrix.shape[0] + np.arange(len(rows))
    both = sparse.csr_array(sparse.vstack([matrix, values], format="csr"))
    return sparse.csr_array(both[source])
