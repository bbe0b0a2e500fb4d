"""Why a tag should be added, kept or doubted: in a line for people, and in parts for programs.

A verdict has a direction: add and keep go with what speaks for a tag, doubt with what speaks
against it. Each kind of evidence counts for what its parts come to in that direction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from sugartag._typing import FloatArray
from sugartag.collection.model import Rows
from sugartag.errors import SettingsError
from sugartag.methods.base import Explains, Explanations, Kind, PartKind
from sugartag.pipeline.changes import Action, Change, ExplainedChange, SharedPart

if TYPE_CHECKING:
    from sugartag.pipeline.model import Model

TITLES: dict[PartKind, str] = {
    "looks": "looks",
    "other tag": "other tags",
    "similar tag": "similar tags",
    "neighbour": "owner's similar images",
}
NAMES: dict[PartKind, int] = {"looks": 3, "other tag": 3, "similar tag": 3, "neighbour": 2}
"""How many names of each kind are listed, at most."""
MISSING: dict[PartKind, str] = {
    "looks": "",
    "other tag": " (none that goes with it)",
    "similar tag": "",
    "neighbour": " (without it)",
}
"""What speaks against a tag where nothing that is there does: something that is not there."""
DECIDED: dict[int, Literal["accepted", "rejected"] | None] = {
    1: "accepted",
    -1: "rejected",
    0: None,
}
LITTLE = 0.1
"""A given tag with a lower score is kept because it was given."""
LEAST_SHARE = 0.01
"""What counts for less is not mentioned."""
LEAST_AGAINST = 0.01
"""A kind of evidence that takes less from a score is no reason to doubt a tag."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on one tag of one image of a block."""

    row: int
    tag: int
    action: Action
    posterior: float
    withheld: bool = False
    """Whether the tag is kept only because nothing else is known of the image."""


def require_explaining(model: "Model") -> None:
    """Raise unless the model can take its evidence apart."""
    if not isinstance(model.fitted, Explains):
        raise SettingsError(
            f"{model.method.name} does not explain its verdicts; leave --explain out, "
            "or fit sugar-plus"
        )


