"""The plot of probabilities shows the counts it is given, and the words beside it say the same."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from sugartag.evaluation.verdicts import Said, VerdictCounts, count_verdicts
from sugartag.report.content import Counts, Report, Trust
from sugartag.report.page import render
from sugartag.report.reliability import (
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    added_series,
    given_series,
    reliability_plot,
    trust_content,
    what_it_says,
)

WORDS = {"a": Said.ADD, "k": Said.KEEP, "d": Said.DOUBT, "-": Said.NOTHING}


def counts(*verdicts: tuple[str, float, bool, int], missing: int = 0) -> VerdictCounts:
    """Count verdicts given as what was said, the chance, whether it is right, and how often."""
    said = np.repeat([int(WORDS[word]) for word, _, _, _ in verdicts], [n for *_, n in verdicts])
    chance = np.repeat([chance for _, chance, _, _ in verdicts], [n for *_, n in verdicts])
    right = np.repeat([right for _, _, right, _ in verdicts], [n for *_, n in verdicts])
    return count_verdicts(
        chance.astype(float), said.astype(np.int64), right.astype(bool), missing=missing
    )


SOME = counts(
    ("a", 0.85, True, 30), ("a", 0.85, False, 10), ("a", 0.55, True, 5),
    ("k", 0.95, True, 12_000), ("d", 0.2, False, 6), ("d", 0.2, True, 2), ("-", 0.1, False, 90),
    missing=70,
)  # fmt: skip
NOTHING = count_verdicts(
    np.empty(0), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_), missing=0
)


def drawn(series) -> ElementTree.Element:
    return ElementTree.fromstring(reliability_plot(series))


def dots(drawing: ElementTree.Element, kind: str) -> list[tuple[float, float]]:
    """Return chance and share of each dot of a colour, read off the drawing."""
    found = []
    for group in drawing.iter("g"):
        (dot,) = group.iter("circle")
        if dot.get("class") == kind:
            across = float(dot.attrib["cx"].removesuffix("%")) / 100
            down = float(dot.attrib["cy"])
            found.append(((across - LEFT) / (1 - LEFT - RIGHT), 1 - (down - TOP) / HEIGHT))
    return found


def test_a_dot_stands_where_chance_and_share_meet():
    drawing = drawn(added_series(SOME))

    added = dots(drawing, "column-add")
    assert added == [pytest.approx((0.55, 1.0), abs=1e-3), pytest.approx((0.85, 0.75), abs=1e-3)]
    assert dots(drawing, "bar-added") == [pytest.approx((0.1, 0.0), abs=1e-3)]


def test_the_line_through_a_dot_is_its_interval():
    drawing = drawn(given_series(SOME))

    low, high = SOME.given.interval()
    for group, place in zip(drawing.iter("g"), (2, 9), strict=True):
        (line,) = group.iter("line")
        ends = [1 - (float(line.attrib[name]) - TOP) / HEIGHT for name in ("y1", "y2")]
        assert ends == pytest.approx([low[place], high[place]], abs=1e-3)


def test_the_broken_line_goes_from_corner_to_corner():
    (diagonal,) = [
        line for line in drawn(given_series(SOME)).iter("line") if "stroke-dasharray" in line.attrib
    ]

    assert (diagonal.get("y1"), diagonal.get("y2")) == (f"{TOP + HEIGHT:.1f}", f"{TOP:.1f}")


def test_the_tags_of_each_range_are_counted_below_it():
    texts = [text.text for text in drawn(given_series(SOME)).iter("text")]

    assert texts[-2:] == ["8", "12k"]


def test_whoever_cannot_see_it_is_told_what_it_shows():
    label = drawn(added_series(SOME)).attrib["aria-label"]

    assert "added: 45 tags, 78% right" in label
    assert f"calibration error {SOME.added.error():.3f}" in label


def test_a_plot_of_nothing_is_left_out():
    assert reliability_plot(added_series(NOTHING)) == ""
    assert trust_content(Trust(NOTHING, "Protocol")) == ""


def test_the_words_state_the_errors_and_the_shares():
    said = " ".join(what_it_says(SOME))

    found = SOME.measures()
    assert f"all 12,053 verdicts is {found['ece']:.3f}" in said
    assert f"additions {found['ece_added']:.3f}, given tags {found['ece_given']:.3f}" in said
    assert f"not added it is {found['ece_below']:.3f}" in said
    assert "78% of the 45 added tags were right; they are 50% of the 70" in said
    assert "75% of the 8 doubted tags were wrong; they are 100% of the 6" in said


def test_what_was_not_measured_is_not_stated():
    said = " ".join(what_it_says(counts(("k", 0.9, True, 10))))

    assert "given tags 0.100" in said
    assert "nan" not in said
    assert not re.search("additions|added|doubted", said)


def report(trust: Trust | None) -> Report:
    return replace(Report("Title", "A lead.", Counts(0, 0, 0, 0, 0)), trust=trust)


def test_the_page_has_the_section_only_where_somebody_looked():
    page = render(report(Trust(SOME, "How it was <measured>.")))

    assert "Can the probabilities be trusted?" in page
    assert "How it was &lt;measured&gt;." in page
    assert page.count("<figure>") == 2
    for without in (None, Trust(NOTHING, "Nothing.")):
        assert "trusted" not in render(report(without))
