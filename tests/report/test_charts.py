"""The table and the charts show the numbers they are given; impossible ones are refused."""

import re
from xml.etree import ElementTree

import pytest

from sugartag.errors import CollectionError
from sugartag.report.charts import (
    HISTOGRAM_HEIGHT,
    added_tags,
    comparison_table,
    method_bars,
    recovery_curves,
    score_histogram,
)
from sugartag.report.content import (
    Counts,
    Interval,
    MethodRow,
    Picture,
    RecoveryCurve,
    Report,
    ScoreHistogram,
    TagCount,
    Verdict,
    count_added,
    count_scores,
)


def _method(name: str, value: float | None, **more: object) -> MethodRow:
    metrics = {} if value is None else {"map": value}
    return MethodRow(name, metrics, **more)


def _bars(*rows: MethodRow, best: str | None = None) -> ElementTree.Element:
    return ElementTree.fromstring(method_bars(rows, metric="map", label="MAP", best=best))


def _found(drawing: ElementTree.Element, name: str, kind: str) -> list[ElementTree.Element]:
    return [part for part in drawing.iter(name) if kind in part.get("class", "").split()]


def _texts(drawing: ElementTree.Element, kind: str) -> list[str]:
    return [part.text or "" for part in _found(drawing, "text", kind)]


def _percent(part: ElementTree.Element, name: str) -> float:
    return float(part.attrib[name].removesuffix("%"))


def test_methods_are_drawn_highest_first_with_their_values():
    drawing = _bars(_method("low", 0.2), _method("high", 0.41), _method("middle", 0.3))

    assert _texts(drawing, "bar-label") == ["high", "middle", "low"]
    assert _texts(drawing, "value") == ["0.410", "0.300", "0.200"]


def test_bars_are_as_long_as_their_values():
    drawing = _bars(_method("whole", 0.8), _method("half", 0.4))

    lengths = [_percent(bar, "width") for bar in _found(drawing, "rect", "bar")]
    assert lengths == pytest.approx([100, 50])


def test_only_the_best_method_is_pointed_out():
    drawing = _bars(_method("a", 0.8), _method("b", 0.4), best="b")

    assert len(_found(drawing, "rect", "bar-best")) == 1
    assert len(_found(drawing, "rect", "bar")) == 1


def test_an_interval_spans_its_two_ends_inside_the_frame():
    row = _method("a", 0.5, intervals={"map": Interval(0.25, 1.0)})

    across = next(line for line in _found(_bars(row), "line", "whisker"))

    assert _percent(across, "x1") == pytest.approx(25)
    assert _percent(across, "x2") == pytest.approx(100)


def test_methods_without_the_metric_are_left_out():
    rows = [_method("none", None), _method("odd", float("nan")), _method("zero", 0.0)]

    assert _texts(_bars(*rows), "bar-label") == ["zero"]
    assert method_bars(rows[:2], metric="map", label="MAP", best=None) == ""


def test_words_in_drawings_are_escaped():
    name = "<b>&\"'"

    drawing = _bars(_method(name, 0.5))
    tags = ElementTree.fromstring(added_tags([TagCount(name, 3)]))
    curves = ElementTree.fromstring(recovery_curves([RecoveryCurve(name, (0.1, 0.2))]))

    for part in (drawing, tags, curves):
        assert _texts(part, "bar-label") == [name]
        assert name in part.attrib["aria-label"]


def _cells(table: str) -> list[list[str]]:
    rows = re.findall(r"<tr class=.*?</tr>", table)
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows]


def test_the_best_value_of_each_column_is_bold():
    rows = [
        _method("a", 0.5, fit_seconds=9.0, peak_mb=1200.4),
        _method("b", 0.25, fit_seconds=1.5, peak_mb=800.0),
    ]

    assert _cells(comparison_table(rows, best="a")) == [
        ["<b>0.500</b>", "9.0", "1,200"],
        ["0.250", "<b>1.5</b>", "<b>800</b>"],
    ]


def test_values_that_print_alike_are_both_bold():
    rows = [_method("a", 0.61501), _method("b", 0.61549)]

    assert _cells(comparison_table(rows, best=None)) == [["<b>0.615</b>"], ["<b>0.615</b>"]]


def test_a_missing_value_is_a_dash_and_a_column_nobody_has_is_left_out():
    table = comparison_table([_method("a", 0.5), _method("b", float("nan"))], best=None)

    assert _cells(table) == [["<b>0.500</b>"], ["–"]]
    assert re.findall(r'<th scope="col">(.*?)</th>', table) == ["method", "MAP"]


def test_the_best_method_has_a_badge_and_texts_are_escaped():
    rows = [_method("<i>", 0.5, description="a & b"), _method("plain", 0.1)]

    table = comparison_table(rows, best="<i>")

    assert table.count('class="badge"') == 1
    assert "&lt;i&gt;" in table
    assert "a &amp; b" in table
    assert "<i>" not in table


