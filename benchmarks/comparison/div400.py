"""The Div400 photos: their tags, descriptors and users, and how people judged them for landmarks.

What methods learn from is read from ``photos.tsv`` and ``features.npz``; of the judgments they see
nothing. The names of the landmarks only say which tags are kept although few photos have them.
"""

import csv
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from comparison.word_scores import fitted_word_scores, resampled_interval
from sugartag._typing import BoolArray, FloatArray, IntArray
from sugartag.collection.build import collection_from_arrays
from sugartag.collection.model import Collection
from sugartag.engine.base import Engine
from sugartag.errors import CollectionError
from sugartag.evaluation.ranking import average_precision
from sugartag.methods.base import Method

SHORTEST_WORD = 3
"""Words of a landmark's name with fewer letters, as ``of``, say nothing about a photo."""
MIN_USES = 10
"""Photos that must have a tag, unless it is a word of a landmark."""
UNSURE = -1
"""What the judgments say of a photo that nobody could decide on; it is not ranked."""
ORDERS = 100
"""Random orders whose mean precision is a reference point."""


@dataclass(frozen=True, eq=False)
class Landmark:
    """A place that people searched photos of, and what they thought of the photos found."""

    name: str
    tag: IntArray
    """The tags whose mean score is the landmark's: its words, and its name run together."""
    photo: IntArray
    """The judged photos, as rows of the collection."""
    relevant: BoolArray
    rank: IntArray
    """The place that Flickr's own search gave each photo, from 1."""

    def precision(self, scores: FloatArray) -> float:
        """Return the tie-aware average precision of scores, one for each judged photo."""
        return average_precision(scores, self.relevant)


@dataclass(frozen=True, eq=False)
class LandmarkPhotos:
    """The photos as a collection without a truth, and the landmarks to rank them for."""

    collection: Collection
    landmarks: tuple[Landmark, ...]


def read_landmark_photos(folder: Path) -> LandmarkPhotos:
    """Read ``photos.tsv``, ``features.npz`` and ``judgments.tsv`` of the folder."""
    photos = list(_rows(folder / "photos.tsv", ("id", "user", "tags")))
    ids = [photo["id"] for photo in photos]
    judgments: dict[str, list[tuple[str, int, int]]] = {}
    for row in _rows(folder / "judgments.tsv", ("topic", "id", "rank", "relevant")):
        judged = (row["id"], int(row["rank"]), int(row["relevant"]))
        judgments.setdefault(row["topic"], []).append(judged)
    tags = [sorted({plain(word) for word in photo["tags"].split()}) for photo in photos]
    names = _vocabulary(tags, judgments)
    number = {name: column for column, name in enumerate(names)}
    pairs = [(row, number[t]) for row, some in enumerate(tags) for t in some if t in number]
    row, column = np.array(pairs).T
    shape = (len(photos), len(names))
    users = {user: index for index, user in enumerate(sorted({p["user"] for p in photos}))}
    collection = collection_from_arrays(
        sparse.csr_array((np.ones(len(row), dtype=np.int8), (row, column)), shape=shape),
        np.array([users[photo["user"]] for photo in photos]),
        features=_descriptors(folder / "features.npz", ids),
        tag_names=names,
    )
    row_of = {image: row for row, image in enumerate(ids)}
    landmarks = tuple(_landmark(name, judgments[name], number, row_of) for name in judgments)
    return LandmarkPhotos(collection, landmarks)


