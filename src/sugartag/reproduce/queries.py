"""The concepts that images are searched for by: the paper's queries where they exist."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from sugartag._typing import IntArray

ALIASES = {"plane": ("airplane", "aeroplane", "aircraft"), "horses": ("pony",), "dog": ("puppy",)}
"""Other words for what the paper asks for."""

Kind = Literal["exact", "alike", "frequent"]


@dataclass(frozen=True)
class Query:
    """One concept that images are searched for by."""

    concept: int
    name: str
    """The concept's own name."""
    kind: Kind
    """The paper's query itself, one named alike, or one that is frequent, in its place."""
    asked: str | None
    """The paper's query; None where the concept stands for none."""


def chosen_queries(
    asked: Sequence[str], names: Sequence[str], n_positives: IntArray
) -> tuple[Query, ...]:
    """Return as many concepts as are asked for, or as there are.

    A query is the concept of its name, else one named alike; what is then missing is filled with
    the most frequent concepts.
    """
    place = {name.lower(): concept for concept, name in enumerate(names)}
    found: dict[int, Query] = {}
    for word in asked:
        for alike in variants(word):
            concept = place.get(alike)
            if concept is not None and concept not in found and n_positives[concept]:
                kind: Kind = "exact" if alike == word else "alike"
                found[concept] = Query(concept, names[concept], kind, word)
                break
    for concept in sorted(range(len(names)), key=lambda one: (-int(n_positives[one]), one)):
        if len(found) >= min(len(asked), len(names)):
            break
        if concept not in found and n_positives[concept]:
            found[concept] = Query(concept, names[concept], "frequent", None)
    return tuple(found.values())


def variants(word: str) -> Iterator[str]:
    """Yield a word, its singular or plural, and other words for it."""
    yield word
    if word.endswith("s"):
        yield word[:-1]
    elif word.endswith("y"):
        yield f"{word[:-1]}ies"
    else:
        yield from (f"{word}s", f"{word}es")
    yield from ALIASES.get(word, ())


def described_queries(queries: Sequence[Query], asked: Sequence[str]) -> str:
    """Say in a sentence or two which concepts were taken and why."""
    by_kind = {
        kind: [one.name for one in queries if one.kind == kind]
        for kind in ("exact", "alike", "frequent")
    }
    parts = []
    if by_kind["exact"]:
        parts.append(f"The paper's queries: {', '.join(by_kind['exact'])}.")
    if by_kind["alike"]:
        parts.append(f"Named alike: {', '.join(by_kind['alike'])}.")
    if by_kind["frequent"]:
        none = not by_kind["exact"] and not by_kind["alike"]
        which = "None of the paper's queries" if none else "The other queries of the paper"
        verb = "is" if none else "are not"
        parts.append(
            f"{which} ({', '.join(asked)}) {verb} among the concepts here; "
            f"in their place the most frequent concepts: {', '.join(by_kind['frequent'])}."
        )
    return " ".join(parts)
