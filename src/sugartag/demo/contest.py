"""Who competes in the demo, and for what: tags that were hidden from all of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sugartag.engine.base import Engine
from sugartag.evaluation.protocol import Task, evaluate
from sugartag.evaluation.results import Measures, MethodResult
from sugartag.methods.base import Method
from sugartag.methods.registry import make_method

HIDDEN_SHARE = 0.3
REPLICATES = 200

SMALL_TENSOR = {"image_clusters": 16, "user_clusters": 4, "units_per_cluster": 10}
"""Fewer anchors than the paper's 52 centres: these are a thousand pictures, not 250,000."""


@dataclass(frozen=True)
class Contestant:
    """One line of the comparison."""

    label: str
    method: str
    settings: Mapping[str, Any]
    description: str

    def make(self) -> Method:
        """Return the method with its settings."""
        return make_method(self.method, self.settings)


CONTESTANTS = (
    Contestant("original", "original", {}, "the tags as they are; it can find no hidden tag"),
    Contestant("tag-prior", "tag-prior", {}, "the most used tags, for every picture the same"),
    Contestant(
        "tag-vote",
        "tag-vote",
        {"one_vote_per_owner": True},
        "the 20 pictures that look most alike vote, one vote an owner",
    ),
    Contestant(
        "tag-vote, all vote",
        "tag-vote",
        {"one_vote_per_owner": False},
        "the same, and an owner's similar pictures may all vote",
    ),
    Contestant(
        "sugar-plus",
        "sugar-plus",
        {},
        "one ridge regression on looks and other tags, with similar pictures of the owner",
    ),
    Contestant(
        "sugar-tc",
        "sugar-tc",
        {},
        "the paper's model, solved exactly and scored by its own reconstruction",
    ),
    Contestant(
        "sugar-tc, repaired",
        "sugar-tc",
        {"preset": "repaired", **SMALL_TENSOR},
        "the paper's equations, updates and assignment, with the repairs they need to run",
    ),
)


def evaluated(contestant: Contestant, task: Task, *, engine: Engine, seed: int) -> MethodResult:
    """Return how well one of them finds the tags that were hidden."""
    return evaluate(
        contestant.make(),
        task,
        engine=engine,
        rng=np.random.default_rng(seed),
        measures=Measures(bootstrap=REPLICATES, bootstrap_seed=seed),
    )
