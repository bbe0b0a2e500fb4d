"""The images a method was fitted on, and how others are linked to those that look like them.

A method that works on the images it was given needs a way to judge others. Here it is: an image is
linked to the fitted images nearest to it, by the kernel of the graph that was fitted.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
from scipy import sparse

from sugartag._rules import Positive, Within
from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.collection.model import Collection, Rows
from sugartag.collection.subset import some_images
from sugartag.engine.base import Block, Engine
from sugartag.linalg.distances import unit_rows
from sugartag.linalg.knn_graph import KnnGraph, gaussian_links, knn_graph
from sugartag.linalg.neighbours import nearest_rows


@dataclass(frozen=True, eq=False)
class NearImages:
    """The fitted images, ready to be searched."""

    collection: Collection
    neighbours: Annotated[int, Within(1, 1_000_000)]
    """Images that another is linked to."""
    bandwidth: Annotated[float, Positive()]
    """σ: a link is exp(-d²/σ²)."""
    unit_features: bool
    """Whether features are scaled to length 1 before they are compared."""

    def links(self, rows: Rows, *, strangers_only: bool) -> SparseRows:
        """Return rows x fitted images; none to itself nor, if so asked, to the same owner's."""
        collection = self.collection
        owner, present = separate_owners(collection), np.flatnonzero(collection.described)
        found = nearest_rows(
            self._prepared(rows.features_like(self.collection.n_features)),
            self._searched(),
            self.neighbours,
            query_labels=own_labels(rows, owner) if strangers_only else rows.position,
            row_labels=owner[present] if strangers_only else present,
        ).among(present, collection.n_images, rows.described)
        return gaussian_links(found, n_rows=collection.n_images, bandwidth=self.bandwidth)

    def is_settled(self, rows: Rows, *, strangers_only: bool) -> IntArray:
        """Return which rows have their answer from the fit: its own images, as it saw them.

        Leaving out the owner's images changes nothing for an image without an owner.
        """
        known = rows.position < self.collection.n_images
        if strangers_only:
            known &= rows.owner == self.collection.nobody
        return np.flatnonzero(known)

    def _searched(self) -> Iterator[FloatArray]:
        for block in self.collection.blocks():
            features = read_features(block, self.collection, self.unit_features)
            yield features[self.collection.described[block]]

    def _prepared(self, features: FloatArray) -> FloatArray:
        return unit_rows(features) if self.unit_features else features


def image_graph(
    collection: Collection, neighbours: int, *, unit_features: bool, engine: Engine
) -> KnnGraph:
    """Return the graph of the images that look alike; one without features has no links."""
    present = np.flatnonzero(collection.described)
    if len(present) < collection.n_images:
        some = some_images(collection, present)
        found = image_graph(some, neighbours, unit_features=unit_features, engine=engine)
        links = sparse.coo_array(found.affinity)
        places = (present[links.coords[0]], present[links.coords[1]])
        shape = (collection.n_images, collection.n_images)
        return KnnGraph(sparse.csr_array((links.data, places), shape=shape), found.bandwidth)
    read = partial(read_features, collection=collection, unit_features=unit_features)
    return knn_graph(read, collection.blocks(), neighbours, engine=engine)


def read_features(block: Block, collection: Collection, unit_features: bool) -> FloatArray:
    """Read the features of one block as they are compared."""
    features = collection.rows(block).features
    if features is None:
        raise ValueError("the collection has no features")
    return unit_rows(features) if unit_features else features


def separate_owners(collection: Collection) -> IntArray:
    """Return the owner of each image; an image without one has an owner of its own."""
    images = np.arange(collection.n_images)
    return np.where(
        collection.owner == collection.nobody, collection.nobody + 1 + images, collection.owner
    )


def own_labels(rows: Rows, owner: IntArray) -> IntArray:
    """Return whose images each row must not be linked to; one without an owner may, to all."""
    is_new = rows.position >= len(owner)
    return np.where(is_new, rows.owner, owner[np.where(is_new, 0, rows.position)])
