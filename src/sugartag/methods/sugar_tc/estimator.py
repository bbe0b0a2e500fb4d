"""SUGAR-TC: social anchor-unit graph regularised tensor completion, after the paper.

The stages are the packages of sugartag: anchor units, links and affinities, completion,
assignment. docs/method.md lists which equation is where, and each repair the paper needs to run.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from sugartag.assignment.assign import Assignment, UserNeighbours
from sugartag.collection.model import Collection
from sugartag.completion import Completion
from sugartag.engine.base import Engine
from sugartag.methods.settings import require
from sugartag.methods.sugar_tc.fitted import FittedSugarTC
from sugartag.methods.sugar_tc.stages import AnchorGraph, build_graph, build_problem, complete

IMAGES_PER_UNIT = 100
"""Images that each anchor unit stands for at least, unless the settings say how many there are;
477 in the paper."""
FEWEST_PER_CENTRE, MOST_PER_CENTRE = 3, 10


@dataclass(frozen=True)
class SugarTC:
    """Settings of SUGAR-TC; each names the paper's symbol and default."""

    name: ClassVar[str] = "sugar-tc"
    summary: ClassVar[str] = (
        "The paper: a tensor of tags, anchor images and anchor users, completed."
    )
    fitted_type: ClassVar[type[FittedSugarTC]] = FittedSugarTC

    image_clusters: int = 40
    """C_i: cluster centres of images; 40 in the paper."""
    user_clusters: int = 12
    """C_u: cluster centres of users; 12 in the paper."""
    units_per_cluster: int | None = None
    """m_c: anchor units taken at each centre; 10 in the paper. None takes 10 where there are 100
    images for each unit, fewer in smaller collections, 3 at least."""
    anchor_reading: Literal["sum", "image", "product", "cocluster"] = "sum"
    """How the centres give the units; "sum" gives the 520 that the paper's memory figure says."""
    max_units: int = 1000
    """Cap for the reading "product", which would ask for 4,800."""
    unit_features: bool = True
    """Scale features to length 1 before they are compared; the paper does not say."""
    bandwidth: float | None = None
    """σ of eq. 1; the paper's 2.5 fits no normalisation of features, None tunes it to the data."""
    link_cutoff: float = 1e-4
    """Weaker image links are dropped; 1e-4 in the paper."""
    links_per_image: int = 20
    """At most so many anchors an image is linked to; the paper's memory implies 19."""
    links_per_user: int = 20
    """At most so many links of an owner without groups, who is linked by tag profile."""
    strict: bool = False
    """Leave out owners without groups and images of anchor users, as the paper's sets do."""
    cooccurrence_weight: float = 0.9
    """a₁ of eq. 5; 0.9 in the paper."""
    taxonomy_weight: float = 0.1
    """a₂ of eq. 5; 0.1 in the paper."""
    links_per_tag: int = 10
    """Strongest affinities kept a tag; the paper keeps all, which would swamp the diagonal."""
    prior_weight: float = 0.005
    """α; 0.005 in the paper."""
    ridge: float = 0.001
    """β; 0.001 in the paper."""
    image_smoothness: float = 0.1
    """λ₁; 0.1 in the paper."""
    user_smoothness: float = 0.05
    """λ₂; 0.05 in the paper."""
    solver: Literal["multiplicative", "exact", "nonnegative"] = "multiplicative"
    """How the tensor is completed; "exact" is far faster and goes with scoring=reconstruction."""
    tag_components: int | None = None
    """Eigenvectors of the tag affinity that the solver "exact" keeps, the others being taken for
    alike; None keeps all. The model says what that may cost at most, as its gap."""
    max_iterations: int = 500
    """Updates at most; the paper needed about 450."""
    tolerance: float = 1e-5
    """Relative change of the objective that ends the updates; 1e-5 in the paper."""
    gap_tolerance: float = 1e-4
    """Relative gap that ends the solver "nonnegative"."""
    scoring: Literal["assignment", "reconstruction"] = "assignment"
    """Eq. 12, or the model's own reconstruction of each post."""
    neighbours: int = 10
    """s of eq. 12; the paper does not say."""
    image_share: float = 0.8
    """γ of eq. 12; 0.8 in the paper."""
    user_neighbours: UserNeighbours = "unit"
    """⟨k⟩ of eq. 12: "unit" takes the owners of the nearest anchor images, as the text has it."""
    precision: Literal["float64", "float32"] = "float64"
    """Numbers of the tensor; float32 halves its memory."""

    def __post_init__(self) -> None:
        counts = ("image_clusters", "user_clusters", "max_units")
        links = ("links_per_image", "links_per_tag", "links_per_user")
        for name in (*counts, *links, "neighbours", "max_iterations"):
            require(getattr(self, name) >= 1, f"sugar-tc setting {name} must be at least 1")
        require(
            self.units_per_cluster is None or self.units_per_cluster >= 1,
            "sugar-tc setting units_per_cluster must be at least 1, or none",
        )
        require(
            self.tag_components is None or self.tag_components >= 1,
            "sugar-tc setting tag_components must be at least 1, or none",
        )
        require(
            self.tag_components is None or self.solver == "exact",
            f"sugar-tc setting tag_components is for solver=exact, not {self.solver}",
        )
        weights = ("prior_weight", "image_smoothness", "user_smoothness", "link_cutoff")
        for name in (*weights, "cooccurrence_weight", "taxonomy_weight"):
            require(getattr(self, name) >= 0, f"sugar-tc setting {name} must not be negative")
        require(
            self.prior_weight + self.ridge > 0 and self.ridge >= 0,
            "sugar-tc needs prior_weight + ridge above 0, or the tensor is not determined",
        )
        require(0 <= self.image_share <= 1, "sugar-tc setting image_share must be from 0 to 1")
        require(
            self.bandwidth is None or self.bandwidth > 0,
            "sugar-tc setting bandwidth must be above 0, or none",
        )

    def units_at_each_centre(self, n_images: int) -> int:
        """Return m_c for a collection of so many images."""
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
        completion = complete(self, problem, prior, rng=rng)
        return _fitted(self, graph, completion)


def _fitted(settings: SugarTC, graph: AnchorGraph, completion: Completion) -> FittedSugarTC:
    keeps_tensor = settings.scoring == "reconstruction"
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
        tensor=completion.tensor if keeps_tensor else None,
        tag_affinity=graph.tag_affinity if keeps_tensor else None,
        objective=completion.objectives[-1],
        gap=completion.gap,
    )
