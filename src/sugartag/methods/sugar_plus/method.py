"""sugar-plus: its settings, and how it is fitted.

Evidence from everything known of an image (its other tags, anchors, its title, its owner's groups),
one ridge regression for all tags, what the owner's other images say, and a model of how people tag
that turns evidence into the probability that a tag belongs. What there is to choose is chosen from
the collection itself, by how well tags are predicted from everything else.
"""

import logging
import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sugartag._typing import SparseRows
from sugartag.collection.model import Collection
from sugartag.engine.base import Engine
from sugartag.engine.heap import give_back_freed_memory
from sugartag.methods.settings import require, require_not_negative, require_positive
from sugartag.methods.sugar_plus.census import Census
from sugartag.methods.sugar_plus.choice import Choice, Fixed, choose
from sugartag.methods.sugar_plus.decisions import nothing_decided
from sugartag.methods.sugar_plus.evidence import Evidence, EvidencePlan, gather_evidence
from sugartag.methods.sugar_plus.fitted import FittedSugarPlus
from sugartag.methods.sugar_plus.kept_evidence import keeping_dense, keeping_nothing
from sugartag.methods.sugar_plus.learning import (
    GivenTags,
    Sample,
    best_threshold,
    judge_sample,
    learn_manners,
    sample_blocks,
    tags_as_given,
)
from sugartag.methods.sugar_plus.look_alikes import LookAlikes
from sugartag.methods.sugar_plus.looked_at import LookedAt
from sugartag.methods.sugar_plus.manners import Manners
from sugartag.methods.sugar_plus.remembered import find_look_alikes
from sugartag.methods.sugar_plus.ridge import Ridge
from sugartag.methods.sugar_plus.seeing import score_images, with_sight
from sugartag.methods.sugar_plus.subject_learning import learned_subjects
from sugartag.methods.sugar_plus.subjects import Subjects
from sugartag.methods.sugar_plus.sums import Sums, add_up
from sugartag.methods.sugar_plus.weighing import About, Weights

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SugarPlus:
    """Settings of sugar-plus; those that are None are chosen from the collection."""

    name: ClassVar[str] = "sugar-plus"
    summary: ClassVar[str] = "Everything known of an image weighed for each tag; the default."
    fitted_type: ClassVar[type[FittedSugarPlus]] = FittedSugarPlus
    scores_are_chances: ClassVar[bool] = True

    anchors: int = 500
    """Anchors that images are compared with, at most: centres of many images."""
    kernel_width: float | None = None
    """Width of the likeness to an anchor, in median distances of two images; None chooses."""
    anchor_ridge: float | None = None
    """Penalty of the weights of anchors; None chooses."""
    tag_ridge: float | None = None
    """Penalty of the weights of tags and title words; None chooses."""
    max_predictors: int = 4_000
    """Tags that predict others, at most: the most used."""
    titles: bool = True
    """Use the words of titles, where there are titles."""
    tastes: int = 32
    """Numbers that describe what the members of an owner's groups tag; 0 leaves groups out."""
    owner_variance: float = 0.05
    """How much images of one owner have in common for no visible reason, relative to the noise."""
    history: int = 200
    """Images of each owner that are remembered, at most; 0 leaves look-alikes out."""
    look_alike_width: float = 0.4
    """Width within which two images of one owner look alike, in median distances."""
    interests: bool = True
    """Use what the content of an owner's other images says."""
    subjects: int = 64
    """Subjects that images are about, at most; 0 leaves them out."""
    sight: bool = True
    """Learn from the chances of tags what images look like as a whole."""
    trust_rounds: int = 1
    """How often the regression is repeated with given tags counted as far as they are believed."""
    unit_features: bool = True
    """Scale the features of each image to length 1 before comparing them."""

    def __post_init__(self) -> None:
        require_not_negative(
            self,
            "anchors",
            "max_predictors",
            "tastes",
            "history",
            "subjects",
            "owner_variance",
            "trust_rounds",
        )
        require_positive(self, "look_alike_width")
        for name in ("kernel_width", "anchor_ridge", "tag_ridge"):
            value = getattr(self, name)
            require(
                value is None or value > 0,
                f"{self.name} setting {name} is {value}; it must be above 0, or none",
            )

    def fit(
        self, collection: Collection, *, engine: Engine, rng: np.random.Generator
    ) -> FittedSugarPlus:
        """Add up, solve, learn what it means; then again, with tags as far as they are trusted."""
        clock = _Clock()
        known = self._regressed(collection, clock, engine=engine, rng=rng)
        blocks, threads = sample_blocks(collection), engine.threads
        honest = known.given.honest_in(blocks)
        looked_at = self._looked_at(collection)
        subjects = self._subjects(known, collection, looked_at, engine=engine, rng=rng)
        about = None if subjects is None else About.of(subjects, collection, blocks)
        wanted = {"alike": self.history > 0, "interests": self.interests}
        weights = Weights.learned(known.sample, honest, about, **wanted, threads=threads)
        heard = weights.heard(known.sample, about, honest, known.manners.alone.slips)
        heard = heard.slipping(known.ridge.share)
        census = Census.of(collection, known.given)
        found = census.told(known.weighed(weights, subjects), heard, engine=engine)
        clock.tell("%s; recall %.2f", weights, found.whole.recall)
        if self.sight and looked_at is not None:
            found = with_sight(found, collection, looked_at, heard, census, engine=engine)
        scores = list(engine.map(score_images, blocks, collection, found))
        found = replace(found, threshold=best_threshold(np.concatenate(scores)))
        clock.tell("recall %.2f, floor %.2f", found.whole.recall, found.floor)
        return found

    def _regressed(
        self,
        collection: Collection,
        clock: "_Clock",
        *,
        engine: Engine,
        rng: np.random.Generator,
    ) -> "Regressed":
        """Add up, solve and learn how people tag; again, with tags as far as they are trusted."""
        threads = engine.threads
        evidence, choice = self._described(collection, engine=engine, rng=rng)
        clock.tell("%s", choice)
        evidence = keeping_dense(evidence, collection, engine=engine)
        trusted = tags_as_given(collection, engine.room)
        sums = add_up(collection, evidence, trusted, engine=engine)
        look_alikes = find_look_alikes(
            collection,
            evidence,
            sums,
            width=self.look_alike_width,
            most=self.history,
            engine=engine,
            rng=rng,
        )
        clock.tell("added up")
        slips = None
        for more in range(self.trust_rounds, -1, -1):
            ridge = self.solved(sums, evidence, choice, threads=threads)
            known = collection, ridge, trusted
            sample = Sample.joined(
                list(engine.map(judge_sample, sample_blocks(collection), *known, look_alikes))
            )
            manners, given = learn_manners(*known, sample, slips, engine=engine)
            slips = manners.alone.slips if slips is None else slips
            clock.tell("recall %.2f, habits %s", manners.alone.recall, manners.habits.weight)
            if more:
                trusted = given.trusted(manners.alone, engine.room, threads=threads)
                sums = add_up(collection, evidence, trusted, engine=engine, same=sums)
                clock.tell("given tags trusted to %.2f", float(trusted.sum() / max(trusted.nnz, 1)))
        ridge = replace(ridge, evidence=keeping_nothing(evidence))
        return Regressed(choice, ridge, trusted, look_alikes, sample, manners, given)

    def _looked_at(self, collection: Collection) -> LookedAt | None:
        """Return the images that are looked at as a whole, if any are."""
        wanted = self.subjects or self.sight
        return LookedAt.of(collection, self.unit_features) if wanted else None

    def _subjects(
        self,
        known: "Regressed",
        collection: Collection,
        looked_at: LookedAt | None,
        *,
        engine: Engine,
        rng: np.random.Generator,
    ) -> Subjects | None:
        """Learn what images are about, where that is wanted and can be."""
        if not self.subjects or looked_at is None:
            return None
        wanted = self.subjects, self.owner_variance
        return learned_subjects(
            collection, known.trusted, looked_at, *wanted, engine=engine, rng=rng
        )

    def _described(
        self, collection: Collection, *, engine: Engine, rng: np.random.Generator
    ) -> tuple[Evidence, Choice]:
        """Return how images are described, and what was chosen for it."""
        plan = EvidencePlan(
            anchors=self.anchors,
            max_predictors=self.max_predictors,
            titles=self.titles,
            tastes=self.tastes,
            unit_features=self.unit_features,
        )
        evidence = gather_evidence(plan, collection, engine=engine, rng=rng)
        fixed = Fixed(self.kernel_width, self.tag_ridge, self.anchor_ridge)
        choice = choose(fixed, collection, evidence, self.owner_variance, engine=engine, rng=rng)
        return evidence.with_kernel(choice.kernel_width, choice.anchors), choice

    def solved(self, sums: Sums, evidence: Evidence, choice: Choice, *, threads: int = 1) -> Ridge:
        """Solve the regression with the ridges chosen."""
        penalty = choice.penalties(evidence)
        return Ridge.solved(sums, evidence, penalty, self.owner_variance, threads=threads)


@dataclass(frozen=True, eq=False)
class Regressed:
    """What the regression says, and how people tag by that."""

    choice: Choice
    ridge: Ridge
    trusted: SparseRows
    look_alikes: LookAlikes
    sample: Sample
    manners: Manners
    given: GivenTags

    def weighed(self, weights: Weights, subjects: Subjects | None) -> FittedSugarPlus:
        """Return the model that all evidence makes; what all of it means is not yet told."""
        found = FittedSugarPlus(
            self.ridge,
            self.trusted,
            self.look_alikes,
            weights.alike,
            weights.interest,
            self.manners,
            self.manners.alone,
            self.choice,
            0.0,
            nothing_decided(self.trusted.shape),
        )
        if subjects is None or not weights.subjects:
            return found
        return replace(found, subjects=replace(subjects, strength=weights.subjects))


class _Clock:
    """Tells how far a fit has come."""

    def __init__(self) -> None:
        self.began = time.perf_counter()

    def tell(self, message: str, *values: object) -> None:
        """Log what was found, and after how long; what that took is free for what follows."""
        seconds = time.perf_counter() - self.began
        logger.info(f"sugar-plus, %.1f s: {message}", seconds, *values)
        give_back_freed_memory()
