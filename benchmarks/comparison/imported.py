"""Cases made from the tables of real collections."""

from pathlib import Path

import numpy as np

from comparison.categories import CategoryRound
from comparison.rounds import Case, Round, TaskRound, hidden_case, percent
from sugartag.collection.model import Collection
from sugartag.collection.readers import Sources, import_collection
from sugartag.collection.store import open_collection
from sugartag.collection.subset import some_images, without_truth
from sugartag.collection.vocabulary import TagRules
from sugartag.demo import MIN_USES
from sugartag.evaluation.protocol import truth_task
from sugartag.reproduce.photographs import import_photographs, plain_table

LEFT_OUT = 0.1
"""Of the images, in each round of a case whose answer is the same for all seeds."""
ICON_MIN_USES = 3
LEAVING_OUT = 17
"""Tells the random numbers of leaving out from others of the same seed."""
SEEDS = (
    f"Each seed leaves out another {percent(LEFT_OUT)} of the images, drawn at random, so that "
    "methods without random numbers vary too."
)


def drawings_case(folder: Path, scratch: Path) -> Case:
    """Return the case of all drawings, by hidden tags."""
    description = (
        "Drawings in the public domain, tagged by the people who drew them (Open Clip Art "
        "Library, all of Debian's openclipart 0.18 that is public domain), without titles; tags "
        f"that at least {MIN_USES} drawings have."
    )
    table = plain_table(folder, scratch, owner="author")
    collection = _imported(Sources(table, features=_features(folder)), scratch, MIN_USES)
    return hidden_case("openclipart", description, collection)


def photographs_case(folder: Path, scratch: Path) -> Case:
    """Return the case of photographs whose concepts were described apart from their tags."""
    collection = import_photographs(folder, scratch / "collection")

    def start(seed: int) -> Round:
        return TaskRound(truth_task(fewer_images(collection, seed)), author_aware=True)

    return Case(
        name="documerica",
        description=(
            "Photographs of the DOCUMERICA project, 1971 to 1977 (US National Archives). Tags: the "
            "nouns of the archive's titles, all of them; the titles themselves are not given. "
            "Owners: the photographers; groups: the places they worked at. Truth: concrete nouns "
            "in machine descriptions of each picture, made apart from the tags. It is good where "
            "it says yes and incomplete where it says no: a concept that is there and was not "
            "mentioned counts as wrong, so all figures are too low, for every method."
        ),
        protocol=(
            "Methods see the tags as given; measured is how well they find the concepts of the "
            f"truth, each scored by the tag of the same name. {SEEDS}"
        ),
        start=start,
        collection=collection,
    )


def icons_case(folder: Path, scratch: Path) -> Case:
    """Return the case of icons that people sorted into categories."""
    table, truth = plain_table(folder, scratch), folder / "truth.csv"
    sources = Sources(table, features=_features(folder), truth=truth)
    collection = _imported(sources, scratch, ICON_MIN_USES)
    return Case(
        name="mdi",
        description=(
            "Material Design Icons 7.4, drawn by many authors and sorted into categories by "
            "curators. Tags: the words of names and aliases that at least "
            f"{ICON_MIN_USES} icons have; the names themselves are not given. Icons without a "
            "category are learned from and are in no ranking."
        ),
        protocol=(
            "Methods see the tags, never the categories. The score of an icon for a category is "
            "the mean score of the tags that are words of the category's name (two letters or "
            "more, without and, or), or their singular or plural; categories without such a tag "
            "are left out. MAP ranks all icons that have a category, for each category; MiAP ranks "
            f"the categories, for each icon that has one of them; both are tie-aware. {SEEDS}"
        ),
        start=lambda seed: CategoryRound(fewer_images(collection, seed)),
        # Its truth are categories, which are no tags.
        collection=without_truth(collection),
    )


def fewer_images(collection: Collection, seed: int) -> Collection:
    """Return the collection without a tenth of its images, another one for each seed."""
    rng = np.random.default_rng([seed, LEAVING_OUT])
    n_images = collection.n_images
    out = rng.choice(n_images, size=round(LEFT_OUT * n_images), replace=False)
    return some_images(collection, np.setdiff1d(np.arange(n_images), out))


def _features(folder: Path) -> Path:
    return folder / "features.npy"


def _imported(sources: Sources, scratch: Path, min_uses: int) -> Collection:
    folder = scratch / "collection"
    import_collection(sources, folder, rules=TagRules(min_uses=min_uses))
    return open_collection(folder, verify=False)
