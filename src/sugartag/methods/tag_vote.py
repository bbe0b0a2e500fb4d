"""Images that look alike vote for their tags.

A tag's score is the votes it got beyond those that as many images drawn at random would have
given it. :mod:`sugartag.methods.voters` says who votes.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from sugartag._rules import Shape
from sugartag._typing import FloatArray
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Engine
from sugartag.methods.own_tags import add_own_tags
from sugartag.methods.settings import require_counts, require_not_negative, require_shares
from sugartag.methods.tag_prior import images_with_each_tag
from sugartag.methods.voters import FittedVoters, chosen_search, chosen_whitening
from sugartag.methods.voters import all_tags as all_tags


@dataclass(frozen=True, eq=False)
class FittedTagVote(FittedVoters):
    """The images that may vote, and what their votes are measured against."""

    chance: Annotated[FloatArray, Shape("tags")]
    """For each tag, the votes a voter drawn at random gives it; 0 where this is not subtracted."""

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return the votes for each tag, less those expected by chance.

        With ``strangers_only`` the images of the same owner do not vote.
        """
        ballots = self.voters_of(rows, strangers_only=strangers_only)
        ballots.data = np.ones(len(ballots.data), dtype=np.float32)
        votes: FloatArray = (ballots @ all_tags(self.collection)).toarray()
        n_voters = np.diff(ballots.indptr).astype(np.float32)
        votes -= np.multiply.outer(n_voters, self.chance.astype(np.float32))
        return votes


@dataclass(frozen=True)
class TagVote:
    """Lets the images that look most alike vote."""

    name: ClassVar[str] = "tag-vote"
    summary: ClassVar[str] = "The nearest images vote for their tags."
    fitted_type: ClassVar[type[FittedTagVote]] = FittedTagVote

    neighbours: int = 20
    """How many vote at most. Hidden tags are found again best by 10 to 20 voters, true tags by 50
    and more where the collection is large: raise it there."""
    one_vote_per_owner: bool = False
    """Let an owner vote once, by the nearest tagged image, as published, and not with every
    similar image."""
    retrieved_per_voter: int = 3
    """Nearest images retrieved for each voter wanted; owners with long series use them up."""
    unit_features: bool = True
    """Scale the features of each image to length 1 before comparing them."""
    whitening: float = 0.5
    """Compare images by up to 256 principal components of their features, each divided by its
    standard deviation to this power: 0.5 is half-whitening. 0 compares the features themselves."""
    subtract_prior: bool = True
    """Subtract the votes that a tag would get from voters drawn at random."""
    search: Literal["auto", "exact", "usearch"] = "auto"
    """How the nearest images are found: all compared (``exact``), or by an index that misses a few
    (``usearch``, with the extra ``search``). ``auto`` is exact up to 200,000 images, and beyond
    them where usearch is not installed."""

    def __post_init__(self) -> None:
        require_counts(self, "neighbours", "retrieved_per_voter")
        require_shares(self, "whitening")

    def fit(
        self, collection: Collection, *, engine: Engine, rng: np.random.Generator
    ) -> FittedTagVote:
        """Count the tags in one pass; the images are searched when others are scored."""
        return FittedTagVote(**self._learned(collection, engine)).ready()

    def _learned(self, collection: Collection, engine: Engine) -> dict[str, Any]:
        """Return the fields of what is fitted."""
        collection.require_features(self.name)
        return {
            "collection": collection,
            "chance": self._chance(collection, engine),
            "neighbours": self.neighbours,
            "retrieved": self.neighbours * self.retrieved_per_voter,
            "unit_features": self.unit_features,
            "one_vote_per_owner": self.one_vote_per_owner,
            "whitening": chosen_whitening(
                self.whitening, collection, unit_features=self.unit_features, engine=engine
            ),
            "search": chosen_search(self.search, collection.n_images),
        }

    def _chance(self, collection: Collection, engine: Engine) -> FloatArray:
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
        add_own_tags(share, rows, self.own_weight)
        return share


@dataclass(frozen=True)
class TagVoteOwn(TagVote):
    """Adds the image's own tags to the vote of those that look like it."""

    name: ClassVar[str] = "tag-vote-own"
    summary: ClassVar[str] = "The vote of the nearest images, and the image's own tags on top."
    fitted_type: ClassVar[type[FittedTagVote]] = FittedTagVoteOwn

    own_weight: float = 0.3
    """What an image's own tag is worth, in shares of the vote: 0.3 is 6 votes of 20. On synthetic
    collections 0.3 ranks best, and 0.2 to 0.5 almost as well."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_not_negative(self, "own_weight")

    def fit(
        self, collection: Collection, *, engine: Engine, rng: np.random.Generator
    ) -> FittedTagVoteOwn:
        """Count the tags in one pass; the images are searched when others are scored."""
        learned = self._learned(collection, engine)
        return FittedTagVoteOwn(**learned, own_weight=self.own_weight).ready()
