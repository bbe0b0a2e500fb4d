"""Keywords in sidecars: ours are merged in, and every other byte stays as it is."""

import json
import re
import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecars import STYLES, lightroom
from sugartag.metadata.sidecar_writer import edited_sidecar, new_sidecar
from sugartag.metadata.xmp import XmpError, read_xmp, xmp_properties

WORDS = st.text(
    st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), min_size=1, max_size=12
)
TAGS = (
    WORDS.map(lambda text: " ".join(text.split()))
    .filter(lambda text: text and not set(text) & set("/|"))
    .filter(lambda text: text not in {"darktable", "_Digikam_Internal_Tags_", "jpg", "format"})
)
TAG_LISTS = st.lists(TAGS, max_size=4, unique=True)
FIELDS = ("dc:subject", "lr:hierarchicalSubject", "digiKam:TagsList")
A_PROPERTY = re.compile(
    rb"\s*<(dc:subject|lr:hierarchicalSubject|digiKam:TagsList)\b.*?</\1>", re.DOTALL
)

every_style = pytest.mark.parametrize("style", STYLES)


def names_in(data: bytes) -> set[str]:
    found = read_xmp(data)
    assert found.problems == ()
    return {keyword.name for keyword in found.keywords}


@every_style
@settings(max_examples=40, deadline=None)
@given(tags=TAG_LISTS, add=TAG_LISTS, remove=TAG_LISTS, nested=st.booleans())
def test_what_is_added_and_removed_is_and_nothing_else_changes(style, tags, add, remove, nested):
    before = STYLES[style](tags, nested=nested).encode()
    remove = [*remove, *tags[:1]]

    edited = edited_sidecar(before, add=add, remove=remove)

    gone = set(remove) - (set(add) - set(tags))
    assert names_in(edited.data) == (set(tags) | set(add)) - (set(tags) & gone)
    assert A_PROPERTY.sub(b"", edited.data) == A_PROPERTY.sub(b"", before)
    if set(add) <= set(tags) and not set(remove) & set(tags):
        assert edited.data is before


@every_style
def test_the_three_fields_agree_after_something_was_added(style):
    before = STYLES[style](["Rome", "sea"], nested=True).encode()

    properties = xmp_properties(edited_sidecar(before, add=["sun"]).data)

    for name, separator in zip(FIELDS, (None, "|", "/"), strict=True):
        leaves = [text.rsplit(separator, 1)[-1] if separator else text for text in properties[name]]
        assert {"Rome", "sea", "sun"} <= set(leaves)
    assert "Places|Europe|Rome" in properties["lr:hierarchicalSubject"]
    assert "Places/Europe/Rome" in properties["digiKam:TagsList"]


@every_style
def test_an_addition_looks_like_its_neighbours(style):
    before = STYLES[style](["sea"]).encode()

    after = edited_sidecar(before, add=["sun"]).data

    neighbour = re.search(rb"\s*<rdf:li>sea</rdf:li>", after)
    assert neighbour is not None
    assert neighbour[0].replace(b"sea", b"sun") in after
    assert (b"\r\n" in after) == (b"\r\n" in before)


def test_a_tag_is_written_below_those_it_stands_below():
    paths = {"Rome": ("Places", "Italy", "Rome")}

    found = xmp_properties(edited_sidecar(lightroom([]).encode(), add=["Rome"], paths=paths).data)

    assert [found[name] for name in FIELDS] == [
        ["Rome"],
        ["Places|Italy|Rome"],
        ["Places/Italy/Rome"],
    ]


def test_a_name_with_a_separator_is_left_out_of_the_fields_that_would_split_it():
    found = xmp_properties(edited_sidecar(lightroom([]).encode(), add=["AC/DC"]).data)

    assert found["dc:subject"] == found["lr:hierarchicalSubject"] == ["AC/DC"]
    assert "digiKam:TagsList" not in found


