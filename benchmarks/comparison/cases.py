"""The collections that methods are compared on, and how each is measured."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import cache, partial
from pathlib import Path

from comparison.div400 import MIN_USES as LANDMARK_MIN_USES
from comparison.div400 import LandmarkRound, read_landmark_photos, reference_points
from comparison.imported import drawings_case, icons_case, photographs_case
from comparison.rounds import Case, Round, TaskRound, percent
from sugartag.collection.synthetic import World
from sugartag.errors import SettingsError
from sugartag.evaluation.protocol import truth_task

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


@contextmanager
def open_case(name: str, data: Path | None = None) -> Iterator[Case]:
    """Yield the case of this name; what it unpacks is gone when the block ends."""
    if name not in CASE_NAMES:
        raise SettingsError(f"there is no case {name!r}; choose of: {', '.join(CASE_NAMES)}")
    if name in WORLDS:
        yield planted_case(name)
        return
    if data is None:
        raise SettingsError(f"{name} needs --data, the folder that holds {name}")
    folder = data / name
    if not folder.is_dir():
        raise SettingsError(f"there is no folder {folder}; name the one above it with --data")
    with tempfile.TemporaryDirectory(prefix="sugartag-compare-") as scratch:
        yield REAL_CASES[name](folder, Path(scratch))


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


REAL_CASES: Mapping[str, Callable[[Path, Path], Case]] = {
    "documerica": photographs_case,
    "openclipart": drawings_case,
    "mdi": icons_case,
    "div400": lambda folder, _: landmark_case(folder),
}
"""Each made from the folder of its name and one for scratch."""
CASE_NAMES = (*REAL_CASES, *WORLDS)
"""In the order of the page."""
