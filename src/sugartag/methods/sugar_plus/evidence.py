"""What is known of an image, as columns that a ridge regression can weigh.

Sparse columns are the image's tags and the words of its title. Dense ones are its likeness to the
anchors, which are centres of many images and so belong to nobody, and the taste of its owner's
groups: what the other members tag, never the owner's own habits.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.anchors.clusters import k_means_centres, sampled_features
from sugartag.anchors.owners import owner_profiles
from sugartag.collection.model import Collection, Rows
from sugartag.collection.subset import tag_counts
from sugartag.collection.texts import Texts
from sugartag.engine.base import Engine, row_blocks
from sugartag.linalg.main_directions import main_directions
from sugartag.linalg.nystrom import median_width
from sugartag.linalg.sparse_rows import chosen_columns
from sugartag.methods.sugar_plus.likeness import IMAGES_AT_ONCE, Kernel, likeness

SAMPLE = 10_000
"""Images that anchors and distances are found on."""
USUAL_WIDTH = 1.4
"""Of the likeness to an anchor, in median distances of two images."""
MIN_USES = 2
"""A tag or a word that only one image has says nothing about others."""
MAX_WORDS = 2_000
WORD = re.compile(r"[^\W\d_]{2,}")
TASTE_SHRINKAGE = 2.0
"""Images of nobody's taste that a group's are averaged with."""


@dataclass(frozen=True)
class EvidencePlan:
    """How much evidence is taken."""

    anchors: int
    max_predictors: int
    titles: bool
    tastes: int
    unit_features: bool


@dataclass(frozen=True, eq=False)
class Evidence:
    """Turns images into the columns of the regression."""

    predictor: IntArray
    """The tags that say something about others, ascending."""
    words: Texts
    """The words of titles that do."""
    anchors: FloatArray
    """Anchors x features, float32; without rows where the collection has no features."""
    median: float
    """The median distance of two images."""
    width: float
    """sigma of the likeness to an anchor, exp(-d^2 / sigma^2)."""
    centre: FloatArray
    """The mean likeness of all anchors to each, taken off: small numbers add up more exactly."""
    taste: FloatArray
    """Owners and, last, nobody x tastes of their groups; float32."""
    n_tags: int
    unit_features: bool

    @property
    def n_sparse(self) -> int:
        """How many columns are sparse: tags first, then words."""
        return len(self.predictor) + len(self.words)

    @property
    def n_dense(self) -> int:
        """How many columns are dense: anchors first, then tastes."""
        return len(self.anchors) + int(self.taste.shape[1])

    def known(self, tags: SparseRows, words: SparseRows) -> SparseRows:
        """Return images x sparse columns, from all their tags and the words of their titles."""
        columns = chosen_columns(tags, self.predictor)
        if not words.shape[1]:
            return columns
        return sparse.csr_array(sparse.hstack([columns, words], format="csr"))

    def words_of(self, rows: Rows) -> SparseRows:
        """Return images x words, 1 where the title has the word."""
        return _word_rows(rows, self.words)

    def dense(self, rows: Rows) -> FloatArray:
        """Return images x dense columns, float32."""
        taste = self.taste[np.minimum(rows.owner, len(self.taste) - 1)]
        n = len(self.anchors)
        if not n:
            return taste
        features = rows.features_like(self.anchors.shape[1])
        found = np.empty((len(rows), self.n_dense), dtype=np.float32)
        for some in row_blocks(len(rows), IMAGES_AT_ONCE):
            near = self._kernel.at(features[some], self.unit_features)
            np.subtract(near, self.centre, out=found[some, :n])
        found[:, n:] = taste
        return found

    @cached_property
    def _kernel(self) -> "Kernel":
        return Kernel.of(self.anchors, self.width)

    def with_kernel(self, kernel_width: float, anchors: int) -> "Evidence":
        """Return the same with another width, in median distances, and only so many anchors.

        They are the first of those there are.
        """
        if not len(self.anchors):
            return self
        width, some = kernel_width * self.median, self.anchors[:anchors]
        centre = likeness(some, some, width).mean(axis=0, dtype=np.float64)
        return replace(self, anchors=some, width=width, centre=centre.astype(np.float32))


def gather_evidence(
    plan: EvidencePlan,
    collection: Collection,
    *,
    engine: Engine,
    rng: np.random.Generator,
) -> Evidence:
    """Choose the tags, words, anchors and tastes that images are described by."""
    counts = tag_counts(collection)
    most_used = np.argsort(-counts, kind="stable")[: plan.max_predictors]
    n_features = collection.n_features if plan.anchors else 0
    bare = Evidence(
        predictor=np.sort(most_used[counts[most_used] >= MIN_USES]),
        words=_title_words(collection) if plan.titles else Texts.of([]),
        anchors=np.zeros((0, n_features), dtype=np.float32),
        median=1.0,
        width=1.0,
        centre=np.zeros(0, dtype=np.float32),
        taste=_group_tastes(plan.tastes, collection, engine=engine),
        n_tags=collection.n_tags,
        unit_features=plan.unit_features,
    )
    return bare if n_features == 0 else _with_anchors(bare, plan, collection, engine, rng)


def _with_anchors(
    bare: Evidence,
    plan: EvidencePlan,
    collection: Collection,
    engine: Engine,
    rng: np.random.Generator,
) -> Evidence:
    threads = engine.threads
    sample = sampled_features(
        collection, SAMPLE, unit_features=plan.unit_features, rng=rng, threads=threads
    ).astype(np.float32)
    # An anchor must stand for several images, or it would be somebody's.
    count = max(1, min(plan.anchors, len(sample) // 4))
    median = median_width(sample, threads=threads)
    centres = k_means_centres(sample, count, rng=rng, threads=threads)
    return replace(bare, anchors=centres, median=median).with_kernel(USUAL_WIDTH, count)


def _title_words(collection: Collection) -> Texts:
    titles = collection.texts_of("titles")
    if titles is None:
        return Texts.of([])
    uses = Counter(word for title in titles for word in words_of(title))
    often = [(word, count) for word, count in uses.items() if count >= MIN_USES]
    often.sort(key=lambda pair: (-pair[1], pair[0]))
    return Texts.of(sorted(word for word, _ in often[:MAX_WORDS]))


def words_of(title: str) -> set[str]:
    """Return the words of a title, in lower case: runs of two letters or more."""
    return set(WORD.findall(title.casefold()))


def _word_rows(rows: Rows, words: Texts) -> SparseRows:
    place = {word: number for number, word in enumerate(words)}
    titles: Iterable[str] = rows.titles if rows.titles is not None and place else ()
    found = [
        (row, place[word])
        for row, title in enumerate(titles)
        for word in sorted(words_of(title))
        if word in place
    ]
    pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
    ones = np.ones(len(pairs), dtype=np.float32)
    shape = (len(rows), len(place))
    return sparse.csr_array((ones, (pairs[:, 0], pairs[:, 1])), shape=shape)


def _group_tastes(count: int, collection: Collection, *, engine: Engine) -> FloatArray:
    """Return owners and, last, nobody x tastes, float32: how the other members of groups tag."""
    if collection.groups.nnz == 0 or count == 0:
        return np.zeros((collection.n_owners + 1, 0), dtype=np.float32)
    profiles = owner_profiles(collection, engine=engine)
    owned = np.bincount(collection.owner, minlength=collection.n_owners + 1)[:-1]
    mean = profiles.sum(axis=0) / max(int(owned.sum()), 1)
    directions = main_directions(profiles, min(count, *profiles.shape), threads=engine.threads)
    coordinates = profiles @ directions - np.multiply.outer(owned, mean @ directions)
    members = collection.groups.astype(np.float64)
    # A group's sum, less the owner's own part of it, once for each of the owner's groups.
    joined = np.asarray(members.sum(axis=1)).ravel()
    others = members @ (members.T @ coordinates) - joined[:, None] * coordinates
    images = members @ (members.T @ owned) - joined * owned
    taste = engine.room((collection.n_owners + 1, others.shape[1]), np.float32)
    taste[:-1] = others / (images + TASTE_SHRINKAGE)[:, None]
    return taste
