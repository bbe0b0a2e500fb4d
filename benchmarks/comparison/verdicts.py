"""How good verdicts are: what is fitted and judged in each experiment with real collections."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from comparison.imported import fewer_images
from sugartag._typing import BoolArray, FloatArray, IntArray
from sugartag.collection.model import Collection
from sugartag.collection.subset import inject_tags, some_images, without_truth
from sugartag.engine.base import Engine
from sugartag.evaluation.verdicts import VerdictCounts
from sugartag.methods.registry import make_method
from sugartag.methods.sugar_plus import FittedSugarPlus
from sugartag.pipeline.fitting import DEFAULT_METHOD, fit_model
from sugartag.pipeline.judging import Answers, disturb, judge
from sugartag.pipeline.model import Model
from sugartag.pipeline.propose import Thresholds, propose

HIDDEN_SHARES = (0.2, 0.4, 0.6)
HIDDEN_SHARE = HIDDEN_SHARES[0]
UNTAGGED_SHARE = 0.2
"""Images that lose all their tags."""
INJECTED_RATE = 0.1
"""Wrong tags for each given one."""
PRECISION = 0.8
"""The share of right additions that the threshold in hindsight must keep."""
DISTURBING = 7_000
"""Added to the seed of a run: what is hidden and injected here is independent of what a fit hides
and injects to calibrate itself."""
CHOOSING, DRAWING, UNTAGGING = 23, 29, 31
"""Keep the random images and the random features of a seed apart."""
REAL, NOISE, NONE = "real", "Gaussian noise", "none"
FEATURES = (REAL, NOISE, NONE)


@dataclass(frozen=True, eq=False)
class Judged:
    """A collection as methods see it, and which of its tags are right."""

    given: Collection
    answers: Answers
    """About the images that are judged."""
    among: Collection | None = None
    """The images that are judged, if not all."""

    @classmethod
    def by_truth(cls, collection: Collection, seed: int) -> "Judged":
        """Judge by the concepts of the truth; a tenth of the images is left out."""
        fewer = fewer_images(collection, seed)
        return cls(without_truth(fewer), Answers.of_truth(fewer))

    @classmethod
    def disturbed(
        cls, collection: Collection, seed: int, hidden_share: float = HIDDEN_SHARE
    ) -> "Judged":
        """Judge by the given tags, after some were hidden and wrong ones injected.

        Images that have no tag left are left out: those are mostly images of a single tag, of
        which fewer tags are right than of untagged images in general.
        """
        made = disturb(
            without_truth(collection),
            hidden_share=hidden_share,
            injected_rate=INJECTED_RATE,
            seed=DISTURBING + seed,
        )
        tagged = np.flatnonzero(_tag_counts(made.collection))
        right = Answers.of_tags(some_images(collection, tagged))
        return cls(some_images(made.collection, tagged), right)

    @classmethod
    def untagged(cls, collection: Collection, seed: int) -> "Judged":
        """Judge images of which all tags were taken away by the tags that they had."""
        rng = np.random.default_rng([seed, UNTAGGING])
        counts = _tag_counts(collection)
        bare = rng.random(len(counts)) < UNTAGGED_SHARE
        chosen = np.flatnonzero(bare & (counts > 0))
        given = _without_tags(without_truth(collection), bare)
        right = Answers.of_tags(some_images(collection, chosen))
        return cls(given, right, some_images(given, chosen))

    @classmethod
    def injected(
        cls, collection: Collection, seed: int, *, images: int | None, features: str
    ) -> "Judged":
        """Judge by the given tags, after wrong ones were injected into some of the images."""
        some = with_features(random_images(without_truth(collection), images, seed), features, seed)
        made = inject_tags(some, INJECTED_RATE, DISTURBING + seed)
        return cls(made.collection, Answers.of_tags(some))

    def run(
        self,
        settings: Mapping[str, Any],
        *,
        engine: Engine,
        seed: int,
        method: str = DEFAULT_METHOD,
        hindsight: bool = False,
    ) -> dict[str, Any]:
        """Fit as a user would and return how good the verdicts are."""
        model = fit_model(make_method(method, settings), self.given, engine=engine, seed=seed)
        found = run_entry(judge(model, self.images, self.answers, engine=engine))
        if isinstance(model.fitted, FittedSugarPlus):
            found["recall"] = model.fitted.calibrator.recall
        if hindsight:
            found["hindsight"] = longest_list(*self.candidates(model, engine=engine), PRECISION)
        return found

    @property
    def images(self) -> Collection:
        """The images that are judged."""
        return self.given if self.among is None else self.among

    def candidates(self, model: Model, *, engine: Engine) -> tuple[FloatArray, BoolArray]:
        """Return the posterior of all tags that a threshold could add, and which are right."""
        number = {name: place for place, name in enumerate(self.answers.tag_names)}
        row = {image: place for place, image in enumerate(self.images.ids)}
        parts = propose(model, self.images, engine=engine, thresholds=Thresholds(add=0.0))
        found = [
            (row[one.image_id], number[one.tag], one.score)
            for part in parts
            for one in part
            if one.action == "add" and one.tag in number
        ]
        rows, tags = (np.array([one[k] for one in found], dtype=np.int64) for k in range(2))
        posterior = np.array([one[2] for one in found], dtype=np.float64)
        return posterior, self.answers.are_right(rows, tags)


def run_entry(counts: VerdictCounts) -> dict[str, Any]:
    """Return what a result file keeps of the verdicts of one run."""
    changes = counts.changes
    not_given = counts.added + counts.below
    return {
        "given": int(counts.given.count.sum()),
        "wrong": changes.wrong,
        "doubts": changes.removed,
        "right_doubts": changes.rightly_removed,
        "missing": changes.missing,
        "additions": changes.added,
        "right_additions": changes.rightly_added,
        "ece_given": counts.given.error(),
        "ece_not_given": not_given.error(),
        "ece_both": (counts.given + not_given).error(),
    }


def longest_list(posterior: FloatArray, right: BoolArray, precision: float) -> int:
    """Return how many tags the lowest threshold adds that keeps the precision."""
    order = np.argsort(-posterior, kind="stable")
    # A threshold cannot tell equal values apart.
    last = np.flatnonzero(np.diff(posterior[order], append=-1.0))
    share = np.cumsum(right[order])[last] / (last + 1)
    return int((last + 1)[share >= precision].max(initial=0))


def random_images(collection: Collection, images: int | None, seed: int) -> Collection:
    """Return a number of images drawn at random; all of them if None or if there are no more."""
    if images is None or images >= collection.n_images:
        return collection
    rng = np.random.default_rng([seed, CHOOSING])
    return some_images(collection, rng.choice(collection.n_images, size=images, replace=False))


def with_features(collection: Collection, features: str, seed: int) -> Collection:
    """Return the collection with its features, with noise in their place, or with none."""
    if features == REAL:
        return collection
    rng = np.random.default_rng([seed, DRAWING])
    width = collection.n_features
    made = tuple(
        replace(
            shard,
            features=rng.standard_normal((len(shard), width), dtype=np.float32)
            if features == NOISE
            else None,
        )
        for shard in collection.shards
    )
    return replace(collection, shards=made)


def _without_tags(collection: Collection, bare: BoolArray) -> Collection:
    """Return the collection without the tags of some images."""
    shards, start = [], 0
    for shard in collection.shards:
        kept = ~bare[start : start + len(shard)]
        row, tag = shard.tags.nonzero()
        some = kept[row]
        data = shard.tags.data[some]
        tags = sparse.csr_array((data, (row[some], tag[some])), shape=shard.tags.shape)
        shards.append(replace(shard, tags=tags))
        start += len(shard)
    return replace(collection, shards=tuple(shards))


def _tag_counts(collection: Collection) -> IntArray:
    """Return how many tags each image has."""
    return np.diff(collection.tags_of(slice(0, collection.n_images)).indptr)
