"""How many floating-point operations a method needs, from its formulas and the sizes at hand.

Only what no other order of work could avoid is counted, a multiplication and an addition as two;
an operation in double precision counts as two in single precision. Products with sparse rows are
counted by their entries. Exponentials, sorting and copying are left out.
"""

import numpy as np

from sugartag.collection.model import Collection
from sugartag.methods.base import Fitted, Method
from sugartag.methods.linear_probe import FittedLinearProbe
from sugartag.methods.sugar_plus import SugarPlus
from sugartag.methods.sugar_plus.fitted import FittedSugarPlus
from sugartag.methods.sugar_plus.looked_at import SIGHT_FOLDS, images_looked_at
from sugartag.methods.sugar_plus.seeing import PENALTIES
from sugartag.methods.sugar_plus.seeing import STEPS as SIGHT_STEPS
from sugartag.methods.sugar_plus.sight import Sight
from sugartag.methods.sugar_tc_fitted import FittedSugarTC
from sugartag.methods.tag_vote import FittedTagVote


def fit_flops(method: Method, fitted: Fitted, collection: Collection) -> dict[str, float] | None:
    """Return what fitting and scoring all images needs, by part; None where nobody counted."""
    if not isinstance(method, SugarPlus) or not isinstance(fitted, FittedSugarPlus):
        return None
    evidence = fitted.evidence
    n, given = float(collection.n_images), _given(collection)
    r, p, tags = evidence.n_dense, evidence.n_sparse, evidence.n_tags
    rare = tags - len(evidence.predictor)
    rounds = 1 + method.trust_rounds
    columns = float(p + r)
    # Sums of a round: dense x dense (symmetric, so half of it), dense x given tags, pairs of tags;
    # and those of owners, in double precision.
    gram = n * r * r + 2.0 * given * r + given * given / n
    gram += 2.0 * collection.n_owners * r * r
    # The inverse of the Gram matrix, and its product with the rare tags, in double precision.
    solving = 2.0 * (columns**3 + 2.0 * columns**2 * rare)
    # Of every image d P d', d being its dense columns; and these at its given tags.
    judging_given = n * r * r + 2.0 * given * r
    found = {
        # Once to fit, once to score.
        "likeness": 2.0 * (2.0 * n * collection.n_features * len(evidence.anchors)),
        "short descriptions": 2.0 * n * _describing(fitted),
        "gram": rounds * gram,
        "solving": rounds * solving,
        "judging given tags": rounds * judging_given,
        "scoring": n * (_judging(fitted, collection) + _seeing(fitted) + _asking(fitted)),
    }
    if fitted.sight is not None:
        each, anew = _judging(fitted, collection), gram + SIGHT_FOLDS * solving
        found["sight"] = _learning_sight(fitted.sight, collection.n_images, each, anew)
    return found


def _learning_sight(sight: Sight, n_images: int, each: float, anew: float) -> float:
    """Return what learning sight needs: ``each`` to judge an image, ``anew`` to regress in folds.

    Where only some images are looked at, they are judged once, by the regression of all.
    """
    looked_at = images_looked_at(n_images)
    cells = float(looked_at * sight.weights[0].size)
    learning = len(PENALTIES) * (SIGHT_FOLDS - 1.0) * 2.0 * SIGHT_STEPS * 2.0 * cells
    if looked_at < n_images:
        return learning + looked_at * each
    return learning + (SIGHT_FOLDS - 1.0) * looked_at * each + anew


def scoring_flops(fitted: Fitted, collection: Collection) -> float | None:
    """Return what scoring one image needs; None for a search whose walk nobody can foresee."""
    d, tags = collection.n_features, collection.n_tags
    mean_given = _given(collection) / collection.n_images
    if isinstance(fitted, FittedSugarPlus):
        anchors = len(fitted.evidence.anchors)
        looks = 2.0 * d * anchors + _describing(fitted)
        return looks + _judging(fitted, collection) + _seeing(fitted) + _asking(fitted)
    if isinstance(fitted, FittedSugarTC):
        # Distances to the anchors; then the neighbours' rows, by image and by user.
        return 2.0 * d * len(fitted.anchor_image) + 4.0 * fitted.assignment.n_neighbours * tags
    if isinstance(fitted, FittedLinearProbe):
        # Its weights are in double precision; leaving an image out takes a product with itself.
        return 2.0 * (2.0 * d * (tags + (0 if fitted.inverse is None else d)))
    if isinstance(fitted, FittedTagVote) and fitted.search == "exact":
        whitening, n = fitted.whitening, collection.n_images
        if whitening is None:
            return 2.0 * d * n + fitted.neighbours * mean_given
        k = whitening.n_components
        return 2.0 * k * n + 2.0 * (2.0 * d * k) + fitted.neighbours * mean_given
    return None


def _judging(fitted: FittedSugarPlus, collection: Collection) -> float:
    """Return what an image needs once its likeness to the anchors is known.

    Its dense columns and its tags go through the weights, tags as given and as far as they were
    believed. To leave it out of its own prediction it needs d P d', d being its dense columns, and
    P d' at its tags. The sums of its owner, if there are others, go through the weights and through
    P once for all of the owner's images.
    """
    r, tags = fitted.evidence.n_dense, fitted.evidence.n_tags
    mean_given = _given(collection) / collection.n_images
    owners_per_image = _owners_of_several(collection) / collection.n_images
    through = 2.0 * (r * (1.0 + owners_per_image) + 2.0 * mean_given) * tags
    return through + r * r + 2.0 * mean_given * r + 2.0 * owners_per_image * r * r


def _describing(fitted: FittedSugarPlus) -> float:
    """Return what the short description of an image needs that look-alikes are found by."""
    return 2.0 * float(fitted.look_alikes.directions.size)


def _seeing(fitted: FittedSugarPlus) -> float:
    """Return what sight needs of an image: its directions, and these through the weights."""
    if fitted.sight is None:
        return 0.0
    return 2.0 * float(fitted.sight.directions.axes.size + fitted.sight.weights[0].size)


def _asking(fitted: FittedSugarPlus) -> float:
    """Return what it needs to say what an image is about, and what images about it have.

    Learning it is a small part of all work, and left out.
    """
    if fitted.subjects is None:
        return 0.0
    looks = fitted.subjects.directions.axes.size + fitted.subjects.by_looks[0].size
    return 2.0 * float(looks + fitted.subjects.rate[0].size)


def _owners_of_several(collection: Collection) -> int:
    """Return how many owners have more than one image."""
    images = np.bincount(collection.owner, minlength=collection.nobody)[: collection.nobody]
    return int(np.count_nonzero(images > 1))


def _given(collection: Collection) -> float:
    return float(sum(shard.tags.nnz for shard in collection.shards))
