"""Tables as other programs write them: their columns and separators, and what is said of them."""

import json
from pathlib import Path

import pytest

from sugartag.collection.readers import Sources, import_collection
from sugartag.collection.readers.columns import TagSplit, parsed_columns, unsplit
from sugartag.errors import CollectionError, SettingsError
from tables import tags_by_image

EXIFTOOL_CSV = """\
SourceFile,Artist,Keywords,Title
./a.jpg,Anna,"beach, sun",At the sea
./b.jpg,,dog,
./c.jpg,Ben,,
"""
EXIFTOOL_JSON = [
    {"SourceFile": "./a.jpg", "Artist": "Anna", "Keywords": ["beach", "sun"]},
    {"SourceFile": "./b.jpg", "Keywords": "dog"},
    {"SourceFile": "./c.jpg", "Artist": "Ben", "Keywords": [2014, "new year, eve"]},
]
LIGHTROOM = """\
File Name;Keywords;Creator;Title
"a.nef";"beach, sun";"Anna";"At the sea"
"b.nef";"dog, park";"Ben";""
"""
DIGIKAM = """\
SourceFile,TagsList,Creator
a.jpg,"Places/Paris, People/Anna",Anna
b.jpg,Places/Rome,Anna
"""


def taken(tmp_path: Path, text: str, name: str = "t.csv", **how):
    """Import a table; return the tags by image and what was said."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    summary = import_collection(Sources(tmp_path / name, **how), str(tmp_path / "out"))
    return tags_by_image(tmp_path / "out"), list(summary.notes)


def test_exiftool_csv_is_read_as_it_is(tmp_path):
    tags, notes = taken(tmp_path, EXIFTOOL_CSV)

    assert tags == {"./a.jpg": {"beach", "sun"}, "./b.jpg": {"dog"}, "./c.jpg": set()}
    assert notes == [
        "columns are taken as --columns id=SourceFile,owner=Artist,tags=Keywords,title=Title",
        "tags are split on ', '",
    ]


def test_exiftool_json_is_read_with_lists_single_words_and_numbers(tmp_path):
    tags, _ = taken(tmp_path, json.dumps(EXIFTOOL_JSON, indent=1), "t.json")

    assert tags == {
        "./a.jpg": {"beach", "sun"},
        "./b.jpg": {"dog"},
        "./c.jpg": {"2014", "new year, eve"},
    }


def test_a_lightroom_export_with_semicolons_is_read(tmp_path):
    tags, notes = taken(tmp_path, LIGHTROOM)

    assert tags == {"a.nef": {"beach", "sun"}, "b.nef": {"dog", "park"}}
    assert notes[0] == "fields are split on ';'"
    assert notes[2] == "tags are split on ', '"


def test_digikam_tags_are_read(tmp_path):
    tags, _ = taken(tmp_path, DIGIKAM)

    assert tags == {"a.jpg": {"Places/Paris", "People/Anna"}, "b.jpg": {"Places/Rome"}}


def test_columns_are_what_somebody_says(tmp_path):
    text = "n,words,who\n1,a;b,x\n2,c,y\n"

    tags, notes = taken(tmp_path, text, columns={"image_id": "n", "tags": "words"})

    assert tags == {"1": {"a", "b"}, "2": {"c"}}
    assert notes == ["tags are split on ';'"]


def test_one_column_may_be_two_things(tmp_path):
    named = parsed_columns("id=SourceFile,path=SourceFile,tags=Keywords")

    tags, _ = taken(tmp_path, EXIFTOOL_CSV, columns=named)

    assert list(tags) == ["./a.jpg", "./b.jpg", "./c.jpg"]


def test_a_column_that_is_not_there_is_named(tmp_path):
    with pytest.raises(CollectionError, match="no column 'Words'; its columns are 'SourceFile'"):
        taken(tmp_path, EXIFTOOL_CSV, columns={"image_id": "SourceFile", "tags": "Words"})
    with pytest.raises(CollectionError, match="or say what they are called: --columns id=NAME"):
        taken(tmp_path, "a,b\n1,2\n")


@pytest.mark.parametrize("text", ["id", "id=", "color=x", "id=a;tags=b,c"])
def test_columns_that_make_no_sense_are_refused(text):
    with pytest.raises(SettingsError, match="--columns has"):
        parsed_columns(text)


def test_a_table_without_tags_or_owners_is_fine(tmp_path):
    tags, notes = taken(tmp_path, "image_id\n1\n2\n")

    assert tags == {"1": set(), "2": set()}
    assert notes == [
        "there is no column 'tags': no image has tags; name one with --columns tags=COLUMN"
    ]


@pytest.mark.parametrize(
    ("values", "separator", "tags"),
    [
        (["a|b", "c"], "|", ["a", "b"]),
        (["a;b", "c"], ";", ["a", "b"]),
        (["a,b", "c"], ",", ["a", "b"]),
        (["a, b", "c, d"], ", ", ["a", "b"]),
        (["a, b|c", "d"], "|", ["a, b", "c"]),
        (['["a", "b"]', "[]"], "list", ["a", "b"]),
        (["['a', \"it's\"]"], "list", ["a", "it's"]),
        (["['a' 'b']"], "list", ["a", "b"]),
        (["[a,b]"], "list", ["a", "b"]),
        (["one", *["x"] * 20, "smith, john"], "|", ["one"]),
        ([], "|", None),
    ],
)
def test_separators_are_found_out(values, separator, tags):
    split = TagSplit.found_in(values)

    assert split.separator == separator
    assert tags is None or split(values[0]) == tags


def test_tags_that_look_like_unsplit_lists_are_mentioned(tmp_path):
    text = 'image_id,owner,tags\n1,x,a\n2,x,"b, c, d"\n' + "".join(
        f"{n},x,a\n" for n in range(3, 20)
    )

    _, notes = taken(tmp_path, text)

    assert notes == [
        "a tag looks like a list that was not split, such as 'b, c, d'; if so, pass --split ','"
    ]
    assert taken(tmp_path / "..", text, f"{tmp_path.name}.csv", separator=",")[0]["2"] == set("bcd")


def test_single_tags_with_a_comma_are_not_suspicious():
    assert unsplit(["smith, john", *map(str, range(40))]) is None
    assert unsplit([]) is None
    assert "2 tags look" in unsplit(["a;b", "c;d"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"SourceFile": "a"}', "does not begin with '\\['"),
        ('[{"SourceFile": "a"}', "the array does not end"),
        ("[1, {}]", "1 is not an object"),
        ('[{"SourceFile": "a"}, {"Keywords": "b"}]', "object 2: no 'SourceFile'"),
        ("[" * 3000 + "{}", "not an array of JSON objects"),
    ],
)
def test_a_bad_json_array_is_named(tmp_path, text, message):
    with pytest.raises(CollectionError, match=message):
        taken(tmp_path, text, "t.json", columns={"image_id": "SourceFile"})


def test_large_arrays_are_read_object_by_object(tmp_path):
    many = [{"image_id": str(n), "tags": ["a}", "{b"]} for n in range(5000)]

    tags, _ = taken(tmp_path, json.dumps(many), "t.json")

    assert len(tags) == 5000
    assert tags["4999"] == {"a}", "{b"}