def reasoned(
    verdicts: Sequence[Verdict],
    model: "Model",
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
    if not verdicts or not isinstance(model.fitted, Explains):
        return [_change(model, one, names, _rank(model, scores, one)) for one in verdicts]
    row = np.array([one.row for one in verdicts], dtype=np.int64)
    tag = np.array([one.tag for one in verdicts], dtype=np.int64)
    explanations = model.fitted.explain(rows, row, tag, model.catalogue)
    directions = np.array([-1.0 if one.action == "doubt" else 1.0 for one in verdicts])
    shares = Shares.of(explanations, directions)
    found = []
    for place, one in enumerate(verdicts):
        reason = shares.reason(place, one, model.catalogue.tag_names[one.tag])
        change = _change(model, one, names, reason)
        found.append(shares.in_full(place, change) if in_full else change)
    return found


def _change(model: "Model", one: Verdict, ids: Sequence[str], reason: str) -> Change:
    return Change(
        image_id=ids[one.row],
        tag=model.catalogue.tag_names[one.tag],
        action=one.action,
        score=one.posterior,
        reason=reason,
        run_id=model.run_id,
    )


def _rank(model: "Model", scores: FloatArray, one: Verdict) -> str:
    rank = 1 + int(np.count_nonzero(scores[one.row] > scores[one.row, one.tag]))
    return f"{model.method.name} ranks it {rank} of {scores.shape[1]} tags for this image"


@dataclass(frozen=True, eq=False)
class Shares:
    """What each kind of evidence accounts for in some verdicts."""

    explanations: Explanations
    directions: FloatArray
    """1 where a verdict goes with what speaks for the tag, -1 where with what speaks against."""
    of_kinds: FloatArray
    """Verdicts x kinds; they add up to 1 where anything points that way."""

    @classmethod
    def of(cls, explanations: Explanations, directions: FloatArray) -> "Shares":
        """Weigh what points in the direction of each verdict."""
        nets = [np.maximum(directions * kind.net, 0.0) for kind in explanations.kinds]
        toward = np.stack(nets, axis=1)
        toward[(directions < 0)[:, None] & (toward < LEAST_AGAINST)] = 0.0
        total = toward.sum(axis=1, keepdims=True)
        return cls(explanations, directions, toward / np.where(total > 0, total, 1.0))

    def reason(self, place: int, verdict: Verdict, tag: str) -> str:
        """Return the reason in a line."""
        if decided := DECIDED[int(self.explanations.decided[place])]:
            return f"{decided} by a person"
        if verdict.action == "doubt":
            return self._doubted(place, tag)
        if verdict.action == "keep":
            return self._kept(place, withheld=verdict.withheld)
        words = self._in_words(place) if self.explanations.score[place] > 0 else ""
        return words or "little speaks for it"

    def _doubted(self, place: int, tag: str) -> str:
        words = self._in_words(place, besides=tag)
        if words.startswith(TITLES["looks"]):
            return f"images tagged {_one_line(tag)!r} rarely look like this: {words}"
        return f"little speaks for it; against it: {words}" if words else "little speaks for it"

    def _kept(self, place: int, *, withheld: bool) -> str:
        words, score = self._in_words(place), self.explanations.score[place]
        if words and score >= LITTLE:
            return words
        if withheld:
            return "given by the owner; too little is known of this image to doubt it"
        if not self.explanations.judged[place]:
            return "given by the owner; the evidence says little about this tag"
        if words and score > 0:
            return f"given by the owner; a little speaks for it: {words}"
        return "given by the owner; too little speaks against it"

    def _in_words(self, place: int, besides: str = "") -> str:
        """Return what points in the verdict's direction, the largest share first."""
        direction, shares = self._lists[0][place], self._lists[1][place]
        pairs = [(share, k) for k, share in enumerate(shares) if share >= LEAST_SHARE]
        pairs.sort(key=lambda pair: -pair[0])
        percents = whole_percents([share for share, _ in pairs])
        kinds = [self.explanations.kinds[k] for _, k in pairs]
        return ", ".join(
            f"{TITLES[kind.name]} {percent} %{self._names(kind, place, direction, besides)}"
            for kind, percent in zip(kinds, percents, strict=True)
        )

    def _names(self, kind: Kind, place: int, direction: float, besides: str) -> str:
        """Return in brackets what of a kind points most in a direction."""
        most = NAMES[kind.name]
        if kind.name == "looks":
            alike = [tag for tag in self.explanations.looks_like[place] if tag != besides]
            listed = ", ".join(map(_one_line, alike[:most]))
            return f" (like images tagged {listed})" if listed else ""
        toward = kind.strongest(place, direction, most)
        if not toward:
            return MISSING[kind.name] if direction < 0 else ""
        return f" ({', '.join(_one_line(part.name) for part in toward)})"

    def in_full(self, place: int, change: Change) -> ExplainedChange:
        """Return the change with all parts of its evidence."""
        found, direction = self.explanations, float(self.directions[place])
        parts = [part for part in found.parts(place) if part.amount]
        names = [kind.name for kind in found.kinds]
        shares = dict(zip(names, self.of_kinds[place].tolist(), strict=True))
        toward = dict.fromkeys(names, 0.0)
        for part in parts:
            toward[part.kind] += max(direction * part.amount, 0.0)
        return ExplainedChange(
            **vars(change),
            evidence=float(found.score[place]),
            base_rate=float(found.base_rate[place]),
            judged=bool(found.judged[place]),
            decided=DECIDED[int(found.decided[place])],
            parts=tuple(
                SharedPart(
                    part.kind,
                    part.name or None,
                    float(part.amount),
                    shares[part.kind]
                    * (max(direction * part.amount, 0.0) / (toward[part.kind] or 1.0)),
                )
                for part in parts
            ),
        )

    @cached_property
    def _lists(self) -> tuple[list[float], list[list[float]]]:
        """Directions and shares as lists: single items are read faster from these."""
        return self.directions.tolist(), self.of_kinds.tolist()


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


def _one_line(name: str) -> str:
    """Return a name without line breaks: a reason is one line."""
    return " ".join(name.split())
