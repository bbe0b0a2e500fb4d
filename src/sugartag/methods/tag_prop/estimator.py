"""TagProp: neighbours vote with weights that make the given tags likeliest.

As in tag-vote the voters are the images that look most alike, but they are not equal: a weight
for each rank, or one that falls with the distance, is learned by predicting the tags of each image
from its neighbours, itself left out. Sigmoids for each tag can lift the rare ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Block, Engine, row_blocks
from sugartag.linalg.sparse_rows import row_number_of_entries
from sugartag.methods.own_tags import add_own_tags
from sugartag.methods.settings import require_counts, require_not_negative, require_shares
from sugartag.methods.tag_prop.weights import (
    LikelihoodProblem,
    Weights,
    gathered,
    learned_weights,
)
from sugartag.methods.voters import FittedVoters, all_tags, chosen_search, chosen_whitening

ROWS_AT_ONCE = 2048
"""Images whose neighbours are searched in one step when the weights are learned."""
THINGS_SAID = 1 << 23
"""Tags named by neighbours, in all, that weights are learned from at most: some 400 MB."""


@dataclass(frozen=True, eq=False)
class FittedTagProp(FittedVoters):
    """The images that may vote, and how much each vote weighs."""

    weights: Weights
    own_weight: float
    """What a tag of the image itself adds, in shares of the vote."""

    def validate(self) -> None:
        """Raise ``ValueError`` unless there is a weight for each rank."""
        if len(self.weights.of_rank) != self.neighbours:
            raise ValueError(f"has weights for {len(self.weights.of_rank)} ranks")

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return the weighted share of the vote for each tag, or the probability it stands for.

        With ``strangers_only`` the images of the same owner do not vote.
        """
        ballots = self.voters_of(rows, strangers_only=strangers_only)
        image = row_number_of_entries(ballots)
        rank = np.arange(len(image)) - ballots.indptr[:-1][image]
        ballots.data = self.weights.of(image, rank, ballots.data).astype(np.float32)
        share: FloatArray = (ballots @ all_tags(self.collection)).toarray()
        found = self.weights.probability(share.astype(np.float32, copy=False))
        add_own_tags(found, rows, self.own_weight)
        return found


@dataclass(frozen=True)
class TagProp:
    """Learns how much weight to give to similar images."""

    name: ClassVar[str] = "tag-prop"
    summary: ClassVar[str] = "The nearest images vote with weights learned from the given tags."
    fitted_type: ClassVar[type[FittedTagProp]] = FittedTagProp

    neighbours: int = 50
    """K: how many vote at most."""
    weights: Literal["rank", "distance"] = "distance"
    """pi: a weight for each rank, or weights that fall exponentially with the distance, at a rate
    that is learned. The original has both; hidden tags are found again better by distance."""
    sigmoid: bool = False
    """Pass the vote for each tag through a sigmoid of its own (sigma-TagProp)."""
    shrinkage: float = 1.0
    """How strongly the sigmoid of a tag is drawn to the common one; 0 in the original, where that
    of a rare tag has no finite solution."""
    own_weight: float = 0.0
    """What an image's own tag adds, in shares of the vote; 0 in the original, which predicts from
    the neighbours alone."""
    one_vote_per_owner: bool = False
    """Let an owner vote once, by the nearest tagged image, as in tag-vote. In the original every
    image votes, and hidden tags are found again better so."""
    retrieved_per_voter: int = 3
    """Nearest images looked at for each voter wanted: those without tags, and with one vote an
    owner the similar images of one owner, are passed over."""
    unit_features: bool = True
    """Scale the features of each image to length 1 before comparing them."""
    whitening: float = 0.5
    """Compare images by half-whitened principal components, as in tag-vote; 0 in the original."""
    learning_images: int = 5000
    """Images drawn to learn the weights from; all are used in the original. A weight for each rank
    needs no more."""
    max_iterations: int = 200
    """Quasi-Newton steps at most; about 30 are needed without sigmoids."""
    search: Literal["auto", "exact", "usearch"] = "auto"
    """How the nearest images are found; as in tag-vote."""

    def __post_init__(self) -> None:
        require_counts(
            self, "neighbours", "retrieved_per_voter", "learning_images", "max_iterations"
        )
        require_not_negative(self, "own_weight", "shrinkage")
        require_shares(self, "whitening")

    def fit(
        self, collection: Collection, *, engine: Engine, rng: np.random.Generator
    ) -> FittedTagProp:
        """Search the neighbours of the images drawn, and learn the weights from them."""
        collection.require_features(self.name)
        collection.require_tags(self.name)
        asked: Mapping[str, Any] = {
            "collection": collection,
            "neighbours": self.neighbours,
            "retrieved": self.neighbours * self.retrieved_per_voter,
            "unit_features": self.unit_features,
            "one_vote_per_owner": self.one_vote_per_owner,
            "whitening": chosen_whitening(
                self.whitening, collection, unit_features=self.unit_features, engine=engine
            ),
            "search": chosen_search(self.search, collection.n_images),
        }
        voters = FittedVoters(**asked).ready()
        weights = self._learned(voters, engine, rng)
        fitted = FittedTagProp(**asked, weights=weights, own_weight=self.own_weight)
        return fitted.sharing_index_of(voters)

    def _learned(self, voters: FittedVoters, engine: Engine, rng: np.random.Generator) -> Weights:
        tags = all_tags(voters.collection)
        images = self._drawn(tags, voters.collection.described, rng)
        blocks = row_blocks(len(images), ROWS_AT_ONCE)
        parts = list(engine.map(find_voters, blocks, voters, images))
        ballots: SparseRows = sparse.csr_array(sparse.vstack(parts, format="csr"))
        problem = LikelihoodProblem(
            gathered(ballots, tags, tags[images]),
            n_ranks=self.neighbours,
            by_rank=self.weights == "rank",
            sigmoids=self.sigmoid,
            shrinkage=self.shrinkage,
        )
        return learned_weights(problem, self.max_iterations)[0]

    def _drawn(self, tags: SparseRows, described: BoolArray, rng: np.random.Generator) -> IntArray:
        """Return the images to learn from, ascending; they have tags and features."""
        tagged = np.flatnonzero((np.diff(tags.indptr) > 0) & described)
        said_of_each = self.neighbours * tags.nnz / max(len(tagged), 1)
        count = min(self.learning_images, max(1, int(THINGS_SAID / max(said_of_each, 1))))
        return np.sort(rng.permutation(tagged)[:count])


def find_voters(block: Block, voters: FittedVoters, images: IntArray) -> SparseRows:
    """Return who votes on each image of a block of those drawn, itself left out."""
    collection, chosen = voters.collection, images[block]
    rows = Rows(
        tags=all_tags(collection)[chosen],
        owner=collection.owner[chosen],
        features=collection.features_at(chosen),
        position=chosen,
    )
    return voters.voters_of(rows)
