"""Sub-tensors of tags, images and users as products of small factors, and how good they are.

Some tag clusters p, image clusters q and user clusters r are completed together. The sub-tensor
(p, q, r) is ``S_pqr x E_r x C_q x B_p``: the factors belong to the clusters, the core to the
sub-tensor. A single cluster of each kind is one sub-tensor on its own.

Posts of the same image and user cluster form a pair. With K the products of the user and image
coordinates of its posts, all that is needed of a pair is small: M = K'K and H, the sum over p of
S_p (B_p'B_p) S_p', both as wide as user rank times image rank. Fitting every cell of the tensor,
and not only the posts, changes M to the Kronecker product of E'E and C'C.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeVar

import numpy as np

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.linalg.sylvester import GraphSylvester
from sugartag.linalg.threads import run_parts

Loss = Literal["posts", "full"]
Result = TypeVar("Result")

LARGEST_EIGENVALUE = 2.0
"""No eigenvalue of a normalised Laplacian is larger."""
PARTS = 32
"""Parts that the pairs are cut into for threads."""


@dataclass(frozen=True, eq=False)
class SubTensors:
    """What is known of the sub-tensors that are completed together."""

    tags: tuple[SparseRows, ...]
    """For each tag cluster, posts x its tags, float64; posts of a pair stand together."""
    pair_starts: IntArray
    """The first post of each pair, and the number of posts."""
    image: IntArray
    """The image row of each post; no two posts share one."""
    owner: IntArray
    """The user row of each post."""
    is_fitted: FloatArray
    """For each post, 1, or 0 where its tags are not to be fitted."""
    pair_image_cluster: IntArray
    pair_user_cluster: IntArray
    image_rows: tuple[IntArray, ...]
    """The image rows of each image cluster."""
    user_rows: tuple[IntArray, ...]
    tag_graphs: tuple[GraphSylvester, ...]
    """Normalised Laplacian of each tag cluster, ready to be solved with."""
    image_laplacian: SparseRows
    """Normalised, over all image rows."""
    user_laplacian: SparseRows
    image_graphs: tuple[GraphSylvester, ...] = ()
    """The same of each image cluster, needed to fit every cell only."""
    user_graphs: tuple[GraphSylvester, ...] = ()

    @property
    def n_pairs(self) -> int:
        """How many pairs of an image and a user cluster there are."""
        return len(self.pair_starts) - 1

    def posts(self, pair: int) -> slice:
        """Return where the posts of a pair stand."""
        return slice(int(self.pair_starts[pair]), int(self.pair_starts[pair + 1]))


@dataclass(frozen=True)
class Weights:
    """How the sub-tensors are fitted."""

    ridge: float
    smoothness: float
    loss: Loss
    threads: int = 1


@dataclass(frozen=True, eq=False)
class Factors:
    """The parts that sub-tensors are made of."""

    tags: tuple[FloatArray, ...]
    """B: for each tag cluster, its tags x tag rank."""
    images: FloatArray
    """C: image rows x image rank."""
    users: FloatArray
    """E: user rows x user rank."""
    cores: FloatArray
    """S: pairs x (user rank x image rank) x (tag clusters x tag rank)."""


def objective(known: SubTensors, factors: Factors, weights: Weights) -> float:
    """Return the squared error, the ridge and the roughness of all sub-tensors."""
    tag_side, grams = projected(known, factors), tag_grams(factors)

    def error(pair: int) -> float:
        posts = known.posts(pair)
        products = post_products(known, factors, posts)
        gram = pair_gram(known, factors, weights, pair, products)
        met = np.vdot(tag_side[posts], products @ factors.cores[pair])
        return float(np.vdot(gram, core_gram(factors, pair, grams).reshape(gram.shape)) - 2.0 * met)

    given = sum(float(np.vdot(tags.data, tags.data)) for tags in known.tags)
    parts = (*factors.tags, factors.images, factors.users, factors.cores)
    size = sum(float(np.vdot(part, part)) for part in parts)
    graphs = [graph.graph for graph in known.tag_graphs]
    smooth = [*zip(graphs, factors.tags, strict=True)]
    smooth += [(known.image_laplacian, factors.images), (known.user_laplacian, factors.users)]
    rough = sum(float(np.vdot(part, graph @ part)) for graph, part in smooth)
    errors = sum(of_each(error, known.n_pairs, threads=weights.threads))
    return given + errors + weights.ridge * size + weights.smoothness * rough


def projected(known: SubTensors, factors: Factors) -> FloatArray:
    """Return posts x (tag clusters x tag rank): Y_p B_p side by side."""
    return np.hstack([y @ b for y, b in zip(known.tags, factors.tags, strict=True)])


def post_products(known: SubTensors, factors: Factors, posts: slice) -> FloatArray:
    """Return K: posts x (user rank x image rank), 0 for posts that are not to be fitted."""
    users = factors.users[known.owner[posts]] * known.is_fitted[posts][:, None]
    return products_of(users, factors.images[known.image[posts]])


def pair_gram(
    known: SubTensors, factors: Factors, weights: Weights, pair: int, products: FloatArray
) -> FloatArray:
    """Return M of a pair: over its posts, or over all images and users of its clusters."""
    if weights.loss == "posts":
        return products.T @ products
    users = cluster_gram(factors.users, known.user_rows[known.pair_user_cluster[pair]])
    images = cluster_gram(factors.images, known.image_rows[known.pair_image_cluster[pair]])
    return np.kron(users, images)


def tag_grams(factors: Factors) -> FloatArray:
    """Return B'B of each tag cluster."""
    return np.stack([tags.T @ tags for tags in factors.tags])


def core_gram(factors: Factors, pair: int, grams: FloatArray) -> FloatArray:
    """Return H of a pair: user rank x image rank x user rank x image rank."""
    core = factors.cores[pair]
    blocks = core.reshape(len(core), len(grams), -1).transpose(1, 0, 2)
    total = np.sum(blocks @ grams @ blocks.transpose(0, 2, 1), axis=0)
    ranks = (factors.users.shape[1], factors.images.shape[1])
    made: FloatArray = total.reshape(*ranks, *ranks)
    return made


def cluster_gram(rows: FloatArray, chosen: IntArray) -> FloatArray:
    """Return F'F of the chosen rows."""
    part = rows[chosen]
    gram: FloatArray = part.T @ part
    return gram


def products_of(users: FloatArray, images: FloatArray) -> FloatArray:
    """Return posts x (user rank x image rank): every product of two coordinates of a post."""
    products: FloatArray = users[:, :, None] * images[:, None, :]
    return products.reshape(len(users), -1)


def of_each(function: Callable[[int], Result], count: int, *, threads: int) -> list[Result]:
    """Return ``function(0)``, ``function(1)``, ... in order, on several threads."""
    if count == 1:
        return [function(0)]
    cuts = np.linspace(0, count, min(count, PARTS) + 1).astype(int)
    parts = [slice(a, b) for a, b in pairwise(cuts)]
    done = run_parts(
        lambda part: [function(n) for n in range(part.start, part.stop)], parts, threads
    )
    return [result for part in done for result in part]
