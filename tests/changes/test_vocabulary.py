"""Aliases and implications: virtual until they are baked, and as before when that is undone."""

from pathlib import Path

import pytest

from catalogues import copied_catalogue, made_catalogue
from photographs import TAGS, files_of, photographs, rows_of, tags_of
from sugartag.changes.applying import Wanted
from sugartag.changes.catalogue import Catalogue
from sugartag.changes.duplicates import near_duplicates
from sugartag.changes.searching import search
from sugartag.changes.undoing import Undoing
from sugartag.changes.vocabulary import (
    bake,
    drop,
    remove_alias,
    remove_implication,
    rules_of,
    set_alias,
    set_implication,
)
from sugartag.collection import open_collection
from sugartag.errors import CollectionError, SettingsError
from sugartag.metadata.xmp import read_xmp
from tables import imported


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Path:
    folder: Path = tmp_path_factory.mktemp("vocabulary")
    made_catalogue(folder).close()
    return folder


@pytest.fixture
def catalogue(template: Path, tmp_path: Path):
    with copied_catalogue(template, tmp_path) as made:
        yield made


def test_aliases_and_implications_hold_until_they_are_removed(catalogue):
    before = rows_of(catalogue)
    set_alias(catalogue, "Sun", "sun")
    set_implication(catalogue, "beach", "sea")
    set_implication(catalogue, "sea", "water")

    rules = rules_of(catalogue)
    assert rules.resolved(["beach", "Sun"]) == ["beach", "sun", "sea", "water"]
    assert [hit.image_id for hit in search(catalogue, "water").hits] == ["1", "3"]
    assert rows_of(catalogue) == before

    remove_alias(catalogue, "Sun")
    remove_implication(catalogue, "beach", "sea")
    assert rules_of(catalogue).resolved(["beach", "Sun"]) == ["beach", "Sun"]
    with pytest.raises(CollectionError, match="nothing to remove for 'Sun'"):
        remove_alias(catalogue, "Sun")


def test_what_would_go_round_in_a_circle_is_refused(catalogue):
    set_alias(catalogue, "Sun", "sun")
    set_implication(catalogue, "beach", "dog")

    with pytest.raises(SettingsError, match="stands for"):
        set_alias(catalogue, "sun", "Sun")
    with pytest.raises(SettingsError, match="circle"):
        set_implication(catalogue, "dog", "beach")
    with pytest.raises(SettingsError, match="two tags"):
        set_alias(catalogue, "sun", " sun ")
    with pytest.raises(CollectionError, match="no tag 'moon'"):
        set_alias(catalogue, "moon", "sun")


def test_baking_makes_them_real_and_undoing_that_makes_all_as_before(tmp_path):
    with photographs(tmp_path, TAGS, nested=True) as catalogue:
        files, rows = files_of(tmp_path), rows_of(catalogue)
        set_alias(catalogue, "sea", "ocean")
        set_implication(catalogue, "dog", "animal")

        outcome = bake(catalogue, Wanted(sidecars=True), by="ben")

        assert outcome.problems == []
        assert tags_of(catalogue) == {
            "a": ["animal", "dog", "ocean"],
            "b": ["ocean"],
            "c": ["animal", "dog", "old"],
            "d": [],
            "e": ["ocean", "old"],
            "f": [],
        }
        sidecar = read_xmp((tmp_path / "root/sub/a.jpg.xmp").read_bytes())
        assert {word.name for word in sidecar.keywords} == {"animal", "dog", "ocean"}
        ocean, *_ = [tag for tag in catalogue.image("b").tags if tag.tag == "ocean"]
        assert (ocean.source, ocean.by) == ("person", "anna")
        assert bake(catalogue, Wanted(sidecars=True)).run_id is None

        assert outcome.run_id is not None
        Undoing(catalogue).undo(outcome.run_id)
        assert (files_of(tmp_path), rows_of(catalogue)) == (files, rows)


def test_a_dropped_tag_goes_everywhere_and_comes_back(catalogue):
    rows = rows_of(catalogue)

    outcome = drop(catalogue, ["sun"], Wanted(), by="ben")

    assert (outcome.removed, outcome.added) == (2, 0)
    assert dict(catalogue.tag_uses())["sun"] == 0
    assert outcome.run_id is not None
    Undoing(catalogue).undo(outcome.run_id)
    assert rows_of(catalogue) == rows
    with pytest.raises(CollectionError, match="no tag 'moon'"):
        drop(catalogue, ["moon"], Wanted())


ALIKE = [
    (["Boat", "harbour"], 3),
    (["boat", "harbour"], 9),
    (["boats", "harbour"], 6),
    (["lighthouse", "coast", "night"], 30),
    (["lighthuose", "coast", "night"], 1),
    (["car", "street"], 8),
    (["automobile", "street"], 7),
    (["nyc", "newyork", "street"], 9),
    (["oak", "park", "green", "bench"], 8),
    (["kwyjibo", "park", "green", "bench"], 8),
]


def test_near_duplicates_are_found_by_letters_meaning_and_company(tmp_path):
    tags = [some for some, n in ALIKE for _ in range(n)]
    rows = [{"image_id": str(k), "owner": "", "tags": some} for k, some in enumerate(tags)]
    imported(tmp_path, rows)
    with Catalogue.create(tmp_path / "catalogue.sqlite") as catalogue:
        catalogue.load_collection(open_collection(tmp_path / "out"))

        found = {frozenset((one.tag, one.other)): one.kind for one in near_duplicates(catalogue)}

    assert found[frozenset({"Boat", "boat"})] == "same letters"
    assert found[frozenset({"boat", "boats"})] == "plural"
    assert found[frozenset({"lighthouse", "lighthuose"})] == "spelling"
    assert found[frozenset({"car", "automobile"})] == "WordNet"
    assert found[frozenset({"nyc", "newyork"})] == "together"
    assert found[frozenset({"oak", "kwyjibo"})] == "company"
    assert frozenset({"coast", "street"}) not in found
