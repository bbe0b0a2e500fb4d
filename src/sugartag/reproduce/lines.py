"""The sections of the page whose findings are lines: retrieval, sensitivity, convergence."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, TypeAlias

from sugartag.report.curves import Axis, Line, Point, curves, even_places
from sugartag.reproduce.layout import figure, intro, table
from sugartag.reproduce.names import OTHERS, STYLES, method_name

Found: TypeAlias = Mapping[str, Any]


def retrieval_figures(found: Found, published: Found) -> str:
    """Return MAP by the length of the list, counted in both ways, and a table."""
    places = even_places(len(found["lengths"]))
    ticks = tuple(zip(places, map(str, found["lengths"]), strict=True))
    titles = {
        "paper": (
            "As the paper counts it",
            "Average precision divided by the relevant images among the first T: one hit in first "
            "place, and nothing after it, is perfect.",
        ),
        "usual": (
            "As is usual",
            "Divided by the relevant images there are, T at most: what is not found counts.",
        ),
    }
    figures = ""
    for way, (title, words) in titles.items():
        lines = [
            _map_line(name, ways[way], places, found) for name, ways in found["methods"].items()
        ]
        axis = Axis("length T of the list", "MAP over the queries", ticks, bottom=0.0)
        figures += figure(title, words, curves(lines, axis, words=f"MAP by T: {title}"))
    last = len(found["lengths"]) - 1
    rows = [
        [escape(method_name(name))]
        + [
            f"{ways[way]['map'][at]:.3f} <small>{ways[way]['intervals'][at][0]:.2f} to "
            f"{ways[way]['intervals'][at][1]:.2f}</small>"
            for way in titles
            for at in (0, last)
        ]
        for name, ways in found["methods"].items()
    ]
    heads = ["method"] + [
        f"{short}<br>T = {found['lengths'][at]}" for short in ("paper", "usual") for at in (0, last)
    ]
    note = (
        f"{found['about_queries']} Bands and intervals: 95 %, from resampling the queries, which "
        "are few. The paper prints a figure without numbers."
    )
    return intro(note) + figures + table(heads, rows, "MAP by length")


def _map_line(name: str, curve: Mapping[str, Any], places: Sequence[float], found: Found) -> Line:
    points = tuple(
        Point(place, value, low, high, f"{method_name(name)}, T = {length}: {value:.3f}")
        for place, value, (low, high), length in zip(
            places, curve["map"], curve["intervals"], found["lengths"], strict=True
        )
    )
    strong = name in (found["champion"], "sugar-plus")
    return Line(method_name(name), points, STYLES.get(name, OTHERS), strong, band=strong)


def sensitivity_figures(found: Found, published: Found) -> str:
    """Return F by each of the settings that were changed."""
    figures = ""
    for sweep in found["sweeps"]:
        points = [point for point in sweep["points"] if "f" in point]
        places = even_places(len(points))
        said = published.get("best", {}).get(sweep["setting"])
        marked = tuple(
            (place, "the paper’s choice")
            for place, point in zip(places, points, strict=True)
            if point["value"] == said
        )
        symbol = sweep["symbol"]
        line = Line(
            symbol,
            tuple(
                _swept_point(symbol, place, point)
                for place, point in zip(places, points, strict=True)
            ),
            0,
            strong=True,
        )
        axis = Axis(
            f"{symbol} ({sweep['setting']})",
            f"average F, {found['top']} tags",
            tuple((at, f"{point['value']:g}") for at, point in zip(places, points, strict=True)),
            marked,
        )
        words = f"Best here: {symbol} = {sweep['best']:g}." if points else ""
        drawing = curves([line], axis, words=f"F by {symbol}")
        figures += figure(f"F by {symbol}", words, drawing)
    seeds = f"{found['seeds']} choices of anchors" if found["seeds"] > 1 else "one seed"
    base = ", ".join(f"{key} = {value}" for key, value in found["settings"].items())
    words = (
        "One setting is changed at a time, the others stay at the paper’s defaults"
        + (f", but for {base}" if base else "")
        + f". Bands: 95 % over images and {seeds}. Values are evenly spaced, as in the paper."
    )
    return intro(words) + f'<div class="pairs">{figures}</div>'


def _swept_point(symbol: str, place: float, point: Mapping[str, Any]) -> Point:
    low, high = point["interval"]
    words = f"{symbol} = {point['value']:g}: {point['f']:.3f}, {low:.3f} to {high:.3f}"
    return Point(place, point["f"], low, high, words)


def convergence_figure(found: Found, published: Found) -> str:
    """Return the objective after each update, and how much each lowered it."""
    values, stops = found["objectives"], found["stops_after"]
    last = max(len(values) - 1, 2)
    lowest = min(values)
    height = [Point(_log_place(at, last), values[at] / lowest) for at in range(1, len(values))]
    falls = [
        Point(_log_place(at, last), math.log10(fall))
        for at, fall in enumerate(found["falls"], start=1)
        if fall > 0
    ]
    ticks = [at for at in (1, 2, 5, 10, 20, 50, 100, 200) if at < 0.7 * last] + [last]
    places = tuple((_log_place(at, last), str(at)) for at in ticks)
    marked = ((_log_place(stops, last), f"stops after {stops}"),) if stops else ()
    shape = " × ".join(map(str, found["shape"]))
    words = (
        f"The paper’s multiplicative updates on a tensor of {shape}. The rule stops when an update "
        f"lowers the objective by less than {found['tolerance']:g} of itself; the paper needed "
        f"about {published.get('iterations', '?')} updates. It is one run, and nothing in it is "
        "sampled: there is no interval to show."
    )
    across = "updates (logarithmic)"
    drawings = [
        ("The objective", "Relative to the lowest that was seen.", height,
         Axis(across, "objective / lowest", places, marked)),
        ("What each update gains", "The relative fall of the objective, logarithmic.", falls,
         Axis(across, "relative fall", places, marked, powers=True)),
    ]  # fmt: skip
    figures = "".join(
        figure(title, about, curves([_plain(title, points)], axis, words=title))
        for title, about, points, axis in drawings
    )
    return intro(words) + f'<div class="pairs">{figures}</div>'


def _log_place(at: int, last: int) -> float:
    return math.log(at) / math.log(last)


def _plain(name: str, points: Sequence[Point]) -> Line:
    return Line(name, tuple(points), 0, strong=True, band=False, marks=False)
