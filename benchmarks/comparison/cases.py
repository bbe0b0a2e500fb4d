"""The collections that methods are compared on, and how each is measured."""

import csv
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from comparison.div400 import MIN_USES as LANDMARK_MIN_USES
from comparison.div400 import LandmarkRound, read_landmark_photos, reference_points
from sugartag.collection.model import Collection
from sugartag.collection.readers import Sources, import_collection
from sugartag.collection.store import open_collection
from sugartag.collection.synthetic import World
from sugartag.demo import MIN_USES
from sugartag.engine.base import Engine
from sugartag.errors import SettingsError
from sugartag.evaluation.protocol import Task, evaluate, hidden_task, truth_task
from sugartag.evaluation.results import Measures, Metrics
from sugartag.methods.base import Method

HIDDEN_SHARE = 0.3

_PLANTED = World(
    n_images=4_000,
    n_tags=300,
    n_owners=400,
    n_groups=80,
    n_topics=16,
    n_features=64,
    n_concepts=240,
)
WORLDS: Mapping[str, Mapping[str, float]] = {
    "planted-clean": {
        "missing_share": 0.3,
        "random_noise": 0.3,
        "habits_per_owner": 0.5,
        "habit_rate": 0.3,
        "visual_difficulty": 1.0,
        "owner_style": 0.2,
    },
    "planted-noisy": {
        "missing_share": 0.5,
        "random_noise": 2.0,
        "habits_per_owner": 2.0,
        "habit_rate": 0.6,
        "visual_difficulty": 1.0,
        "owner_style": 0.2,
    },
    "planted-hard": {
        "missing_share": 0.5,
        "random_noise": 1.0,
        "habits_per_owner": 1.5,
        "habit_rate": 0.5,
        "visual_difficulty": 4.0,
        "owner_style": 1.0,
    },
}
"""Fixed before any method was run on them: easy in all, bad tags, bad sight."""
DIM = dict(WORLDS["planted-hard"]) | {"visual_difficulty": 2.0, "owner_style": 0.5}
"""The people of the hard world, and half its difficulty."""

