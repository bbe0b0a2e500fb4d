"""The cases of real collections, made from small files in the same layout."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from comparison.cases import CASE_NAMES, open_case
from comparison.categories import category_tags, category_words
from comparison.jobs import Effort, Job, run_job
from comparison.render import comparison_section
from comparison.summary import comparison_document
from sugartag.engine import LocalEngine
from sugartag.errors import CollectionError

N_IMAGES = 80
NEEDS_DATA = pytest.mark.skipif(
    not os.environ.get("SUGARTAG_DATA"), reason="SUGARTAG_DATA names no folder"
)


def write_table(path: Path, *rows: str) -> None:
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Random:
    """Scores at random, some of them equal."""

    name: ClassVar[str] = "random"
    gives_whole_sets: ClassVar[bool] = False
    floor: ClassVar[float] = 0.0

    def fit(self, collection, *, engine, rng):
        return self

    def scores(self, rows, *, strangers_only=False):
        rng = np.random.default_rng(rows.position[0] + 1000 * strangers_only)
        return rng.integers(0, 6, rows.tags.shape).astype(np.float32)


def test_methods_are_compared_on_real_collections_only():
    assert CASE_NAMES == ("documerica", "openclipart", "mdi", "div400")


@pytest.mark.parametrize(("name", "has_truth"), [("documerica", True), ("mdi", False)])
def test_verdicts_are_judged_on_all_images(data, name, has_truth):
    with open_case(name, data) as case:
        assert case.collection.n_images == N_IMAGES
        assert case.collection.has_truth == has_truth  # Categories are no tags.


@pytest.mark.parametrize("name", ["documerica", "openclipart", "mdi"])
def test_no_title_is_given(data, name):
    with open_case(name, data) as case:
        assert case.start(0).given.texts_of("titles") is None
        assert not case.start(0).given.has_truth


@pytest.mark.parametrize("name", ["documerica", "mdi"])
def test_each_seed_leaves_out_another_tenth(data, name):
    with open_case(name, data) as case:
        ids = [set(case.start(seed).given.ids) for seed in (0, 0, 1)]

        out = np.random.default_rng([1, 17]).choice(N_IMAGES, size=N_IMAGES // 10, replace=False)
        assert ids[0] == ids[1] != ids[2]
        assert ids[2] == {f"{name[0].replace('d', 'p')}{i}" for i in set(range(80)) - set(out)}
        assert "leaves out another 10 % of the images" in " ".join(case.protocol.split())


def test_all_tags_of_photographs_are_kept_and_concepts_are_scored_by_tags(data):
    with open_case("documerica", data) as case:
        here = case.start(0)

        counts = here.counts()

        assert set(here.given.tag_names) == {"coast", "farm", "once"}
        assert {name: counts[name] for name in ("owners", "groups", "concepts", "features")} == {
            "owners": 5,
            "groups": 1,
            "concepts": 2,
            "features": 6,
        }
        assert [here.given.tag_names[tag] for tag in here.task.concept_tag.values()] == ["coast"]
        assert "incomplete where it says no" in case.description


def test_drawings_are_measured_by_hidden_tags(data):
    with open_case("openclipart", data) as case:
        here = case.start(0)

        assert here.counts()["images"] == N_IMAGES
        assert here.task.hidden["share"] == 0.3


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Files / Folders", ("files", "folders")),
        ("Alpha / Numeric", ("alpha", "numeric")),
        ("Transportation + Road", ("transportation", "road")),
        ("Food and Drink or X", ("food", "drink")),
        ("Date_Time", ("date", "time")),
    ],
)
def test_the_words_of_a_category(name, words):
    assert category_words(name) == words


@pytest.mark.parametrize(
    ("tags", "name", "expected"),
    [
        (["files", "file"], "Files", ["files"]),  # The word itself goes first.
        (["file", "folders"], "Files / Folders", ["file", "folders"]),
        (["sports"], "Sport", ["sports"]),
        (["box"], "Boxes", ["box"]),
        (["boxes"], "Box", ["boxes"]),
        (["story", "city"], "Stories / City", ["story", "city"]),
        (["cities"], "City", ["cities"]),
        (["account"], "Account / Accounts", ["account"]),  # One tag counts once.
        (["filed"], "Files", []),
    ],
)
def test_the_tags_of_a_category(tags, name, expected):
    number = {tag: place for place, tag in enumerate(tags)}

    assert category_tags(name, number).tolist() == sorted(number[tag] for tag in expected)


def test_icons_are_ranked_as_scikit_learn_ranks_them(data):
    metrics = pytest.importorskip("sklearn.metrics")
    with open_case("mdi", data) as case:
        here = case.start(0)
        given, n = here.given, here.given.n_images
        found = here.measure(
            Random(), engine=LocalEngine(), rng=np.random.default_rng(0), replicates=20
        )

    scores = Random().scores(given.rows(slice(0, n)))
    tag = {name: scores[:, place] for place, name in enumerate(given.tag_names)}
    # "rare" is on one icon only; no word of the fourth category is a tag.
    assert set(tag) == {"file", "folder", "home", "media"}
    means = [(tag["file"] + tag["folder"]) / 2, tag["home"], tag["media"]]
    icons = [int(name[1:]) for name in given.ids]
    ranked = [row for row, icon in enumerate(icons) if icon < 60]
    truth = np.zeros((n, 3), dtype=bool)
    for row, icon in enumerate(icons):
        truth[
            row, [k for k in range(3) if icon < 60 and (icon % 4 == k or (icon, k) == (0, 1))]
        ] = 1
    by_category = [
        metrics.average_precision_score(truth[ranked, k], means[k][ranked]) for k in range(3)
    ]
    by_icon = [
        metrics.average_precision_score(truth[row], [mean[row] for mean in means])
        for row in ranked
        if truth[row].any()
    ]
    assert found["map"] == pytest.approx(np.mean(by_category))
    assert found["miap"] == pytest.approx(np.mean(by_icon))
    assert found["by_item"] == pytest.approx(by_category)
    low, high = found["intervals"]["map"]
    assert low <= found["map"] <= high
    assert "f_top5" not in found


def test_categories_without_a_single_tag_are_refused(data):
    write_table(data / "mdi" / "truth.csv", "image_id,concept", *(f"m{i},None" for i in range(60)))

    with open_case("mdi", data) as case, pytest.raises(CollectionError, match="no word of any"):
        case.start(0).counts()


@pytest.mark.parametrize("name", ["documerica", "openclipart", "mdi"])
def test_every_case_has_its_section_of_the_page(data, name, tmp_path):
    effort = Effort(0, 5)
    with open_case(name, data) as case:
        runs = {
            method: {s: run_job(Job(method, s), case, tmp_path, effort=effort) for s in (0, 1)}
            for method in ("original", "tag-prior")
        }
        document = comparison_document(case, runs, seeds=[0, 1], effort=effort, processes=1)

    section = comparison_section(document)

    assert "| [tag-prior](methods/tag-prior.md) |" in section
    items = "categories" if name == "mdi" else "images"
    assert f"MAP over {items}" in section
    assert (" 3 categories and " in " ".join(section.split())) == (name == "mdi")


@NEEDS_DATA
@pytest.mark.parametrize(
    ("name", "images", "others"),
    [
        ("documerica", 11_328, {"owners": 63, "concepts": 179}),
        ("openclipart", 4_209, {}),
        ("mdi", 6_702, {"owners": 160, "categories": 47}),
    ],
)
def test_real_collections_are_as_large_as_they_should_be(name, images, others):
    with open_case(name, Path(os.environ["SUGARTAG_DATA"])) as case:
        counts = case.start(0).counts()

    assert counts["images"] == images
    assert {key: counts[key] for key in others} == others
