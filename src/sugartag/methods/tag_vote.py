"""Images that look alike vote for their tags, one vote an owner.

The neighbours of an image are walked from the nearest on. An image whose owner has voted already
is passed over, and so is one without tags, which has nothing to say; the walk ends at the wanted
number of voters or at the last neighbour retrieved. Nobody's images are each an owner of their
own. An image never votes for itself. A tag's score is the votes it got beyond those that as many
images drawn at random would have given it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Engine
from sugartag.errors import CollectionError
from sugartag.linalg.distances import unit_rows
from sugartag.linalg.neighbours import nearest_rows
from sugartag.methods.settings import require
from sugartag.methods.tag_prior import images_with_each_tag

ROWS_AT_ONCE = 16384
"""Images searched in one step."""


@dataclass(frozen=True, eq=False)
class FittedTagVote:
    """The images that may vote, and what their votes are measured against."""

    gives_whole_sets: ClassVar[bool] = False

    collection: Collection
    """The images that vote."""
    chance: FloatArray
    """For each tag, the votes a voter drawn at random gives it; 0 where this is not subtracted."""
    neighbours: int
    """Voters at most."""
    retrieved: int
    """Nearest images looked at to find them."""
    unit_features: bool
    """Whether features are scaled to length 1."""
    one_vote_per_owner: bool
    """Whether an owner has one vote, rather than each image."""

    @property
    def floor(self) -> float:
        """Zero: as many votes as by chance, or none where chance is not subtracted."""
        return 0.0

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return the votes for each tag, less those expected by chance.

        With ``strangers_only`` the images of the same owner do not vote.
        """
        tags = all_tags(self.collection)
        ballots = self._ballots(self._neighbours(rows, strangers_only=strangers_only), tags)
        votes: FloatArray = (ballots @ tags).toarray()
        n_voters = np.diff(ballots.indptr).astype(np.float32)
        votes -= np.multiply.outer(n_voters, self.chance.astype(np.float32))
        return votes

    def _neighbours(self, rows: Rows, *, strangers_only: bool) -> IntArray:
        """Return the images nearest to each, itself and those it must not ask left out."""
        collection = self.collection
        owners = _voters(collection)
        found = nearest_rows(
            self._prepared(rows.features),
            map(self._prepared, _features_by_block(collection)),
            min(self.retrieved, collection.n_images),
            query_labels=_own_voters(rows, owners) if strangers_only else rows.position,
            row_labels=owners if strangers_only else np.arange(collection.n_images),
        )
        return found.index

    def _ballots(self, neighbour: IntArray, tags: SparseRows) -> SparseRows:
        """Return images x voting images, 1 for each vote."""
        images = np.arange(self.collection.n_images)
        voter = _voters(self.collection) if self.one_vote_per_owner else images
        tagged = np.diff(tags.indptr) > 0
        votes = _one_a_voter(neighbour, voter, tagged, self.neighbours)
        ends = np.concatenate([[0], np.cumsum(np.count_nonzero(votes, axis=1))])
        ones = np.ones(ends[-1], dtype=np.float32)
        return sparse.csr_array((ones, neighbour[votes], ends), shape=(len(votes), len(images)))

    def _prepared(self, features: FloatArray | None) -> FloatArray:
        wanted = self.collection.n_features
        if features is None or features.shape[1] != wanted:
            found = "none" if features is None else f"{features.shape[1]} an image"
            raise CollectionError(
                f"these images have other features than those the method was fitted on: {found}, "
                f"not {wanted}; describe both with the same model"
            )
        return unit_rows(features) if self.unit_features else features


