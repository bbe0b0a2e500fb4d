"""The formulas of sugar-plus written out slowly, and a small collection to try them on."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from planted import planted_collection
from sugartag.collection.model import Collection, Rows
from sugartag.collection.texts import Texts
from sugartag.engine import LocalEngine
from sugartag.linalg.sparse_rows import same_places
from sugartag.methods.sugar_plus.evidence import Evidence, EvidencePlan, gather_evidence
from sugartag.methods.sugar_plus.learning import tags_as_given
from sugartag.methods.sugar_plus.ridge import Ridge
from sugartag.methods.sugar_plus.slips import Slips
from sugartag.methods.sugar_plus.sums import add_up

PLAN = EvidencePlan(anchors=12, max_predictors=30, titles=True, tastes=3, unit_features=True)
TITLE_WORDS = np.array(["boat", "hill", "red", "old", "sea"])


def odd_collection() -> Collection:
    """Return 600 images, most of them titled, every twentieth of nobody."""
    made = planted_collection()
    (shard,) = made.shards
    rng = np.random.default_rng(3)
    has = rng.random((made.n_images, len(TITLE_WORDS))) < 0.3
    titles = Texts.of(" ".join(TITLE_WORDS[row]) for row in has)
    owner = shard.owner.copy()
    owner[4::20] = made.nobody
    return replace(made, shards=(replace(shard, titles=titles, owner=owner),))


def evidence_of(collection: Collection, plan: EvidencePlan = PLAN) -> Evidence:
    return gather_evidence(plan, collection, engine=LocalEngine(), rng=np.random.default_rng(0))


def all_rows(collection: Collection) -> Rows:
    return collection.rows(slice(0, collection.n_images))


def partly_trusted(collection: Collection) -> sparse.csr_array:
    """Return the tags of the images, each trusted to some degree."""
    given = tags_as_given(collection)
    trust = np.random.default_rng(1).uniform(0.2, 1.0, given.nnz).astype(np.float32)
    return same_places(trust, given)


def ridge_of(
    collection: Collection,
    evidence: Evidence,
    trusted: sparse.csr_array,
    penalty: np.ndarray,
    variance: float,
) -> Ridge:
    sums = add_up(collection, evidence, trusted, engine=LocalEngine())
    return Ridge.solved(sums, evidence, penalty, variance)


def columns_of(rows: Rows, tags: np.ndarray, evidence: Evidence) -> np.ndarray:
    """Return images x columns of the regression, not centred: tags, words, anchors, tastes."""
    words = np.zeros((len(rows), len(evidence.words)))
    for row, title in enumerate(rows.titles or ()):
        for place, word in enumerate(evidence.words):
            words[row, place] = word in title.split()
    features = rows.features.astype(float)
    if evidence.unit_features:
        features /= np.linalg.norm(features, axis=1)[:, None]
    anchors = evidence.anchors.astype(float)
    apart = np.square(features[:, None] - anchors).sum(axis=2)
    likeness = np.exp(-apart / evidence.width**2) - evidence.centre
    taste = evidence.taste[np.minimum(rows.owner, len(evidence.taste) - 1)]
    return np.hstack([tags[:, evidence.predictor], words, likeness, taste])


def covariance_of(owner: np.ndarray, nobody: int, variance: float) -> np.ndarray:
    """Return V: the identity, plus the variance where two images have the same owner."""
    same = (owner[:, None] == owner) & (owner[:, None] < nobody)
    return np.eye(len(owner)) + variance * same


def regression(
    columns: np.ndarray,
    wanted: np.ndarray,
    covariance: np.ndarray,
    penalty: np.ndarray,
    without: np.ndarray,
) -> np.ndarray:
    """Return the weights of one tag by generalised least squares, some columns left out."""
    kept = np.setdiff1d(np.arange(columns.shape[1]), without)
    whitened = np.linalg.solve(covariance, columns[:, kept])
    found = np.zeros(columns.shape[1])
    gram = whitened.T @ columns[:, kept] + np.diag(penalty[kept])
    found[kept] = np.linalg.solve(gram, whitened.T @ wanted)
    return found


def slips_of(n_tags: int, rate: float, wrong: float = 1.0) -> Slips:
    """Return the same slips for all tags."""
    return Slips(np.full(n_tags, rate, np.float32), np.full(n_tags, wrong, np.float32))