DATA_FOLDER = {"openclipart-full": "openclipart", "div400": "div400"}
"""Where the data of a case lie in the folder given with ``--data``."""
CASE_NAMES = ("openclipart", "openclipart-full", "div400", *WORLDS)
"""In the order of the page."""


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
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What a planted world was made from."""


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


@contextmanager
def open_case(name: str, data: Path | None = None) -> Iterator[Case]:
    """Yield the case of this name; what it unpacks is gone when the block ends."""
    if name not in CASE_NAMES:
        raise SettingsError(f"there is no case {name!r}; choose of: {', '.join(CASE_NAMES)}")
    if name in WORLDS:
        yield planted_case(name)
        return
    folder = None
    if name in DATA_FOLDER:
        if data is None:
            raise SettingsError(f"{name} needs --data, the folder that holds {DATA_FOLDER[name]}")
        folder = data / DATA_FOLDER[name]
        if not folder.is_dir():
            raise SettingsError(f"there is no folder {folder}; name the one above it with --data")
    with tempfile.TemporaryDirectory(prefix="sugartag-compare-") as scratch:
        if folder is None:
            yield _shipped_case(Path(scratch))
        elif name == "div400":
            yield landmark_case(folder)
        else:
            yield _whole_case(folder, Path(scratch))


def hidden_case(name: str, description: str, collection: Collection) -> Case:
    """Return a case in which part of the given tags is hidden, others for each seed."""

    def start(seed: int) -> Round:
        return TaskRound(hidden_task(collection, HIDDEN_SHARE, seed), author_aware=True)

    protocol = (
        f"{percent(HIDDEN_SHARE)} of the given tags are hidden, others for each seed, and are to "
        "be found again among the tags used ten times or more. A tag that an image still has is in "
        "no ranking of it."
    )
    return Case(name, description, protocol, start)


def landmark_case(folder: Path) -> Case:
    """Return the case of photos that people judged for landmarks."""
    photos = read_landmark_photos(folder)
    return Case(
        name="div400",
        description=(
            "Flickr photos found for landmarks, of which people said whether they show the "
            "landmark (MediaEval Div400). Tags: the words of each photo in lower case and without "
            f"accents, used by at least {LANDMARK_MIN_USES} photos or part of a landmark's name. "
            "Features: ten classic descriptors, each number standardised, each descriptor divided "
            "by the square root of its length."
        ),
        protocol=(
            "Methods learn from all photos and tags, never from the judgments. The score of a "
            "photo for a landmark is the mean score of the tags that are the words of its name "
            "(three letters or more) or the whole name run together. The judged photos of each "
            "landmark are ranked by it, those nobody could decide on left out; MAP is the mean of "
            "the tie-aware average precision over landmarks. Seeds change the random numbers of "
            "the methods and the tags hidden in tuning."
        ),
        start=lambda seed: LandmarkRound(photos),
        references=cache(partial(reference_points, photos)),
    )


def larger_world(world: World, times: int = 10) -> World:
    """Return the world with so many times as many images, owners and groups."""
    names = ("n_images", "n_owners", "n_groups")
    return replace(world, **{name: times * getattr(world, name) for name in names})


def planted_world(settings: Mapping[str, float]) -> World:
    """Return a world with these people and looks, as large as all that are compared on."""
    return World(**(asdict(_PLANTED) | dict(settings)))


def planted_case(name: str) -> Case:
    """Return a case with a world made for each seed, whose right answer is known."""
    world = planted_world(WORLDS[name])

    def start(seed: int) -> Round:
        return TaskRound(truth_task(world.generate(seed)), author_aware=True)

    return Case(
        name=name,
        description=(
            "A made-up collection whose right tags are known, another one for each seed. Owners "
            f"leave out {percent(world.missing_share)} of the right tags, add "
            f"{world.random_noise:g} wrong ones an image at random, and have "
            f"{world.habits_per_owner:g} favourite tags each, put on {percent(world.habit_rate)} "
            "of their images, right or not. What the tags do not explain of an image's look is "
            f"{world.visual_difficulty:g} times what they do, an owner's style "
            f"{world.owner_style:g} times."
        ),
        protocol=(
            "Methods see the tags as given; measured is how well they find the planted truth of "
            "every tag that can be seen in an image."
        ),
        start=start,
        settings=asdict(world),
    )


def percent(share: float) -> str:
    """Return a share in words."""
    return f"{100 * share:g} %"


def _shipped_case(scratch: Path) -> Case:
    with resources.as_file(resources.files("sugartag") / "assets" / "openclipart") as shipped:
        collection = _imported(shipped / "images.csv", shipped / "features.npy", scratch)
    description = (
        "The drawings that come with sugartag, tagged by the people who drew them (Open Clip Art "
        f"Library); tags that at least {MIN_USES} drawings have."
    )
    return hidden_case("openclipart", description, collection)


def _whole_case(folder: Path, scratch: Path) -> Case:
    table = scratch / "images.csv"
    with (
        (folder / "images.csv").open(encoding="utf-8", newline="") as source,
        table.open("w", encoding="utf-8", newline="") as target,
    ):
        writer = csv.writer(target)
        writer.writerow(("image_id", "owner", "tags"))
        for row in csv.DictReader(source):
            writer.writerow((row["image_id"], row["author"], row["tags"]))
    description = (
        "All drawings of Debian's openclipart 0.18 that are in the public domain, of which the "
        f"shipped ones are a part; tags that at least {MIN_USES} drawings have."
    )
    collection = _imported(table, folder / "features.npy", scratch)
    return hidden_case("openclipart-full", description, collection)


def _imported(table: Path, features: Path, scratch: Path) -> Collection:
    folder = scratch / "collection"
    import_collection(Sources(table, features=features), folder, min_uses=MIN_USES)
    return open_collection(folder, verify=False)


def _headline(metrics: Metrics) -> dict[str, Any]:
    """Return the metrics that are compared, under the names of result files."""
    found: dict[str, Any] = metrics.by_name()
    if metrics.changes is not None:
        found |= metrics.changes
    if metrics.intervals:
        found["intervals"] = {name: list(ends) for name, ends in metrics.intervals.items()}
    return found
