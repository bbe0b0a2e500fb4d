"""XMP packets: keywords of every program, hierarchy kept, and nothing that could do harm."""

import pytest

from sugartag.metadata.keywords import MAX_KEYWORDS
from sugartag.metadata.xmp import MAX_ELEMENTS, MAX_PACKET_BYTES, read_xmp
from xmp_packets import bag, packet

LAUGHS = "".join(
    f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' if n else '<!ENTITY l0 "lol">' for n in range(10)
)


def paths(data: bytes) -> list[tuple[str, ...]]:
    return [keyword.path for keyword in read_xmp(data).keywords]


@pytest.mark.parametrize(
    ("name", "container", "text", "path"),
    [
        ("digiKam:TagsList", "Seq", "Places/USA/Ohio", ("Places", "USA", "Ohio")),
        ("lr:hierarchicalSubject", "Bag", "Places|USA|Ohio", ("Places", "USA", "Ohio")),
        ("lr:HierarchicalSubject", "Seq", "Places|USA", ("Places", "USA")),
        ("MicrosoftPhoto:LastKeywordXMP", "Bag", "Places/USA", ("Places", "USA")),
        ("dc:subject", "Bag", "either/or", ("either/or",)),
        ("dc:subject", "Bag", "a|b", ("a|b",)),
        ("lr:hierarchicalSubject", "Bag", "flat word", ("flat word",)),
        ("digiKam:TagsList", "Seq", "/Places// USA /", ("Places", "USA")),
    ],
)
def test_keywords_keep_the_hierarchy_that_their_field_writes(name, container, text, path):
    assert paths(packet(bag(name, [text], container))) == [path]


def test_all_fields_are_read_and_say_where_each_keyword_stood():
    found = read_xmp(
        packet(
            bag("dc:subject", ["beach"]),
            bag("lr:hierarchicalSubject", ["nature|sea"]),
            bag("digiKam:TagsList", ["people/anna"], "Seq"),
        )
    )

    assert {(keyword.name, keyword.source) for keyword in found.keywords} == {
        ("beach", "dc:subject"),
        ("sea", "lr:hierarchicalSubject"),
        ("anna", "digiKam:TagsList"),
    }


def test_creator_title_and_rating_are_read_as_elements_and_as_attributes():
    title = (
        '<dc:title><rdf:Alt><rdf:li xml:lang="de">Strand</rdf:li>'
        '<rdf:li xml:lang="x-default">Beach</rdf:li></rdf:Alt></dc:title>'
    )
    found = read_xmp(
        packet(
            bag("dc:creator", ["Anna", "Ben"], "Seq"),
            title,
            attributes='xmp:Rating="4" tiff:Artist="A. Lens"',
        )
    )

    assert (found.creator, found.title, found.rating) == ("Anna", "Beach", 4)
    assert found.artist == "A. Lens"


def test_another_prefix_and_utf_16_are_the_same_packet():
    plain = packet(bag("dc:subject", ["caf\u00e9"]))
    other = plain.replace(b"dc:", b"q:").replace(b"xmlns:dc", b"xmlns:q")
    wide = plain.decode().encode("utf-16")

    assert paths(other) == paths(wide) == paths(plain + b"\0\0") == [("caf\u00e9",)]


def test_what_programs_write_for_themselves_is_no_keyword():
    data = packet(
        bag("digiKam:TagsList", ["_Digikam_Internal_Tags_/Color Label Red", "sea"], "Seq"),
        bag("lr:hierarchicalSubject", ["darktable|exported", "darktable"]),
    )

    assert paths(data) == [("sea",), ("darktable",)]


def test_lists_inside_structures_are_not_taken_for_keywords():
    history = (
        "<xmp:History><rdf:Seq><rdf:li><rdf:Description>"
        + bag("dc:subject", ["inner"])
        + "</rdf:Description></rdf:li></rdf:Seq></xmp:History>"
    )

    assert paths(packet(history, bag("dc:subject", ["outer"]))) == [("outer",)]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(
            packet(bag("dc:subject", ["x"]), before=f"<!DOCTYPE x [{LAUGHS}]>"), id="expansion"
        ),
        pytest.param(
            packet(before='<!DOCTYPE x SYSTEM "http://localhost:9/x.dtd">'), id="external-dtd"
        ),
        pytest.param(
            packet(
                "<dc:subject>&secret;</dc:subject>",
                before='<!DOCTYPE x [<!ENTITY secret SYSTEM "file:///etc/passwd">]>',
            ),
            id="external-entity",
        ),
        pytest.param(packet(before="<!DOCTYPE x>"), id="empty-doctype"),
        pytest.param(packet("<dc:subject>&undefined;</dc:subject>"), id="undefined-entity"),
        pytest.param(packet(bag("dc:subject", ["x"]))[:-40], id="cut-off"),
        pytest.param(b"", id="empty"),
        pytest.param(b"\xff\xd8\xff\xe0 not XML at all", id="binary"),
        pytest.param(b'<?xml version="1.0" encoding="no-such"?><x/>', id="unknown-encoding"),
        pytest.param(packet("<a>" * 100_000), id="deep"),
        pytest.param(packet("<a/>" * (MAX_ELEMENTS + 1)), id="wide"),
        pytest.param(
            packet(bag("dc:subject", [f"k{n}" for n in range(MAX_KEYWORDS + 1)])), id="keywords"
        ),
        pytest.param(packet() + b" " * MAX_PACKET_BYTES, id="size"),
        pytest.param(packet("<dc:subject>\xff</dc:subject>").replace(b"\xc3", b""), id="not-utf-8"),
    ],
)
def test_a_packet_that_is_refused_gives_a_problem_and_no_keyword(data):
    found = read_xmp(data)

    assert found.keywords == ()
    assert len(found.problems) == 1
    assert "\n" not in found.problems[0]
