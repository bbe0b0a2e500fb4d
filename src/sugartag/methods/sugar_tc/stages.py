"""The stages of a SUGAR-TC fit in their order: the anchor graph, the problem, its solution."""

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from sugartag._typing import BoolArray, SparseRows
from sugartag.anchors import AnchorLayout, AnchorUnits, choose_units
from sugartag.anchors.clusters import sampled_features
from sugartag.anchors.owners import owner_profiles
from sugartag.collection.model import Collection
from sugartag.completion import (
    Completion,
    CompletionProblem,
    Penalties,
    complete_exactly,
    complete_multiplicatively,
    complete_nonnegatively,
    disturbed_start,
)
from sugartag.completion.project import anchor_tags, project_images
from sugartag.completion.tag_basis import TagBasis
from sugartag.engine.base import Engine, stage
from sugartag.features.normalise import visual_rows
from sugartag.graph.gram import LinkGrams, link_sums
from sugartag.graph.image_links import ImageLinker, median_distance
from sugartag.graph.tag_affinity import collection_affinity
from sugartag.graph.user_links import user_links
from sugartag.linalg.modes import apply_to_tags

if TYPE_CHECKING:
    from sugartag.methods.sugar_tc.estimator import SugarTC

logger = logging.getLogger(__name__)

BANDWIDTH_SAMPLE = 5_000


@dataclass(frozen=True, eq=False)
class AnchorGraph:
    """The social anchor-unit graph Ω: anchors, and how everything is linked to them."""

    units: AnchorUnits
    linker: ImageLinker
    user_links: SparseRows
    """Owners x anchor users, with an empty last row for unknown owners."""
    tag_affinity: SparseRows


def build_graph(
    settings: "SugarTC", collection: Collection, *, engine: Engine, rng: np.random.Generator
) -> AnchorGraph:
    """Choose the anchor units and set up all links (eqs. 1, 2 and 5)."""
    began = time.perf_counter()
    profiles = owner_profiles(collection, engine=engine)
    layout = AnchorLayout(
        image_clusters=settings.image_clusters,
        user_clusters=settings.user_clusters,
        units_per_cluster=settings.units_at_each_centre(collection.n_images),
        reading=settings.anchor_reading,
        max_units=settings.max_units,
        unit_features=settings.unit_features,
    )
    with stage(engine, "choosing anchors"):
        units = choose_units(collection, profiles, layout, engine=engine, rng=rng)
    logger.info(
        "anchor units: %d images, %d users, %.1f s",
        len(units.image),
        len(units.user),
        time.perf_counter() - began,
    )
    links = user_links(
        collection.groups,
        profiles,
        units.user,
        max_profile_links=settings.links_per_user,
        strict=settings.strict,
    )
    return AnchorGraph(
        units=units,
        linker=_linker(settings, collection, units, rng=rng),
        user_links=sparse.csr_array(
            sparse.vstack([links, sparse.csr_array((1, len(units.user)))], format="csr")
        ),
        tag_affinity=collection_affinity(
            collection,
            cooccurrence_weight=settings.cooccurrence_weight,
            taxonomy_weight=settings.taxonomy_weight,
            links_per_tag=settings.links_per_tag,
            diagonal=settings.tag_diagonal,
            engine=engine,
        ),
    )


def _linker(
    settings: "SugarTC", collection: Collection, units: AnchorUnits, *, rng: np.random.Generator
) -> ImageLinker:
    anchors = visual_rows(collection.features_at(units.image), settings.unit_features)
    bandwidth = settings.bandwidth
    if settings.scale == "data":
        sample = sampled_features(
            collection, BANDWIDTH_SAMPLE, unit_features=settings.unit_features, rng=rng
        )
        bandwidth *= median_distance(sample, anchors)
    links = len(anchors) if settings.links_per_image is None else settings.links_per_image
    return ImageLinker(
        anchors, bandwidth, settings.link_cutoff, links, lone_links=settings.lone_links
    )


