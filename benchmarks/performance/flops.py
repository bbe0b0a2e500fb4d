"""How many floating-point operations a method needs, from its formulas and the sizes at hand.

Only what its closed form cannot do without is counted, a multiplication and an addition as two; an
operation in double precision counts as two in single precision. Of symmetric products one half is
counted, products with sparse rows by their entries. Exponentials, sorting, copying and what is
computed on a sample of the images are left out.
"""

from dataclasses import asdict
from typing import Any, cast

from sugartag.collection.model import Collection
from sugartag.methods.base import Fitted, Method
from sugartag.methods.linear_probe import FittedLinearProbe
from sugartag.methods.sugar_tc.fitted import FittedSugarTC
from sugartag.methods.tag_vote import FittedTagVote

OURS = "sugar-plus"
"""The method whose floor is stated."""


def fit_flops(method: Method, collection: Collection) -> dict[str, float] | None:
    """Return what fitting and scoring all images needs, by part; None but for sugar-plus.

    With N images, d features, T tags, D components, P tags that predict and K = P + D + 1.
    """
    if method.name != OURS:
        return None
    n, d, tags = float(collection.n_images), collection.n_features, collection.n_tags
    components, predictors = _predictors(method, collection)
    width = predictors + components + 1.0
    return {
        "moments of the features": n * d * d,
        # Once for the statistics, once for the scores.
        "components": 2.0 * (2.0 * n * d * components),
        "Gram matrix": n * components**2,
        # By Cholesky's factors, in double precision.
        "inverse": 2.0 * width**3,
        "weights": 2.0 * width**2 * tags,
        "scores": n * _products(method, collection),
    }


def scoring_flops(method: Method, fitted: Fitted, collection: Collection) -> float | None:
    """Return what scoring one image needs; None for a search whose walk nobody can foresee."""
    d, tags = collection.n_features, collection.n_tags
    if method.name == OURS:
        return 2.0 * d * _predictors(method, collection)[0] + _products(method, collection)
    if isinstance(fitted, FittedSugarTC):
        # Distances to the anchors; then the neighbours' rows, by image and by user.
        return 2.0 * d * len(fitted.anchor_image) + 4.0 * fitted.assignment.n_neighbours * tags
    if isinstance(fitted, FittedLinearProbe):
        # Its weights are in double precision; leaving an image out takes a product with itself.
        return 2.0 * (2.0 * d * (tags + (0 if fitted.inverse is None else d)))
    if isinstance(fitted, FittedTagVote) and fitted.search == "exact":
        whitening, n = fitted.whitening, collection.n_images
        votes = fitted.neighbours * _mean_given(collection)
        if whitening is None:
            return 2.0 * d * n + votes
        k = whitening.n_components
        return 2.0 * k * n + 2.0 * (2.0 * d * k) + votes
    return None


def _predictors(method: Method, collection: Collection) -> tuple[int, int]:
    """Return how many components and how many tags predict."""
    settings = asdict(cast("Any", method))
    components = min(settings["components"], collection.n_features)
    return components, min(settings["max_predictors"], collection.n_tags)


def _products(method: Method, collection: Collection) -> float:
    """Return what the scores of an image need: both views of its components, and its tags."""
    components, _ = _predictors(method, collection)
    dense = 2.0 * components + 3.0
    return 2.0 * (dense + _mean_given(collection)) * collection.n_tags


def _mean_given(collection: Collection) -> float:
    return float(sum(shard.tags.nnz for shard in collection.shards)) / collection.n_images
