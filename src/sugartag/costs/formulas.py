"""The arrays that each method holds, in bytes: one line per method for memory, one for disk.

Each part is multiplied by a measured factor from ``calibration.json``, which
``benchmarks/calibrate_costs.py`` writes.
"""

import math
from collections.abc import Callable
from typing import Any

from sugartag.costs.size import Size

Parts = dict[str, float]
Formula = Callable[[Any, Size], Parts]

SCORED_ROWS = 1_024
"""Images that are scored at a time, whatever the size of a block."""
COMPONENTS = 512
"""Visual components that sugar-plus uses, at most."""
REFERENCES = 200
"""Reference images of each owner, at most."""
BYTES_OF_A_PAIR = 2 * 2 * 16.0
"""Of a product of two tags: a value and a place, in both sums, and once more while they are added.
"""
COUNTED = {"moments", "pairs"}
"""Parts that are counted in full: the runs that factors are fitted to have too little of them."""
WHITENED = ("sugar-plus", "tag-vote", "tag-vote-own", "tag-prop")
"""Methods that compute principal components of the features."""
COMPARING = ("tag-vote", "tag-vote-own", "tag-prop")
"""Methods each of whose threads compares a block with all images."""


def thread_parts(method: Any, size: Size, rows: int) -> Parts:
    """Return what each thread holds: a block of rows, and the scores of some images."""
    block = 4.0 * min(rows, size.images) * (size.tags + size.features)
    parts = {"block": block, "scores": 4.0 * min(SCORED_ROWS, size.images) * size.tags}
    if method.name in WHITENED:
        parts["moments"] = 8.0 * size.features**2
    if method.name == "sugar-plus":
        parts["pairs"] = pairs(method, size, rows)
    return parts | ({"images": size.images + size.given} if method.name in COMPARING else {})


def held_parts(method: Any, size: Size) -> Parts:
    """Return what is held once: something for each image and given tag, and the method's arrays."""
    images = {} if method.name in COMPARING else {"images": size.images + size.given}
    if method.name in WHITENED:
        # Their sum, the covariance, and what its eigenvectors are computed in.
        images["moments"] = 5 * 8.0 * size.features**2
    return images | MEMORY.get(method.name, dense)(method, size)


def disk_parts(method: Any, size: Size) -> Parts:
    """Return what the model folder holds: names, and the arrays of the method."""
    names = 20.0 * (size.images + size.owners + size.tags)
    return {"names": names, **DISK.get(method.name, dense)(method, size)}


def pairs(method: Any, size: Size, rows: int) -> float:
    """Return the bytes of the products of tags in a block, which are sparse where tags are few."""
    each = size.given / max(size.images, 1)
    entries = min(min(rows, size.images) * each**2, columns(method, size) * size.tags)
    return BYTES_OF_A_PAIR * entries


def references(size: Size) -> float:
    """Return the bytes of the reference images of all owners: 64 float32 numbers each."""
    return 4.0 * 64 * min(size.images, REFERENCES * size.owners)


def columns(method: Any, size: Size) -> float:
    """Return the columns of the regression of sugar-plus: tags, visual components, a constant."""
    predictors = min(size.tags, getattr(method, "max_predictors", size.tags))
    return predictors + min(size.features, COMPONENTS) + 1.0


def anchors(method: Any, size: Size) -> tuple[float, float]:
    """Return how many anchor images and anchor users sugar-tc chooses."""
    each = method.units_at_each_centre(size.images)
    images, owners = each * (method.image_clusters + method.user_clusters), max(size.owners, 1)
    if method.anchor_reading == "product":
        images = min(each * method.image_clusters * method.user_clusters, method.max_units)
    return float(images), owners * -math.expm1(-images / owners)


def tensor(method: Any, size: Size) -> float:
    """Return the bytes of the tensor of sugar-tc: tags x anchor images x anchor users."""
    images, users = anchors(method, size)
    return size.tags * images * users * (8.0 if method.precision == "float64" else 4.0)


def features(_: Any, size: Size) -> Parts:
    """Return the features of all images: what methods hold that compare images."""
    return {"features": 4.0 * size.images * size.features}


def dense(_: Any, size: Size) -> Parts:
    """Return a dense matrix of images and tags, and the features: for methods that complete it."""
    return {"dense": 8.0 * size.images * size.tags, "features": 4.0 * size.images * size.features}


def nothing(_method: Any, _size: Size) -> Parts:
    """Return no parts: for methods that hold counts of tags at most."""
    return {}


MEMORY: dict[str, Formula] = {
    # The factors of all parts are measured by benchmarks/calibrate_costs.py.
    "sugar-plus": lambda m, s: {
        "cross": 8.0 * columns(m, s) * s.tags,
        "gram": 2 * 8.0 * columns(m, s) ** 2,  # and its inverse
        "references": references(s),
    },
    "sugar-tc": lambda m, s: {"tensor": tensor(m, s)},
    "linear-probe": lambda _, s: {"sums": 8.0 * s.features * (s.features + s.tags)},
    "implicit-als": lambda _, s: {"factors": 4.0 * 64 * (s.images + s.tags)},
    "tag-vote": features,
    "tag-vote-own": features,
    "tag-prop": features,
    "tag-prior": nothing,
    "original": nothing,
}
DISK: dict[str, Formula] = {
    **MEMORY,
    "sugar-plus": lambda m, s: {"cross": 8.0 * columns(m, s) * s.tags, "references": references(s)},
    "sugar-tc": lambda m, s: {
        "anchors": 8.0 * sum(anchors(m, s)) * (s.tags + s.features),
        "tensor": tensor(m, s) if m.scoring == "reconstruction" else 0.0,
    },
    "linear-probe": lambda _, s: {"weights": 8.0 * s.features * s.tags},
    "implicit-als": lambda _, s: {"factors": 4.0 * 64 * s.tags},
    "trvsc": lambda m, s: {"tag graph": 8.0 * s.tags**2, **dense(m, s)},
    "nmc": lambda _, s: {"layers": 1_000.0 * (1_000 + s.tags + 2 * s.features)},
}
"""Other methods, also those of other packages, are taken to hold a dense matrix."""
