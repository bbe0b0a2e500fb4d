"""Plots of how cost grows, as SVG files that a page can show."""

import math
from collections.abc import Mapping, Sequence

from sugartag.report.curves import Axis, Line, Point, curves

WIDTH = 760
STYLE = """\
text { font: 12px system-ui, sans-serif; fill: #4a4f55; }
.bar-label, .axis-name { fill: #1d2126; } .tick { font-size: 11.5px; }
.curve { fill: none; stroke-width: 2; vector-effect: non-scaling-stroke; }
.axis { stroke: #d5d9de; } .leader { stroke-opacity: 0.6; }
.tone-0 { stroke: #0072b2; } .tone-1 { stroke: #d55e00; stroke-dasharray: 7 3; }
.tone-2 { stroke: #009e73; } .tone-3 { stroke: #b0527f; stroke-dasharray: 9 3 2 3; }
.tone-4 { stroke: #a87500; stroke-dasharray: 4 2; } .tone-5 { stroke: #4a4f55; }
.mark { stroke: #fff; stroke-dasharray: none; } .mark.tone-0 { fill: #0072b2; }
.mark.tone-1 { fill: #d55e00; } .mark.tone-2 { fill: #009e73; } .mark.tone-3 { fill: #b0527f; }
.mark.tone-4 { fill: #a87500; } .mark.tone-5 { fill: #4a4f55; }
.paper { fill: #fff; stroke: none; }
"""
"""White paper in the dark, too: a file that is shown as a picture knows nothing of its page."""
N_TONES = 6
Series = Mapping[str, Sequence[tuple[float, float]]]
"""Images and a value, by the name of the line."""


def time_plot(series: Series) -> str:
    """Return seconds against images, both growing by powers."""
    powers = {
        name: [(images, math.log10(seconds)) for images, seconds in points]
        for name, points in series.items()
    }
    return _plot(powers, up="seconds", words="Seconds of fit and scores by images", powers=True)


def memory_plot(series: Series) -> str:
    """Return megabytes against images, these growing by powers."""
    return _plot(series, up="MB at most", words="Peak anonymous memory by images", powers=False)


def _plot(series: Series, *, up: str, words: str, powers: bool) -> str:
    sizes = sorted({images for points in series.values() for images, _ in points})
    if len(sizes) < 2:
        return ""
    first, span = math.log(sizes[0]), math.log(sizes[-1] / sizes[0])
    place = {size: 0.02 + 0.96 * (math.log(size) - first) / span for size in sizes}
    lines = [
        Line(
            name=name,
            points=tuple(Point(place[images], value) for images, value in sorted(points)),
            style=number % N_TONES,
        )
        for number, (name, points) in enumerate(series.items())
    ]
    axis = Axis(
        across="images",
        up=up,
        ticks=tuple((place[size], _short(size)) for size in sizes),
        bottom=None if powers else 0.0,
        powers=powers,
    )
    return _standing_alone(curves(lines, axis, words=words))


def _standing_alone(drawing: str) -> str:
    """Return a drawing made for a page as a file of its own, with its width and its style."""
    head, _, content = drawing.partition(">")
    head = head.replace('width="100%"', f'width="{WIDTH}"')
    head = head.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    paper = '<rect class="paper" width="100%" height="100%"/>'
    return f"{head}><style>{STYLE}</style>{paper}{content}\n"


def _short(count: float) -> str:
    if count >= 1_000_000:
        return f"{count / 1_000_000:g}M"
    return f"{count / 1_000:g}k" if count >= 1_000 else f"{count:g}"
