"""The page says what the report says, carries everything it needs and runs nothing of anybody's."""

import base64
import hashlib
import itertools
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files

import pytest

from reports import made_report
from sugartag.report.content import (
    Counts,
    Picture,
    Report,
    Verdict,
)
from sugartag.report.page import MOST_KEPT, render, write_report

HOSTILE = "\" onclick='alert(0)' ></script><script>alert(1)</script><img src=x>&amp;{title}"
VOID = {"meta", "link", "img", "input", "wbr", "br"}


class Reader(HTMLParser):
    """What a browser would see, as lists; complains about tags that do not close in order."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    def all(self, name: str, kind: str = "") -> list[dict[str, str]]:
        return [
            attributes
            for tag, attributes in self.elements
            if tag == name and (not kind or kind in attributes.get("class", "").split())
        ]

    def inside(self, name: str) -> str:
        return "".join(text for parent, text in self.texts if parent == name)


def _empty() -> Report:
    return Report("Nothing yet", "A lead.", Counts(0, 0, 0, 0, 0))


def _pictures(*pictures: Picture) -> Report:
    return replace(_empty(), pictures=pictures)


def _picture(*verdicts: Verdict) -> Picture:
    return Picture(b"bytes", "image/png", "A cat", "ann", verdicts)


@pytest.mark.parametrize("report", [made_report(), made_report(HOSTILE), _empty()])
def test_the_page_is_well_formed(report):
    page = Reader(render(report))

    identifiers = [found["id"] for _, found in page.elements if "id" in found]
    named = {found["aria-labelledby"] for _, found in page.elements if "aria-labelledby" in found}
    assert len(set(identifiers)) == len(identifiers)
    assert named <= set(identifiers)


def test_hostile_words_stay_words():
    page = Reader(render(made_report(HOSTILE)))
    harmless = Reader(render(made_report()))

    assert [(tag, *found) for tag, found in page.elements] == [
        (tag, *found) for tag, found in harmless.elements
    ]
    assert page.inside("script") == harmless.inside("script")


@pytest.mark.parametrize(
    "words",
    ["Title", "Lead", "Evidence: looks", "Drawing", "by ann", "kept", "doubted", "found", "new",
     "why not", "because", "good", "poor", "Protocol", "seed", "0", "sugartag demo", "Note"],
)  # fmt: skip
def test_every_text_of_the_report_can_be_read(words):
    page = Reader(render(made_report(HOSTILE)))

    assert f"{words} {HOSTILE}" in "".join(text for _, text in page.texts)


def test_nothing_is_requested_from_anywhere():
    page = Reader(render(made_report(HOSTILE)))

    names = {"src", "href", "srcset", "action", "data", "poster", "xlink:href"}
    addresses = [found[name] for _, found in page.elements for name in names & found.keys()]
    assert addresses
    assert all(address.startswith("data:") for address in addresses)
    assert "url(" not in page.inside("style")
    assert "@import" not in page.inside("style")


def test_the_policy_allows_this_style_and_this_script_and_nothing_else():
    page = Reader(render(made_report(HOSTILE)))

    policy = next(meta["content"] for meta in page.all("meta") if "http-equiv" in meta)
    for name in ("style", "script"):
        digest = hashlib.sha256(page.inside(name).encode()).digest()
        assert f"{name}-src 'sha256-{base64.b64encode(digest).decode()}';" in policy
    assert policy.startswith("default-src 'none';")
    assert not [found for _, found in page.elements if "style" in found]


def test_pictures_travel_inside_the_page_and_have_words_for_those_who_cannot_see():
    page = Reader(render(made_report()))

    (image,) = page.all("img")
    assert image["src"] == "data:image/webp;base64," + base64.b64encode(b"bytes").decode()
    assert image["alt"] == "Drawing word, by ann word"


def test_tags_are_marked_as_kept_doubted_added_and_found_again():
    page = Reader(render(_pictures(*made_report().pictures)))

    chips = [chip["class"] for chip in page.all("li", "chip")]
    assert chips == ["chip keep", "chip doubt", "chip add recovered", "chip add"]
    tooltips = [chip.get("title") for chip in page.all("li", "chip")]
    assert tooltips == ["why word", "why not word", "because word", None]
    assert page.inside("b") == "+ found word? doubted word"


def test_scores_have_two_digits():
    text = render(_pictures(_picture(Verdict("cat", "keep", 0.937), Verdict("dog", "doubt", 0))))

    assert '<span class="tag">cat</span><span class="score">0.94</span>' in text
    assert '<span class="tag">dog</span><span class="score">0.00</span>' in text


def test_a_doubted_tag_is_shown_at_once_however_many_are_kept():
    kept = [Verdict(f"tag{number}", "keep", 0.9) for number in range(MOST_KEPT + 3)]

    text = render(_pictures(_picture(*kept, Verdict("odd", "doubt", 0.1))))

    before, after = text.split("<details><summary>and 3 more that fit</summary>")
    assert '<span class="tag">odd</span>' in before
    assert '<span class="tag">odd</span>' not in after
    assert len(Reader(text).all("li", "chip")) == len(kept) + 1


def test_the_legend_explains_found_tags_only_where_there_are_some():
    without = render(_pictures(_picture(Verdict("cat", "add", 0.9))))

    assert "we had hidden it" not in without
    assert "we had hidden it" in render(made_report())


def test_without_the_script_all_cards_are_there_and_the_filter_is_not():
    pictures = [_picture(Verdict("cat", "add", 0.9)), _picture(Verdict("cat", "doubt", 0.1))]

    page = Reader(render(_pictures(*pictures)))

    (form,) = page.all("form")
    cards = page.all("article", "card")
    assert "hidden" in form
    assert [card["data-kinds"] for card in cards] == ["all add", "all doubt"]
    assert not [card for card in cards if "hidden" in card]


def test_an_image_without_title_or_owner_says_so():
    page = Reader(render(_pictures(Picture(b"bytes", "image/png", "", "", ()))))

    assert page.all("img")[0]["alt"] == "untitled, owner unknown"


def test_the_counts_are_the_first_thing_to_read():
    page = Reader(render(made_report()))

    assert page.inside("dd").startswith("1,2345678910" + "25")
    assert "of 40" in page.inside("small")


def test_sections_without_content_are_left_out():
    page = Reader(render(_empty()))

    assert "Evidence" not in page.inside("p")

    assert page.all("section") == []
    assert page.all("script") == []


def test_writing_replaces_the_page_and_leaves_nothing_beside_it(tmp_path):
    target = tmp_path / "out" / "report.html"

    write_report(_empty(), target)
    write_report(made_report(), target)

    assert target.read_bytes() == render(made_report()).encode()
    assert list(target.parent.iterdir()) == [target]


def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path):
    target = tmp_path / "report.html"
    target.write_text("old", encoding="utf-8")

    with pytest.raises(UnicodeEncodeError):
        write_report(replace(_empty(), title="\ud800"), target)

    assert target.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [target]


def _colours(scheme: str) -> dict[str, str]:
    style = (files("sugartag.report") / "style.css").read_text(encoding="utf-8")
    light, dark = style.split("prefers-color-scheme: dark", maxsplit=1)
    block = light if scheme == "light" else dark.split("\n}\n")[0]
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


PAIRS = [
    *itertools.product(["ink", "muted", "found"], ["paper", "surface"]),
    *itertools.product(["ink", "muted"], ["wash"]),
    ("keep-ink", "keep"),
    ("doubt-ink", "doubt"),
    ("add-ink", "add"),
    ("found-ink", "found"),
    ("surface", "accent"),
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("front", "back"), PAIRS)
def test_every_text_stands_out_from_its_ground(scheme, front, back):
    colours = _colours(scheme)

    dim, bright = sorted((_luminance(colours[front]), _luminance(colours[back])))

    assert (bright + 0.05) / (dim + 0.05) >= 4.5
