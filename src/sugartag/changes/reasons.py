"""Why a tag should be added, kept or doubted: in a line for people, and in parts for programs.

A verdict has a direction: add and keep go with what speaks for a tag, doubt with what speaks
against it. Each kind of evidence counts as far as it points there in all; single anchors say much
for and against that cancels out, so it is the kinds that are compared. In the log odds of a tag
that was given, evidence and the owner's habit add up, and that is how a doubt is shared by them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from sugartag._typing import FloatArray
from sugartag.changes.change import Action, Change
from sugartag.collection.model import Rows
from sugartag.errors import SettingsError
from sugartag.methods.base import Explains, Explanations, Kind, PartKind
from sugartag.model_folder import Model

TITLES: dict[PartKind, str] = {
    "own tag": "own tags",
    "title word": "title",
    "anchor": "looks",
    "subject": "what it is about",
    "sight": "the image as a whole",
    "groups": "owner's groups",
    "interest": "owner's interests",
    "look-alike": "owner's look-alikes",
}
"""What people read; what a fitted image owes to itself is a correction, and no reason."""
NAMES: dict[PartKind, int] = {
    "own tag": 3,
    "title word": 3,
    "anchor": 3,
    "subject": 1,
    "look-alike": 2,
}
"""How many things of each kind are named, at most."""
MISSING: dict[PartKind, str] = {
    "own tag": " (none that goes with it)",
    "title word": " (no word that goes with it)",
    "anchor": " (not like images that have it)",
    "subject": "",
    "look-alike": " (without it)",
}
"""What speaks against a tag where nothing that is there does: something that is not there."""
TAGS_OF_ANCHOR = 2
"""Of each anchor so many tags are named, at most."""
DECIDED: dict[int, Literal["right", "wrong"] | None] = {1: "right", -1: "wrong", 0: None}
LITTLE = 0.1
"""A tag that belongs with less than this by the evidence alone is kept since it was given."""
MOSTLY_RIGHT = 0.5
"""A tag of whose unexplained uses less are wrong is one that evidence tells little of."""
LEAST_SHARE = 0.01
"""What counts for less is not mentioned."""
LEAST_AGAINST = 0.01
"""A kind of evidence that takes less from a tag is no reason to doubt it."""
LEAST_HABIT = 0.05
"""Below, a habit is not taken for a reason."""


@dataclass(frozen=True)
class Verdict:
    """What is said of one tag of one image of a block."""

    row: int
    tag: int
    action: Action
    chance: float
    withheld: Literal["", "image", "tag"] = ""
    """Of what too little is known to say more, if that is why the tag is kept."""


@dataclass(frozen=True, slots=True)
class SharedPart:
    """A part of the evidence, and how much of the verdict it accounts for."""

    kind: PartKind
    name: str | None
    """None for all others of the kind together."""
    contribution: float
    """What it adds to the evidence."""
    share: float
    """0 to 1; 0 where it points the other way."""
    tags: tuple[str, ...]


@dataclass(frozen=True)
class ExplainedChange(Change):
    """A change with everything it follows from."""

    evidence: float
    """The sum of the contributions."""
    prior: float
    recall: float
    slip: float
    slip_wrong: float
    habit: float
    habit_share: float
    """How much of a doubt the owner's habit accounts for, 0 to 1."""
    decided: Literal["right", "wrong"] | None
    """What somebody said of the tag; that stands, whatever the evidence."""
    parts: tuple[SharedPart, ...]


def require_explaining(model: Model) -> None:
    """Raise unless the model can take its evidence apart."""
    if not isinstance(model.fitted, Explains):
        raise SettingsError(
            f"{model.method.name} does not explain its verdicts; leave --explain out, "
            "or fit sugar-plus"
        )


