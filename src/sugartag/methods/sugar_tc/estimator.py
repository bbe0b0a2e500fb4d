"""SUGAR-TC: social anchor-unit graph regularised tensor completion, after the paper.

The stages are the packages of sugartag: anchor units, links and affinities, completion,
assignment. docs/method.md lists which equation is where, and each repair the paper needs to run.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from sugartag.anchors.units import Reading
from sugartag.assignment.assign import Assignment, UserNeighbours
from sugartag.assignment.reconstruct import Reconstruction
from sugartag.collection.model import Collection
from sugartag.completion import Completion
from sugartag.engine.base import Engine
from sugartag.graph.tag_affinity import Diagonal
from sugartag.methods.own_tags import sampled_scores, size_of_scores
from sugartag.methods.settings import Preset, require
from sugartag.methods.sugar_tc.fitted import FittedSugarTC
from sugartag.methods.sugar_tc.stages import AnchorGraph, build_graph, build_problem, complete

IMAGES_PER_UNIT = 20
"""Images that each anchor unit stands for at least, unless the settings say how many there are;
477 in the paper."""
FEWEST_PER_CENTRE, MOST_PER_CENTRE = 3, 10

PRINTED = Preset(
    settings={
        "anchor_reading": "printed",
        "image_clusters": 40,
        "user_clusters": 12,
        "units_per_cluster": 10,
        "scale": "absolute",
        "bandwidth": 2.5,
        "link_cutoff": 1e-4,
        "lone_links": False,
        "links_per_image": None,
        "strict": True,
        "cooccurrence_weight": 0.9,
        "taxonomy_weight": 0.1,
        "links_per_tag": None,
        "tag_diagonal": "printed",
        "prior_weight": 0.005,
        "ridge": 0.001,
        "image_smoothness": 0.1,
        "user_smoothness": 0.05,
        "solver": "multiplicative",
        "start_sign": "both",
        "max_iterations": 450,
        "tolerance": 1e-5,
        "scoring": "assignment",
        "image_share": 0.8,
        "user_neighbours": "unit",
        "anchor_scores": "column",
        "subtract_mean": False,
        "own_weight": 0.0,
    },
    notes=(
        "the paper to the letter. It leaves open, and these are chosen: features of length 1, "
        "s = 10, a disturbance of at most 0.01, and 40 + 12 co-clusters"
    ),
    level=logging.WARNING,
)

REPAIRED = Preset(
    settings={
        **PRINTED.settings,
        "anchor_reading": "sum",
        "units_per_cluster": None,
        "bandwidth": 0.8,
        "lone_links": True,
        "links_per_image": 20,
        "strict": False,
        "links_per_tag": 10,
        "tag_diagonal": "one",
        "start_sign": "positive",
        "max_iterations": 500,
        "anchor_scores": "assigned",
    },
    notes=(
        "the paper's equations, weights and updates, with the repairs they need to run; own tags "
        "and the model's reconstruction are left out as in the paper"
    ),
)


@dataclass(frozen=True)
class SugarTC:
    """Settings of SUGAR-TC; each names the paper's symbol and default."""

    name: ClassVar[str] = "sugar-tc"
    summary: ClassVar[str] = (
        "The paper: a tensor of tags, anchor images and anchor users, completed."
    )
    fitted_type: ClassVar[type[FittedSugarTC]] = FittedSugarTC
    presets: ClassVar[Mapping[str, Preset]] = {"printed": PRINTED, "repaired": REPAIRED}

    image_clusters: int = 40
    """C_i: cluster centres of images; 40 in the paper."""
    user_clusters: int = 12
    """C_u: cluster centres of users; 12 in the paper."""
    units_per_cluster: int | None = None
    """m_c: anchor units taken at each centre; 10 in the paper. None takes 10 where there are 20
    images for each unit, fewer in smaller collections, 3 at least."""
    anchor_reading: Reading = "sum"
    """How the centres give the units; "sum" gives the 520 that the paper's memory figure says,
    "printed" co-clusters the degenerate matrix of the paper."""
    max_units: int = 1000
    """Cap for the reading "product", which would ask for 4,800."""
    unit_features: bool = True
    """Scale features to length 1 before they are compared; the paper does not say."""
    scale: Literal["data", "absolute"] = "data"
    """What weights and bandwidth are multiples of: "data" counts the bandwidth in median distances
    of images and anchors, and α, β, λ₁, λ₂ in the mean weight of the data term. In the paper they
    are "absolute"."""
    bandwidth: float = 1.2
    """σ of eq. 1; absolute 2.5 in the paper, which fits no normalisation of features."""
    link_cutoff: float = 1e-4
    """Weaker image links are dropped; 1e-4 in the paper."""
    lone_links: bool = True
    """Link an image without any link to its nearest anchor, by the cutoff; the paper does not."""
    links_per_image: int | None = None
    """Anchors an image is linked to at most; the paper's memory implies 19. None links to all."""
    links_per_user: int = 20
    """At most this many links of an owner without groups, who is linked by tag profile."""
    strict: bool = False
    """Leave out owners without groups and images of anchor users, as the paper's sets do."""
    cooccurrence_weight: float = 0.9
    """a₁ of eq. 5; 0.9 in the paper."""
    taxonomy_weight: float = 0.1
    """a₂ of eq. 5; 0.1 in the paper."""
    links_per_tag: int | None = 3
    """Strongest affinities kept a tag; 0 leaves tags apart. None keeps all, as the paper, which
    swamps the diagonal."""
    tag_diagonal: Diagonal = "one"
    """The affinity of a tag with itself: 1, or what eq. 5 gives as "printed", less for a tag that
    WordNet does not have."""
    prior_weight: float = 8e-7
    """α; absolute 0.005 in the paper."""
    ridge: float = 2e-7
    """β; absolute 0.001 in the paper."""
    image_smoothness: float = 1e-4
    """λ₁; absolute 0.1 in the paper."""
    user_smoothness: float = 1e-4
    """λ₂; absolute 0.05 in the paper."""
    solver: Literal["exact", "multiplicative", "nonnegative"] = "exact"
    """How the tensor is completed: the minimiser, the paper's updates, or the minimiser among
    tensors without negative entries, as the updates look for it."""
    tag_components: int | None = None
    """Eigenvectors of the tag affinity that the solver "exact" keeps, the others being taken for
    alike; None keeps all. The model says what that may cost at most, as its gap."""
    start_noise: float = 1e-2
    """Size of E, the disturbance that the updates start from; the paper calls it small."""
    start_sign: Literal["positive", "both"] = "positive"
    """Sign of E. With "both" its mean is 0 as in the paper, and negative entries never leave."""
    max_iterations: int = 500
    """Updates at most; the paper needed about 450."""
    tolerance: float = 1e-5
    """Relative change of the objective that ends the updates; 1e-5 in the paper."""
    gap_tolerance: float = 1e-4
    """Relative gap that ends the solver "nonnegative"."""
    scoring: Literal["assignment", "reconstruction"] = "reconstruction"
    """Eq. 12 as in the paper, or the model's own reconstruction of each post."""
    neighbours: int = 10
    """s of eq. 12; the paper does not say."""
    image_share: float = 0.4
    """γ of eq. 12; 0.8 in the paper. In a reconstruction, the share of what the model says of the
    image whoever posted it, the rest being what it says of the image and its owner."""
    user_neighbours: UserNeighbours = "unit"
    """⟨k⟩ of eq. 12: "unit" takes the owners of the nearest anchor images, as the text has it."""
    anchor_scores: Literal["assigned", "column"] = "assigned"
    """Scores of the anchor images in eq. 12: as of all others, or their column of A_[3] as in the
    paper, which is on another scale."""
    subtract_mean: bool = True
    """Subtract the mean score of each tag over images, or frequent tags come first on every image;
    the paper does not."""
    own_weight: float = 1.0
    """What an image's own tag adds, in mean best scores of an image; eq. 12 leaves own tags out."""
    precision: Literal["float64", "float32"] = "float64"
    """Numbers of the tensor; float32 halves its memory."""

    def __post_init__(self) -> None:
        counts = ("image_clusters", "user_clusters", "max_units", "links_per_user")
        for name in (*counts, "neighbours", "max_iterations"):
            require(getattr(self, name) >= 1, f"sugar-tc setting {name} must be at least 1")
        for name in ("units_per_cluster", "tag_components", "links_per_image"):
            value = getattr(self, name)
            require(
                value is None or value >= 1,
                f"sugar-tc setting {name} must be at least 1, or none",
            )
        require(
            self.links_per_tag is None or self.links_per_tag >= 0,
            "sugar-tc setting links_per_tag must not be negative, or none",
        )
        require(
            self.tag_components is None or self.solver == "exact",
            f"sugar-tc setting tag_components is for solver=exact, not {self.solver}",
        )
        weights = ("prior_weight", "image_smoothness", "user_smoothness", "link_cutoff")
        for name in (*weights, "cooccurrence_weight", "taxonomy_weight", "own_weight"):
            require(getattr(self, name) >= 0, f"sugar-tc setting {name} must not be negative")
        require(
            self.prior_weight + self.ridge > 0 and self.ridge >= 0,
            "sugar-tc needs prior_weight + ridge above 0, or the tensor is not determined",
        )
        require(0 <= self.image_share <= 1, "sugar-tc setting image_share must be from 0 to 1")
        for name in ("bandwidth", "start_noise"):
            require(getattr(self, name) > 0, f"sugar-tc setting {name} must be above 0")

    def units_at_each_centre(self, n_images: int) -> int:
        """Return m_c for a collection of this many images."""
        if self.units_per_cluster is not None:
            return self.units_per_cluster
        centres = self.image_clusters + self.user_clusters
        affordable = n_images // (IMAGES_PER_UNIT * centres)
        return min(max(affordable, FEWEST_PER_CENTRE), MOST_PER_CENTRE)

    def fit(
        self, collection: Collection, *, engine: Engine, rng: np.random.Generator
    ) -> FittedSugarTC:
        """Choose anchors, link everything to them, complete their tensor."""
        collection.require_features("sugar-tc")
        graph = build_graph(self, collection, engine=engine, rng=rng)
        problem, prior = build_problem(self, collection, graph, engine=engine)
        completion = complete(self, problem, prior, engine=engine, rng=rng)
        fitted = _fitted(self, graph, completion)
        return self._on_one_scale(fitted, collection)

    def _on_one_scale(self, fitted: FittedSugarTC, collection: Collection) -> FittedSugarTC:
        """Measure what is subtracted from the scores, and what an own tag is worth in them."""
        if self.own_weight == 0 and not self.subtract_mean:
            return fitted
        scores = sampled_scores(fitted, collection)
        mean = scores.mean(axis=0, dtype=np.float64) * self.subtract_mean
        size = size_of_scores(scores - mean)
        return replace(fitted, mean_score=mean, own_weight=self.own_weight * size)


def _fitted(settings: SugarTC, graph: AnchorGraph, completion: Completion) -> FittedSugarTC:
    reconstruction = None
    if settings.scoring == "reconstruction" and completion.tensor is not None:
        reconstruction = Reconstruction.of(
            completion.tensor,
            graph.tag_affinity,
            np.asarray(graph.user_links.sum(axis=0), dtype=np.float64),
            image_share=settings.image_share,
        )
    sums = completion.anchor_sums()
    return FittedSugarTC(
        linker=graph.linker,
        unit_features=settings.unit_features,
        anchor_image=graph.units.image,
        anchor_user=graph.units.user,
        user_links=graph.user_links,
        assignment=Assignment(
            by_image=sums.by_image,
            by_user=sums.by_user,
            user_of_image=graph.units.user_of_image,
            n_neighbours=settings.neighbours,
            image_share=settings.image_share,
            user_neighbours=settings.user_neighbours,
        ),
        reconstruction=reconstruction,
        mean_score=np.zeros(sums.by_image.shape[1]),
        own_weight=0.0,
        keeps_columns=settings.anchor_scores == "column",
        objective=completion.objectives[-1],
        gap=completion.gap,
    )