def build_problem(
    settings: "SugarTC", collection: Collection, graph: AnchorGraph, *, engine: Engine
) -> tuple[CompletionProblem, SparseRows]:
    """Sum up all images into the completion problem; also return A₀, tags x units flattened."""
    began = time.perf_counter()
    units, kind = graph.units, np.dtype(settings.precision).type
    basis = None
    if settings.solver != "multiplicative":
        # Before the tensor is there: finding the basis needs room for a while.
        basis = TagBasis.of(graph.tag_affinity, np.dtype(kind))
    projection = project_images(
        collection,
        graph.linker,
        graph.user_links,
        unit_features=settings.unit_features,
        left_out=_left_out(settings, collection, units),
        engine=engine,
        dtype=kind,
    )
    prior = anchor_tags(collection, units.image, units.user_of_image, n_users=len(units.user))
    target = projection.posts
    mixing = graph.tag_affinity.T.tocsr().astype(kind)
    apply_to_tags((mixing,), target, target, threads=engine.threads)
    images = LinkGrams.of(projection.image_sums)
    users = LinkGrams.of(link_sums(_linking_users(settings, graph)))
    penalties = Penalties(
        settings.prior_weight, settings.ridge, settings.image_smoothness, settings.user_smoothness
    )
    if settings.scale == "data":
        penalties = penalties.relative_to(graph.tag_affinity, images, users)
    flat = target.reshape(len(target), -1)
    tag, column = prior.coords
    flat[tag, column] += kind(penalties.prior_weight)
    problem = CompletionProblem(
        target=target,
        constant=projection.n_given + penalties.prior_weight * prior.nnz,
        tag_affinity=graph.tag_affinity,
        images=images,
        users=users,
        penalties=penalties,
        threads=engine.threads,
        known_basis=basis,
    )
    logger.info("projected %s in %.1f s", target.shape, time.perf_counter() - began)
    return problem, sparse.csr_array(prior)


def _left_out(settings: "SugarTC", collection: Collection, units: AnchorUnits) -> BoolArray:
    """Tell which images are no rows of D: the anchors and, if strict, their owners' others.

    Nor are images without features, which are linked to no anchor.
    """
    left_out = ~collection.described
    left_out[units.image] = True
    return left_out | np.isin(collection.owner, units.user) if settings.strict else left_out


def _linking_users(settings: "SugarTC", graph: AnchorGraph) -> SparseRows:
    if not settings.strict:
        return graph.user_links
    others = np.ones(graph.user_links.shape[0], dtype=bool)
    others[graph.units.user] = False
    return graph.user_links[np.flatnonzero(others)]


def complete(
    settings: "SugarTC",
    problem: CompletionProblem,
    prior: SparseRows,
    *,
    engine: Engine,
    rng: np.random.Generator,
) -> Completion:
    """Run the solver the settings name; the exact one takes the problem's target for it.

    The exact solver makes only the tensor's sums where scoring by assignment needs no more.
    """
    began = time.perf_counter()
    total = 1 if settings.solver == "exact" else settings.max_iterations
    with stage(engine, f"completing the tensor ({settings.solver})", total) as updates:
        done = _completed(settings, problem, prior, rng=rng, after_update=updates.advance)
    logger.info(
        "%s solver: objective %.6g%s after %d steps, %.1f s",
        settings.solver,
        done.objectives[-1],
        _gap_words(done.gap),
        done.iterations,
        time.perf_counter() - began,
    )
    return done


def _completed(
    settings: "SugarTC",
    problem: CompletionProblem,
    prior: SparseRows,
    *,
    rng: np.random.Generator,
    after_update: Callable[[], None],
) -> Completion:
    if settings.solver == "exact":
        return complete_exactly(
            problem,
            consume=True,
            sums_only=settings.scoring == "assignment",
            tag_components=settings.tag_components,
        )
    if settings.solver == "nonnegative":
        return complete_nonnegatively(
            problem,
            max_iterations=settings.max_iterations,
            gap_tolerance=settings.gap_tolerance,
            after_update=after_update,
        )
    start = disturbed_start(
        prior,
        problem.shape,
        rng=rng,
        dtype=problem.target.dtype.type,
        size=settings.start_noise,
        signed=settings.start_sign == "both",
    )
    return complete_multiplicatively(
        problem,
        start,
        max_iterations=settings.max_iterations,
        tolerance=settings.tolerance,
        consume=True,
        after_update=after_update,
    )


def _gap_words(gap: float) -> str:
    if math.isnan(gap):
        return ""
    return f", at most {gap:.2%} above the lowest," if math.isfinite(gap) else ", without a bound,"
