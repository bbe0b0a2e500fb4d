"""The section of the page that each kind of experiment gets: words, a table, figures."""

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, TypeAlias

from sugartag.report.curves import Axis, Line, Point, curves, even_places, mark
from sugartag.report.dots import Dot, Row, Scale, dot_rows
from sugartag.reproduce.experiments import method_name
from sugartag.reproduce.tables import settings_table, table_of

Found: TypeAlias = Mapping[str, Any]

CONCEPTS_A_COLUMN = 64
STYLES = {
    "sugar-tc": 0,
    "sugar-plus": 2,
    "original": 5,
    "ttc2": 1,
    "ttc1": 3,
    "mrtf": 4,
    "lslr": 6,
    "nmc": 7,
    "lr": 8,
    "trvsc": 9,
}
"""Colour, dashes and shape of each method's line."""
OTHERS = 8
"""The style of points that are there to be compared with, and not distinguished."""


def section_of(name: str, entry: Found) -> str:
    """Return one experiment's section."""
    found = entry["found"]
    if "failed" in found:
        content = f'<p class="failed">Could not be done: {escape(found["failed"])}.</p>'
    else:
        table = table_of(entry)
        words, figures = _CONTENTS[entry["kind"]](found, entry["published"])
        shown = "" if table is None else table.html(entry["title"])
        content = f'<p class="intro">{escape(words)}</p>{shown}{figures}'
    return framed(name, entry, content)


def framed(name: str, entry: Found, content: str) -> str:
    """Return content as a section with the experiment's heading."""
    return (
        f'<section id="{name}" aria-labelledby="{name}-heading"><h2 id="{name}-heading">'
        f'{escape(entry["title"])} <span class="where">{escape(entry["paper"])}</span></h2>\n'
        f"{content}</section>\n"
    )


def _figure(title: str, words: str, drawing: str) -> str:
    return (
        f"<figure><figcaption><h3>{escape(title)}</h3><p>{escape(words)}</p></figcaption>"
        f"{drawing}</figure>\n"
    )


def _legend(entries: Sequence[tuple[int, str]]) -> str:
    """Return what the points of each style are."""
    items = "".join(
        f'<li><svg viewBox="-7 -7 14 14" aria-hidden="true">{mark(style, "0", 0, size=4.4)}</svg>'
        f"{escape(words)}</li>"
        for style, words in entries
    )
    return f'<ul class="key">{items}</ul>'


def _comparison(found: Found, published: Found) -> tuple[str, str]:
    measured = {name: row for name, row in found["methods"].items() if "f" in row.get("tuned", {})}
    order = sorted(measured, key=lambda name: -measured[name]["tuned"]["f"])
    seeds = f" and {found['seeds']} choices of random numbers" if found["seeds"] > 1 else ""
    words = (
        f"Each image is given its {found['top']} best tags of the whole vocabulary; F is averaged "
        f"over the concepts. Every method had {found['trials']} trials of settings (fewer where "
        f"there are fewer combinations), judged by {found['hide']:.0%} of the given tags, hidden. "
        f"Intervals of F come from {found['replicates']} resamplings of the images{seeds}; those "
        "of differences from resampled concepts as well, the wider counting. The last column is "
        f"what F loses when owners are shuffled among the images. {_lift(measured)}"
    )
    key = _legend(
        [
            (0, "tuned on hidden tags, with its 95 % interval"),
            (2, "oracle: the best of the same trials, chosen on the truth, as the paper does"),
            (3, "published, on other data"),
        ]
    )
    chart = dot_rows(
        [_method_row(name, measured[name]) for name in order],
        Scale(f"average F, {found['top']} tags an image", _highest(measured)),
        words=f"Average F of {len(order)} methods; highest: {method_name(order[0])}",
    ) if order else ""  # fmt: skip
    chosen = (
        "<details><summary>Which settings were chosen, by hidden tags and on the truth</summary>"
        f"{settings_table(found).html('Settings')}</details>"
    )
    return words, key + _figure("Average F", "Sorted by what came out here.", chart) + chosen