HEAD = (
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><r:RDF '
    'xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
)
DC = 'xmlns:d="http://purl.org/dc/elements/1.1/"'
TAIL = "</r:RDF></x:xmpmeta>"
ODD = {
    "no description": f"{HEAD}{TAIL}",
    "an empty description": f'{HEAD}<r:Description r:about=""/>{TAIL}',
    "other prefixes": f"{HEAD}<r:Description {DC}><d:subject><r:Bag><r:li>sea</r:li></r:Bag>"
    f"</d:subject></r:Description>{TAIL}",
    "an empty list": f"{HEAD}<r:Description {DC}><d:subject><r:Bag/></d:subject>"
    f"</r:Description>{TAIL}",
    "a property without a list": f"{HEAD}<r:Description {DC}><d:subject>sea</d:subject>"
    f"</r:Description>{TAIL}",
    "an empty property": f"{HEAD}<r:Description {DC}><d:subject/></r:Description>{TAIL}",
    "an attribute": f"{HEAD}<r:Description r:about='' {DC} d:subject = 'sea'/>{TAIL}",
    "a prefix that means something else": f'{HEAD}<r:Description xmlns:dc="urn:other" dc:a="1"/>'
    f"{TAIL}",
    "padding": f'{HEAD}<r:Description r:about=""/>{TAIL}\0\0\0',
    "a comment": f"<!-- <dc:subject> -->{HEAD}<r:Description><!-- > --></r:Description>{TAIL}",
}


@pytest.mark.parametrize("name", ODD)
def test_odd_but_valid_packets_are_edited(name):
    before = ODD[name].encode()

    after = edited_sidecar(before, add=["sun & moon", "été"])

    assert names_in(after.data) == names_in(before) | {"sun & moon", "été"}
    back = edited_sidecar(after.data, remove=["sun & moon", "été"])
    assert names_in(back.data) == names_in(before)


@pytest.mark.parametrize("codec", ["utf-16", "utf-8-sig", "iso-8859-1"])
def test_a_packet_stays_in_its_encoding(codec):
    declared = f'<?xml version="1.0" encoding="{codec}"?>' if codec == "iso-8859-1" else ""
    before = (declared + lightroom(["été"])).encode(codec)

    after = edited_sidecar(before, add=["日本"]).data

    assert names_in(after) == {"été", "日本"}
    assert after.decode(codec).encode(codec) == after
    assert edited_sidecar(after, remove=["日本"]).data.decode(codec).startswith(declared)


@pytest.mark.parametrize(
    ("packet", "words"),
    [
        (b"not XML", "not well-formed"),
        (b"<a/>", "no rdf:RDF"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "document type"),
        (b'<?xml version="1.0" encoding="koi8-r"?><a/>', "koi8-r"),
        (b"\xff" * 20, "not"),
    ],
)
def test_a_packet_that_cannot_be_kept_is_refused(packet, words):
    with pytest.raises(XmpError, match=words):
        edited_sidecar(packet, add=["sun"])


def test_exiftool_reads_the_keywords_we_wrote(tmp_path: Path):
    if shutil.which("exiftool") is None:
        pytest.skip("exiftool is not installed: what it reads is not checked")
    tags = ["sun & moon", "日本", "<b>", 'say "x"']
    (tmp_path / "new.xmp").write_bytes(new_sidecar(tags))
    for style, nested in product(STYLES, (False, True)):
        before = STYLES[style](["old"], nested=nested).encode()
        (tmp_path / f"{style}-{nested}.xmp").write_bytes(edited_sidecar(before, add=tags).data)

    found = json.loads(
        subprocess.run(
            ["exiftool", "-j", "-Subject", "-HierarchicalSubject", "-TagsList", "-warning", "."],
            cwd=tmp_path,
            capture_output=True,
            check=True,
        ).stdout
    )

    assert len(found) == 1 + 2 * len(STYLES)
    for one in found:
        assert "Warning" not in one
        for name in ("Subject", "HierarchicalSubject", "TagsList"):
            assert set(tags) <= set(one[name])
