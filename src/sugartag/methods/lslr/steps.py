"""The alternating updates of LSLR: a smooth low-rank factorisation of each cluster's tags.

Of cluster k, D is images x tags, W images x rank, H tags x rank; M and N are the geometries of
images and tags, H0 is what the clusters agree on. The objective is the sum over clusters of

    |D - W H'|^2 + a tr(W'M W) + b tr(H'N H) + g (|W|^2 + |H|^2) + e |H - H0|^2

and each update is its exact minimiser with the others fixed, so it never rises. A geometry is
(I - R)'(I - R) with R the weights that put each row together from its neighbours.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy import sparse

from sugartag._rules import Within
from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.engine.base import Block
from sugartag.linalg.sylvester import GraphSylvester

ROWS_AT_ONCE = 1_024
"""Rows whose local systems are solved in one step."""


def reconstruction_weights(
    rows: FloatArray, others: FloatArray, neighbours: IntArray, *, ridge: float = 1e-2
) -> FloatArray:
    """Return rows x neighbours, float64: the weights that put each row together, summing to 1.

    ``neighbours`` are row numbers of ``others``; a missing one has the number ``len(others)`` and
    gets weight 0, and so does everything of a row that has none. ``ridge`` is relative to the
    trace of a row's local Gram matrix; twins of a row share its weight evenly.
    """
    weights = np.zeros(neighbours.shape)
    for at in range(0, len(rows), ROWS_AT_ONCE):
        part = slice(at, at + ROWS_AT_ONCE)
        weights[part] = _weights(rows[part], others, neighbours[part], ridge)
    return weights


def _weights(
    rows: FloatArray, others: FloatArray, neighbours: IntArray, ridge: float
) -> FloatArray:
    present = neighbours < len(others)
    apart = others.astype(np.float64)[np.where(present, neighbours, 0)]
    apart -= rows.astype(np.float64)[:, None, :]
    apart *= present[:, :, None]
    gram = np.einsum("ijd,ikd->ijk", apart, apart, optimize=True)
    trace = np.einsum("ijj->i", gram)
    place = np.arange(neighbours.shape[1])
    # A missing neighbour has an empty row: 1 on its diagonal keeps the system solvable.
    lift = np.where(trace > 0, ridge * trace, 1.0)[:, None]
    gram[:, place, place] += np.where(present, lift, 1.0)
    solved = np.linalg.solve(gram, present[:, :, None].astype(np.float64))[:, :, 0]
    total = solved.sum(axis=1, keepdims=True)
    weights: FloatArray = solved / np.where(total > 0, total, 1.0)
    return weights


def reconstruction_matrix(
    neighbours: IntArray, weights: FloatArray, *, n_others: int
) -> SparseRows:
    """Return S: rows x others, the weights at the neighbours; a missing neighbour has no entry."""
    present = neighbours < n_others
    row = np.repeat(np.arange(len(neighbours)), np.count_nonzero(present, axis=1))
    matrix = sparse.csr_array(
        (weights[present], (row, neighbours[present])), shape=(len(neighbours), n_others)
    )
    matrix.sort_indices()
    return matrix


def geometry_matrix(weights: SparseRows) -> SparseRows:
    """Return M = (I - S)'(I - S): symmetric, positive semi-definite, sparse.

    A row without neighbours is pulled towards 0, as nothing says what it should be like.
    """
    residual = sparse.csr_array(sparse.eye_array(weights.shape[0], format="csr") - weights)
    matrix = sparse.csr_array(residual.T @ residual)
    matrix.sort_indices()
    return matrix


@dataclass(frozen=True)
class Strengths:
    """What each part of the objective counts."""

    image_geometry: Annotated[float, Within(0)]
    """a"""
    tag_geometry: Annotated[float, Within(0)]
    """b"""
    ridge: Annotated[float, Within(0)]
    """g"""
    consensus: Annotated[float, Within(0)]
    """e"""


@dataclass(frozen=True, eq=False)
class Cluster:
    """What is given of one cluster."""

    tags: SparseRows
    """D, float64."""
    geometry: GraphSylvester
    """M"""


@dataclass(frozen=True, eq=False)
class Local:
    """What was found of one cluster."""

    images: FloatArray
    """W"""
    tags: FloatArray
    """H"""


def update_clusters(
    block: Block,
    clusters: list[Cluster],
    found: list[Local],
    tag_geometry: GraphSylvester,
    agreed: FloatArray,
    strengths: Strengths,
) -> list[Local]:
    """Return some clusters after one update of W and one of H."""
    return [
        updated(clusters[number], found[number], tag_geometry, agreed, strengths)
        for number in range(block.start, block.stop)
    ]


def updated(
    cluster: Cluster,
    local: Local,
    tag_geometry: GraphSylvester,
    agreed: FloatArray,
    strengths: Strengths,
) -> Local:
    """Solve for W with H fixed, then for H with W fixed: two Sylvester equations."""
    eye = np.eye(agreed.shape[1])
    images = cluster.geometry.solve(
        strengths.image_geometry,
        local.tags.T @ local.tags + strengths.ridge * eye,
        cluster.tags @ local.tags,
        start=local.images,
    )
    tags = tag_geometry.solve(
        strengths.tag_geometry,
        images.T @ images + (strengths.ridge + strengths.consensus) * eye,
        cluster.tags.T @ images + strengths.consensus * agreed,
        start=local.tags,
    )
    return Local(images, tags)


def agreement(found: list[Local]) -> FloatArray:
    """Return H0: the mean of H over the clusters, which is what minimises the consensus part."""
    return np.asarray(np.mean([local.tags for local in found], axis=0))


def objective(
    clusters: list[Cluster],
    found: list[Local],
    tag_geometry: GraphSylvester,
    agreed: FloatArray,
    strengths: Strengths,
) -> float:
    """Return the objective, without images x tags."""
    return sum(
        _part(cluster, local, tag_geometry, agreed, strengths)
        for cluster, local in zip(clusters, found, strict=True)
    )


def _part(
    cluster: Cluster,
    local: Local,
    tag_geometry: GraphSylvester,
    agreed: FloatArray,
    strengths: Strengths,
) -> float:
    images, tags = local.images, local.tags
    image_gram, tag_gram = images.T @ images, tags.T @ tags
    fit = cluster.tags.nnz - 2 * np.vdot(cluster.tags @ tags, images)
    fit += np.vdot(image_gram, tag_gram)
    of_images = np.vdot(images, cluster.geometry.graph @ images)
    of_tags = np.vdot(tags, tag_geometry.graph @ tags)
    return float(
        fit
        + strengths.image_geometry * of_images
        + strengths.tag_geometry * of_tags
        + strengths.ridge * (np.trace(image_gram) + np.trace(tag_gram))
        + strengths.consensus * np.sum((tags - agreed) ** 2)
    )