def _lift(rows: Found) -> str:
    gains = [
        row["oracle"]["f"] - row["tuned"]["f"] for row in rows.values() if "f" in row["oracle"]
    ]
    if not gains:
        return ""
    return (
        f"Choosing the best of the same trials on the truth itself, as the paper does, lifts F by "
        f"{sum(gains) / len(gains):.3f} on average and by {max(gains):.3f} at most."
    )


def _highest(rows: Found) -> float:
    values = [0.1]
    for row in rows.values():
        values += [row["tuned"]["interval"][1], row["oracle"]["f"], row["published"] or 0.0]
    return max(values)


def _method_row(name: str, row: Found) -> Row:
    tuned, (low, high) = row["tuned"], row["tuned"]["interval"]
    dots = [Dot(row["oracle"]["f"], 2, f"oracle {row['oracle']['f']:.3f}")]
    if row["published"] is not None:
        dots.append(Dot(row["published"], 3, f"published {row['published']:.3f}"))
    dots.append(Dot(tuned["f"], 0, f"{tuned['f']:.3f}, {low:.3f} to {high:.3f}", low, high))
    return Row(method_name(name), tuple(dots), boxed=name == "sugar-tc")


def _concepts(found: Found, published: Found) -> tuple[str, str]:
    rows, champion, runner_up = found["concepts"], found["champion"], found["runner_up"]
    drawn = [_concept_row(row, found) for row in rows]
    highest = max(max(row["f"].values()) for row in rows)
    columns = [
        dot_rows(
            drawn[start : start + CONCEPTS_A_COLUMN],
            Scale("F", highest, row_height=17, label_share=0.24),
            words=f"F of concepts {start + 1} to {min(start + CONCEPTS_A_COLUMN, len(rows))}",
        )
        for start in range(0, len(drawn), CONCEPTS_A_COLUMN)
    ]
    key = _legend(
        [
            (0, f"{method_name(champion)}, with its 95 % interval over images"),
            (1, method_name(runner_up)),
            (5, method_name(found["before"])),
            (OTHERS, "the other methods of the paper; the pale bar spans all of them"),
        ]
    )
    about = (
        f"Sorted by what {method_name(champion)} gains over {method_name(runner_up)}. "
        f"Boxed: the {len(found['marked'])} concepts that gain most."
    )
    inside = f'<div class="pairs">{"".join(columns)}</div>'
    return "On how many concepts each method has the highest F.", key + _figure(
        "F of each concept", about, inside
    )


def _concept_row(row: Found, found: Found) -> Row:
    f, special = row["f"], (found["before"], found["runner_up"], found["champion"])
    dots = [Dot(f[name], OTHERS, f"{method_name(name)} {f[name]:.3f}", size=2.0)
            for name in f if name not in special]  # fmt: skip
    for name, style in zip(special, (5, 1, 0), strict=True):
        low, high = (row["low"], row["high"]) if name == found["champion"] else (None, None)
        dots.append(Dot(f[name], style, f"{method_name(name)} {f[name]:.3f}", low, high, 3.4))
    boxed = row["concept"] in found["marked"]
    return Row(row["concept"], tuple(dots), (min(f.values()), max(f.values())), boxed)


def _cost(found: Found, published: Found) -> tuple[str, str]:
    return (
        "Fits with default settings and scorings of all images, one thread, nothing else of the "
        "run beside them, a process for each; medians, in processor seconds. Memory is the peak of "
        "a stage above what the process held before the fit. Published: hours and GB on other data "
        "(NUS-WIDE-128, 247,849 images) with 8 cores. Links of images are made, used and dropped "
        "block by block, so for SUGAR-TC the projection of all images counts as adjacency. Scoring "
        "is there for every method here; the paper tells it of SUGAR-TC only.",
        "",
    )


def _retrieval(found: Found, published: Found) -> tuple[str, str]:
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
        figures += _figure(title, words, curves(lines, axis, words=f"MAP by T: {title}"))
    note = (
        f"{found['about_queries']} Bands and intervals: 95 %, from resampling the queries, which "
        "are few. The paper prints a figure without numbers."
    )
    return note, figures


