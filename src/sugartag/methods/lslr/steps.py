"""The alternating updates of LSLR: a smooth low-rank factorisation of each cluster's tags.

Of cluster k, D is images x tags, W images x rank, H tags x rank; M and N are the geometries of
images and tags, H0 is what the clusters agree on. The objective is the sum over clusters of

    |D - W H'|^2 + a tr(W'M W) + b tr(H'N H) + g (|W|^2 + |H|^2) + e |H - H0|^2

and each update is its exact minimiser with the others fixed, so it never rises.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sugartag._rules import Within
from sugartag._typing import FloatArray, SparseRows
from sugartag.engine.base import Block
from sugartag.linalg.sylvester import GraphSylvester


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