@dataclass(frozen=True)
class TagVote:
    """Lets the images that look most alike vote, one vote an owner."""

    name: ClassVar[str] = "tag-vote"
    summary: ClassVar[str] = "The nearest images vote for their tags, one vote an owner."
    fitted_type: ClassVar[type[FittedTagVote]] = FittedTagVote

    neighbours: int = 20
    """How many vote at most. Hidden tags are found again best by 10 to 20 voters, true tags by 50
    and more where the collection is large: raise it there."""
    one_vote_per_owner: bool = True
    """Let an owner vote once, by the nearest tagged image, and not with every look-alike."""
    retrieved_per_voter: int = 3
    """Nearest images looked at for each voter wanted; owners with many look-alikes use them up."""
    unit_features: bool = True
    """Scale the features of each image to length 1 before comparing them."""
    subtract_prior: bool = True
    """Subtract the votes that a tag would get from voters drawn at random."""

    def __post_init__(self) -> None:
        for name in ("neighbours", "retrieved_per_voter"):
            value = getattr(self, name)
            require(value >= 1, f"{self.name} setting {name} is {value}; it must be at least 1")

    def fit(
        self, collection: Collection, *, engine: Engine, rng: np.random.Generator
    ) -> FittedTagVote:
        """Count the tags in one pass; the images are searched when others are scored."""
        return FittedTagVote(
            collection=collection,
            chance=self._chance(collection, engine),
            neighbours=self.neighbours,
            retrieved=self.neighbours * self.retrieved_per_voter,
            unit_features=self.unit_features,
            one_vote_per_owner=self.one_vote_per_owner,
        )

    def _chance(self, collection: Collection, engine: Engine) -> FloatArray:
        collection.require_features(self.name)
        if not self.subtract_prior:
            return np.zeros(collection.n_tags)
        n_tagged = int(np.count_nonzero(np.diff(all_tags(collection).indptr)))
        return images_with_each_tag(collection, engine) / max(n_tagged, 1)


@dataclass(frozen=True, eq=False)
class FittedTagVoteOwn(FittedTagVote):
    """The images that may vote, and how much an image's own tags count beside their votes."""

    own_weight: float
    """What a tag of the image itself adds, in shares of the vote."""

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return the share of the vote beyond chance, plus the weight of the image's own tags."""
        share = super().scores(rows, strangers_only=strangers_only) / np.float32(self.neighbours)
        own = rows.tags.toarray().astype(np.float32, copy=False)
        return share + np.float32(self.own_weight) * own


@dataclass(frozen=True)
class TagVoteOwn(TagVote):
    """Adds the image's own tags to the vote of those that look like it."""

    name: ClassVar[str] = "tag-vote-own"
    summary: ClassVar[str] = "The vote of the nearest images, and the image's own tags on top."
    fitted_type: ClassVar[type[FittedTagVote]] = FittedTagVoteOwn

    own_weight: float = 0.3
    """What an image's own tag is worth, in shares of the vote: 0.3 is 6 votes of 20. On planted
    collections 0.3 ranks best, and 0.2 to 0.5 almost as well."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self.own_weight >= 0,
            f"{self.name} setting own_weight is {self.own_weight}; it must not be negative",
        )

    def fit(
        self, collection: Collection, *, engine: Engine, rng: np.random.Generator
    ) -> FittedTagVoteOwn:
        """Count the tags in one pass; the images are searched when others are scored."""
        return FittedTagVoteOwn(
            collection=collection,
            chance=self._chance(collection, engine),
            neighbours=self.neighbours,
            retrieved=self.neighbours * self.retrieved_per_voter,
            unit_features=self.unit_features,
            one_vote_per_owner=self.one_vote_per_owner,
            own_weight=self.own_weight,
        )


def all_tags(collection: Collection) -> SparseRows:
    """Return the tags of every image."""
    return collection.tags_of(slice(0, collection.n_images))


def _features_by_block(collection: Collection) -> Iterator[FloatArray | None]:
    for block in collection.blocks(ROWS_AT_ONCE):
        yield collection.rows(block).features


def _voters(collection: Collection) -> IntArray:
    """Return who votes by each image: its owner, or a voter of its own where that is nobody."""
    images = np.arange(collection.n_images)
    return np.where(
        collection.owner == collection.nobody, collection.nobody + 1 + images, collection.owner
    )


def _own_voters(rows: Rows, voter: IntArray) -> IntArray:
    """Return who would vote by the rows' own images; nobody for new images of nobody."""
    is_new = rows.position >= len(voter)
    return np.where(is_new, rows.owner, voter[np.where(is_new, 0, rows.position)])


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
