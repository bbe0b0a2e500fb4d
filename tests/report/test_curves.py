import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from sugartag.report.curves import Axis, Line, Point, curves, even_places, mark
from sugartag.report.dots import Dot, Row, Scale, dot_rows


def parsed(drawing):
    return ElementTree.fromstring(drawing)


def texts(drawing):
    return ["".join(one.itertext()) for one in parsed(drawing).iter("text")]


def line(name="F", values=(0.2, 0.4), style=0, **more):
    places = even_places(len(values))
    points = tuple(
        Point(at, value, value - 0.05, value + 0.05)
        for at, value in zip(places, values, strict=True)
    )
    return Line(name, points, style, **more)


AXIS = Axis("clusters", "average F", ((0.03, "10"), (0.97, "40")))


def test_both_axes_are_named_and_numbered():
    said = texts(curves([line()], AXIS, words="F by clusters"))

    assert "clusters" in said
    assert "average F" in said
    assert {"10", "40", "0.1", "0.5"} <= set(said)


def test_the_drawing_says_in_words_what_it_is():
    root = parsed(curves([line()], AXIS, words="F <by> clusters"))

    assert root.get("aria-label") == "F <by> clusters"
    assert root.get("role") == "img"


def test_a_band_spans_the_intervals():
    drawing = curves([line()], AXIS, words="x")

    (band,) = [one for one in parsed(drawing).iter("polygon") if "band" in one.get("class")]
    heights = [float(pair.split(",")[1]) for pair in band.get("points").split()]
    assert len(heights) == 4
    assert heights[0] < heights[-1]


def test_no_band_is_drawn_where_none_is_asked_for():
    assert 'class="band' not in curves([line(band=False)], AXIS, words="x")


def test_lines_have_names_that_do_not_overlap():
    lines = [line(f"method {n}", (0.2, 0.3 + n / 1000), style=n) for n in range(10)]

    root = parsed(curves(lines, AXIS, words="x"))

    places = sorted(
        float(one.get("y")) for one in root.iter("text") if (one.text or "").startswith("method")
    )
    assert len(places) == 10
    assert min(b - a for a, b in pairwise(places)) >= 15
    assert places[-1] < float(root.get("height"))


def test_no_two_of_ten_lines_look_the_same():
    kinds = {(style % 10, re.sub(r"[\d.,-]+", "", mark(style, "0", 0))[:8]) for style in range(10)}

    assert len(kinds) == 10


def test_a_marked_value_has_its_line_and_word():
    axis = Axis("x", "y", (), marked=((0.5, "the paper's choice"),))

    assert "the paper's choice" in texts(curves([line()], axis, words="x"))


@pytest.mark.parametrize("values", [(0.3,), (0.3, 0.3), (0.0, 0.0), (-2.0, 5000.0)])
def test_any_values_can_be_drawn(values):
    points = tuple(Point(at, v) for at, v in zip(even_places(len(values)), values, strict=True))

    drawing = curves([Line("a", points, 0)], AXIS, words="x")

    assert "nan" not in drawing
    parsed(drawing)


def test_nothing_is_drawn_of_nothing():
    assert curves([], AXIS, words="x") == ""
    assert dot_rows([], Scale("F", 1.0), words="x") == ""


def test_names_are_escaped():
    drawing = curves([line("<b>"), line("&", style=1)], AXIS, words="x")

    assert "<b>" not in drawing
    assert {"<b>", "&"} <= set(texts(drawing))


def rows():
    return [
        Row("a", (Dot(0.5, 0, "half", 0.4, 0.6),), (0.1, 0.9), boxed=True),
        Row("b & c", (Dot(0.25, 3),)),
    ]


def test_rows_have_names_a_scale_and_its_name():
    said = texts(dot_rows(rows(), Scale("F", 0.9), words="x"))

    assert {"a", "b & c", "F", "0", "0.2", "1"} <= set(said)


def test_a_value_lies_where_the_scale_says():
    root = parsed(dot_rows(rows(), Scale("F", 1.0, label_share=0.2), words="x"))

    (dot,) = [one for one in root.iter("circle") if "mark" in one.get("class")]
    assert float(dot.get("cx").rstrip("%")) == pytest.approx(100 * (0.2 + 0.78 * 0.5))


def test_a_row_that_stands_out_is_boxed_and_an_interval_has_whiskers():
    drawing = dot_rows(rows(), Scale("F", 1.0), words="x")

    assert drawing.count('class="boxed"') == 1
    assert drawing.count('class="whisker"') == 3
