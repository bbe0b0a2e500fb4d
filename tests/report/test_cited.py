"""Reasons link the images they name, where the page has them."""

import numpy as np

from sugartag.evaluation.verdicts import Reliability
from sugartag.report.cited import anchor, linked
from sugartag.report.content import Counts, Picture, Report, Verdict
from sugartag.report.page import render
from sugartag.report.reliability import plainly

REASON = "looks 60 % (like images tagged sea), owner's similar images 40 % (a<b, other)"
PIXEL = b"not looked at"


def page() -> str:
    verdict = Verdict("sea", "add", 0.9, REASON)
    doubted = Verdict("wood", "doubt", 0.1, "little speaks for it")
    pictures = (
        Picture(PIXEL, "image/webp", "One", "anna", (verdict,), "first"),
        Picture(PIXEL, "image/webp", "Two", "anna", (doubted,), "a<b"),
    )
    facts = (("Its settings", "a 1"),)
    return render(Report("Title", "A lead.", Counts(2, 2, 1, 1, 1), pictures=pictures, facts=facts))


def test_an_image_that_a_reason_names_is_linked_to_its_card():
    found = page()

    assert f'<a href="#{anchor("a<b")}">a&lt;b</a>, other)' in found
    assert found.count(f'id="{anchor("a<b")}"') == 1


def test_a_reason_without_images_is_text():
    assert linked("<b>looks</b> 100 %", {"looks"}) == "&lt;b&gt;looks&lt;/b&gt; 100 %"


def test_settings_are_folded_away_and_a_doubted_tag_is_not_struck_out():
    found = page()

    assert "<details><summary>Settings and commands</summary>" in found
    assert "line-through" not in found
    assert "please check" in found


def test_probabilities_are_said_in_plain_words():
    nothing = np.zeros(10)
    count, total, right = (nothing.copy() for _ in range(3))
    count[8], total[8], right[8] = 200, 160, 158
    reliability = Reliability(count.astype(int), total, right.astype(int))

    assert list(plainly("suggestions", reliability)) == [
        "Of 100 suggestions rated 80 %, 79 were right."
    ]
    assert list(plainly("suggestions", Reliability(nothing, nothing, nothing))) == []
