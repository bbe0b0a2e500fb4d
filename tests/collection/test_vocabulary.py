"""Tags on the way in: what is left out is counted, what looks alike is proposed, never merged."""

import csv

import pytest

from sugartag.collection import open_collection
from sugartag.collection.readers import Sources, import_collection
from sugartag.collection.readers.table import read_stop_tags
from sugartag.collection.vocabulary import (
    STOP_TAGS,
    TagCleaner,
    TagRules,
    find_variants,
    url_decoded,
)
from sugartag.errors import SettingsError
from tables import write_table


def kinds(*tags: str, uses: list[int] | None = None) -> set[tuple[str, str, str]]:
    found = find_variants(tags, uses or [10] * len(tags))
    return {(one.tag, one.variant, one.kind) for one in found}


@pytest.mark.parametrize(
    "tag",
    ["Canon", "nikon d90", "Canon EOS 5D Mark II", "Untitled", "IMG_1234", "dsc-0042",
     "img 0815.jpg", "DSCF1000", "20190304_101112", "geo:lat=52.1", "P1010001.JPG",
     "OLYMPUS DIGITAL CAMERA"],
)  # fmt: skip
def test_words_that_describe_no_picture_are_stopped(tag):
    cleaner = TagCleaner(TagRules().with_stop_words())

    assert cleaner(tag) == ""
    assert cleaner.left_out == {tag: 1}


@pytest.mark.parametrize(
    "tag",
    ["cannon", "canonical", "beach", "image", "photo", "1984", "route 66", "b52", "sony center",
     "time 10:30", "pic", "scanner", "café", "iphone repair shop"],
)  # fmt: skip
def test_words_that_describe_a_picture_stay(tag):
    assert TagCleaner(TagRules().with_stop_words())(tag) == tag


def test_without_rules_nothing_is_stopped():
    assert [TagCleaner(TagRules())(tag) for tag in STOP_TAGS] == list(STOP_TAGS)


def test_own_stop_tags_stop_in_any_case_and_leave_patterns_alone(tmp_path):
    (tmp_path / "stop.txt").write_text("# my list\nParty\n\n Work \n", encoding="utf-8")
    rules = TagRules(stop_tags=read_stop_tags(tmp_path / "stop.txt"))

    assert [TagCleaner(rules)(tag) for tag in ("PARTY", "work", "IMG_1234", "canon")] == [
        "",
        "",
        "IMG_1234",
        "canon",
    ]


@pytest.mark.parametrize(
    ("text", "tag"),
    [("caf%C3%A9", "café"), ("new+york", "new york"), ("100%25", "100%"), ("a%2Bb", "a+b"),
     ("%E9", "\ufffd"), ("plain", "plain"), ("a%00b", "ab")],
)  # fmt: skip
def test_tags_in_url_encoding_are_read_as_typed(text, tag):
    assert url_decoded(text) == tag


def test_encoded_tags_of_a_table_are_decoded_once(tmp_path):
    rows = [{"image_id": "1", "owner": "", "tags": ["a%2Bb", "a+b", "caf%C3%A9"]}]
    table = write_table(tmp_path / "photos.csv", rows)

    import_collection(Sources(table), tmp_path / "out", rules=TagRules(url_encoded=True))

    assert open_collection(tmp_path / "out").tag_names == ("a+b", "a b", "café")


def test_variants_are_found_by_letters_plural_and_spelling():
    assert kinds("New York", "new-york", "newyork", uses=[9, 4, 1]) == {
        ("New York", "new-york", "same letters"),
        ("New York", "newyork", "same letters"),
        ("new-york", "newyork", "same letters"),
    }
    assert kinds("café", "cafe") == {("cafe", "café", "same letters")}
    assert kinds("dog", "dogs", "city", "cities", "church", "churches", uses=[9, 8] * 3) == {
        ("dog", "dogs", "plural"),
        ("city", "cities", "plural"),
        ("church", "churches", "plural"),
    }
    assert kinds("mountain", "mountian", uses=[50, 2]) == {("mountain", "mountian", "spelling")}
    assert kinds("building", "buildng", uses=[50, 2]) == {("building", "buildng", "spelling")}


def test_words_that_only_look_alike_are_not_proposed():
    assert kinds("house", "horse", uses=[50, 2]) == set()
    assert kinds("bass", "bas", "bus", "buses") == set() | {("bus", "buses", "plural")}
    assert kinds("flower", "flowed", uses=[50, 40]) == set()
    assert kinds("photo1", "photo2", uses=[50, 1]) == set()
    assert kinds("日本", "中国") == set()


def test_variants_are_listed_beside_the_collection_and_nothing_is_merged(tmp_path):
    rows = [
        {"image_id": str(n), "owner": "", "tags": ["dog", "dogs"] if n else ["dog"]}
        for n in range(3)
    ]
    table = write_table(tmp_path / "photos.csv", rows)

    summary = import_collection(Sources(table), tmp_path / "out")

    with (tmp_path / "out" / "variants.csv").open(encoding="utf-8") as file:
        assert list(csv.DictReader(file)) == [
            {"tag": "dog", "uses": "3", "variant": "dogs", "variant_uses": "2", "kind": "plural"}
        ]
    assert summary.variants == 1
    assert open_collection(tmp_path / "out").tag_names == ("dog", "dogs")


def test_a_spreadsheet_takes_no_variant_for_a_formula(tmp_path):
    rows = [
        {"image_id": tag, "owner": "", "tags": [tag]} for tag in ("=HYPERLINK(1)", "=hyperlink(1)")
    ]
    table = write_table(tmp_path / "photos.csv", rows)

    import_collection(Sources(table), tmp_path / "out")

    with (tmp_path / "out" / "variants.csv").open(encoding="utf-8") as file:
        (found,) = csv.DictReader(file)
    assert {found["tag"], found["variant"]} == {"'=HYPERLINK(1)", "'=hyperlink(1)"}


def test_stop_tags_are_counted_and_impossible_rules_refused(tmp_path):
    rows = [{"image_id": str(n), "owner": "", "tags": ["dog", "Canon"]} for n in range(3)]
    table = write_table(tmp_path / "photos.csv", rows)

    summary = import_collection(
        Sources(table), tmp_path / "out", rules=TagRules().with_stop_words()
    )

    assert dict(summary.stop_tags) == {"Canon": 3}
    assert open_collection(tmp_path / "out").tag_names == ("dog",)
    with pytest.raises(SettingsError, match="min_uses"):
        TagRules(min_uses=0)
