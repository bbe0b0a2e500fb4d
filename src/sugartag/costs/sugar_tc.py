"""What SUGAR-TC takes: one pass to the anchors, then a tensor whatever the number of images.

Letters: n images, T tags, f features, a anchor images, u anchor users.
"""

import math
from dataclasses import dataclass

from sugartag.anchors.clusters import SAMPLE_SIZE
from sugartag.costs.size import Size
from sugartag.costs.work import Stage, Work
from sugartag.methods.sugar_tc import SugarTC

K_MEANS_ROUNDS = 30
CONJUGATE_STEPS = 6
"""Steps of the exact solver, about, with the residuals that are measured before and after."""
DISTINCT = 0.9
UPDATED = 25.0
"""Times that an update goes through its tensors, beside its products."""
NONNEGATIVE_SOLVES = 4
"""Exact solves that the solver "nonnegative" takes the time of, about."""
SCORED_ROWS = 1_024


@dataclass(frozen=True)
class Shape:
    """The letters."""

    n: float
    T: float
    f: float
    a: float
    u: float
    number: float
    """Bytes of a number of the tensor."""

    @classmethod
    def of(cls, method: SugarTC, size: Size) -> "Shape":
        """Return the letters."""
        each = method.units_at_each_centre(size.images)
        centres = method.image_clusters + method.user_clusters
        if method.anchor_reading == "image":
            anchors: float = method.image_clusters * each
            users = min(float(size.owners), float(method.user_clusters * each))
        else:
            anchors = each * centres
            if method.anchor_reading == "product":
                anchors = min(each * method.image_clusters * method.user_clusters, method.max_units)
            # Distinct owners of as many images drawn at random, a few less: busy owners come twice.
            owners = max(size.owners, 1)
            users = DISTINCT * owners * (1.0 - math.exp(-anchors / owners))
        number = 8.0 if method.precision == "float64" else 4.0
        return cls(size.images, size.tags, size.features, anchors, max(users, 1.0), number)

    @property
    def tensor(self) -> float:
        """Bytes of the tensor."""
        return self.T * self.a * self.u * self.number


def fit_stages(method: SugarTC, size: Size, rows: int, iterations: float) -> list[Stage]:
    """Return the stages of one fit; ``iterations`` is what the paper's solver is said to take."""
    shape = Shape.of(method, size)
    images = 60.0 * size.given + 70.0 * size.images
    return [
        _anchors(method, size, shape, rows, images),
        _projecting(method, size, shape, rows, images),
        _completing(method, size, shape, iterations, images),
    ]


def _anchors(method: SugarTC, size: Size, shape: Shape, rows: int, images: float) -> Stage:
    """k-means of a sample, the nearest centre of every image, owners, and how tags go together."""
    n, f = shape.n, shape.f
    sample = min(n, SAMPLE_SIZE)
    centres = method.image_clusters
    return Stage(
        "anchors",
        passes=Work(
            product64=2.0 * n * f * centres,
            copied=n * f * 40.0 + n * centres * 32.0,
            sparse=10.0 * n * size.tags_each**2 + 20.0 * size.given,
            read=n * f * size.feature_bytes,
        ),
        serial=Work(
            product64=2.0 * sample * f * centres * K_MEANS_ROUNDS,
            sparse=(size.owner_tags + size.memberships) * 26.0 * 20.0
            + max(1.0, n / rows) * 20.0 * min(size.tags**2, rows * size.tags_each**2),
            calls=300.0 * size.tags,
            copied=40.0 * min(float(size.tags) ** 2, n * size.tags_each**2),
        ),
        n_passes=3,
        held=images
        + 32.0 * sample * f
        + 40.0 * size.owner_tags
        + 60.0 * min(float(size.tags) ** 2, n * size.tags_each**2),
        block=min(rows, size.images) * (f * 36.0 + centres * 24.0),
        answer=16.0 * rows,
    )