def reasoned(
    verdicts: Sequence[Verdict],
    model: Model,
    rows: Rows,
    scores: FloatArray,
    ids: Sequence[str],
    *,
    in_full: bool = False,
) -> list[Change]:
    """Turn verdicts, their rows ascending, into changes that say why.

    ``rows``, ``scores`` and ``ids`` are those of the images of the block. With ``in_full`` the
    changes are :class:`ExplainedChange`; without it, that is left out for speed.
    """
    names = list(ids)
    if not isinstance(model.fitted, Explains):
        return [_change(model, one, names, _rank(model, scores, one)) for one in verdicts]
    row = np.array([one.row for one in verdicts], dtype=np.int64)
    tag = np.array([one.tag for one in verdicts], dtype=np.int64)
    explanations = model.fitted.explain(rows, row, tag, model.catalogue)
    directions = np.array([-1.0 if one.action == "doubt" else 1.0 for one in verdicts])
    shares = Shares.of(explanations, directions)
    found = []
    for place, one in enumerate(verdicts):
        change = _change(model, one, names, shares.reason(place, one))
        found.append(shares.in_full(place, change) if in_full else change)
    return found


def _change(model: Model, one: Verdict, ids: Sequence[str], reason: str) -> Change:
    return Change(
        image_id=ids[one.row],
        tag=model.catalogue.tag_names[one.tag],
        action=one.action,
        score=one.chance,
        reason=reason,
        run_id=model.run_id,
    )


def _rank(model: Model, scores: FloatArray, one: Verdict) -> str:
    rank = 1 + int(np.count_nonzero(scores[one.row] > scores[one.row, one.tag]))
    return f"{model.method.name} ranks it {rank} of {scores.shape[1]} tags for this image"


@dataclass(frozen=True, eq=False)
class Shares:
    """What each kind of evidence accounts for in some verdicts."""

    explanations: Explanations
    directions: FloatArray
    """1 where a verdict goes with what speaks for the tag, -1 where with what speaks against."""
    kinds: tuple[Kind, ...]
    """Those that can be a reason."""
    of_kinds: FloatArray
    """Verdicts x kinds; with the habits', they add up to 1 where anything points that way."""
    of_habits: FloatArray

    @classmethod
    def of(cls, explanations: Explanations, directions: FloatArray) -> "Shares":
        """Weigh what points in the direction of each verdict."""
        kinds = tuple(kind for kind in explanations.kinds if kind.name in TITLES)
        toward = np.stack([np.maximum(directions * kind.net, 0.0) for kind in kinds], axis=1)
        toward[(directions < 0)[:, None] & (toward < LEAST_AGAINST)] = 0.0
        total = toward.sum(axis=1)
        habit = np.where(directions < 0, habit_shares(explanations), 0.0)
        habit = np.where(total > 0, habit, habit > 0)
        of_kinds = toward * ((1.0 - habit) / np.where(total > 0, total, 1.0))[:, None]
        return cls(explanations, directions, kinds, of_kinds, habit.astype(np.float64))

    def reason(self, place: int, verdict: Verdict) -> str:
        """Return the reason in a line."""
        if decided := DECIDED[int(self.explanations.decided[place])]:
            return f"somebody said that it is {decided}"
        told = self._told(place)
        some_for_it = self.explanations.evidence[place] > 0
        if verdict.action == "doubt":
            opening = "too little speaks for it" if some_for_it else "nothing seen speaks for it"
            return f"{opening}; against it: {told}" if told else opening
        if verdict.withheld:
            return f"too little is known of this {verdict.withheld} to doubt it"
        if verdict.action == "keep" and self._untold(place):
            return "the owner gave it, and of this tag nothing can be told"
        if told and some_for_it:
            weak = verdict.action == "keep" and self.explanations.prior[place] < LITTLE
            return f"the owner gave it, and a little speaks for it: {told}" if weak else told
        if verdict.action == "keep":
            return "the owner gave it, and too little speaks against it"
        return "nothing seen speaks for it"

    def _untold(self, place: int) -> bool:
        """Tell whether a tag is one of which evidence tells little, and says little here."""
        found = self.explanations
        return bool(found.slip_wrong[place] < MOSTLY_RIGHT and found.prior[place] < LITTLE)

    def in_full(self, place: int, change: Change) -> ExplainedChange:
        """Return the change with all parts of its evidence."""
        found, direction = self.explanations, float(self.directions[place])
        parts = found.parts(place)
        shares = dict(zip((k.name for k in self.kinds), self.of_kinds[place].tolist(), strict=True))
        toward = dict.fromkeys((part.kind for part in parts), 0.0)
        for part in parts:
            toward[part.kind] += max(direction * part.amount, 0.0)
        shared = tuple(
            SharedPart(
                part.kind,
                part.name or None,
                part.amount,
                shares.get(part.kind, 0.0)
                * (max(direction * part.amount, 0.0) / (toward[part.kind] or 1.0)),
                part.tags,
            )
            for part in parts
        )
        return ExplainedChange(
            **vars(change),
            evidence=float(found.evidence[place]),
            prior=float(found.prior[place]),
            recall=float(found.recall[place]),
            slip=float(found.slip[place]),
            slip_wrong=float(found.slip_wrong[place]),
            habit=float(found.habit[place]),
            habit_share=float(self.of_habits[place]),
            decided=DECIDED[int(found.decided[place])],
            parts=shared,
        )

    def _told(self, place: int) -> str:
        """Return what points in the verdict's direction, the largest share first."""
        direction, shares = self._lists[0][place], self._lists[1][place]
        pairs = [(share, k) for k, share in enumerate(shares) if share >= LEAST_SHARE]
        pairs.sort(key=lambda pair: -pair[0])
        told = []
        for (_, k), percent in zip(pairs, whole_percents([p[0] for p in pairs]), strict=True):
            if k < len(self.kinds):
                kind = self.kinds[k]
                told.append(f"{TITLES[kind.name]} {percent} %{_details(kind, place, direction)}")
            else:
                rate = round(100 * float(self.explanations.habit[place]))
                told.append(
                    f"owner's habit {percent} % (on {rate} % of images, whatever they show)"
                )
        return ", ".join(told)

    @cached_property
    def _lists(self) -> tuple[list[float], list[list[float]]]:
        """Directions, and the shares of all kinds and the habit, as lists: they are read faster."""
        shares = np.column_stack([self.of_kinds, self.of_habits])
        return self.directions.tolist(), shares.tolist()


