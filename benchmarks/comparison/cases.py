"""The collections that methods are compared on, and how each is measured."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

from comparison.div400 import MIN_USES as LANDMARK_MIN_USES
from comparison.div400 import LandmarkRound, read_landmark_photos, reference_points
from comparison.imported import drawings_case, icons_case, photographs_case
from comparison.rounds import Case
from sugartag.errors import SettingsError


@contextmanager
def open_case(name: str, data: Path | None = None) -> Iterator[Case]:
    """Yield the case of this name; what it unpacks is gone when the block ends."""
    if name not in CASE_NAMES:
        raise SettingsError(f"there is no case {name!r}; choose from: {', '.join(CASE_NAMES)}")
    if data is None:
        raise SettingsError(f"{name} needs --data, the folder that holds {name}")
    folder = data / name
    if not folder.is_dir():
        raise SettingsError(f"there is no folder {folder}; name the one above it with --data")
    with tempfile.TemporaryDirectory(prefix="sugartag-compare-") as scratch:
        yield CASES[name](folder, Path(scratch))


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


CASES: Mapping[str, Callable[[Path, Path], Case]] = {
    "documerica": photographs_case,
    "openclipart": drawings_case,
    "mdi": icons_case,
    "div400": lambda folder, _: landmark_case(folder),
}
"""Each made from the folder of its name and one for scratch."""
CASE_NAMES = tuple(CASES)
"""In the order of the page."""
TITLES = {
    "documerica": "DOCUMERICA",
    "openclipart": "OpenClipart",
    "mdi": "Material Design Icons",
    "div400": "Div400",
}
"""What the tables call them."""


def in_order(cases: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was found of each case, in the order of the page."""
    return {name: cases[name] for name in CASE_NAMES if name in cases}