def plain(text: str) -> str:
    """Return the text in lower case and without accents, as tags and landmarks are compared."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in parts if not unicodedata.combining(letter))


def landmark_words(name: str) -> tuple[str, ...]:
    """Return the tags that stand for a landmark: its words, and its whole name run together."""
    words = re.findall(r"[^\W_]+", plain(name))
    long_enough = [word for word in words if len(word) >= SHORTEST_WORD]
    return tuple(dict.fromkeys([*long_enough, "".join(words)]))


@dataclass(frozen=True, eq=False)
class LandmarkRound:
    """Ranks the judged photos of each landmark; the same photos and tags in every round."""

    photos: LandmarkPhotos

    @property
    def given(self) -> Collection:
        """What methods learn from."""
        return self.photos.collection

    def counts(self) -> dict[str, int]:
        """Return how much of everything there is."""
        given, landmarks = self.photos.collection, self.photos.landmarks
        return {
            "images": given.n_images,
            "tags": given.n_tags,
            "owners": given.n_owners,
            "features": given.n_features,
            "landmarks": len(landmarks),
            "judgments": sum(len(landmark.photo) for landmark in landmarks),
        }

    def measure(
        self, method: Method, *, engine: Engine, rng: np.random.Generator, replicates: int
    ) -> dict[str, Any]:
        """Fit the method and return its precision over landmarks, what it cost, and intervals."""
        landmarks = self.photos.landmarks
        sets = [landmark.tag for landmark in landmarks]
        scored = fitted_word_scores(method, self.given, sets, engine=engine, rng=rng)
        precisions = landmark_precisions(scored.scores, landmarks)
        aware = landmark_precisions(scored.strangers, landmarks)
        found: dict[str, Any] = {
            "map": float(precisions.mean()),
            "author_aware": {"map": float(aware.mean())},
            **scored.cost,
            "by_item": precisions.tolist(),
        }
        if replicates:
            found["intervals"] = {"map": list(resampled_interval(precisions, replicates))}
        return found


def landmark_precisions(scores: FloatArray, landmarks: Sequence[Landmark]) -> FloatArray:
    """Return the average precision of each landmark; ``scores`` is photos x landmarks."""
    columns = zip(scores.T, landmarks, strict=True)
    return np.array([landmark.precision(column[landmark.photo]) for column, landmark in columns])


def reference_points(photos: LandmarkPhotos) -> dict[str, float]:
    """Return the mean precision of orders that no method made."""
    rng = np.random.default_rng(0)
    given = photos.collection.tags_of(slice(0, photos.collection.n_images)).toarray() > 0
    landmarks = photos.landmarks
    words = [given[np.ix_(landmark.photo, landmark.tag)].sum(axis=1) for landmark in landmarks]

    def shuffled(scores: Sequence[FloatArray]) -> float:
        # Fractions below 1 order equal counts at random and leave the others as they are.
        pairs = list(zip(landmarks, scores, strict=True)) * ORDERS
        return float(np.mean([m.precision(s + rng.random(len(s))) for m, s in pairs]))

    pairs = list(zip(landmarks, words, strict=True))
    return {
        "random order": shuffled([np.zeros(len(landmark.photo)) for landmark in landmarks]),
        "landmark words among the given tags, equal counts share their place": float(
            np.mean([m.precision(count.astype(np.float64)) for m, count in pairs])
        ),
        "landmark words among the given tags, equal counts in random order": shuffled(words),
        "Flickr's own rank": float(
            np.mean([m.precision(-m.rank.astype(np.float64)) for m in landmarks])
        ),
    }


def _rows(path: Path, needed: Sequence[str]) -> Iterator[Mapping[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        missing = [name for name in needed if name not in (reader.fieldnames or ())]
        if missing:
            raise CollectionError(f"{path} has no column {missing[0]!r}; it needs {needed}")
        yield from reader


def _vocabulary(tags: Sequence[Sequence[str]], landmarks: Mapping[str, Any]) -> list[str]:
    uses = Counter(tag for some in tags for tag in some)
    words = {word for name in landmarks for word in landmark_words(name)}
    return sorted(tag for tag, count in uses.items() if count >= MIN_USES or tag in words)


def _descriptors(path: Path, ids: Sequence[str]) -> FloatArray:
    """Return all descriptors side by side, each number standardised, each descriptor as heavy.

    Numbers have mean 0 and standard deviation 1 over the photos, divided by the square root of
    how many the descriptor has, so that long descriptors do not drown short ones.
    """
    with np.load(path, allow_pickle=False) as arrays:
        if arrays["ids"].tolist() != list(ids):
            raise CollectionError(f"the photos of {path} are not those of photos.tsv, in order")
        parts = [arrays[name].astype(np.float64) for name in arrays.files if name != "ids"]
    scaled = []
    for part in parts:
        spread = part.std(axis=0)
        spread[spread == 0] = 1.0
        scaled.append((part - part.mean(axis=0)) / spread / np.sqrt(part.shape[1]))
    return np.concatenate(scaled, axis=1).astype(np.float32)


def _landmark(
    name: str,
    judged: Sequence[tuple[str, int, int]],
    tag_number: Mapping[str, int],
    row_of: Mapping[str, int],
) -> Landmark:
    sure = [one for one in judged if one[2] != UNSURE]
    unknown = [image for image, _, _ in sure if image not in row_of]
    if unknown or not any(relevant for _, _, relevant in sure):
        reason = f"judges {unknown[0]!r}, no photo" if unknown else "has no relevant photo"
        raise CollectionError(f"the landmark {name!r} {reason}; check judgments.tsv")
    return Landmark(
        name=name,
        tag=np.array([tag_number[w] for w in landmark_words(name) if w in tag_number], np.int64),
        photo=np.array([row_of[image] for image, _, _ in sure]),
        relevant=np.array([relevant > 0 for _, _, relevant in sure]),
        rank=np.array([rank for _, rank, _ in sure]),
    )
