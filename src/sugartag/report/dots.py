"""Rows of points on one scale, with whiskers, as inline SVG that follows the width of the page."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from sugartag.report.curves import mark

TOP, BELOW = 22, 40
"""Room for the numbers over the rows, and for those and their name under them."""
AIR = 0.02
"""The share of the width kept free at the right end."""


@dataclass(frozen=True)
class Dot:
    """One value of a row."""

    value: float
    style: int
    """Colour and shape, as for lines."""
    words: str = ""
    """What is said when it is pointed at."""
    low: float | None = None
    high: float | None = None
    size: float = 4.4


@dataclass(frozen=True)
class Row:
    """A name and its values."""

    name: str
    dots: tuple[Dot, ...]
    span: tuple[float, float] | None = None
    """A pale bar behind the points, from the lowest of all values to the highest."""
    boxed: bool = False
    """Whether the row stands out."""


@dataclass(frozen=True)
class Scale:
    """What the values are."""

    name: str
    high: float
    row_height: int = 24
    label_share: float = 0.2
    """The share of the width for the names."""


def dot_rows(rows: Sequence[Row], scale: Scale, *, words: str) -> str:
    """Return the rows from top to bottom, all from 0 to the highest value."""
    if not rows:
        return ""
    height = TOP + scale.row_height * len(rows)
    step = next(one for one in (0.05, 0.1, 0.2, 0.25, 0.5, 1.0) if scale.high / one <= 6)
    top = math.ceil(scale.high / step - 1e-9) * step
    parts = [_grid(scale, top, step, height)]
    for place, row in enumerate(rows):
        parts.append(_row(row, scale, top, TOP + (place + 0.5) * scale.row_height))
    middle = _at(top / 2, scale, top)
    parts.append(
        f'<text x="{middle}" y="{height + 34}" class="axis-name" text-anchor="middle">'
        f"{escape(scale.name)}</text>"
    )
    return (
        f'<svg class="chart dots" role="img" aria-label="{escape(words)}" width="100%" '
        f'height="{height + BELOW}">{"".join(parts)}</svg>'
    )


def _grid(scale: Scale, top: float, step: float, height: float) -> str:
    parts = []
    for number in range(round(top / step) + 1):
        value = number * step
        x = _at(value, scale, top)
        parts.append(
            f'<line class="axis" x1="{x}" x2="{x}" y1="{TOP - 6}" y2="{height}"/>'
            + "".join(
                f'<text x="{x}" y="{y}" class="tick" text-anchor="middle">{value:.4g}</text>'
                for y in (TOP - 10, height + 15)
            )
        )
    return "".join(parts)


def _row(row: Row, scale: Scale, top: float, y: float) -> str:
    half = scale.row_height / 2
    parts = []
    if row.boxed:
        parts.append(
            f'<rect class="boxed" x="0" y="{y - half + 1:.1f}" width="100%" '
            f'height="{scale.row_height - 2}" rx="3"/>'
        )
    kind = "bar-label strong-name" if row.boxed else "bar-label"
    parts.append(f'<text x="6" y="{y + 4:.1f}" class="{kind}">{escape(row.name)}</text>')
    if row.span is not None:
        low, high = row.span
        parts.append(
            f'<line class="span" x1="{_at(low, scale, top)}" x2="{_at(high, scale, top)}" '
            f'y1="{y:.1f}" y2="{y:.1f}"/>'
        )
    for dot in row.dots:
        if dot.low is not None and dot.high is not None:
            parts.append(_whisker(dot.low, dot.high, scale, top, y))
    for dot in row.dots:
        parts.append(mark(dot.style, _at(dot.value, scale, top), y, words=dot.words, size=dot.size))
    return "".join(parts)


def _whisker(low: float, high: float, scale: Scale, top: float, y: float) -> str:
    ends = [_at(max(low, 0.0), scale, top), _at(min(high, top), scale, top)]
    caps = "".join(
        f'<line class="whisker" x1="{x}" x2="{x}" y1="{y - 4:.1f}" y2="{y + 4:.1f}"/>' for x in ends
    )
    return f'<line class="whisker" x1="{ends[0]}" x2="{ends[1]}" y1="{y:.1f}" y2="{y:.1f}"/>{caps}'


def _at(value: float, scale: Scale, top: float) -> str:
    left, right = scale.label_share, 1 - AIR
    return f"{100 * (left + (right - left) * value / top):.2f}%"
