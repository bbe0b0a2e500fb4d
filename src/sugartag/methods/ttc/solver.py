"""Sub-tensors completed by alternating steps, none of which raises the objective."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.linalg.sylvester import GraphSylvester
from sugartag.methods.ttc.model import (
    LARGEST_EIGENVALUE,
    Factors,
    SubTensors,
    Weights,
    cluster_gram,
    core_gram,
    objective,
    of_each,
    pair_gram,
    post_products,
    products_of,
    projected,
    tag_grams,
)


@dataclass(frozen=True, eq=False)
class Fit:
    """The factors, and the objective before the first sweep and after each."""

    factors: Factors
    objectives: tuple[float, ...]


def complete(
    known: SubTensors,
    start: Factors,
    weights: Weights,
    *,
    max_sweeps: int,
    tolerance: float,
) -> Fit:
    """Improve core, tag, image and user factors in turn until the objective stands still.

    The objective never rises: the core and the tag factors are exact minimisers, and so are the
    others where every cell is fitted; fitted on posts, image and user rows minimise a bound on
    the objective that touches it where they stand.
    """
    factors = start
    objectives = [objective(known, factors, weights)]
    for _ in range(max_sweeps):
        for step in (with_cores, with_tags, with_images, with_users):
            factors = step(known, factors, weights)
        objectives.append(objective(known, factors, weights))
        if objectives[-2] - objectives[-1] <= tolerance * objectives[-2]:
            break
    return Fit(factors, tuple(objectives))


def complete_cores(known: SubTensors, start: Factors, weights: Weights) -> Fit:
    """Find the best cores for factors that stay as they are."""
    factors = with_cores(known, start, weights)
    return Fit(factors, (objective(known, start, weights), objective(known, factors, weights)))


def with_cores(known: SubTensors, factors: Factors, weights: Weights) -> Factors:
    """Return the factors with the best cores: M S (B'B) + ridge S = K'YB, in both eigenbases."""
    tag_side = projected(known, factors)
    values, vectors = _decomposed(tag_grams(factors))  # clusters x rank, clusters x rank x rank
    shape = (factors.cores.shape[1], *values.shape)

    def solve(pair: int) -> FloatArray:
        posts = known.posts(pair)
        products = post_products(known, factors, posts)
        gram, basis = np.linalg.eigh(pair_gram(known, factors, weights, pair, products))
        target = (basis.T @ (products.T @ tag_side[posts])).reshape(shape)
        turned = np.einsum("kpa,pab->kpb", target, vectors)
        turned /= np.maximum(gram, 0.0)[:, None, None] * values + weights.ridge
        core = np.einsum("kpb,pab->kpa", turned, vectors)
        best: FloatArray = basis @ core.reshape(len(basis), -1)
        return best

    return replace(factors, cores=np.stack(of_each(solve, known.n_pairs, threads=weights.threads)))


def with_tags(known: SubTensors, factors: Factors, weights: Weights) -> Factors:
    """Return the factors with the best tag factors: one graph-Sylvester equation a cluster."""
    n_clusters = len(known.tags)
    shape = (factors.cores.shape[1], n_clusters, -1)

    def sums(pair: int) -> tuple[FloatArray, FloatArray]:
        products = post_products(known, factors, known.posts(pair))
        gram = pair_gram(known, factors, weights, pair, products)
        core = factors.cores[pair].reshape(shape).transpose(1, 0, 2)
        return products @ factors.cores[pair], core.transpose(0, 2, 1) @ gram @ core

    parts = of_each(sums, known.n_pairs, threads=weights.threads)
    of_posts = np.concatenate([part[0] for part in parts]).reshape(len(known.image), n_clusters, -1)
    grams = np.sum([part[1] for part in parts], axis=0)

    def solve(cluster: int) -> FloatArray:
        gram = grams[cluster] + weights.ridge * np.eye(grams.shape[1])
        target = known.tags[cluster].T @ np.ascontiguousarray(of_posts[:, cluster])
        return known.tag_graphs[cluster].solve(
            weights.smoothness, gram, target, start=factors.tags[cluster]
        )

    return replace(factors, tags=tuple(of_each(solve, n_clusters, threads=weights.threads)))


def with_images(known: SubTensors, factors: Factors, weights: Weights) -> Factors:
    """Return the factors with better image factors; the best where every cell is fitted."""
    tag_side, tag_gram = projected(known, factors), tag_grams(factors)
    rank = factors.images.shape[1]

    def sums(pair: int) -> tuple[FloatArray, FloatArray, IntArray]:
        """Return the targets of a pair's images, the Grams, and which image has which Gram."""
        posts = known.posts(pair)
        owner, place = np.unique(known.owner[posts], return_inverse=True)
        pulled = (tag_side[posts] @ factors.cores[pair].T).reshape(len(place), -1, rank)
        target = np.einsum("nc,nci->ni", factors.users[known.owner[posts]], pulled)
        whole = core_gram(factors, pair, tag_gram)  # users x images x users x images
        flat = whole.transpose(0, 2, 1, 3).reshape(-1, rank * rank)
        if weights.loss == "full":
            rows = known.user_rows[known.pair_user_cluster[pair]]
            gram = cluster_gram(factors.users, rows).reshape(1, -1) @ flat
            return target, gram.reshape(1, rank, rank), place
        gram = _outer(factors.users[owner]) @ flat
        none = np.zeros((1, rank * rank))  # of posts that are not to be fitted
        place = np.where(known.is_fitted[posts] > 0, place, len(owner))
        return target, np.vstack([gram, none]).reshape(-1, rank, rank), place

    if weights.loss == "full":
        found = of_each(sums, known.n_pairs, threads=weights.threads)
        made = _best_images(known, factors, weights, found)
    else:
        made = _bounded_images(known, factors, weights, sums)
    return replace(factors, images=made)


def _bounded_images(
    known: SubTensors,
    factors: Factors,
    weights: Weights,
    sums: Callable[[int], tuple[FloatArray, FloatArray, IntArray]],
) -> FloatArray:
    pull = _pull(known.image_laplacian, factors.images)

    def improve(pair: int) -> FloatArray:
        target, grams, place = sums(pair)
        goal = target + weights.smoothness * pull[known.image[known.posts(pair)]]
        # Images of one owner share their Gram, so its inverse pays; it is well conditioned.
        inverse = np.linalg.inv(_bounded(grams, weights))
        rows: FloatArray = np.matmul(inverse[place], goal[:, :, None])[:, :, 0]
        return rows

    made = factors.images.copy()
    for pair, rows in enumerate(of_each(improve, known.n_pairs, threads=weights.threads)):
        made[known.image[known.posts(pair)]] = rows
    return made


def _best_images(
    known: SubTensors,
    factors: Factors,
    weights: Weights,
    found: list[tuple[FloatArray, FloatArray, IntArray]],
) -> FloatArray:
    target = np.zeros_like(factors.images)
    grams = np.zeros((len(known.image_rows), *(factors.images.shape[1],) * 2))
    for pair, (pulled, gram, _) in enumerate(found):
        target[known.image[known.posts(pair)]] = pulled
        grams[known.pair_image_cluster[pair]] += gram[0]
    graphs, rows = known.image_graphs, known.image_rows
    return _exact_step(graphs, rows, grams, target, factors.images, weights)


def with_users(known: SubTensors, factors: Factors, weights: Weights) -> Factors:
    """Return the factors with better user factors; the best where every cell is fitted."""
    tag_side, tag_gram = projected(known, factors), tag_grams(factors)
    rank, image_rank = factors.users.shape[1], factors.images.shape[1]
    is_full = weights.loss == "full"

    def sums(pair: int) -> tuple[IntArray, FloatArray, FloatArray]:
        """Return the users of a pair, their targets and Grams; one Gram where all share it."""
        posts = known.posts(pair)
        owner, place = np.unique(known.owner[posts], return_inverse=True)
        images = factors.images[known.image[posts]]
        pulled = (tag_side[posts] @ factors.cores[pair].T).reshape(-1, rank, image_rank)
        target = _summed(np.einsum("nci,ni->nc", pulled, images), place, len(owner))
        whole = core_gram(factors, pair, tag_gram)  # users x images x users x images
        flat = whole.transpose(1, 3, 0, 2).reshape(-1, rank * rank)
        if is_full:
            rows = known.image_rows[known.pair_image_cluster[pair]]
            gram: FloatArray = cluster_gram(factors.images, rows).reshape(1, -1) @ flat
        else:
            fitted = images * known.is_fitted[posts][:, None]
            gram = _summed(_outer(fitted) @ flat, place, len(owner))
        return owner, target, gram.reshape(-1, rank, rank)

    target = np.zeros_like(factors.users)
    grams = np.zeros((len(known.user_rows) if is_full else len(target), rank, rank))
    for pair, (owner, pulled, gram) in enumerate(
        of_each(sums, known.n_pairs, threads=weights.threads)
    ):
        target[owner] += pulled
        grams[[known.pair_user_cluster[pair]] if is_full else owner] += gram
    if is_full:
        graphs, rows = known.user_graphs, known.user_rows
        made = _exact_step(graphs, rows, grams, target, factors.users, weights)
    else:
        goal = target + weights.smoothness * _pull(known.user_laplacian, factors.users)
        made = np.linalg.solve(_bounded(grams, weights), goal[:, :, None])[:, :, 0]
    return replace(factors, users=made)


def _pull(laplacian: SparseRows, current: FloatArray) -> FloatArray:
    """Return where the graph draws rows that each minimise a bound on the objective.

    The Laplacian is at most twice the identity, so the graph term is below the parabola of that
    curvature through the current rows: (G_i + (ridge + 2 g) I) f_i = t_i + g (2 F - L F)_i.
    """
    pull: FloatArray = LARGEST_EIGENVALUE * current - laplacian @ current
    return pull


def _bounded(grams: FloatArray, weights: Weights) -> FloatArray:
    curvature = weights.ridge + LARGEST_EIGENVALUE * weights.smoothness
    return grams + curvature * np.eye(grams.shape[1])


def _exact_step(
    graphs: tuple[GraphSylvester, ...],
    rows: tuple[IntArray, ...],
    grams: FloatArray,
    target: FloatArray,
    current: FloatArray,
    weights: Weights,
) -> FloatArray:
    """Return the best rows where those of a cluster share a Gram: g L F + F (G + ridge I) = R."""
    made = np.empty_like(current)
    ridge = weights.ridge * np.eye(current.shape[1])
    for graph, chosen, gram in zip(graphs, rows, grams, strict=True):
        made[chosen] = graph.solve(
            weights.smoothness, gram + ridge, target[chosen], start=current[chosen]
        )
    return made


def _decomposed(grams: FloatArray) -> tuple[FloatArray, FloatArray]:
    values, vectors = np.linalg.eigh(grams)
    return np.maximum(values, 0.0), vectors


def _outer(rows: FloatArray) -> FloatArray:
    """Return each row's products with itself, flat."""
    return products_of(rows, rows)


def _summed(rows: FloatArray, place: IntArray, count: int) -> FloatArray:
    """Return the sums of the rows of each place, added in the order of rows."""
    shape = (count, len(place))
    chosen = sparse.csr_array((np.ones(len(place)), (place, np.arange(len(place)))), shape=shape)
    sums: FloatArray = chosen @ rows
    return sums
