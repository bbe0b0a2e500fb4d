"""Who votes on an image: the images that look most like it, at most one an owner.

The neighbours of an image are walked from the nearest on. An image whose owner has voted already
is passed over, and so is one without tags, which has nothing to say; the walk ends at the wanted
number of voters or at the last neighbour retrieved. Nobody's images are each an owner of their
own. An image never votes for itself; one without features has no vote, and nobody votes on it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Annotated, ClassVar, Self

import numpy as np
from scipy import sparse

from sugartag._rules import OneOf, Within
from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Engine
from sugartag.features.whitening import Whitening, whitening_of
from sugartag.linalg.distances import unit_rows
from sugartag.linalg.index import RowIndex, usearch_is_installed
from sugartag.linalg.neighbours import Neighbours, nearest_rows
from sugartag.methods.near_images import own_labels, separate_owners

ROWS_AT_ONCE = 16384
"""Images searched in one step."""
COMPONENTS = 256
"""Principal components that whitened images are compared by, at most."""
EXACT_UP_TO = 200_000
"""Images that ``auto`` searches exactly: extrapolated, an index takes less time beyond."""

_building = Lock()


@dataclass(frozen=True, eq=False)
class FittedVoters:
    """The images that may vote, and how those that do are chosen."""

    gives_whole_sets: ClassVar[bool] = False

    collection: Collection
    """The images that vote."""
    neighbours: Annotated[int, Within(1, 1_000_000)]
    """Voters at most."""
    retrieved: Annotated[int, Within(1, 1_000_000)]
    """Nearest images looked at to find them."""
    unit_features: bool
    """Whether features are scaled to length 1."""
    one_vote_per_owner: bool
    """Whether an owner has one vote, rather than each image."""
    whitening: Whitening | None
    """The space in which images are compared; None where that is the features' own."""
    search: Annotated[str, OneOf("exact", "usearch")]
    """How the nearest images are found: ``exact``, or by an index of ``usearch``."""

    @property
    def floor(self) -> float:
        """Zero: the score of a tag for which nobody votes, or no more than by chance."""
        return 0.0

    def ready(self) -> Self:
        """Build the index where there is to be one, and return the same object."""
        if self.search == "usearch":
            self._index()
        return self

    def sharing_index_of(self, other: "FittedVoters") -> Self:
        """Take over the index of another that searches the same images, and return itself."""
        if self.search == "usearch":
            self.__dict__["_built_index"] = other._index()
        return self

    def voters_of(self, rows: Rows, *, strangers_only: bool = False) -> SparseRows:
        """Return images x voting images: the distance of each, in the order from the nearest on.

        With ``strangers_only`` the images of the same owner do not vote.
        """
        found = self._nearest(rows, strangers_only=strangers_only)
        images = np.arange(self.collection.n_images)
        voter = separate_owners(self.collection) if self.one_vote_per_owner else images
        tagged = np.diff(all_tags(self.collection).indptr) > 0
        votes = _one_a_voter(found.index, voter, tagged, self.neighbours)
        ends = np.concatenate([[0], np.cumsum(np.count_nonzero(votes, axis=1))])
        return sparse.csr_array(
            (found.distance[votes], found.index[votes], ends), shape=(len(votes), len(images))
        )

    def _nearest(self, rows: Rows, *, strangers_only: bool) -> Neighbours:
        """Return the images nearest to each, itself and those it must not ask left out."""
        collection = self.collection
        owners, present = separate_owners(collection), np.flatnonzero(collection.described)
        queries, count = (
            self._prepared(rows.features_like(self.collection.n_features)),
            min(self.retrieved, len(present)),
        )
        asking = own_labels(rows, owners) if strangers_only else rows.position
        asked = owners[present] if strangers_only else present
        if self.search == "usearch":
            found = self._index().nearest(queries, count, query_labels=asking, row_labels=asked)
        else:
            blocks = self._features_by_block()
            found = nearest_rows(queries, blocks, count, query_labels=asking, row_labels=asked)
        return found.among(present, collection.n_images, rows.described)

    def _index(self) -> RowIndex:
        """Return the index, built once; of several threads the first one builds it."""
        with _building:
            return self._built_index

    @cached_property
    def _built_index(self) -> RowIndex:
        whitening = self.whitening
        n_numbers = self.collection.n_features if whitening is None else whitening.n_components
        return RowIndex.of(self._features_by_block(), n_numbers)

    def _features_by_block(self) -> Iterator[FloatArray]:
        for block in self.collection.blocks(ROWS_AT_ONCE):
            rows = self.collection.rows(block)
            features = rows.features_like(self.collection.n_features)
            yield self._prepared(features[rows.described])

    def _prepared(self, features: FloatArray) -> FloatArray:
        """Return the features as they are compared, float32."""
        scaled = unit_rows(features) if self.unit_features else features
        if self.whitening is None:
            return scaled
        whitened = self.whitening.transform(scaled).astype(np.float32)
        return unit_rows(whitened) if self.unit_features else whitened


def chosen_whitening(
    power: float, collection: Collection, *, unit_features: bool, engine: Engine
) -> Whitening | None:
    """Return the space to compare images in, for the setting ``whitening``."""
    if power == 0:
        return None
    return whitening_of(collection, COMPONENTS, power, unit_features=unit_features, engine=engine)


def chosen_search(asked: str, n_images: int) -> str:
    """Return how to search: as asked, or for ``auto`` by an index where it pays and is there."""
    if asked != "auto":
        return asked
    return "usearch" if n_images > EXACT_UP_TO and usearch_is_installed() else "exact"


def all_tags(collection: Collection) -> SparseRows:
    """Return the tags of every image."""
    return collection.tags_of(slice(0, collection.n_images))


def _one_a_voter(
    neighbour: IntArray, voter: IntArray, tagged: BoolArray, n_voters: int
) -> BoolArray:
    """Mark the neighbours that vote: of each voter the nearest tagged image, n_voters in all.

    A neighbour that is missing has the number of images for its index.
    """
    may_vote = np.append(tagged, False)[neighbour]
    nobody_left = voter.max() + 1
    who = np.where(may_vote, np.append(voter, nobody_left)[neighbour], nobody_left)
    order = np.argsort(who, axis=1, kind="stable")
    ordered = np.take_along_axis(who, order, axis=1)
    is_first = np.ones(who.shape, dtype=np.bool_)
    np.put_along_axis(is_first, order[:, 1:], ordered[:, 1:] != ordered[:, :-1], axis=1)
    votes: BoolArray = is_first & may_vote
    votes &= np.cumsum(votes, axis=1) <= n_voters
    return votes
