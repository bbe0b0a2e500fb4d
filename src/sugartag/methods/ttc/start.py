"""Where the completion of sub-tensors starts: leading directions of the tags by each mode.

Factors that are not learned but given, as kernels of the three graphs, are made here too.
"""

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import eigsh

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.methods.ttc.model import LARGEST_EIGENVALUE, Factors, SubTensors

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
