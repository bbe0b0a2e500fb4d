"""The objective of MRTF on some of the images, its gradient there, and the descent by Adam."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy import sparse
from scipy.special import expit

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.linalg.sparse_rows import row_number_of_entries
from sugartag.linalg.tucker import Tucker, post_gradients, post_vectors

FIRST_DECAY = 0.9
SECOND_DECAY = 0.999
SMALLEST_DIVISOR = 1e-8
"""The three constants of Adam, as its authors recommend them."""


@dataclass(frozen=True, eq=False)
class RowAdam:
    """The running moments of every row, and how many steps each has made.

    A row that a step does not touch stands still, moments included: each row takes exactly the
    steps that Adam would take for it alone, however seldom it comes up.
    """

    rate: float
    """How far a coordinate moves in a step, at most, while its gradient keeps its sign."""
    first: FloatArray
    """Rows x columns: the decaying mean of the gradients."""
    second: FloatArray
    """Rows x columns: the decaying mean of their squares."""
    steps: IntArray

    @classmethod
    def of(cls, values: FloatArray, rate: float) -> "RowAdam":
        """Return the state before the first step for a matrix of this shape."""
        shape = values.shape
        return cls(rate, np.zeros(shape), np.zeros(shape), np.zeros(len(values), dtype=np.int64))

    def descend(
        self, values: FloatArray, gradient: FloatArray, rows: IntArray | None = None
    ) -> None:
        """Move ``values[rows]`` one step against its gradient, in place; all rows if None.

        No row may be named twice.
        """
        chosen: IntArray | slice = slice(None) if rows is None else rows
        steps = self.steps[chosen] + 1
        first = FIRST_DECAY * self.first[chosen] + (1 - FIRST_DECAY) * gradient
        second = SECOND_DECAY * self.second[chosen] + (1 - SECOND_DECAY) * gradient**2
        self.steps[chosen], self.first[chosen], self.second[chosen] = steps, first, second
        age = steps[:, None]
        spread = np.sqrt(second / (1 - SECOND_DECAY**age)) + SMALLEST_DIVISOR
        values[chosen] -= self.rate / (1 - FIRST_DECAY**age) * first / spread


logger = logging.getLogger(__name__)

Loss: TypeAlias = Literal["log_sigmoid", "sigmoid"]

DRAWS = 8
"""How often a wrong tag is drawn again before its pair is given up."""


@dataclass(frozen=True, eq=False)
class Posts:
    """The images as the descent goes through them: their tags, owners, and what is not wrong."""

    tags: SparseRows
    """Images x tags, as given."""
    owner: IntArray
    """The row of each image's owner in the user factors; the last row is nobody's."""
    barred: SparseRows
    """Images x tags: given, or related to what was given; never drawn as wrong."""


@dataclass(frozen=True, eq=False)
class Laplacians:
    """The graph of each mode, as a positive semidefinite matrix."""

    users: SparseRows
    """With an empty last row for nobody."""
    images: SparseRows
    tags: SparseRows


@dataclass(frozen=True)
class Penalties:
    """How much the factors pay for what."""

    smoothness: float
    """α: for differing from their neighbours in the graph."""
    ridge: float
    """β: for their size."""

    def cost(self, factor: FloatArray, laplacian: SparseRows) -> float:
        """Return α tr FᵀLF + β ‖F‖²."""
        rough = np.vdot(factor, laplacian @ factor)
        return float(self.smoothness * rough + self.ridge * np.vdot(factor, factor))

    def gradient(self, factor: FloatArray, laplacian: SparseRows, rows: IntArray) -> FloatArray:
        """Return the gradient of the cost with respect to some rows of the factor."""
        return 2 * (self.smoothness * (laplacian[rows] @ factor) + self.ridge * factor[rows])


@dataclass(frozen=True, eq=False)
class Pairs:
    """Tags of some images, each against a tag that its image should have less."""

    image: IntArray
    """Place of the image in its batch."""
    right: IntArray
    """t⁺: a tag that was given."""
    wrong: IntArray
    """t⁻: a tag that was not, and is not related to one that was."""
    weight: FloatArray


def draw_pairs(posts: Posts, images: IntArray, n_wrong: int, rng: np.random.Generator) -> Pairs:
    """Set each tag of the images against ``n_wrong`` drawn evenly among those not barred.

    The pairs of one tag weigh 1 together. A pair for which no tag is found weighs nothing.
    """
    given = posts.tags[images]
    barred: BoolArray = posts.barred[images].toarray() > 0
    image = np.repeat(row_number_of_entries(given), n_wrong)
    wrong = rng.integers(given.shape[1], size=len(image))
    bad = barred[image, wrong]
    for _ in range(DRAWS):
        again = np.flatnonzero(bad)
        wrong[again] = rng.integers(given.shape[1], size=len(again))
        bad[again] = barred[image[again], wrong[again]]
    weight = np.where(bad, 0.0, 1.0 / n_wrong)
    return Pairs(image, np.repeat(given.indices, n_wrong), wrong, weight)


def ranking_loss(
    factors: Tucker, users: IntArray, images: IntArray, pairs: Pairs, loss: Loss
) -> float:
    """Return the sum of f(ŷ⁻ - ŷ⁺) over the pairs, each at the user and image of its post."""
    vectors = post_vectors(factors.core, factors.users[users], factors.images[images])
    margins = _margins(vectors, factors.tags, pairs)
    values = np.logaddexp(0.0, margins) if loss == "log_sigmoid" else expit(margins)
    return float(np.vdot(pairs.weight, values))


def ranking_gradient(
    factors: Tucker, users: IntArray, images: IntArray, pairs: Pairs, loss: Loss
) -> Tucker:
    """Return the gradient of the ranking loss; rows of users and images are those of the posts.

    Where a user has several of the posts, the rows have to be added up.
    """
    of_users, of_images = factors.users[users], factors.images[images]
    vectors = post_vectors(factors.core, of_users, of_images)
    chance = expit(_margins(vectors, factors.tags, pairs))
    slope = pairs.weight * (chance if loss == "log_sigmoid" else chance * (1.0 - chance))
    pulls = sparse.csr_array(
        (
            np.concatenate([slope, -slope]),
            (np.concatenate([pairs.wrong, pairs.right]), np.tile(pairs.image, 2)),
        ),
        shape=(len(factors.tags), len(images)),
    )
    back = post_gradients(factors.core, of_users, of_images, pulls.T @ factors.tags)
    return Tucker(back.core, back.users, back.images, tags=pulls @ vectors)


def _margins(vectors: FloatArray, tags: FloatArray, pairs: Pairs) -> FloatArray:
    """Return ŷ⁻ - ŷ⁺ of each pair."""
    apart = tags[pairs.wrong] - tags[pairs.right]
    margins: FloatArray = np.einsum("ij,ij->i", vectors[pairs.image], apart)
    return margins


@dataclass(frozen=True, eq=False)
class Gradient:
    """The gradient on a batch: all of the core and the tags, the rows met of the rest."""

    core: FloatArray
    tags: FloatArray
    image: IntArray
    images: FloatArray
    user: IntArray
    """The owners met, each once; never nobody, whose factor is the mean of the others."""
    users: FloatArray


@dataclass(frozen=True, eq=False)
class Objective:
    """The whole objective; its gradients on the batches of a partition add up to its own."""

    posts: Posts
    laplacians: Laplacians
    penalties: Penalties
    loss: Loss

    def gradient(self, factors: Tucker, images: IntArray, pairs: Pairs) -> Gradient:
        """Return the gradient on a batch of images.

        An image brings its pairs and the penalty of its own row. The penalty of a user's row is
        shared out among the images of that user, the penalty of the tags among all images.
        """
        owner = self.posts.owner[images]
        ranking = ranking_gradient(factors, owner, images, pairs, self.loss)
        every_tag = np.arange(len(factors.tags))
        penalties, graphs = self.penalties, self.laplacians
        share = len(images) / len(self.posts.owner)
        user, users = self._of_users(factors, owner, ranking.users)
        return Gradient(
            core=ranking.core,
            tags=ranking.tags + share * penalties.gradient(factors.tags, graphs.tags, every_tag),
            image=images,
            images=ranking.images + penalties.gradient(factors.images, graphs.images, images),
            user=user,
            users=users,
        )

    def _of_users(
        self, factors: Tucker, owner: IntArray, of_posts: FloatArray
    ) -> tuple[IntArray, FloatArray]:
        nobody = len(factors.users) - 1
        user, place, count = np.unique(owner, return_inverse=True, return_counts=True)
        collect = sparse.csr_array(
            (np.ones(len(place)), (place, np.arange(len(place)))), shape=(len(user), len(place))
        )
        share = count / self._images_of_user()[user]
        of_rows = self.penalties.gradient(factors.users, self.laplacians.users, user)
        known = user != nobody
        return user[known], (collect @ of_posts + share[:, None] * of_rows)[known]

    def _images_of_user(self) -> IntArray:
        return np.bincount(self.posts.owner, minlength=self.laplacians.users.shape[0])


@dataclass(frozen=True)
class Descent:
    """How Adam goes through the images."""

    epochs: int
    batch_size: int
    rate: float
    n_wrong: int
    learns_tags: bool = True
    """Whether the tag factors move, or stay as they start."""

    def run(
        self,
        objective: Objective,
        start: Tucker,
        rng: np.random.Generator,
        after_epoch: Callable[[], None] = lambda: None,
    ) -> Tucker:
        """Return the factors after the last epoch; ``start`` stays as it is."""
        core, users, images, tags = (
            part.copy() for part in (start.core, start.users, start.images, start.tags)
        )
        factors = Tucker(core, users, images, tags)
        flat = core.reshape(core.shape[0], -1)
        movers = [RowAdam.of(part, self.rate) for part in (flat, users, images, tags)]
        n_images = len(images)
        for epoch in range(self.epochs):
            order = rng.permutation(n_images)
            for at in range(0, n_images, self.batch_size):
                batch = np.sort(order[at : at + self.batch_size])
                pairs = draw_pairs(objective.posts, batch, self.n_wrong, rng)
                step = objective.gradient(factors, batch, pairs)
                movers[0].descend(flat, step.core.reshape(flat.shape))
                movers[1].descend(users, step.users, step.user)
                movers[2].descend(images, step.images, step.image)
                if self.learns_tags:
                    movers[3].descend(tags, step.tags)
            _renew_nobody(users, objective.posts.owner)
            logger.debug("epoch %d of %d", epoch + 1, self.epochs)
            after_epoch()
        return factors


def _renew_nobody(users: FloatArray, owner: IntArray) -> None:
    """Give nobody the mean factor of the owners that have images."""
    nobody = len(users) - 1
    owners = np.unique(owner[owner != nobody])
    if len(owners):
        users[nobody] = users[owners].mean(axis=0)
