"""What a comparison is made of: a case, and its rounds, one for each seed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from sugartag.collection.model import Collection
from sugartag.engine.base import Engine
from sugartag.evaluation.protocol import Task, evaluate, hidden_task
from sugartag.evaluation.results import Measures, Metrics
from sugartag.methods.base import Method

HIDDEN_SHARE = 0.3


class Round(Protocol):
    """One seed of a case: what methods may see, and how what they learn is measured."""

    @property
    def given(self) -> Collection:
        """What methods learn from and are tuned on; nothing that is measured is in it."""
        ...

    def counts(self) -> dict[str, int]:
        """Return how much of everything there is."""
        ...

    def measure(
        self, method: Method, *, engine: Engine, rng: np.random.Generator, replicates: int
    ) -> dict[str, Any]:
        """Fit the method and return its metrics and what it cost."""
        ...


@dataclass(frozen=True)
class Case:
    """A collection to compare on."""

    name: str
    description: str
    protocol: str
    start: Callable[[int], Round]
    """The round of a seed."""
    references: Callable[[], dict[str, float]] = dict
    """MAP of orders that no method made."""
    collection: Collection | None = None
    """All images with all given tags, to judge verdicts on; None where they cannot be judged."""


@dataclass(frozen=True, eq=False)
class TaskRound:
    """Predicts hidden tags or a truth."""

    task: Task
    author_aware: bool

    @property
    def given(self) -> Collection:
        """What methods learn from."""
        return self.task.given

    def counts(self) -> dict[str, int]:
        """Return how much of everything there is."""
        return self.task.counts() | {"features": self.given.n_features}

    def measure(
        self, method: Method, *, engine: Engine, rng: np.random.Generator, replicates: int
    ) -> dict[str, Any]:
        """Fit the method and return its metrics and what it cost."""
        measures = Measures(author_aware=self.author_aware, bootstrap=replicates)
        result = evaluate(method, self.task, engine=engine, rng=rng, measures=measures)
        found = _headline(result.metrics)
        if result.author_aware is not None:
            found["author_aware"] = _headline(result.author_aware)
        return found | {
            "fit_seconds": result.fit_seconds,
            "score_seconds": result.score_seconds,
            "peak_rss_mb": result.peak_rss_mb,
        }


def hidden_case(name: str, description: str, collection: Collection) -> Case:
    """Return a case in which part of the given tags is hidden, others for each seed."""

    def start(seed: int) -> Round:
        return TaskRound(hidden_task(collection, HIDDEN_SHARE, seed), author_aware=True)

    protocol = (
        f"{percent(HIDDEN_SHARE)} of the given tags are hidden, others for each seed, and are to "
        "be found again among the tags used ten times or more. A tag that an image still has is in "
        "no ranking of it."
    )
    return Case(name, description, protocol, start, collection=collection)


def percent(share: float) -> str:
    """Return a share in words."""
    return f"{100 * share:g} %"


def _headline(metrics: Metrics) -> dict[str, Any]:
    """Return the metrics that are compared, under the names of result files."""
    found: dict[str, Any] = metrics.by_name()
    if metrics.changes is not None:
        found |= metrics.changes
    if metrics.intervals:
        found["intervals"] = {name: list(ends) for name, ends in metrics.intervals.items()}
    return found
