"""All sub-tensors of a collection completed, each on its own or all together."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.engine.base import Block, Engine, row_blocks
from sugartag.linalg.threads import run_parts
from sugartag.methods.ttc.model import SubTensors, Weights
from sugartag.methods.ttc.parts import Graphs, Layout, all_sub_tensors, one_sub_tensor
from sugartag.methods.ttc.solver import Fit, complete, complete_cores
from sugartag.methods.ttc.start import kernel_factors, warm_start

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