def _projecting(method: SugarTC, size: Size, shape: Shape, rows: int, images: float) -> Stage:
    """Link every image to its nearest anchors, and add its post to the tensor."""
    n, links = shape.n, float(min(method.links_per_image, shape.a))
    block = min(rows, size.images)
    return Stage(
        "projecting",
        passes=Work(
            product64=2.0 * n * shape.f * shape.a,
            copied=n * (shape.f * 40.0 + shape.a * 80.0),
            sparse=20.0 * n * links**2,
            read=n * shape.f * size.feature_bytes,
        ),
        # Posts are added by the process that leads, tag by tag: of a rare tag, few anchors.
        serial=Work(
            product64=2.0 * size.given * min(shape.a, 3.0 * links) * shape.u,
            copied=n * (shape.a + shape.u) * 16.0 + size.given * (shape.a + shape.u) * 16.0,
            sparse=10.0 * shape.T * shape.a * shape.u,
            calls=20.0 * max(1.0, n / block) * shape.T,
        ),
        n_passes=1,
        held=images + shape.tensor + block * (shape.a + shape.u) * 16.0,
        block=block * (shape.f * 36.0 + shape.a * 40.0) + 48.0 * shape.a**2,
        shared=8.0 * shape.a * shape.f + shape.n,
        answer=block * links * 12.0 + 16.0 * shape.a**2,
    )


def _completing(
    method: SugarTC, size: Size, shape: Shape, iterations: float, images: float
) -> Stage:
    """Solve for the tensor; slabs of it on all cores."""
    cells = shape.T * shape.a * shape.u
    if method.solver == "multiplicative":
        # The last objective is measured apart, which is about one update more.
        steps = min(iterations, float(method.max_iterations)) + 1.0
        return Stage(
            "completing",
            threaded=Work(product64=6.0 * cells * (shape.a + shape.u)) * steps,
            # Affinities and arithmetic wait for memory, which all cores share.
            serial=Work(copied=UPDATED * shape.number * cells) * steps,
            # The target, the tensor, and room for its products.
            held=images + 3.1 * shape.tensor,
        )
    solves = 1.0 if method.solver == "exact" else float(NONNEGATIVE_SOLVES)
    # Into the bases and, where more than sums are wanted, back; and so for the tags.
    turns = 1.0 if method.scoring == "assignment" else 2.0
    step = 2.0 * cells * (shape.a + shape.u)
    turned, more = turns * shape.T, 0.0
    if method.tag_components is not None and method.tag_components < shape.T:
        # Taken out and, where more than sums are wanted, put back; and solved beside all tags.
        turned = (turns + 1.0) * method.tag_components
        more = method.tag_components / shape.T
    return Stage(
        "completing",
        threaded=Work(
            product64=(1.0 + more) * (CONJUGATE_STEPS + turns) * step + 2.0 * cells * turned,
            copied=(1.0 + more) * CONJUGATE_STEPS * 20.0 * shape.number * cells,
        )
        * solves,
        serial=Work(product64=10.0 * shape.T**3 + 20.0 * (shape.a**3 + shape.u**3)),
        # The exact solver works in its target.
        held=images
        + (1.05 + more if method.solver == "exact" else 6.0) * shape.tensor
        + 8.0 * shape.T**2 * 4.0,
    )


def score_stage(
    name: str, method: SugarTC, size: Size, n_scored: float, *, verdicts: bool
) -> Stage:
    """Return what scoring some images takes."""
    shape = Shape.of(method, size)
    whole = method.scoring == "reconstruction"
    entries = method.links_per_image * method.links_per_user if whole else 2 * method.neighbours
    tensor = shape.tensor if whole else 0.0
    learned = 8.0 * (shape.a + shape.u) * shape.T
    return Stage(
        name,
        passes=Work(
            product64=2.0 * n_scored * shape.f * shape.a,
            sparse=n_scored * entries * shape.T,
            copied=n_scored * (shape.T * 100.0 + shape.a * 80.0)
            + n_scored / SCORED_ROWS * 2.0 * tensor,
            calls=(150.0 if verdicts else 10.0) * n_scored,
        ),
        n_passes=1,
        held=60.0 * size.given + 70.0 * size.images + learned + tensor,
        block=SCORED_ROWS * (shape.T * 40.0 + shape.a * 40.0),
        shared=learned + tensor,
        answer=SCORED_ROWS * 400.0,
    )


def disk(method: SugarTC, size: Size) -> float:
    """Return the bytes of the model folder."""
    shape = Shape.of(method, size)
    tensor = shape.tensor if method.scoring == "reconstruction" else 0.0
    learned = 8.0 * (shape.a + shape.u) * shape.T + 8.0 * shape.a * shape.f
    links = 12.0 * size.owners * min(shape.u, 12.0) + 8.0 * size.owners
    return tensor + learned + links + size.images * 20.0 + size.owners * 20.0 + size.tags * 40.0
