"""What a report says, before it is a page."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

import numpy as np

from sugartag.errors import CollectionError
from sugartag.evaluation.verdicts import VerdictCounts

Action: TypeAlias = Literal["keep", "doubt", "add"]
ACTIONS: tuple[Action, ...] = get_args(Action)
PICTURE_KINDS = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
"""Pictures that a page can carry and that can carry nothing else."""


@dataclass(frozen=True)
class Verdict:
    """What is said of one tag of one image."""

    tag: str
    action: Action
    score: float
    """The probability that the tag belongs, from 0 to 1."""
    reason: str = ""
    recovered: bool | None = None
    """For an added tag, whether it is one the owner gave and we had hidden; None if none were."""

    def __post_init__(self) -> None:
        if self.action not in ACTIONS:
            message = f"tag {self.tag!r} has action {self.action!r}; give keep, doubt or add"
            raise CollectionError(message)
        if not 0 <= self.score <= 1:
            message = f"tag {self.tag!r} has score {self.score}; give a number from 0 to 1"
            raise CollectionError(message)


@dataclass(frozen=True)
class Picture:
    """One image to show, with what is said of its tags."""

    image: bytes
    mime: str
    title: str
    owner: str
    verdicts: tuple[Verdict, ...]
    image_id: str = ""
    """What reasons call it, if they name it."""

    def __post_init__(self) -> None:
        if self.mime not in PICTURE_KINDS:
            kinds = ", ".join(sorted(PICTURE_KINDS))
            raise CollectionError(f"picture {self.title!r} is {self.mime!r}; give one of {kinds}")

    def said(self, *actions: Action) -> tuple[Verdict, ...]:
        """Return the verdicts of these kinds: kinds in the order given, the surest first."""
        chosen = [verdict for verdict in self.verdicts if verdict.action in actions]
        return tuple(sorted(chosen, key=lambda one: (actions.index(one.action), -one.score)))


@dataclass(frozen=True)
class Counts:
    """How large the collection is and how much was said about it."""

    images: int
    tags: int
    owners: int
    added: int
    """Suggested tags, over all images."""
    doubted: int
    hidden: int | None = None
    """Given tags that were taken away before fitting, to see which come back."""
    recovered: int | None = None
    """How many of those are among the suggested tags."""


@dataclass(frozen=True)
class Interval:
    """The range a number may well lie in."""

    low: float
    high: float


@dataclass(frozen=True)
class MethodRow:
    """One method of the comparison."""

    name: str
    metrics: Mapping[str, float]
    """By the names of the results file: ``map``, ``miap``, ``f_top5``, ``f_top10``, ``ndcg20``."""
    description: str = ""
    fit_seconds: float | None = None
    score_seconds: float | None = None
    peak_mb: float | None = None
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    """By the name of the metric, for the metrics that have one."""


@dataclass(frozen=True)
class ScoreHistogram:
    """How many verdicts of each kind have a score in each of some equal ranges from 0 to 1."""

    counts: Mapping[Action, tuple[int, ...]]


@dataclass(frozen=True)
class TagCount:
    """How often one tag was added, and how many of these times it was a hidden one."""

    tag: str
    added: int
    recovered: int = 0


@dataclass(frozen=True)
class RecoveryCurve:
    """The share of the hidden tags found within the first 1, 2, 3, ... suggestions an image."""

    method: str
    shares: tuple[float, ...]


@dataclass(frozen=True)
class Charts:
    """What is drawn; a chart without data is left out."""

    scores: ScoreHistogram | None = None
    most_added: tuple[TagCount, ...] = ()
    recovery: tuple[RecoveryCurve, ...] = ()


@dataclass(frozen=True)
class Trust:
    """How often verdicts were right on tags of which that is known."""

    counts: VerdictCounts
    protocol: str
    """Which tags these are, and what counts as right, in a few sentences."""


@dataclass(frozen=True)
class Report:
    """Everything that one page says."""

    title: str
    lead: str
    """What this is, in two sentences."""
    counts: Counts
    evidence: str = ""
    """What the evidence is worth, in one line; empty where the method does not say."""
    pictures: tuple[Picture, ...] = ()
    comparison: tuple[MethodRow, ...] = ()
    best: str | None = None
    """The method of the comparison to point out."""
    protocol: str = ""
    """How the comparison was made, in a sentence or two."""
    trust: Trust | None = None
    """Whether the probabilities are calibrated; None where that was not measured."""
    charts: Charts = field(default_factory=Charts)
    facts: tuple[tuple[str, str], ...] = ()
    """What was run, as names and values: seed, machine, settings, times."""
    commands: tuple[str, ...] = ()
    """The command lines that repeat it."""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = [row.name for row in self.comparison]
        if self.best is not None and self.best not in names:
            known = ", ".join(names) or "none"
            raise CollectionError(f"best method {self.best!r} was not compared; compared: {known}")


def count_scores(verdicts: Iterable[Verdict], *, n_ranges: int = 20) -> ScoreHistogram:
    """Count the scores of verdicts by action; the last range includes the score 1."""
    scores: dict[Action, list[float]] = {action: [] for action in ACTIONS}
    for verdict in verdicts:
        scores[verdict.action].append(verdict.score)
    edges = np.linspace(0, 1, n_ranges + 1)
    counts = {
        action: tuple(np.histogram(np.asarray(values, np.float64), edges)[0].tolist())
        for action, values in scores.items()
    }
    return ScoreHistogram(counts)


def count_added(verdicts: Iterable[Verdict], *, top: int = 15) -> tuple[TagCount, ...]:
    """Count the tags added most often, the most frequent first, equals by their name."""
    added: Counter[str] = Counter()
    recovered: Counter[str] = Counter()
    for verdict in verdicts:
        if verdict.action == "add":
            added[verdict.tag] += 1
            recovered[verdict.tag] += verdict.recovered is True
    most = sorted(added, key=lambda tag: (-added[tag], tag))[:top]
    return tuple(TagCount(tag, added[tag], recovered[tag]) for tag in most)


def finite(number: float | None) -> float | None:
    """Return the number, or nothing where it is not one."""
    return number if number is not None and math.isfinite(number) else None