def test_scores_are_counted_by_action_with_one_in_the_last_range():
    verdicts = [Verdict("a", "add", score) for score in (0.0, 0.04, 0.5, 1.0)]
    verdicts.append(Verdict("b", "doubt", 0.07))

    counts = count_scores(verdicts, n_ranges=10).counts

    assert counts["add"] == (2, 0, 0, 0, 0, 1, 0, 0, 0, 1)
    assert counts["doubt"] == (1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    assert sum(counts["keep"]) == 0


def test_histogram_columns_are_as_high_as_their_counts():
    histogram = ScoreHistogram({"add": (1, 4, 0, 2), "doubt": (7, 0, 0, 0), "keep": (0, 0, 0, 0)})

    drawing = ElementTree.fromstring(score_histogram(histogram))

    heights = [float(part.attrib["height"]) for part in _found(drawing, "rect", "column-add")]
    expected = [HISTOGRAM_HEIGHT * share for share in (0.25, 1, 0, 0.5)]
    assert heights == pytest.approx(expected, abs=0.05)
    assert _texts(drawing, "bar-label") == ["added", "doubted"]
    assert _texts(drawing, "value") == ["7", "7"]


def test_one_verdict_beside_thousands_can_still_be_seen():
    drawing = ElementTree.fromstring(score_histogram(ScoreHistogram({"keep": (9000, 1)})))

    heights = [float(part.attrib["height"]) for part in _found(drawing, "rect", "column-keep")]
    assert heights[1] >= 1


def test_added_tags_are_counted_most_frequent_first_and_equals_by_name():
    verdicts = [
        Verdict("b", "add", 0.5, recovered=True),
        Verdict("a", "add", 0.5, recovered=False),
        Verdict("c", "add", 0.5),
        Verdict("c", "add", 0.5),
        Verdict("a", "keep", 0.9),
    ]

    assert count_added(verdicts, top=2) == (TagCount("c", 2), TagCount("a", 1))
    assert count_added(verdicts)[2] == TagCount("b", 1, recovered=1)


def test_the_recovered_part_of_a_tag_is_drawn_on_its_bar():
    drawing = ElementTree.fromstring(added_tags([TagCount("a", 40, 10), TagCount("b", 20)]))

    recovered = [_percent(part, "width") for part in _found(drawing, "rect", "bar-recovered")]
    assert recovered == pytest.approx([25, 0])
    assert _texts(drawing, "value") == ["10 of 40", "0 of 20"]


def test_curves_stay_in_their_frame_and_end_at_their_last_value():
    curves = [RecoveryCurve("a", (0.1, 0.3, 0.6)), RecoveryCurve("b", (0.05, 0.1))]

    drawing = ElementTree.fromstring(recovery_curves(curves))

    lines = [part.attrib["points"].split() for part in drawing.iter("polyline")]
    points = [[tuple(map(float, point.split(","))) for point in line] for line in lines]
    assert points[0][-1] == (100, 0)
    assert points[1][-1][0] == 50
    assert all(0 <= y <= 100 for line in points for _, y in line)
    assert _texts(drawing, "value") == ["60.0%", "10.0%"]


@pytest.mark.parametrize("length", [1, 2, 7, 20, 64])
def test_the_counts_below_curves_run_from_one_to_the_last(length):
    curve = RecoveryCurve("a", tuple(0.5 for _ in range(length)))

    ticks = _texts(ElementTree.fromstring(recovery_curves([curve])), "tick")

    counts = [int(tick) for tick in ticks if not tick.endswith("%")]
    assert counts[0] == 1
    assert counts[-1] == length
    assert counts == sorted(set(counts))


def test_charts_without_data_are_nothing():
    assert added_tags([]) == ""
    assert recovery_curves([]) == ""
    assert score_histogram(ScoreHistogram({"add": (0, 0)})) == ""


@pytest.mark.parametrize("score", [-0.1, 1.01, float("nan")])
def test_a_score_outside_zero_and_one_is_named(score):
    with pytest.raises(CollectionError, match=re.escape(f"'cat' has score {score}")):
        Verdict("cat", "add", score)


def test_an_unknown_action_kind_of_picture_or_best_method_is_named():
    with pytest.raises(CollectionError, match="'remove'"):
        Verdict("cat", "remove", 0.5)
    with pytest.raises(CollectionError, match=r"image/svg\+xml"):
        Picture(b"", "image/svg+xml", "a", "b", ())
    with pytest.raises(CollectionError, match="'magic' was not compared"):
        Report("a", "b", Counts(0, 0, 0, 0, 0), best="magic")
