"""What the numbers look like: the table of methods, and charts as inline SVG.

Charts follow the width of the page: lengths across are percentages and lengths down are pixels,
so that letters keep their size. Colours are classes, for the style sheet to give light and dark.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from sugartag.report.content import (
    Action,
    Interval,
    MethodRow,
    RecoveryCurve,
    ScoreHistogram,
    TagCount,
    finite,
)

BAR_ROW = 38
"""Height of a labelled bar: a line of text, the bar, some air."""
BAR_TOP, BAR_HEIGHT = 19, 8
HISTOGRAM_ROW, HISTOGRAM_TOP, HISTOGRAM_HEIGHT = 96, 22, 58
PLOT_TOP, PLOT_HEIGHT, PLOT_LEFT = 8, 180, 0.12
"""Where curves are drawn; the share of the width on the left is for the numbers."""
LEGEND_ROW = 24
TEXT_BASELINE = 12
TICK_SPACE = 20
"""Room for one line of numbers under an axis."""
N_LINE_STYLES = 6
SHARE_TOPS = (0.2, 0.4, 0.6, 0.8, 1.0)
"""Upper ends of a share axis that four equal steps cut into whole percents."""
MEANINGS = (
    ("MAP", "For each tag, are the images it belongs to ranked first? The mean over tags."),
    ("MiAP", "For each image, are its tags ranked first? The mean over images."),
    ("F top 5", "Precision and recall in one number when each image is given five tags."),
    ("F top 10", "The same with ten tags an image."),
    ("NDCG@20", "How good the first twenty images of each tag are, the first counting most."),
    ("fit s, score s", "Seconds to learn from the collection, and to score all its images."),
    ("peak MB", "The most memory the process held."),
)
"""What the columns of the table say, in words."""
METRIC_HEADINGS = {
    "map": "MAP", "miap": "MiAP", "f_top5": "F top 5", "f_top10": "F top 10", "ndcg20": "NDCG@20"
}  # fmt: skip
ACTION_WORDS: dict[Action, str] = {"add": "added", "keep": "kept", "doubt": "doubted"}


@dataclass(frozen=True)
class _Column:
    heading: str
    values: tuple[float | None, ...]
    digits: int
    smallest_is_best: bool = False

    def cells(self) -> list[str]:
        known = [round(value, self.digits) for value in self.values if value is not None]
        best = (min if self.smallest_is_best else max)(known, default=None)
        return [self._cell(value, best) for value in self.values]

    def _cell(self, value: float | None, best: float | None) -> str:
        if value is None:
            return '<td aria-label="not measured">–</td>'
        words = f"{value:,.{self.digits}f}"
        # Equal as printed is equal: nobody can see why one of two 0.615 should win.
        is_best = round(value, self.digits) == best
        return f"<td><b>{words}</b></td>" if is_best else f"<td>{words}</td>"


def comparison_table(rows: Sequence[MethodRow], *, best: str | None) -> str:
    """Return the methods as a table in the order given, the best value of each column in bold."""
    columns = [column for column in _columns(rows) if any(v is not None for v in column.values)]
    headings = "".join(f'<th scope="col">{column.heading}</th>' for column in columns)
    cells = [column.cells() for column in columns]
    lines = "\n".join(
        _method(row, best) + "".join(column[place] for column in cells) + "</tr>"
        for place, row in enumerate(rows)
    )
    return (
        f'<table class="comparison"><thead><tr><th scope="col">method</th>{headings}</tr></thead>'
        f"\n<tbody>{lines}</tbody></table>"
    )


def _columns(rows: Sequence[MethodRow]) -> list[_Column]:
    def costs(heading: str, values: Iterable[float | None], digits: int) -> _Column:
        return _Column(heading, tuple(map(finite, values)), digits, smallest_is_best=True)

    return [
        *(
            _Column(heading, tuple(finite(row.metrics.get(name)) for row in rows), 3)
            for name, heading in METRIC_HEADINGS.items()
        ),
        costs("fit s", (row.fit_seconds for row in rows), 1),
        costs("score s", (row.score_seconds for row in rows), 1),
        costs("peak MB", (row.peak_mb for row in rows), 0),
    ]


def _method(row: MethodRow, best: str | None) -> str:
    kind, badge = ("best", ' <span class="badge">best</span>') if row.name == best else ("", "")
    words = f"<small>{escape(row.description)}</small>" if row.description else ""
    return f'<tr class="{kind}"><th scope="row">{escape(row.name)}{badge}{words}</th>'


def method_bars(rows: Iterable[MethodRow], *, metric: str, label: str, best: str | None) -> str:
    """Return one bar for each method that has the metric, the highest first."""
    values = [(row, finite(row.metrics.get(metric))) for row in rows]
    measured = [(row, value) for row, value in values if value is not None]
    measured.sort(key=lambda pair: -pair[1])
    if not measured:
        return ""
    longest = max(max(value, _upper_end(row, metric)) for row, value in measured) or 1.0
    parts = []
    for place, (row, value) in enumerate(measured):
        kind = "bar-best" if row.name == best else "bar"
        bars = [(kind, value / longest)]
        parts.append(_labelled_bar(place, row.name, f"{value:.3f}", bars))
        if interval := row.intervals.get(metric):
            parts.append(_whisker(place, interval, longest))
    first, highest = measured[0]
    words = f"{label} of {len(measured)} methods; highest: {first.name}, {highest:.3f}"
    return _drawing("".join(parts), BAR_ROW * len(measured), words)


def added_tags(tags: Sequence[TagCount]) -> str:
    """Return one bar for each tag, its first part the times it was a hidden tag."""
    if not tags:
        return ""
    longest = max(tag.added for tag in tags) or 1
    any_recovered = any(tag.recovered for tag in tags)
    parts = []
    for place, tag in enumerate(tags):
        value = f"{tag.added:,}"
        if any_recovered:
            value = f"{tag.recovered:,} of {tag.added:,}"
        bars = [("bar-added", tag.added / longest), ("bar-recovered", tag.recovered / longest)]
        parts.append(_labelled_bar(place, tag.tag, value, bars))
    words = f"How often tags were added; most often: {tags[0].tag}, {tags[0].added:,} times"
    return _drawing("".join(parts), BAR_ROW * len(tags), words)


def score_histogram(histogram: ScoreHistogram) -> str:
    """Return one row of columns for each action, each row as high as its own highest column."""
    shown = [action for action in ACTION_WORDS if any(histogram.counts.get(action, ()))]
    if not shown:
        return ""
    rows = "".join(
        _histogram_row(place, action, histogram.counts[action])
        for place, action in enumerate(shown)
    )
    bottom = HISTOGRAM_ROW * (len(shown) - 1) + HISTOGRAM_TOP + HISTOGRAM_HEIGHT
    totals = ", ".join(f"{sum(histogram.counts[a]):,} {ACTION_WORDS[a]}" for a in shown)
    axis = _numbers_below(bottom, [(0, "0"), (0.25, ".25"), (0.5, ".5"), (0.75, ".75"), (1, "1")])
    return _drawing(rows + axis, bottom + TICK_SPACE, f"How scores are spread: {totals}")


def recovery_curves(curves: Sequence[RecoveryCurve]) -> str:
    """Return the curves in one frame, with their names and last values below it."""
    curves = [curve for curve in curves if curve.shares]
    if not curves:
        return ""
    length = max(len(curve.shares) for curve in curves)
    highest = max(max(curve.shares) for curve in curves)
    top = next((share for share in SHARE_TOPS if share >= highest), 1.0)
    lines = "".join(_curve(place, curve, length, top) for place, curve in enumerate(curves))
    # Stretched to the width of the page, but with strokes that keep their thickness.
    plot = (
        f'<svg x="{_percent(PLOT_LEFT)}" y="{PLOT_TOP}" width="{_percent(1 - PLOT_LEFT)}" '
        f'height="{PLOT_HEIGHT}" '
        f'viewBox="0 0 100 100" preserveAspectRatio="none">{lines}</svg>'
    )
    bottom = PLOT_TOP + PLOT_HEIGHT
    axis = _numbers_below(bottom, _count_ticks(length))
    legend_top = bottom + TICK_SPACE + 8
    legend = "".join(_legend_row(legend_top, place, curve) for place, curve in enumerate(curves))
    words = f"Share of hidden tags found within the first {length} suggestions: " + ", ".join(
        f"{curve.method} {curve.shares[-1]:.0%}" for curve in curves
    )
    height = legend_top + LEGEND_ROW * len(curves)
    return _drawing(_share_lines(top) + plot + axis + legend, height, words)


def _drawing(content: str, height: float, words: str) -> str:
    return (
        f'<svg class="chart" role="img" aria-label="{escape(words)}" '
        f'width="100%" height="{height:.0f}">{content}</svg>'
    )


def _text(x: str, y: float, words: str, *, kind: str = "", anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y:.0f}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%"


def _upper_end(row: MethodRow, metric: str) -> float:
    interval = row.intervals.get(metric)
    return interval.high if interval else 0.0


def _labelled_bar(place: int, label: str, value: str, bars: Sequence[tuple[str, float]]) -> str:
    y = place * BAR_ROW
    shapes = "".join(
        f'<rect class="{kind}" x="0" y="{y + BAR_TOP}" width="{_percent(share)}" '
        f'height="{BAR_HEIGHT}" rx="2"/>'
        for kind, share in [("bar-track", 1.0), *bars]
    )
    return (
        _text("0", y + TEXT_BASELINE, label, kind="bar-label")
        + _text("100%", y + TEXT_BASELINE, value, kind="value", anchor="end")
        + shapes
    )


def _whisker(place: int, interval: Interval, longest: float) -> str:
    y = place * BAR_ROW + BAR_TOP + BAR_HEIGHT / 2
    low, high = _percent(max(interval.low, 0) / longest), _percent(interval.high / longest)
    ends = "".join(
        f'<line class="whisker" x1="{x}" x2="{x}" y1="{y - 5:.0f}" y2="{y + 5:.0f}"/>'
        for x in (low, high)
    )
    across = f'<line class="whisker" x1="{low}" x2="{high}" y1="{y:.0f}" y2="{y:.0f}"/>'
    return f"<g><title>{interval.low:.3f} to {interval.high:.3f}</title>{across}{ends}</g>"


def _histogram_row(place: int, action: Action, counts: Sequence[int]) -> str:
    y = place * HISTOGRAM_ROW
    floor = y + HISTOGRAM_TOP + HISTOGRAM_HEIGHT
    slot = 1 / len(counts)
    columns = []
    for position, count in enumerate(counts):
        # One verdict must still be seen next to a thousand, hence the pixel at least.
        height = max(HISTOGRAM_HEIGHT * count / max(counts), 1) if count else 0
        left, right = position * slot, (position + 1) * slot
        columns.append(
            f'<rect class="column-{action}" x="{_percent(left + 0.06 * slot)}" '
            f'y="{floor - height:.1f}" width="{_percent(0.88 * slot)}" height="{height:.1f}">'
            f"<title>{left:.2f} to {right:.2f}: {count:,}</title></rect>"
        )
    label = _text("0", y + TEXT_BASELINE, ACTION_WORDS[action], kind="bar-label")
    total = _text("100%", y + TEXT_BASELINE, f"{sum(counts):,}", kind="value", anchor="end")
    line = f'<line class="axis" x1="0" x2="100%" y1="{floor}.5" y2="{floor}.5"/>'
    return label + total + "".join(columns) + line


def _numbers_below(y: float, ticks: Iterable[tuple[float, str]]) -> str:
    anchors = {0.0: "start", PLOT_LEFT: "start", 1.0: "end"}
    return "".join(
        _text(_percent(at), y + 15, words, kind="tick", anchor=anchors.get(at, "middle"))
        for at, words in ticks
    )


def _count_ticks(length: int) -> list[tuple[float, str]]:
    if length == 1:
        return [(PLOT_LEFT, "1")]
    step = next((step for step in (1, 2, 5, 10, 20, 50) if length / step <= 6), 100)
    shown = sorted({1, length, *range(step, length - step // 2, step)})
    width = 1 - PLOT_LEFT
    return [(PLOT_LEFT + width * (count - 1) / (length - 1), str(count)) for count in shown]


def _share_lines(top: float) -> str:
    parts = []
    for step in range(5):
        y = PLOT_TOP + PLOT_HEIGHT * (1 - step / 4)
        parts.append(
            f'<line class="axis" x1="{_percent(PLOT_LEFT)}" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>'
            + _text("0", y + 4, f"{top * step / 4:.0%}", kind="tick")
        )
    return "".join(parts)


def _curve(place: int, curve: RecoveryCurve, length: int, top: float) -> str:
    steps = max(length - 1, 1)
    points = " ".join(
        f"{100 * at / steps:.2f},{100 * (1 - share / top):.2f}"
        for at, share in enumerate(curve.shares)
    )
    kind = place % N_LINE_STYLES
    return f'<polyline class="curve line-{kind}" points="{points}"/>'


def _legend_row(top: float, place: int, curve: RecoveryCurve) -> str:
    y = top + place * LEGEND_ROW
    sample = (
        f'<line class="curve line-{place % N_LINE_STYLES}" x1="0" x2="26" '
        f'y1="{y + 8:.0f}" y2="{y + 8:.0f}"/>'
    )
    name = _text("36", y + TEXT_BASELINE, curve.method, kind="bar-label")
    last = f"{curve.shares[-1]:.1%}"
    return sample + name + _text("100%", y + TEXT_BASELINE, last, kind="value", anchor="end")
