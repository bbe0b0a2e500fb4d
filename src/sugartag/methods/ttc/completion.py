"""All sub-tensors of a collection completed, each on its own or all together, and their start."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import eigsh

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.engine.base import Block, Engine, row_blocks
from sugartag.linalg.threads import run_parts
from sugartag.methods.ttc.model import LARGEST_EIGENVALUE, Factors, SubTensors, Weights
from sugartag.methods.ttc.parts import Graphs, Layout, all_sub_tensors, one_sub_tensor
from sugartag.methods.ttc.solver import Fit, complete, complete_cores

SMALL_SIDE = 600
"""A matrix with a side no longer than this is decomposed exactly, through its Gram."""
USER_SPREAD = 0.3
"""How far users stand apart at the start, beside the coordinate that all share."""


def warm_start(
    known: SubTensors, *, ranks: tuple[int, int, int], rng: np.random.Generator
) -> Factors:
    """Return factors from singular vectors of the posts' tags; the cores are 0.

    ``ranks`` are of tags, images and users. Images are described by their tags and those of the
    images linked with them; all users share the first coordinate, so that what is common to them
    is there from the start.
    """
    tag_rank, image_rank, user_rank = ranks
    whole = sparse.csr_array(sparse.hstack(known.tags, format="csr"))
    of_images = _placed(whole, known.image, known.image_laplacian.shape[0])
    smooth = sparse.csr_array(2.0 * of_images - known.image_laplacian @ of_images)
    of_users = _placed(whole, known.owner, known.user_laplacian.shape[0])

    images = np.zeros((of_images.shape[0], image_rank))
    for rows in known.image_rows:
        images[rows] = leading_rows(sparse.csr_array(smooth[rows]), image_rank, rng=rng)
    users = np.ones((of_users.shape[0], user_rank))
    for rows in known.user_rows:
        found = leading_rows(sparse.csr_array(of_users[rows]), user_rank - 1, rng=rng)
        users[rows, 1:] = USER_SPREAD * _unit_spread(found)
    return Factors(
        tags=tuple(
            leading_rows(sparse.csr_array(tags.T), tag_rank, rng=rng) for tags in known.tags
        ),
        images=images,
        users=users,
        cores=np.zeros((known.n_pairs, user_rank * image_rank, len(known.tags) * tag_rank)),
    )


def kernel_factors(known: SubTensors, *, ranks: tuple[int, int, int]) -> Factors:
    """Return factors such that ``S x B x C x E`` is ``S x K_T x K_I x K_U``; the cores are 0.

    The kernel of a graph is 2I - L, its normalised affinity made positive semidefinite. A factor
    has the kernel's leading eigenvectors times their eigenvalues, so that with as many columns as
    rows it is the kernel itself, but for a rotation of the core.
    """
    tag_rank, image_rank, user_rank = ranks
    images = np.zeros((known.image_laplacian.shape[0], image_rank))
    for rows in known.image_rows:
        images[rows] = kernel_rows(_among(known.image_laplacian, rows), image_rank)
    users = np.zeros((known.user_laplacian.shape[0], user_rank))
    for rows in known.user_rows:
        users[rows] = kernel_rows(_among(known.user_laplacian, rows), user_rank)
    return Factors(
        tags=tuple(kernel_rows(graph.graph, tag_rank) for graph in known.tag_graphs),
        images=images,
        users=users,
        cores=np.zeros((known.n_pairs, user_rank * image_rank, len(known.tags) * tag_rank)),
    )


def kernel_rows(laplacian: SparseRows, rank: int) -> FloatArray:
    """Return rows x rank: leading eigenvectors of 2I - L times their eigenvalues, 0 beyond."""
    size = laplacian.shape[0]
    length = min(rank, size)
    kernel = sparse.csr_array(LARGEST_EIGENVALUE * sparse.eye_array(size) - laplacian)
    if size <= SMALL_SIDE or length >= size - 1:
        chosen = (size - length, size - 1)
        values, vectors = linalg.eigh(kernel.toarray(), subset_by_index=chosen)
    else:
        values, vectors = eigsh(kernel, length, v0=np.ones(size))
    made = np.zeros((size, rank))
    made[:, :length] = vectors * np.maximum(values, 0.0)
    return made


def _among(laplacian: SparseRows, rows: IntArray) -> SparseRows:
    return sparse.csr_array(laplacian[rows][:, rows])


def leading_rows(matrix: SparseRows, rank: int, *, rng: np.random.Generator) -> FloatArray:
    """Return rows x rank: left singular vectors times the root of their singular values.

    Columns beyond the rank of the matrix are 0.
    """
    from sklearn.utils.extmath import randomized_svd

    made = np.zeros((matrix.shape[0], rank))
    length = min(rank, *matrix.shape)
    seed = int(rng.integers(2**31))
    if length == 0 or matrix.nnz == 0:
        return made
    if min(matrix.shape) > SMALL_SIDE:
        left, values, _ = randomized_svd(matrix, length, random_state=seed)
        made[:, :length] = left * np.sqrt(values)
        return made
    is_wide = matrix.shape[0] <= matrix.shape[1]
    gram = (matrix @ matrix.T if is_wide else matrix.T @ matrix).toarray()
    squares, vectors = np.linalg.eigh(gram)
    squares, vectors = squares[: -length - 1 : -1], vectors[:, : -length - 1 : -1]
    real = squares > squares[0] * len(gram) * np.finfo(np.float64).eps
    values = np.sqrt(np.where(real, squares, 1.0))
    left = vectors if is_wide else (matrix @ vectors) / values
    made[:, :length] = np.where(real, left * np.sqrt(values), 0.0)
    return made


def _placed(tags: SparseRows, row: IntArray, count: int) -> SparseRows:
    """Return the tags of posts added up by the row each belongs to."""
    posts = np.arange(len(row))
    ones = np.ones(len(row))
    return sparse.csr_array(sparse.csr_array((ones, (row, posts)), shape=(count, len(row))) @ tags)


def _unit_spread(columns: FloatArray) -> FloatArray:
    size = np.sqrt(np.mean(columns**2, axis=0)) if len(columns) else np.ones(columns.shape[1])
    return columns / np.where(size > 0, size, 1.0)


SUB_TENSORS_PER_BLOCK = 8


@dataclass(frozen=True, eq=False)
class Job:
    """What is completed, and how."""

    layout: Layout
    graphs: Graphs
    tags: tuple[SparseRows, ...]
    """For each tag cluster, images x its tags."""
    owner: IntArray
    n_owners: int
    """Owners, nobody not counted."""
    ranks: tuple[int, int, int]
    """Of tags, images and users."""
    weights: Weights
    learns_factors: bool
    """Whether factors are learned, or are kernels of the graphs."""
    max_sweeps: int
    tolerance: float
    seed: int

    @property
    def n_clusters(self) -> int:
        """How many clusters the tags are in."""
        return len(self.tags)

    def fit(self, known: SubTensors, rng: np.random.Generator) -> Fit:
        """Complete sub-tensors that share their factors."""
        if not self.learns_factors:
            given = kernel_factors(known, ranks=self.ranks)
            return complete_cores(known, given, self.weights)
        start = warm_start(known, ranks=self.ranks, rng=rng)
        return complete(
            known, start, self.weights, max_sweeps=self.max_sweeps, tolerance=self.tolerance
        )


@dataclass(frozen=True, eq=False)
class Completed:
    """The factors of all sub-tensors; the shapes are those of the fitted method."""

    tag_factors: FloatArray
    image_factors: FloatArray
    user_key: IntArray
    user_factors: FloatArray
    mean_user: FloatArray
    n_users: IntArray
    cores: FloatArray
    objective: float


@dataclass(frozen=True, eq=False)
class SubFit:
    """What is kept of one sub-tensor that was completed on its own."""

    tags: FloatArray
    images: FloatArray
    """Of the images of the pair, in the order of rows."""
    users: FloatArray
    """Of the owners of these, in the order of owners."""
    core: FloatArray
    objective: float


def complete_together(job: Job) -> Completed:
    """Complete all sub-tensors with factors that those of one cluster share."""
    layout = job.layout
    known = all_sub_tensors(layout, job.graphs, job.tags, job.owner, loss=job.weights.loss)
    rng = np.random.default_rng(job.seed)
    (fit,) = run_parts(lambda _: job.fit(known, rng), [slice(0, 1)], 1)
    found = fit.factors
    tag_factors = np.zeros((1, sum(map(len, layout.tag_rows)), job.ranks[0]))
    for rows, part in zip(layout.tag_rows, found.tags, strict=True):
        tag_factors[0, rows] = part
    cores = found.cores.reshape(layout.n_pairs, -1, job.n_clusters, job.ranks[0])
    users = [np.unique(known.owner[known.posts(pair)]) for pair in range(layout.n_pairs)]
    return Completed(
        tag_factors=tag_factors,
        image_factors=found.images[None],
        user_key=np.arange(job.n_owners + 1),
        user_factors=found.users[None],
        mean_user=np.stack([found.users[chosen].mean(axis=0) for chosen in users])[None],
        n_users=np.array([len(chosen) for chosen in users]),
        cores=np.ascontiguousarray(cores.transpose(2, 0, 1, 3)),
        objective=fit.objectives[-1],
    )


def complete_apart(job: Job, *, engine: Engine) -> Completed:
    """Complete every sub-tensor on its own, several at a time."""
    layout, (tag_rank, image_rank, user_rank) = job.layout, job.ranks
    n_clusters, n_pairs = job.n_clusters, layout.n_pairs
    key = np.unique(layout.image_pair * (job.n_owners + 1) + job.owner)
    key_pair = key // (job.n_owners + 1)
    made = Completed(
        tag_factors=np.zeros((n_pairs, sum(map(len, layout.tag_rows)), tag_rank)),
        image_factors=np.zeros((n_clusters, len(job.owner), image_rank)),
        user_key=key,
        user_factors=np.zeros((n_clusters, len(key), user_rank)),
        mean_user=np.zeros((n_clusters, n_pairs, user_rank)),
        n_users=np.bincount(key_pair, minlength=n_pairs),
        cores=np.zeros((n_clusters, n_pairs, user_rank * image_rank, tag_rank)),
        objective=0.0,
    )
    objectives = []
    for number, part in enumerate(_sub_fits(job, engine)):
        cluster, pair = divmod(number, n_pairs)
        made.tag_factors[pair, layout.tag_rows[cluster]] = part.tags
        made.image_factors[cluster, layout.image_pair == pair] = part.images
        made.user_factors[cluster, key_pair == pair] = part.users
        made.mean_user[cluster, pair] = part.users.mean(axis=0)
        made.cores[cluster, pair] = part.core
        objectives.append(part.objective)
    return replace(made, objective=float(sum(objectives)))


def _sub_fits(job: Job, engine: Engine) -> Iterator[SubFit]:
    blocks = row_blocks(job.n_clusters * job.layout.n_pairs, SUB_TENSORS_PER_BLOCK)
    for parts in engine.map(complete_sub_tensors, blocks, job):
        yield from parts


def complete_sub_tensors(block: Block, job: Job) -> list[SubFit]:
    """Complete the sub-tensors of these numbers: tag cluster times pairs plus pair."""
    numbers = range(block.start, block.stop)
    # As one part: a single BLAS thread, which is faster on matrices this small.
    return run_parts(lambda _: [_sub_fit(number, job) for number in numbers], [block], 1)[0]


def _sub_fit(number: int, job: Job) -> SubFit:
    layout = job.layout
    cluster, pair = divmod(number, layout.n_pairs)
    known, images, users = one_sub_tensor(
        layout, job.graphs, job.tags, job.owner, cluster, pair, loss=job.weights.loss
    )
    fit = job.fit(known, np.random.default_rng([job.seed, number]))
    own = np.flatnonzero(layout.image_pair == pair)
    return SubFit(
        tags=fit.factors.tags[0],
        images=fit.factors.images[np.searchsorted(images, own)],
        users=fit.factors.users[np.searchsorted(users, np.unique(job.owner[own]))],
        core=fit.factors.cores[0],
        objective=fit.objectives[-1],
    )