def habit_shares(explanations: Explanations) -> FloatArray:
    """Return which part of a doubt is due to habit, in log odds.

    A given tag is right with the odds b (r + h - r h) : (1 - b) (s + h - s h). Without the habit h
    it would stand even at b = s / (r + s): what b lies below that, and what h makes less of the
    odds, are what speaks against it.
    """
    slip = np.maximum(explanations.slip.astype(np.float64), 1e-9)
    prior = np.clip(explanations.prior.astype(np.float64), 1e-9, 1.0 - 1e-9)
    habit, recall = explanations.habit, explanations.recall
    by_habit = np.log1p(habit * (1.0 - slip) / slip) - np.log1p(habit * (1.0 - recall) / recall)
    by_evidence = np.maximum(np.log(slip / explanations.recall) - np.log(prior / (1 - prior)), 0.0)
    found: FloatArray = by_habit / np.maximum(by_habit + by_evidence, 1e-9)
    return np.where(explanations.habit >= LEAST_HABIT, found, 0.0)


def whole_percents(shares: Sequence[float]) -> list[int]:
    """Return shares as percents without a fraction that add up to 100."""
    total = sum(shares)
    if not total:
        return []
    exact = [100.0 * share / total for share in shares]
    found = [int(value) for value in exact]
    missing = 100 - sum(found)
    for place in sorted(range(len(exact)), key=lambda k: found[k] - exact[k])[:missing]:
        found[place] += 1
    return found


def _details(kind: Kind, place: int, direction: float) -> str:
    """Return in brackets what of a kind points most in a direction."""
    if kind.name not in NAMES:
        return ""
    toward = kind.strongest(place, direction, NAMES[kind.name])
    if not toward:
        return MISSING[kind.name] if direction < 0 else ""
    if kind.name == "anchor":
        names = [tag for anchor in toward for tag in anchor.tags[:TAGS_OF_ANCHOR]]
        names = list(dict.fromkeys(names))[: NAMES["anchor"]]
    elif kind.name == "subject":
        names = list(toward[0].tags)
    else:
        names = [part.name for part in toward]
    # A name may hold line breaks; a reason is one line.
    listed = ", ".join(" ".join(name.split()) for name in names)
    opening = "like images tagged " if kind.name == "anchor" else ""
    return f" ({opening}{listed})" if listed else ""