def _map_line(name: str, curve: Found, places: Sequence[float], found: Found) -> Line:
    points = tuple(
        Point(place, value, low, high, f"{method_name(name)}, T = {length}: {value:.3f}")
        for place, value, (low, high), length in zip(
            places, curve["map"], curve["intervals"], found["lengths"], strict=True
        )
    )
    strong = name in (found["champion"], "sugar-plus")
    return Line(method_name(name), points, STYLES.get(name, OTHERS), strong, band=strong)


def _sensitivity(found: Found, published: Found) -> tuple[str, str]:
    figures = "".join(
        _swept(sweep, published.get("best", {}).get(sweep["setting"]), found["top"])
        for sweep in found["sweeps"]
    )
    seeds = f"{found['seeds']} choices of anchors" if found["seeds"] > 1 else "one seed"
    base = ", ".join(f"{key} = {value}" for key, value in found["settings"].items())
    words = (
        f"One setting is changed at a time, the others are {base or 'defaults'}. Bands: 95 % over "
        f"images and {seeds}. Values are evenly spaced, as in the paper."
    )
    return words, f'<div class="pairs">{figures}</div>'


def _swept(sweep: Found, said: float | None, top: int) -> str:
    points = [point for point in sweep["points"] if "f" in point]
    places, symbol = even_places(len(points)), sweep["symbol"]
    marked = tuple(
        (place, "the paper’s choice")
        for place, point in zip(places, points, strict=True)
        if point["value"] == said
    )
    drawn = tuple(
        Point(place, point["f"], low, high, f"{symbol} = {point['value']:g}: {point['f']:.3f}")
        for place, point in zip(places, points, strict=True)
        for low, high in (point["interval"],)
    )
    axis = Axis(
        f"{symbol} ({sweep['setting']})",
        f"average F, {top} tags",
        tuple((at, f"{point['value']:g}") for at, point in zip(places, points, strict=True)),
        marked,
    )
    words = f"Highest at {symbol} = {sweep['best']:g}." if points else ""
    return _figure(
        f"F by {symbol}",
        words,
        curves([Line(symbol, drawn, 0, strong=True)], axis, words=f"F by {symbol}"),
    )


def _convergence(found: Found, published: Found) -> tuple[str, str]:
    known = {label: one for label, one in found["variants"].items() if "failed" not in one}
    last = max([2, *(len(one["falls"]) for one in known.values())])
    height = [
        Line(label, _log_points(one["objectives"], one["lowest"], last), number, marks=False)
        for number, (label, one) in enumerate(known.items())
    ]
    ticks = [at for at in (1, 2, 5, 10, 20, 50, 100, 200, 500) if at < 0.7 * last] + [last]
    places = tuple((math.log(at) / math.log(last), str(at)) for at in ticks)
    axis = Axis("updates (logarithmic)", "objective / lowest", places, powers=True)
    world = ", ".join(f"{key} {value}" for key, value in found["world"].items())
    words = (
        f"The paper’s multiplicative updates on a synthetic collection of its own ({world}), "
        f"followed beyond any rule of stopping. The paper stops after about "
        f"{published.get('iterations', '?')} updates and does not say by which rule; here it is an "
        f"update that changes the objective by less than {found['tolerance']:g} of itself. Lowest: "
        "the exact minimum, negative entries allowed. One run each: there is no interval to show."
    )
    drawing = curves(height, axis, words="The objective after each update")
    return words, _figure("The objective", "Relative to the lowest possible.", drawing)


def _log_points(values: Sequence[float], lowest: float, last: int) -> tuple[Point, ...]:
    return tuple(
        Point(math.log(at) / math.log(last), math.log10(value / lowest))
        for at, value in enumerate(values[1:], start=1)
    )


_CONTENTS: Mapping[str, Callable[[Found, Found], tuple[str, str]]] = {
    "comparison": _comparison,
    "concepts": _concepts,
    "retrieval": _retrieval,
    "cost": _cost,
    "sensitivity": _sensitivity,
    "convergence": _convergence,
}
