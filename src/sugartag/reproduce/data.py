"""The collections that experiments run on, and the concepts that images are searched for by."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sugartag._typing import IntArray
from sugartag.collection.digest import collection_digest
from sugartag.collection.model import Collection
from sugartag.collection.store import open_collection, save_collection
from sugartag.collection.synthetic import World
from sugartag.demo import import_drawings
from sugartag.errors import SettingsError, StorageError
from sugartag.evaluation.protocol import Task, hidden_task, truth_task
from sugartag.reproduce.experiments import read_toml, shipped_experiments
from sugartag.reproduce.photographs import FOLDER, import_some_photographs

SYNTHETIC, OPENCLIPART, DOCUMERICA = "synthetic", "openclipart", FOLDER
ALIASES = {"plane": ("airplane", "aeroplane", "aircraft"), "horses": ("pony",), "dog": ("puppy",)}
"""Other words for what the paper asks for."""
Kind = Literal["exact", "alike", "frequent"]
HIDDEN_SHARE = 0.3
"""Of the given tags, where there is no truth to be measured by."""


@dataclass(frozen=True)
class Data:
    """A collection in a folder, and what is predicted of it."""

    name: str
    title: str
    folder: Path
    seed: int
    hidden: float | None
    """The share of the given tags to hide and find again; None where the truth is known."""
    digest: str
    """Names everything that results depend on: images, tags, owners, features and truth."""
    counts: dict[str, int]
    """How much of everything there is."""
    made: dict[str, Any] | None = None
    """How a synthetic collection was made, or a sample drawn."""

    def task(self) -> Task:
        """Open the collection and say what is to be predicted."""
        return task_of(open_collection(self.folder, verify=False), self.hidden, self.seed)


def task_of(collection: Collection, hidden: float | None, seed: int) -> Task:
    """Predict the truth or, where a share is to be hidden, the hidden tags."""
    if hidden is None:
        return truth_task(collection)
    return hidden_task(collection, hidden, seed)


def synthetic_data(out: Path, *, seed: int, quick: bool) -> Data:
    """Make the collection in the image of NUS-WIDE-128, anew each time: it takes a second."""
    document = read_toml(shipped_experiments() / "worlds" / "nus-wide-like.toml")
    values = {**document["world"], **(document["quick"] if quick else {})}
    folder = out / "data" / f"{SYNTHETIC}-{_mark(document, seed, quick)}"
    collection = named_collection(World(**values), seed, document["names"])
    save_collection(collection, folder, overwrite=True)
    found = _data(SYNTHETIC, document["title"], folder, seed)
    return replace(found, made=asdict(World(**values)))


def named_collection(world: World, seed: int, names: dict[str, Any]) -> Collection:
    """Return a synthetic collection whose tags are called by words of their topics."""
    vocabulary = world.plan(seed).vocabulary
    words = {topic: iter(text.split()) for topic, text in enumerate(names["topics"])}
    others = iter(names["other"].split())
    found = [""] * world.n_tags
    for tag in np.argsort(-vocabulary.frequency, kind="stable").tolist():
        found[tag] = next(words[int(vocabulary.topic[tag])] if vocabulary.seen[tag] else others)
    concepts = tuple(found[tag] for tag in vocabulary.concept.tolist())
    return replace(world.generate(seed), tag_names=tuple(found), concept_names=concepts)


def photographs_data(folder: Path, out: Path, *, seed: int, quick: bool) -> Data:
    """Import some photographs of DOCUMERICA; ``folder`` is the one that holds documerica."""
    document = read_toml(shipped_experiments() / "worlds" / "photographs.toml")
    sample = {**document["sample"], **(document["quick"] if quick else {})}
    source, target = folder / DOCUMERICA, out / "data" / DOCUMERICA
    if not (source / "images.csv").is_file():
        raise SettingsError(f"{source} has no images.csv; name the folder that holds {DOCUMERICA}")
    import_some_photographs(source, target, **sample)
    return replace(_data(DOCUMERICA, document["title"], target, seed), made=sample)


def drawings_data(out: Path, *, seed: int) -> Data:
    """Import the drawings that come with the package, unless they are there already."""
    folder = shipped_pictures(out)
    return _data(OPENCLIPART, "The shipped OpenClipart drawings", folder, seed)


def shipped_pictures(out: Path) -> Path:
    """Return the folder of the imported drawings."""
    place = out / "data" / OPENCLIPART
    folder = place / "collection"
    if not _is_whole(folder):
        import_drawings(place)
    return folder


def own_data(folder: Path, *, seed: int) -> Data:
    """Take a collection that was imported before."""
    return _data(folder.resolve().name, f"The collection {folder.name}", folder.resolve(), seed)


def _mark(document: dict[str, Any], seed: int, quick: bool) -> str:
    return hashlib.sha256(json.dumps([document, seed, quick]).encode()).hexdigest()[:12]


def _data(name: str, title: str, folder: Path, seed: int) -> Data:
    collection = open_collection(folder)
    if collection.n_features == 0:
        raise SettingsError(
            f"{folder} has no image features, which most methods need; "
            "import it with --features X.npy"
        )
    hidden = None if collection.has_truth else HIDDEN_SHARE
    counts = task_of(collection, hidden, seed).counts() | {"features": collection.n_features}
    return Data(name, title, folder, seed, hidden, _digest(collection), counts)


def _is_whole(folder: Path) -> bool:
    try:
        open_collection(folder)
    except StorageError:
        return False
    return True


def _digest(collection: Collection) -> str:
    """Return the digest of the collection, the truth included."""
    digest = hashlib.sha256(collection_digest(collection).encode())
    digest.update("\n".join(collection.concept_names).encode())
    for block in collection.blocks() if collection.has_truth else ():
        truth = collection.truth_of(block).sorted_indices()
        for array in (np.diff(truth.indptr), truth.indices):
            digest.update(np.ascontiguousarray(array, dtype=np.int64).data)
    return digest.hexdigest()


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
