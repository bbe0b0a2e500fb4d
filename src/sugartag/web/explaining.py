"""Why a tag is proposed or doubted, with the pictures that the model's evidence names."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from sugartag.changes.browsing import Proposal
from sugartag.changes.catalogue import Catalogue
from sugartag.collection.align import seen_from
from sugartag.collection.model import Collection
from sugartag.methods.base import Explains
from sugartag.pipeline.changes import Action, ExplainedChange, SharedPart
from sugartag.pipeline.model import Model
from sugartag.pipeline.reasons import TITLES, Verdict, reasoned
from sugartag.web.queries import Shown, examples, numbers_of, shown

MOST_PARTS = 6
"""Parts of a kind that are listed, at most."""
MOST_EXAMPLES = 6


@dataclass(frozen=True, slots=True)
class WhyPart:
    """One contribution."""

    name: str
    share: float
    picture: Shown | None
    """The picture that the part names, if it names one."""


@dataclass(frozen=True, slots=True)
class WhyKind:
    """One kind of evidence, and what it counts for in the verdict."""

    title: str
    share: float
    parts: tuple[WhyPart, ...]


@dataclass(frozen=True, slots=True)
class Why:
    """The reason for one proposal."""

    proposal: Proposal
    reason: str
    kinds: tuple[WhyKind, ...]
    """The largest share first; empty where the model cannot take its evidence apart."""
    base_rate: float | None
    examples: tuple[Shown, ...]
    """Pictures with this tag, those first of which the model is surest."""


@dataclass(frozen=True, eq=False)
class Explainer:
    """Takes verdicts of a model about a collection apart."""

    model: Model
    collection: Collection

    @cached_property
    def _row(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.collection.ids)}

    @cached_property
    def _tag(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.model.catalogue.tag_names)}

    @cached_property
    def _aligned(self) -> Collection:
        return seen_from(self.model.catalogue, self.collection)

    def explained(self, proposal: Proposal) -> ExplainedChange | None:
        """Return all that a proposal follows from, if the model can say and knows the tag."""
        row, tag = self._row.get(proposal.image_id), self._tag.get(proposal.tag)
        if row is None or tag is None or not isinstance(self.model.fitted, Explains):
            return None
        block = slice(row, row + 1)
        rows = self._aligned.rows(block)
        action: Action = (
            "doubt" if proposal.action == "doubt" else "keep" if proposal.given else "add"
        )
        verdict = Verdict(0, tag, action, proposal.probability)
        scores = self.model.fitted.scores(rows)
        (found,) = reasoned([verdict], self.model, rows, scores, [proposal.image_id], in_full=True)
        return found if isinstance(found, ExplainedChange) else None


def why(catalogue: Catalogue, explainer: Explainer | None, proposal: Proposal) -> Why:
    """Return the reason for a proposal, as far as it can be said."""
    explained = None if explainer is None else explainer.explained(proposal)
    run = catalogue.run_number(proposal.run_id)
    alike = examples(catalogue, run, proposal.tag, besides=proposal.image, limit=MOST_EXAMPLES)
    named = [part.name for part in explained.parts if part.name] if explained else []
    numbers = numbers_of(catalogue, named)
    pictures = shown(catalogue, [*alike, *numbers.values()])
    cited = {name: pictures[number] for name, number in numbers.items()}
    return Why(
        proposal=proposal,
        reason=proposal.reason,
        kinds=() if explained is None else _kinds(explained.parts, cited),
        base_rate=None if explained is None else explained.base_rate,
        examples=tuple(pictures[number] for number in alike),
    )


def _kinds(parts: tuple[SharedPart, ...], cited: Mapping[str, Shown]) -> tuple[WhyKind, ...]:
    """Return the parts that point in the verdict's direction, by kind."""
    found = []
    for kind, title in TITLES.items():
        these = [part for part in parts if part.kind == kind and part.share > 0]
        if not these:
            continue
        named = sorted((part for part in these if part.name), key=lambda part: -part.share)
        listed = tuple(
            WhyPart(part.name or "", part.share, _picture(part, cited))
            for part in named[:MOST_PARTS]
        )
        found.append(WhyKind(title, sum(part.share for part in these), listed))
    return tuple(sorted(found, key=lambda kind: -kind.share))


def _picture(part: SharedPart, cited: Mapping[str, Shown]) -> Shown | None:
    """Return the picture that a part names; a tag may be called as some image is."""
    return cited.get(part.name or "") if part.kind == "neighbour" else None
